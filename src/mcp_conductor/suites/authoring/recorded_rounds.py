"""Rounds of input in a recording: a request that was answered with questions, and came again with answers to them.

A test sends it once, and its client answers the questions; so the rounds of one request are one test.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.recording.dialogue import Asked, Dialogue
from mcp_conductor.suites.authoring.recorder import plain_data

ASKED = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation"}
_OF_ROUNDS = ("inputResponses", "requestState", "_meta")


class Rounds:
    """Which requests belong together."""

    def __init__(self, chains: dict[int, list[Asked]]) -> None:
        self._chains = chains  # by the number of the last request: all of them, in order
        self._parts = {each.number for chain in chains.values() for each in chain[:-1]}

    @classmethod
    def of(cls, dialogue: Dialogue) -> "Rounds":
        """Those of DIALOGUE that came to an end."""
        chains: dict[int, list[Asked]] = {}
        waiting: dict[str, list[Asked]] = {}  # requests whose questions are not answered yet
        for asked in dialogue.asked:
            key = _key(asked)
            goes_on = "inputResponses" in asked.request.params or "requestState" in asked.request.params
            chain = [*(waiting.pop(key, []) if goes_on else []), asked]
            if _result(asked).get("resultType") == "input_required":
                waiting[key] = chain
            elif len(chain) > 1:
                chains[asked.number] = chain
        return cls(chains)

    def is_part(self, asked: Asked) -> bool:
        """Whether a later request has the end of what ASKED began."""
        return asked.number in self._parts

    def before(self, asked: Asked) -> list[Asked]:
        """The rounds before ASKED, if it ends some."""
        return self._chains.get(asked.number, [])[:-1]

    def script(self, asked: Asked) -> Json:
        """What the client answered in the rounds that ASKED ends."""
        script: Json = {}
        for method, response in _answers(self._chains.get(asked.number, [])):
            if method in ASKED:
                script.setdefault(ASKED[method], []).append({"reply": plain_data(response)})
        return script

    def roots(self) -> Any:
        """What the client answered to the first question for its roots, if there was one."""
        answers = (each for chain in self._chains.values() for each in _answers(chain))
        return next((response for method, response in answers if method == "roots/list"), None)


def _answers(chain: list[Asked]) -> Iterator[tuple[str, Any]]:
    """What the client was asked for in the rounds of CHAIN, and its answers."""
    for question, answer in pairwise(chain):
        requests = _object(_result(question).get("inputRequests"))
        for key, response in _object(answer.request.params.get("inputResponses")).items():
            yield str(_object(requests.get(key)).get("method")), response


def _key(asked: Asked) -> str:
    sent = {key: each for key, each in asked.request.params.items() if key not in _OF_ROUNDS}
    return compact([asked.request.method, sent])


def _result(asked: Asked) -> Json:
    return asked.result if asked.awaited else {}


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
