from raw import hear, os, sys

hear()
sys.stderr.write(f"{os.environ['USER_NAME']} may not use {os.environ['API_KEY']}\n")
sys.exit(1)
