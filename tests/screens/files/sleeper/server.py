import time

from raw import hear, hello, result

hello(tools={})
request = hear()
time.sleep(0.5)
result(request, {"content": []})
hear()
