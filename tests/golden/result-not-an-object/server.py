from raw import hello, serve

hello(tools={})
serve({"tools/call": [1, 2]})
