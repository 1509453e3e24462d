import sys
import time

print("INFO: running on http://127.0.0.1:8000/mcp (Press CTRL+C to quit)", file=sys.stderr, flush=True)
time.sleep(60)
