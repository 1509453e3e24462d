from raw import hear, hello, shout

NUMBERS = "[12345678901234567890123, -0.0, 1.0, 1.10, 1e3, 1E+2, 0.1234567890123456789, 1e400, 5e-324]"
hello(tools={})
shout(f'{{"jsonrpc": "2.0", "id": {hear()["id"]}, "result": {{"content": [], "numbers": {NUMBERS}}}}}\n')
hear()
