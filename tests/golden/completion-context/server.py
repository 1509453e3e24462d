from raw import hear, hello, result

hello(completions={})
asked = hear()
result(asked, {"completion": {"values": [str(asked["params"]["context"]["arguments"])]}})
hear()
