from raw import hear, hello, sys

hello(tools={})
hear()
sys.stderr.write("no database\n")
sys.exit(3)
