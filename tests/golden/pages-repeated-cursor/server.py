from raw import hello, serve

hello(tools={})
serve({"tools/list": {"tools": [{"name": "again"}], "nextCursor": "same"}})
