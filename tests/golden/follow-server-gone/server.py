from raw import hello, notify, sys

hello()
notify("notifications/message", level="error", data="giving up")
sys.stderr.write("out of memory\n")
sys.exit(1)
