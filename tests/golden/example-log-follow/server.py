from raw import hear, hello, notify, os, result, signal, time

hello(logging={})
request = hear()
assert request["params"] == {"level": "debug"}
notify("notifications/message", level="info", logger="server", data="Level set")
result(request, {})
notify("notifications/message", level="debug", logger="server", data={"cache": "hit"})
time.sleep(0.3)
os.kill(os.getppid(), signal.SIGTERM)
hear()
