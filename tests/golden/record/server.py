from raw import hear, hello, os, result

hello(tools={})
result(hear(), {"content": [{"type": "text", "text": f"{os.environ['USER_NAME']} has {os.environ['API_KEY']}"}]})
hear()
