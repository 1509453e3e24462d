"""A server that reads its settings before it does anything else."""

import json


def settings(file):
    with open(file) as text:
        return json.load(text)


def main():
    print("greeter 1.0 is starting")
    greetings = settings("greetings.json")["greetings"]
    print(len(greetings))


main()
