"""A suite from a recording: each request that was answered becomes a test that expects the recorded answer.

Values that came in an answer and were sent later become captures; values that cannot be the same the next time become
patterns; what the client answered to the server becomes the scripted client. What was left out of the recording as a
secret becomes a variable of the environment.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE, RELATED_TASK
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.protocol.paging import LIST_MEMBERS, cursor_in, with_cursor
from mcp_conductor.recording.dialogue import Asked, Dialogue, Question
from mcp_conductor.recording.flows import Flow, Place, flows
from mcp_conductor.recording.opening import OPENINGS, Opening, opening_of
from mcp_conductor.suites.authoring.case_drafts import CaseDraft
from mcp_conductor.suites.authoring.discover import Discovery, WrittenCase, expected_case
from mcp_conductor.suites.authoring.personal import NOTHING_PERSONAL, Personal
from mcp_conductor.suites.authoring.recorded_rounds import ASKED, Rounds
from mcp_conductor.suites.authoring.recorder import Recorder, literally, plain_data
from mcp_conductor.suites.authoring.trials import Tried
from mcp_conductor.suites.authoring.yaml_text import is_writable
from mcp_conductor.suites.language.client_tasks import OF_TASKS
from mcp_conductor.suites.language.expectations import Observed
from mcp_conductor.suites.matching.paths import spelled
from mcp_conductor.text.redaction import REDACTED
from mcp_conductor.values import dataclass

_LISTS = {
    "tools/list": ("tools", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("templates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}
_VERBS = {"tools/call": "calls", "resources/read": "reads", "prompts/get": "gets the prompt"}
_MARK = "\ue000"  # around the name of a variable, until braces that are no placeholders have been escaped
_CAPABILITIES = f"{META}clientCapabilities"
_WAIT = "30s"  # for the end of a task


@dataclass(frozen=True, slots=True)
class RecordedSuite:
    """A recording as a suite."""

    found: Discovery
    protocol: str | None
    client: Json  # what the client answers in all tests
    variables: tuple[str, ...]  # of the environment, which stand for secrets


def suite_of(dialogue: Dialogue, *, began: float, personal: Personal = NOTHING_PERSONAL) -> RecordedSuite:
    """The suite for DIALOGUE, whose recording BEGAN at this Unix time; what is PERSONAL is not expected."""
    return _Author(dialogue, began, personal).suite()


class _Author:
    """Writes the suite of one recording."""

    def __init__(self, dialogue: Dialogue, began: float, personal: Personal) -> None:
        self._dialogue = dialogue
        self._opening = _opening(dialogue)
        self._dialect = NEWEST_HANDSHAKE if self._opening is None else self._opening.dialect
        self._names: dict[str, str] = {}  # of the variables for values that flow
        self._flows: dict[int, list[Flow]] = {}
        lists = {each.number for each in dialogue.asked if _is_whole_list(each)}
        for flow in flows(dialogue):
            if flow.source.exchange in lists:  # names and URIs, which the test of the list expects to stay
                continue
            self._flows.setdefault(flow.source.exchange, []).append(flow)
        self._changing = {str(flow.value) for flows in self._flows.values() for flow in flows}
        self._tasks = _ended_tasks(dialogue.questions)
        self._recorder = Recorder(
            now=began,
            personal=personal,
            flowing=(*self._changing, *self._tasks),  # our client gives its tasks other ids
            redact=lambda text: text.replace(REDACTED, ""),
        )
        self._rounds = Rounds.of(dialogue)
        self._secrets: dict[str, None] = {}
        self._titles: dict[str, int] = {}
        self._answers: dict[str, Any] = {}  # the first one to each request
        for each in dialogue.asked:
            if each.awaited and each.reply is not None:
                self._answers[_key(each)] = each.reply.raw

    def suite(self) -> RecordedSuite:
        cases = tuple(case for asked in self._dialogue.asked for case in self._case(asked))
        opened = {} if self._opening is None else self._opening.result
        server = opened.get("serverInfo") or _members(opened.get("_meta")).get(f"{META}serverInfo")
        return RecordedSuite(
            Discovery(server if isinstance(server, dict) else {}, cases),
            None if self._opening is None else self._dialect.version,
            self._client(),
            tuple(self._secrets),
        )

    def _client(self) -> Json:
        """What the client offers: a server may have other tools for one that offers less."""
        params = {} if self._opening is None else self._opening.request.params
        meta = _members(params.get("_meta"))
        offered = _members(params.get("capabilities") or meta.get(_CAPABILITIES))
        kinds: Json = {kind: "auto" for kind in ("sampling", "elicitation") if kind in offered}
        roots = (each.answer for each in self._dialogue.questions if each.message.method == "roots/list")
        answer = next((each.raw.get("result") for each in roots if each is not None), None) or self._rounds.roots()
        if "roots" in offered:
            kinds["roots"] = plain_data(_members(answer).get("roots", []))
        of_tasks = _members(_members(offered.get("tasks")).get("requests"))
        if tasks := [kind for kind, name in OF_TASKS.items() if kind in kinds and name in _members(of_tasks.get(kind))]:
            kinds["tasks"] = tasks
        return kinds

    # One request.

    def _case(self, asked: Asked) -> Iterator[WrittenCase]:
        method = asked.request.method
        if method in OPENINGS or self._rounds.is_part(asked):
            return
        draft = CaseDraft(group="What was recorded", what=f"request {asked.number}, {method}", title=self._title(asked))
        if (gap := self._gap(asked)) is not None:
            yield WrittenCase(replace(draft, gap=gap), {"ok": True})
            return
        assert asked.reply is not None
        if _is_whole_list(asked):
            word, pins = _LISTS[method]
            draft = replace(draft, action={"list": word}, pins=pins)
        else:
            draft = replace(draft, action=self._action(asked))
        first, last = asked.reply.raw, self._changed(self._answers[_key(asked)])
        if all(cursor_in(method, each) is not None for each in (first, last)):  # it may be any text
            first, last = with_cursor(first, "a"), with_cursor(last, "b")
        attempts = [Tried(Observed(self._dialect, each)) for each in (first, last)]
        yield expected_case(draft, attempts, self._recorder)

    def _gap(self, asked: Asked) -> str | None:
        if not asked.awaited or asked.reply is None or asked.reply.kind not in ("result", "error"):
            return "the client cancelled it" if asked.cancelled else "the recording has no answer to it"
        params, result = asked.request.params, asked.result
        if ("inputResponses" in params or "requestState" in params) and not self._rounds.before(asked):
            return "it answers questions that the recording does not have"
        if (malformed := _malformed(asked)) is not None:
            return malformed
        if not is_writable(params):
            return "what it sends cannot be written in a test file"
        if asked.request.method == "tasks/get" and result.get("status") == "working":
            return "how far a task has come is a matter of time"
        if result.get("resultType") == "input_required":
            return "the server asks for input in place of an answer"
        return None

    def _action(self, asked: Asked) -> Json:
        before = self._rounds.before(asked)
        method, params = asked.request.method, self._sent(before[0] if before else asked)
        action = _shorthand(method, params) or {"request": {"method": method, **({"params": params} if params else {})}}
        if method == "tasks/get":
            action["until"] = _WAIT
        script = self._rounds.script(asked) or _script(asked.questions, self._tasks)
        if script:
            action["client"] = script
        captures = {self._name(flow): _capture(flow.source) for flow in self._flows.get(asked.number, ())}
        if captures:
            action["capture"] = captures
        return action

    def _sent(self, asked: Asked) -> Json:
        """What is sent, as it stands in the suite; what our client adds by itself is left out."""
        params, meta = asked.request.params, asked.request.params.get("_meta")
        if isinstance(meta, dict):
            unused = () if asked.progress else ("progressToken",)
            # What our client adds is left out; but it declares no extension, which a task may need.
            ours = () if _is_about_task(asked) and "extensions" in (meta.get(_CAPABILITIES) or {}) else (_CAPABILITIES,)
            left = {
                key: each
                for key, each in meta.items()
                if key not in (*unused, *ours) and (key == _CAPABILITIES or not key.startswith(META))
            }
            params = {key: each for key, each in params.items() if key != "_meta"} | ({"_meta": left} if left else {})
        sent: Json = _with_variables(plain_data(self._marked(params, "SECRET")))
        return sent

    def _marked(self, value: Any, name: str) -> Any:
        """VALUE with marks where a variable stands; NAME is what a secret here would be called."""
        if isinstance(value, dict):
            return {key: self._marked(member, key) for key, member in value.items()}
        if isinstance(value, list):
            return [self._marked(item, name) for item in value]
        if isinstance(value, str) and REDACTED in value:
            variable = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper() or "SECRET"
            self._secrets[variable] = None
            return value.replace(REDACTED, f"{_MARK}env.{variable}{_MARK}")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            return value
        if str(value) in self._names:
            return f"{_MARK}{self._names[str(value)]}{_MARK}"
        if isinstance(value, str):
            for known, variable in self._names.items():
                value = value.replace(known, f"{_MARK}{variable}{_MARK}")
        return value

    def _name(self, flow: Flow) -> str:
        """The name of a variable for the value of FLOW, which can be used from now on."""
        steps = [step for step in (*flow.source.path, *(flow.source.inner or ())) if isinstance(step, str)]
        word = re.sub(r"\W+", "_", steps[-1], flags=re.ASCII).strip("_") or "value"
        word = "value" if word[0].isdigit() or word in ("env", "text") else word
        taken = set(self._names.values())
        name = next(each for each in (word, *(f"{word}_{n}" for n in range(2, len(taken) + 3))) if each not in taken)
        self._names[str(flow.value)] = name
        return name

    def _changed(self, reply: Any) -> Any:
        """REPLY with other numbers where some flow: what differs is not expected."""
        if isinstance(reply, dict):
            return {key: self._changed(member) for key, member in reply.items()}
        if isinstance(reply, list):
            return [self._changed(item) for item in reply]
        flows = isinstance(reply, int) and not isinstance(reply, bool) and str(reply) in self._changing
        return reply + 1 if flows else reply

    def _title(self, asked: Asked) -> str:
        method, params = asked.request.method, asked.request.params
        about = next((params[key] for key in ("name", "uri") if isinstance(params.get(key), str)), "")
        said = f"{_VERBS[method]} {about}" if method in _VERBS else f"answers {method}"
        title = said if is_writable(said) and REDACTED not in said else f"answers {method}"
        count = self._titles[title] = self._titles.get(title, 0) + 1
        return title if count == 1 else f"{title} ({count})"


def _opening(dialogue: Dialogue) -> Opening | None:
    """What opened DIALOGUE; if no revision that we know was agreed on, the first attempt."""
    tried = (each for each in dialogue.asked if each.method in OPENINGS)
    first = next((Opening(NEWEST_HANDSHAKE, each.request, each.result) for each in tried), None)
    return opening_of((each.request, each.reply) for each in dialogue.asked) or first


def _is_whole_list(asked: Asked) -> bool:
    """Whether it asks for a list, and all of it came."""
    paged = "cursor" in asked.request.params or "nextCursor" in asked.result
    return asked.request.method in _LISTS and not paged


def _malformed(asked: Asked) -> str | None:
    """What in the answer is not as every test would need it."""
    assert asked.reply is not None
    kind = asked.reply.kind
    if not isinstance(asked.reply.raw[kind], dict):
        return f"its {kind} is not an object"
    member = LIST_MEMBERS.get(asked.request.method)
    if member is not None and kind == "result" and not isinstance(asked.result.get(member), list):
        return f"{member} of its result is not a list"
    return None


def _members(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _key(asked: Asked) -> str:
    return compact([asked.request.method, {key: each for key, each in asked.request.params.items() if key != "_meta"}])


def _is_about_task(asked: Asked) -> bool:
    return asked.request.method.startswith("tasks/") or "taskId" in asked.result


def _shorthand(method: str, params: Mapping[str, Any]) -> Json | None:
    """What a test file has for METHOD, where it can say all of PARAMS."""
    name, arguments = params.get("name"), params.get("arguments") or {}
    match method:
        case "tools/call" if isinstance(name, str) and set(params) <= {"name", "arguments"}:
            return {"call": {"tool": name, **({"args": arguments} if arguments else {})}}
        case "resources/read" if isinstance(params.get("uri"), str) and set(params) == {"uri"}:
            return {"read": params["uri"]}
        case "prompts/get" if isinstance(name, str) and set(params) <= {"name", "arguments"}:
            return {"prompt": {"name": name, "args": arguments} if arguments else name}
    return None


def _script(questions: list[Question], tasks: Mapping[str, Message]) -> Json:
    """What the client answered, in order; by TASKS, what these ended with."""
    script: Json = {}
    for question in questions:
        kind, answer = ASKED.get(question.message.method), question.answer
        if (task := _task_in(answer)) is not None:
            answer = tasks.get(task)
        if kind is None or answer is None or not is_writable(answer.raw):
            continue
        member = "reply" if answer.kind == "result" else "error"
        said = answer.raw["result" if member == "reply" else "error"]
        if task is not None and isinstance(said, dict):  # our client says by itself which task it was
            meta = {key: each for key, each in _members(said.get("_meta")).items() if key != RELATED_TASK}
            said = {key: each for key, each in said.items() if key != "_meta"} | ({"_meta": meta} if meta else {})
        script.setdefault(kind, []).append({member: plain_data(said)})
    return script


def _ended_tasks(questions: list[Question]) -> dict[str, Message]:
    """What the tasks of the client ended with, by their ids."""
    found: dict[str, Message] = {}
    for question in questions:
        task = question.message.params.get("taskId")
        if question.message.method == "tasks/result" and isinstance(task, str) and question.answer is not None:
            found[task] = question.answer
    return found


def _task_in(answer: Message | None) -> str | None:
    """The id of the task that ANSWER is in place of an answer."""
    result = answer.raw.get("result") if answer is not None and answer.kind == "result" else None
    task = _members(_members(result).get("task")).get("taskId")
    return task if isinstance(task, str) else None


def _capture(place: Place) -> Any:
    path = spelled(place.path)
    if place.inner is not None:
        return {"from": path, "json": spelled(place.inner)}
    if place.prefix is None:
        return path
    before = f"(?:[^]*?{literally(place.prefix)}){{{place.occurrence}}}" if place.occurrence else ""
    return {"from": path, "regex": f"^{before}([\\w-]+)"}


def _with_variables(value: Any) -> Any:
    """VALUE with placeholders for its marks."""
    if isinstance(value, dict):
        return {key: _with_variables(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_with_variables(item) for item in value]
    return re.sub(f"{_MARK}([^{_MARK}]*){_MARK}", r"{{ \1 }}", value) if isinstance(value, str) else value
