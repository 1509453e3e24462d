"""A fault of our own (provisional): `{fault: shout, when: {name: isbn}}` below `faults` in a server file."""

from typing import Any

from mcp_conductor import SpoiledReply, fault


@fault
def shout(spoiled: SpoiledReply, mark: str = "!") -> None:
    """Answer in capital letters."""

    def change(reply: dict[str, Any]) -> dict[str, Any]:
        content = [{**part, "text": part["text"].upper() + mark} for part in reply["result"]["content"]]
        return {**reply, "result": {**reply["result"], "content": content}}

    spoiled.changes.append(change)
