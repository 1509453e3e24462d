"""Our answers to the questions of a server: roots, sampling, elicitation, ping.

Answers are declared beforehand: a fixed result, "auto", a refusal, a function, or a list of these, one for each
question. What can be answered is declared as a capability, and nothing else is: both come from the same place and
cannot disagree.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_conductor.errors import MethodError, Refused, UsageError, way
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Dialect
from mcp_conductor.protocol.message import Message, kind_of, render
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.protocol.questions import ElicitationFunction, RootsFunction, SamplingFunction

REJECTED = -1  # the code that the specification's example of a refused sampling request has
# The event loop waits for it, and forms are flat objects: a form for a person does not take longer.
_SECONDS_FOR_A_FORM = 0.1

_ELICITATION_WORDS = ("auto", "reject", "decline", "cancel")
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
    failure: Exception | None = None  # what a function of the user raised in place of an answer

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
    """Everything that we are ready to answer; without arguments, only ping.

    A function is called with what the server asks, and may be a coroutine function. It returns the answer, raises
    Refused where the user does not want to answer, or MethodError with the JSON-RPC error that the server shall get.
    With SAMPLING_TOOLS, servers may give the model tools: the function for sampling lets it use them.
    """

    def __init__(
        self,
        *,
        roots: "Sequence[Mapping[str, Any]] | RootsFunction | None" = None,
        sampling: "Json | str | list[Any] | SamplingFunction | None" = None,
        elicitation: "Json | str | list[Any] | ElicitationFunction | None" = None,
        sampling_tools: bool = False,
    ) -> None:
        if sampling_tools and sampling is None:
            raise UsageError("sampling_tools has no meaning without sampling")
        self._sampling_tools = sampling_tools
        self.roots: list[Json] | RootsFunction | None = roots if roots is None or callable(roots) else _roots(roots)
        self._sampling = _Supply(None if sampling is None else sampling_answers(sampling))
        self._elicitation = _Supply(None if elicitation is None else elicitation_answers(elicitation))

    def capabilities(self, dialect: Dialect) -> Json:
        """The client capabilities that say exactly what we can answer in this revision."""
        capabilities: Json = {}
        if self.roots is not None:
            capabilities["roots"] = {"listChanged": True} if dialect.handshake else {}
        if self._sampling.given:
            capabilities["sampling"] = {"tools": {}} if self._sampling_tools and dialect.sampling_tools else {}
        if self._elicitation.given and dialect.elicitation is not None:
            capabilities["elicitation"] = dialect.elicitation
        return capabilities

    def to(self, method: str, params: Json, dialect: Dialect) -> Answer | Awaitable[Answer]:
        """Our answer to METHOD, or what makes it where that is a coroutine function.

        Raises UsageError when an answer that was declared beforehand does not fit what is asked.
        """
        if method == "ping" and method in dialect.asks:
            return Answer(result={})
        if method == "roots/list" and self.roots is not None:
            return self._list_roots()
        if method == "sampling/createMessage":
            return self._sample(params)
        if method == "elicitation/create" and method in dialect.asks:
            return self._elicit(params)
        return Answer(
            error={"code": METHOD_NOT_FOUND, "message": f"this client does not answer {method}"},
            warning=f"the server asked for {method}, which this client did not offer"
            + (f" ({way('--roots', 'roots=')} does)" if method == "roots/list" else ""),
        )

    def _list_roots(self) -> Answer | Awaitable[Answer]:
        if not callable(self.roots):
            return Answer(result={"roots": self.roots})
        return _answer_of(self.roots, (), lambda found: Answer(result={"roots": _roots(found)}), "roots/list")

    def _sample(self, params: Json) -> Answer | Awaitable[Answer]:
        if not self._sampling.given:
            return Answer(
                error={"code": METHOD_NOT_FOUND, "message": "this client does not answer sampling requests"},
                warning="the server asked for sampling, which was refused "
                f"({way('--handle-sampling', 'sampling=')} answers it): "
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
            case function if callable(function):
                from mcp_conductor.protocol.questions import SamplingRequest

                return _answer_of(function, (SamplingRequest(params),), _sampled, "sampling/createMessage")
            case template:
                return Answer(result=template)

    def _elicit(self, params: Json) -> Answer | Awaitable[Answer]:
        if not self._elicitation.given:
            return Answer(
                result={"action": "decline"},
                warning="the server asked for elicitation, which was declined "
                f"({way('--handle-elicitation', 'elicitation=')} answers it): "
                f"{render(params)}",
            )
        chosen = self._elicitation.next()
        if chosen is None:
            return Answer(
                result={"action": "decline"},
                warning="the server asked for elicitation once more than there are answers",
            )
        if callable(chosen):
            from mcp_conductor.protocol.questions import ElicitationRequest

            asked = (ElicitationRequest(params),)
            return _answer_of(chosen, asked, lambda given: self._elicited(given, params), "elicitation/create")
        if chosen not in ("reject", "decline", "cancel") and params.get("mode", "form") == "url":
            return Answer(
                result={"action": "accept"}, warning=f"the server asks to visit this page: {params.get('url')}"
            )
        return self._elicited(chosen, params)

    def _elicited(self, chosen: Any, params: Json) -> Answer:
        """The answer that CHOSEN means; raises UsageError where it is none, or does not fit the form."""
        chosen = dict(chosen) if isinstance(chosen, Mapping) else chosen
        if not isinstance(chosen, dict) and chosen not in ("accept", *_ELICITATION_WORDS):
            raise UsageError(f"an elicitation is answered with an object, accept, decline or cancel; not {chosen!r}")
        if chosen in ("reject", "decline"):
            return Answer(result={"action": "decline"})
        if chosen == "cancel":
            return Answer(result={"action": "cancel"})
        mode = params.get("mode", "form")
        if mode == "url":
            whole = isinstance(chosen, dict) and _is_whole_result(chosen)
            return Answer(result=chosen if whole else {"action": "accept"})
        if mode != "form":
            return Answer(error={"code": INVALID_PARAMS, "message": f"unknown elicitation mode {mode!r}"})
        return self._accept({} if chosen == "accept" else chosen, params.get("requestedSchema", {}))

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


def _answer_of(
    function: Callable[..., Any], asked: tuple[object, ...], judge: Callable[[Any], Answer], method: str
) -> Answer | Awaitable[Answer]:
    """What JUDGE makes of what FUNCTION returns; what it raises is an answer too."""
    try:
        returned = function(*asked)
        return _awaited(returned, judge, method) if hasattr(returned, "__await__") else judge(returned)
    except Exception as error:  # noqa: BLE001  # a function of the user may raise anything; it is reported as theirs
        return _failed(error, method)


async def _awaited(returned: Awaitable[Any], judge: Callable[[Any], Answer], method: str) -> Answer:
    try:
        return judge(await returned)
    except Exception as error:  # noqa: BLE001  # as above
        return _failed(error, method)


def _failed(error: Exception, method: str) -> Answer:
    if isinstance(error, Refused):
        if method == "elicitation/create":
            return Answer(result={"action": "decline"})
        return Answer(error={"code": REJECTED, "message": error.message})
    if isinstance(error, MethodError) and isinstance(error.error, dict):
        return Answer(error=error.error)
    # The text of the error is for the user, and may hold what the server should not know.
    reply = {"code": INTERNAL_ERROR, "message": f"this client failed to answer {method}: {type(error).__name__}"}
    return Answer(error=reply, failure=error)


def _sampled(returned: Any) -> Answer:
    if isinstance(returned, str):
        content = {"type": "text", "text": returned}
        return Answer(result={"model": "unknown", "role": "assistant", "content": content, "stopReason": "endTurn"})
    if not isinstance(returned, Mapping):
        raise UsageError(f"sampling is answered with a text or an object, not {kind_of(returned)}")
    return Answer(result=sampling_answers(dict(returned)))


def _roots(given: Any) -> list[Json]:
    """GIVEN, checked to be roots."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence):
        raise UsageError(f'roots are a list of objects such as {{"uri": "file:///…"}}, not {kind_of(given)}')
    for root in given:
        if not isinstance(root, Mapping) or not isinstance(root.get("uri"), str):
            raise UsageError(f"a root is an object with a text uri, not {root!r}")
    return [dict(root) for root in given]


def sampling_answers(given: Any) -> Any:
    """GIVEN, checked to be something that sampling can be answered with."""
    for answer in given if isinstance(given, list) else [given]:
        if answer in ("auto", "reject") or callable(answer):
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
        if not isinstance(answer, dict) and not callable(answer) and answer not in _ELICITATION_WORDS:
            raise UsageError(f"an answer is auto, reject, cancel, a JSON object, or an array of these; not {answer!r}")
    return given
