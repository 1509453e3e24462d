import sys

print("usage: greeter FILE [--language LANGUAGE]")
print("  FILE      the greetings")
sys.exit(2)
