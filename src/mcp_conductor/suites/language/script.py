"""The client's side of a test: what it answers when the server asks, in order, and what it expects to be asked."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import read_all
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import REJECTED, Answer, Answers
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND, Dialect
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding
from mcp_conductor.suites.language.actions import Names
from mcp_conductor.suites.language.client_tasks import OF_TASKS, ClientTasks
from mcp_conductor.suites.language.templates import Template
from mcp_conductor.suites.language.variables import Filling, Variables, filling
from mcp_conductor.suites.matching.expected import Expected, compile_expected
from mcp_conductor.values import dataclass

CLIENT_KEYS = ("roots", "sampling", "elicitation", "tasks")
_TASKS = "tasks."
_WHOLE_MESSAGE = {"role", "content", "model"}
_METHODS = {"sampling": "sampling/createMessage", "elicitation": "elicitation/create"}
_WORDS = {"sampling": ("auto", "reject"), "elicitation": ("auto", "accept", "decline", "reject", "cancel")}


@dataclass(frozen=True, slots=True)
class Turn:
    """One question that the server may ask, and the answer to it."""

    given: Field
    expect: Template | None
    reply: Filling | None
    error: Filling | None


@dataclass(frozen=True, slots=True)
class Script:
    """What `client` says: turns to be used up in order, or one that is used again and again."""

    turns: dict[str, tuple[Turn, ...]]
    always: dict[str, Turn]
    roots: Filling | None
    tasks: tuple[str, ...] = ()  # which questions may be asked as tasks

    @property
    def kinds(self) -> set[str]:
        """What it answers: sampling; `tasks.sampling`, where that may be asked as a task."""
        tasks = (f"{_TASKS}{kind}" for kind in self.tasks)
        return {*self.turns, *self.always, *(() if self.roots is None else ("roots",)), *tasks}

    @property
    def needs(self) -> frozenset[str]:
        """The variables that it is made of."""
        every = [*self.always.values(), *(turn for turns in self.turns.values() for turn in turns)]
        parts = [each.needs for turn in every for each in (turn.reply, turn.error) if each is not None]
        parts += [turn.expect.filling.needs for turn in every if turn.expect is not None]
        return frozenset().union(*parts, frozenset() if self.roots is None else self.roots.needs)


NOTHING_SCRIPTED = Script({}, {}, None)


def read_script(given: Field, known: Names) -> Script:
    members = given.members(CLIENT_KEYS)
    turns: dict[str, tuple[Turn, ...]] = {}
    always: dict[str, Turn] = {}
    for kind in _METHODS:
        if kind not in members:
            continue
        if isinstance(members[kind].value, list):
            turns[kind] = tuple(read_all(_turns_of(kind, known), members[kind].items()))
        else:
            always[kind] = _read_turn(members[kind], kind, known)
    roots = None
    if "roots" in members:
        members["roots"].items()
        roots = filling(members["roots"], known)
    tasks: tuple[str, ...] = ()
    if "tasks" in members:
        tasks = tuple(read_all(lambda field: field.one_of(tuple(OF_TASKS)), members["tasks"].items()))
    return Script(turns, always, roots, tasks)


def _turns_of(kind: str, known: Names) -> Callable[[Field], Turn]:
    return lambda given: _read_turn(given, kind, known)


def _read_turn(given: Field, kind: str, known: Names) -> Turn:
    if isinstance(given.value, dict) and set(given.value) & {"expect", "reply", "error"}:
        members = given.members(("expect", "reply", "error"))
        if ("reply" in members) == ("error" in members):
            given.refuse("needs either a reply or an error")
        expect = members.get("expect")
        return Turn(
            given,
            None if expect is None else Template(expect, known, lambda field: compile_expected(field, partial=True)),
            _read_reply(members["reply"], kind, known) if "reply" in members else None,
            filling(members["error"], known) if "error" in members else None,
        )
    return Turn(given, None, _read_reply(given, kind, known), None)


def _read_reply(given: Field, kind: str, known: Names) -> Filling:
    if kind == "elicitation" and isinstance(given.value, str) and "{{" not in given.value:
        given.one_of(_WORDS[kind])
    elif not isinstance(given.value, str):
        given.members()
    return filling(given, known)


class ScriptedAnswers(Answers):
    """Answers by script, and a record of what was not as scripted."""

    def __init__(self, kinds: Iterable[str]) -> None:
        super().__init__()
        self._kinds = frozenset(kinds)
        self._tasks = ClientTasks(frozenset(each for each in OF_TASKS if {each, _TASKS + each} <= self._kinds))
        self._left: dict[str, deque[Turn]] = {}
        self._always: dict[str, Turn] = {}
        self._variables: Variables | None = None
        self.roots = [] if "roots" in self._kinds else None
        self._asked: list[Finding | tuple[Template, Json]] = []  # what was not scripted; what was, to be judged

    def begin(self, scripts: tuple[Script, ...], variables: Variables) -> None:
        """From here on answer by SCRIPTS, of which later ones come first."""
        self._variables = variables
        self._asked = []
        self.roots = [] if "roots" in self._kinds else None
        self._left, self._always = {}, {}
        for script in scripts:
            self._left.update({kind: deque(turns) for kind, turns in script.turns.items()})
            self._always.update(script.always)
            for kind in script.always:
                self._left.pop(kind, None)
            if script.roots is not None:
                self.roots = [_root(each) for each in script.roots.filled(variables)]

    def unused_answers(self, script: Script) -> list[Finding]:
        """Findings for the answers of SCRIPT, the test's own, that the server did not ask for."""
        found = []
        for kind in script.turns:
            for turn in self._left.get(kind, ()):
                where = turn.given.document.locate(turn.given.path)
                found.append(Finding(message=f"the server did not ask for {_METHODS[kind]}", where=where))
        return found

    def findings(self) -> list[Finding]:
        """What the server asked for and should not have. The answers need not wait for that to be judged."""
        found: list[Finding] = []
        for each in self._asked:
            found += [each] if isinstance(each, Finding) else self._differences(*each)
        return found

    def _differences(self, wanted: Template, params: Json) -> Iterator[Finding]:
        assert self._variables is not None
        expected: Expected = wanted.make(self._variables)
        for each in expected.check(params):
            where = wanted.given.document.locate((*wanted.given.path, *each.at))
            message = f"what the server asked for: {'' if each.path else 'it '}{each.sentence}"
            yield Finding(message=message, path=each.path, expected=each.expected, actual=each.actual, where=where)

    def capabilities(self, dialect: Dialect) -> Json:
        declared: Json = {}
        if "roots" in self._kinds:
            declared["roots"] = {"listChanged": True} if dialect.handshake else {}
        if "sampling" in self._kinds:
            declared["sampling"] = {}
        if "elicitation" in self._kinds and dialect.elicitation is not None:
            declared["elicitation"] = dialect.elicitation
        if self._tasks.kinds and dialect.tasks == "core":
            declared["tasks"] = self._tasks.capability()
        return declared

    def to(self, method: str, params: Json, dialect: Dialect) -> Answer | Awaitable[Answer]:
        kind = next((kind for kind, each in _METHODS.items() if each == method), None)
        if kind is None:
            return self._tasks.to(method, params) or super().to(method, params, dialect)
        answer = self._to(kind, method, params)
        task = params.get("task")
        return self._tasks.make(answer, task) if isinstance(task, dict) and kind in self._tasks.kinds else answer

    def _to(self, kind: str, method: str, params: Json) -> Answer:
        left = self._left.get(kind)
        turn = left.popleft() if left else self._always.get(kind)
        if turn is None:
            message = f"the server asked for {method}, and the test has no answer to that"
            self._asked.append(Finding(message=message, actual=params, hint=f"client: {{{kind}: [{{reply: …}}]}}"))
            refused = {"code": METHOD_NOT_FOUND, "message": "the test has no answer to this"}
            return Answer(result={"action": "decline"}) if kind == "elicitation" else Answer(error=refused)
        return self._by(turn, kind, params)

    def _by(self, turn: Turn, kind: str, params: Json) -> Answer:
        assert self._variables is not None
        if turn.expect is not None:
            self._asked.append((turn.expect, params))
        if turn.error is not None:
            error = turn.error.filled(self._variables)
            return Answer(error=error if isinstance(error, dict) else {"code": REJECTED, "message": str(error)})
        assert turn.reply is not None
        reply = turn.reply.filled(self._variables)
        return _sampling_answer(reply) if kind == "sampling" else _elicitation_answer(reply, params)


def _sampling_answer(reply: Any) -> Answer:
    if reply == "reject":
        return Answer(error={"code": REJECTED, "message": "User rejected sampling request"})
    message = {"role": "assistant", "model": "scripted-model", "stopReason": "endTurn"}
    if isinstance(reply, dict) and reply.keys() >= _WHOLE_MESSAGE:  # it says all that it must: nothing is added
        return Answer(result=reply)
    if isinstance(reply, dict):
        return Answer(result={**message, "content": {"type": "text", "text": ""}, **reply})
    text = "" if reply == "auto" else reply if isinstance(reply, str) else compact(reply)
    return Answer(result={**message, "content": {"type": "text", "text": text}})


def _elicitation_answer(reply: Any, params: Json) -> Answer:
    if reply in ("decline", "reject"):
        return Answer(result={"action": "decline"})
    if reply == "cancel":
        return Answer(result={"action": "cancel"})
    if reply in ("accept", "auto"):
        from mcp_conductor.protocol.samples import filled_in  # with all that is known of JSON Schema

        content = {} if params.get("mode") == "url" else {"content": filled_in(params.get("requestedSchema"))}
        return Answer(result={"action": "accept", **content})
    if isinstance(reply, dict) and "action" not in reply:
        content = reply.get("content", reply) if set(reply) == {"content"} else reply
        return Answer(result={"action": "accept", "content": content})
    return Answer(result=reply)


def _root(given: Any) -> Json:
    return given if isinstance(given, dict) else {"uri": str(given)}
