from os import environ

from raw import hello, serve

hello(tools={})
serve({"tools/call": lambda _: {"content": [{"type": "text", "text": f"{environ.get('GREETING')}, Ada!"}]}})
