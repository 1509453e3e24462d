from raw import sys

sys.stderr.write("waiting for the database\n")
sys.stdin.read()
