import sys

from raw import hear, hello, result

hello(tools={})
request = hear()
if request["params"]["name"] == "crash":
    sys.exit("out of paper")
result(request, {"content": []})
hear()
