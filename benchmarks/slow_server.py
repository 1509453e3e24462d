"""The trivial server, but every answer takes its time.

usage: slow_server.py MILLISECONDS
"""

import sys
import time

import trivial_server

if __name__ == "__main__":
    seconds = int(sys.argv.pop(1)) / 1000

    def late(answer):
        def answered(*given) -> bytes:
            time.sleep(seconds)
            return answer(*given)

        return answered

    trivial_server.RESULTS.update({method: late(answer) for method, answer in trivial_server.RESULTS.items()})
    trivial_server.main()
