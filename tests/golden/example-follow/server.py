from raw import hear, hello, notify, os, signal, time

hello(tools={"listChanged": True}, logging={})
notify("notifications/tools/list_changed")
notify("notifications/message", level="info", data="hello")
notify("notifications/progress", progressToken="1", progress=50, total=100)
time.sleep(0.3)
os.kill(os.getppid(), signal.SIGINT)
hear()
