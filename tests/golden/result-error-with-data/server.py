from raw import error, hear, hello

hello(resources={})
request = hear()
error(request, -32002, "Resource not found", data={"uri": request["params"]["uri"], "tried": [1, None]}, extra=True)
hear()
