from raw import hello, say, sys

hello()
line = sys.stdin.readline()
say({"id": None, "error": {"code": -32700, "message": "Parse error", "data": line.strip()}})
sys.stdin.read()
