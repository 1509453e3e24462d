from raw import hear, hello, shout

hello(tools={})
shout(f'{{"jsonrpc": "2.0", "id": {hear()["id"]}, "result": {{"content": [], "half": "\\ud83d"}}}}\n')
hear()
