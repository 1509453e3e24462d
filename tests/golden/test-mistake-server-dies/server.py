import sys

from raw import hear, hello

hello(tools={})
hear()
print("KeyError: 'greetings'", file=sys.stderr)
sys.exit(1)
