from raw import hello, serve

hello(resources={"subscribe": True})
serve({"resources/subscribe": {}, "resources/unsubscribe": {}})
