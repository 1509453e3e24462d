from raw import hello, serve

hello(completions={})
serve({"completion/complete": lambda params: {"completion": {"values": [params["ref"]["uri"]]}}})
