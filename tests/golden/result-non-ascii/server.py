from raw import hear, hello, json, shout

TEXT = 'Füße, 本, 😀, tab \t, quote ", line \u2028, DEL \x7f'
hello(tools={})
reply = {"jsonrpc": "2.0", "id": hear()["id"], "result": {"escaped": TEXT}}
shout(json.dumps(reply)[:-2] + f', "plain": {json.dumps(TEXT, ensure_ascii=False)}}}}}\n')
hear()
