"""Our answers to the questions of a server: roots, sampling, elicitation, ping.

Answers are declared beforehand: a fixed result, "auto", a refusal, or a list of these, one for each question. What can
be answered is declared as a capability, and nothing else is: both come from the same place and cannot disagree.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, METHOD_NOT_FOUND, Dialect
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.values import dataclass

REJECTED = -1  # the code that the specification's example of a refused sampling request has
# The event loop waits for it, and forms are flat objects: a form for a person does not take longer.
_SECONDS_FOR_A_FORM = 0.1

_STUB_MESSAGE = {
    "model": "stub-model",
    "stopReason": "endTurn",
    "role": "assistant",
    "content": {"type": "text", "text": ""},
}


class Answer(NamedTuple):
    """Our answer to one question: a result or a JSON-RPC error, and what the user should hear about it."""

    result: Json | None = None
    error: Json | None = None
    warning: str | None = None

    @property
    def members(self) -> Json:
        """The members of a JSON-RPC reply that carry this answer."""
        return {"error": self.error} if self.error is not None else {"result": self.result}


@dataclass(frozen=True, slots=True)
class Incoming:
    """A notification of the server, or a request of the server with our answer to it."""

    message: Message
    answer: Answer | None = None


class Answers:
    """Everything that we are ready to answer; without arguments, only ping."""

    def __init__(
        self,
        *,
        roots: Sequence[Json] | None = None,
        sampling: Any = None,
        elicitation: Any = None,
    ) -> None:
        self.roots = None if roots is None else list(roots)
        self._sampling = _Supply(sampling)
        self._elicitation = _Supply(elicitation)

    def capabilities(self, dialect: Dialect) -> Json:
        """The client capabilities that say exactly what we can answer in this revision."""
        capabilities: Json = {}
        if self.roots is not None:
            capabilities["roots"] = {"listChanged": True} if dialect.handshake else {}
        if self._sampling.given:
            capabilities["sampling"] = {}
        if self._elicitation.given and dialect.elicitation is not None:
            capabilities["elicitation"] = dialect.elicitation
        return capabilities

    def to(self, method: str, params: Json, dialect: Dialect) -> Answer:
        """Our answer to METHOD. Raises UsageError when the declared answer does not fit what is asked."""
        if method == "ping" and method in dialect.asks:
            return Answer(result={})
        if method == "roots/list" and self.roots is not None:
            return Answer(result={"roots": self.roots})
        if method == "sampling/createMessage":
            return self._sample(params)
        if method == "elicitation/create" and method in dialect.asks:
            return self._elicit(params)
        return Answer(
            error={"code": METHOD_NOT_FOUND, "message": f"this client does not answer {method}"},
            warning=f"the server asked for {method}, which this client did not offer"
            + (" (--roots does)" if method == "roots/list" else ""),
        )

    def _sample(self, params: Json) -> Answer:
        if not self._sampling.given:
            return Answer(
                error={"code": METHOD_NOT_FOUND, "message": "this client does not answer sampling requests"},
                warning=f"the server asked for sampling, which was refused (--handle-sampling answers it): "
                f"{render(params)}",
            )
        match self._sampling.next():
            case None:
                return Answer(
                    error={"code": REJECTED, "message": "no sampling answer is left"},
                    warning="the server asked for sampling once more than there are answers",
                )
            case "auto":
                return Answer(result=_STUB_MESSAGE)
            case "reject":
                return Answer(error={"code": REJECTED, "message": "User rejected sampling request"})
            case template:
                return Answer(result=template)

    def _elicit(self, params: Json) -> Answer:
        if not self._elicitation.given:
            return Answer(
                result={"action": "decline"},
                warning=f"the server asked for elicitation, which was declined (--handle-elicitation answers it): "
                f"{render(params)}",
            )
        chosen = self._elicitation.next()
        if chosen is None:
            return Answer(
                result={"action": "decline"},
                warning="the server asked for elicitation once more than there are answers",
            )
        if chosen in ("reject", "decline"):
            return Answer(result={"action": "decline"})
        if chosen == "cancel":
            return Answer(result={"action": "cancel"})
        if params.get("mode", "form") == "url":
            return Answer(
                result={"action": "accept"}, warning=f"the server asks to visit this page: {params.get('url')}"
            )
        if params.get("mode", "form") != "form":
            return Answer(error={"code": INVALID_PARAMS, "message": f"unknown elicitation mode {params['mode']!r}"})
        return self._accept(chosen, params.get("requestedSchema", {}))

    def _accept(self, chosen: Any, schema: Any) -> Answer:
        from mcp_conductor.protocol.samples import filled_in
        from mcp_conductor.protocol.schema import Undecided, complaints

        properties = schema.get("properties") if isinstance(schema, dict) else None
        if chosen == "auto":
            content = filled_in(schema)
        elif _is_whole_result(chosen) and not (isinstance(properties, dict) and "action" in properties):
            if chosen["action"] != "accept":
                return Answer(result=chosen)
            content = chosen.get("content", {})
        else:
            content = chosen
        problems = complaints(content, schema, seconds=_SECONDS_FOR_A_FORM)
        if problems and isinstance(problems[0], Undecided):
            warning = f"the answer to a form of the server is sent unchecked: {problems[0]}"
            return Answer(result={"action": "accept", "content": content}, warning=warning)
        if problems:
            raise UsageError(
                f"the elicitation answer does not fit the schema that the server asked for: {'; '.join(problems)}"
            )
        return Answer(result={"action": "accept", "content": content})


def _is_whole_result(chosen: Any) -> bool:
    """Whether an answer is a complete ElicitResult rather than the content of one."""
    return chosen.get("action") in ("accept", "decline", "cancel") and set(chosen) <= {"action", "content", "_meta"}


class _Supply:
    """One answer to every question, or a list with one answer for each question, in order."""

    def __init__(self, given: Any) -> None:
        self.given = given is not None
        self._always = None if isinstance(given, list) else given
        self._left = list(reversed(given)) if isinstance(given, list) else []

    def next(self) -> Any:
        return self._left.pop() if self._left else self._always


def sampling_answers(given: Any) -> Any:
    """GIVEN, checked to be something that sampling can be answered with."""
    for answer in given if isinstance(given, list) else [given]:
        if answer in ("auto", "reject"):
            continue
        if not isinstance(answer, dict):
            raise UsageError(f"an answer is auto, reject, a JSON object, or an array of these; not {answer!r}")
        missing = [key for key in ("model", "role", "content") if not answer.get(key)]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            raise UsageError(f"a sampling answer has model, role and content; {' and '.join(missing)} {verb} missing")
    return given


def elicitation_answers(given: Any) -> Any:
    """GIVEN, checked to be something that elicitation can be answered with."""
    for answer in given if isinstance(given, list) else [given]:
        if not isinstance(answer, dict) and answer not in ("auto", "reject", "decline", "cancel"):
            raise UsageError(f"an answer is auto, reject, cancel, a JSON object, or an array of these; not {answer!r}")
    return given
