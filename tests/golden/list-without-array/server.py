from raw import hello, serve

hello(resources={})
serve({"resources/list": {"items": []}})
