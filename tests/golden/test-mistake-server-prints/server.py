from raw import hear, hello, result, shout

hello(tools={})
request = hear()
shout("greeting Ada\n")
result(request, {"content": []})
hear()
