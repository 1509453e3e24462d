"""What a test expects, and the findings when a reply differs: each with its place in the file."""

import re
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META, Dialect
from mcp_conductor.protocol.message import compact, kind_of
from mcp_conductor.report.model import NOTHING, Finding
from mcp_conductor.suites.language.actions import Names
from mcp_conductor.suites.language.keys import EXPECT_KEYS, IN_EXPECT, known_members
from mcp_conductor.suites.language.notifications import Notifications, read_notifications
from mcp_conductor.suites.language.templates import Template
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.matching.comparison import Mismatch
from mcp_conductor.suites.matching.differences import clipped
from mcp_conductor.suites.matching.expected import Expected, compile_expected, compile_text
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.suites.language.asserts import Assertion

_EXPECT_KEYS = tuple(EXPECT_KEYS)
_MAX_ERROR_TEXT = 600  # characters
_MODERN_MEMBERS = ("resultType", "ttlMs", "cacheScope")


@dataclass(slots=True)
class Observed:
    """What happened while a test ran."""

    dialect: Dialect
    reply: Json | None = None  # as it was sent; None: there was none
    seconds: float = 0.0
    notifications: list[Json] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)  # lines on stdout that are not messages
    stray_amid: list[str] = field(default_factory=list)  # those of them that came between a request and its reply
    notes: list[str] = field(default_factory=list)  # what else was odd
    tool: Json | None = None  # what tools/list says of the tool that was called
    refused: tuple[str, str] | None = None  # method and name, where a tool or a prompt was answered with an error
    silent: bool = False  # the reason for the missing reply has been reported already
    ended: bool = False  # whether the server has gone
    exit_code: int | None = None
    left_running: list[str] = field(default_factory=list)  # processes that outlived the server
    end_seconds: float = 0.0
    session: Json = field(default_factory=dict)  # what the server said of itself when the conversation was opened

    @property
    def document(self) -> Json:
        """The reply, with everything else that a path may begin with next to its members."""
        return {**(self.reply or {}), "session": self.session}


@dataclass(frozen=True, slots=True)
class Shutdown:
    """How the server is to end when its stdin is closed."""

    within: float
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Expect:
    """Everything that one test expects; what is None is not looked at."""

    given: Field
    response: Template | None = None
    result: Template | None = None
    ok: bool | None = None
    error: Template | None = None
    asserts: tuple[Template, ...] = ()
    notifications: Notifications | None = None
    stderr: Template | None = None
    clean_stdout: bool = True
    exit_code: int | None = None
    shutdown: Shutdown | None = None
    slowest: float | None = None
    quickest: float | None = None
    snapshot: bool = False
    silence: float | None = None  # seconds in which no reply may come

    @property
    def needs(self) -> frozenset[str]:
        """The variables that it is made of."""
        templates = (self.response, self.result, self.error, self.stderr, *self.asserts)
        listed = () if self.notifications is None else self.notifications.wanted
        return frozenset().union(*(each.filling.needs for each in (*templates, *listed) if each is not None))

    @property
    def checks_something(self) -> bool:
        if self.response is not None or self.result is not None:  # as of nearly all tests
            return True
        checked = (self.ok, self.error, self.notifications, self.stderr, self.exit_code)
        more = (self.shutdown, self.slowest, self.quickest, self.silence)
        return bool(self.asserts) or self.snapshot or any(each is not None for each in (*checked, *more))

    @property
    def wants_schema(self) -> bool:
        """Whether the reply is compared with what tools/list says of the tool that was called."""
        if self.given.document.lacks("outputSchema"):
            return False
        parts = [repr(each.given.value) for each in (self.response, self.result) if each is not None]
        return any("match:outputSchema" in part or "match:not:outputSchema" in part for part in parts)

    def doubts(self) -> Iterator[tuple[Location | None, str]]:
        """Assertions that are surely not what was meant, each with its place."""
        fixed: list[tuple[Template, Assertion]] = [
            (each, each.make(Variables())) for each in self.asserts if each.is_fixed
        ]
        names: dict[str, set[str]] = {}
        for template, assertion in fixed:
            where = template.given.document.locate(template.given.path)
            if assertion.doubt is not None:
                yield where, f"{assertion.text!r}: {assertion.doubt}"
            if assertion.is_of_names:
                path = assertion.path.text
                known = names.setdefault(path, set())
                known.add(assertion.predicate)
                if len(known) == 3:  # two may well be parts of each name
                    message = (
                        f"each value of `{path}` would have to contain all of these; `any {path} == …` is about one"
                    )
                    yield where, message

    @property
    def is_plain(self) -> bool:
        """Whether it is about the reply and stderr alone, and needs nothing else to be known."""
        if self.notifications is not None or self.asserts or self.silence is not None or self.snapshot:
            return False
        if self.exit_code is not None or self.shutdown is not None or self.wants_schema:
            return False
        for each in (self.response, self.result, self.error, self.stderr):
            if each is not None and not each.is_fixed:
                return False
        return True

    def findings(self, observed: Observed, variables: Variables, *, verbatim: bool) -> list[Finding]:
        """Every difference from what is expected, except snapshots."""
        found: list[Finding] = []
        if self.clean_stdout and observed.stray:
            found += [stray(line) for line in observed.stray]
        if observed.notes:
            found += [Finding(message=note, warning=True) for note in observed.notes]
        if self.silence is not None and observed.reply is not None:
            message = f"a reply came, but none was expected within {self.silence:g} s"
            found.append(Finding(message=message, actual=observed.reply, where=self._at("no_response_within")))
        differing = self._of_reply(observed, variables, verbatim=verbatim)
        found += self._told_by_error(differing, observed.reply, variables) if differing else differing
        if self.notifications is not None:
            found += self.notifications.findings(observed.notifications, variables)
        if self.stderr is not None:
            found += self._of_stderr(observed, variables)
        if self.exit_code is not None or self.shutdown is not None:
            found += self._of_end(observed)
        if self.slowest is not None or self.quickest is not None:
            found += self._of_time(observed)
        return found

    def _at(self, key: str) -> Location | None:
        return self.given.document.locate((*self.given.path, key))

    def _of_reply(self, observed: Observed, variables: Variables, *, verbatim: bool) -> list[Finding]:
        if observed.reply is None:
            wanted = (self.response, self.result, self.ok, self.error, self.asserts or None)
            if any(each is not None for each in wanted) and self.silence is None and not observed.silent:
                return [
                    Finding(message="there is no reply to check", where=self.given.document.locate(self.given.path))
                ]
            return []
        found: list[Finding] = []
        reply = observed.reply
        if self.response is not None:
            expected = self.response.make(variables)
            shown = plain(reply, observed.dialect, self.response.given.value, verbatim=verbatim)
            found += _comparison_findings(self.response.given, expected, shown, observed.tool)
        if self.result is not None:
            found += self._of_result(self.result, reply, observed, variables)
        if self.ok is not None or self.error is not None:
            found += self._of_error(reply, variables)
        return found + self._of_asserts(observed, variables) if self.asserts else found

    def _of_asserts(self, observed: Observed, variables: Variables) -> list[Finding]:
        document = {**observed.document, "duration": observed.seconds, "notifications": observed.notifications}
        found: list[Finding] = []
        for each in self.asserts:
            assertion: Assertion = each.make(variables)
            complaint = assertion.check(document)
            if complaint is not None:
                where = each.given.document.locate(each.given.path)
                path = assertion.path.text
                hint = assertion.hint(document)
                found.append(Finding(message=f"{path} {complaint}", path=path, where=where, hint=hint))
        return found

    def _told_by_error(self, differing: list[Finding], reply: Json | None, variables: Variables) -> list[Finding]:
        """DIFFERING; where REPLY is an error, and a success was expected, the error instead of what follows from it."""
        error = None if reply is None else answered_error(reply)
        if error is None or self._expects_error(variables):
            return differing
        follows: list[Finding] = []
        others: list[Finding] = []
        for each in differing:
            (follows if each.whole or re.match(r"(result|error)\b", each.path or "") else others).append(each)
        place = next((each.where for each in follows if not each.whole), None)
        return differing if place is None else [replace(error, where=place), *others]

    def _expects_error(self, variables: Variables) -> bool:
        """Whether more than success is expected: an error, or `isError` with a value that may be true."""
        if self.ok is False or self.error is not None:
            return True
        replies = [] if self.response is None else [self.response.given.value]
        results = [each for reply in replies for each in _members(reply, "result")]
        results += [] if self.result is None else [self.result.given.value]
        if any(_mentions(reply, "error") for reply in replies):
            return True
        if any(value is not False for result in results for value in _members(result, "isError")):
            return True
        success, failure = ({"result": {"isError": value}} for value in (False, True))
        assertions: list[Assertion] = [each.make(variables) for each in self.asserts]
        return any(
            each.path.parts[0].steps[:1] == ("error",)
            or (
                "isError" in each.path.parts[0].steps
                and each.check(failure) is None
                and each.check(success) is not None
            )
            for each in assertions
        )

    def _of_result(self, wanted: Template, reply: Json, observed: Observed, variables: Variables) -> list[Finding]:
        if "result" not in reply:
            where = wanted.given.document.locate(wanted.given.path)
            message = f"the reply is an error, not a result: {compact(reply.get('error'))}"
            return [Finding(message=message, path="error", actual=reply.get("error"), where=where)]
        shown = plain(reply, observed.dialect, {"result": wanted.given.value}, verbatim=True)["result"]
        return _comparison_findings(wanted.given, wanted.make(variables), shown, observed.tool, below="result")

    def _of_error(self, reply: Json, variables: Variables) -> list[Finding]:
        problem = error_of(reply)
        if self.ok is True and problem is not None:
            told = answered_error(reply)
            if told is None:
                message = f"the result is an error: {problem.get('message')}"
                told = Finding(message=message, path=_error_path(reply), actual=problem)
            return [replace(told, where=self._at("ok"))]
        if problem is None and (self.ok is False or self.error is not None):
            key = "ok" if self.error is None else "error"
            message = "the request succeeded with a result, but an error is expected"
            return [Finding(message=message, path="result", actual=reply.get("result", NOTHING), where=self._at(key))]
        if self.error is None or problem is None:
            return []
        path, expected = _error_path(reply), self.error.make(variables)
        if isinstance(self.error.given.value, dict):
            found = _comparison_findings(self.error.given, expected, problem, None, below=path)
            if found and path == "result" and any(_mentions(self.error.given.value, key) for key in ("code", "data")):
                told = answered_error(reply, instead=" result (isError), not with a JSON-RPC error")
                return found if told is None else [replace(told, where=self._at("error"))]
            return found
        path = "error.message" if path == "error" else _place_of_text(reply["result"])
        return _comparison_findings(self.error.given, expected, problem.get("message"), None, below=path)

    def _of_stderr(self, observed: Observed, variables: Variables) -> list[Finding]:
        assert self.stderr is not None
        check: Callable[[str], str | None] = self.stderr.make(variables)
        text = "".join(f"{line}\n" for line in observed.stderr)
        complaint = check(text)
        if complaint is None:
            return []
        return [Finding(message=f"stderr {complaint}", actual=text, where=self._at("stderr"))]

    def _of_end(self, observed: Observed) -> list[Finding]:
        found: list[Finding] = []
        wanted, key, limit = self.exit_code, "exitCode", None
        if self.shutdown is not None:
            wanted, key, limit = self.shutdown.exit_code, "shutdown", self.shutdown.within
        if not observed.ended:
            when = "although it was expected to end" if limit is None else f"{limit:g} s after its stdin was closed"
            found.append(Finding(message=f"the server is still running {when}", where=self._at(key)))
        elif wanted is not None and observed.exit_code != wanted:
            message = f"the server ended with exit code {observed.exit_code}, not {wanted}"
            found.append(Finding(message=message, expected=wanted, actual=observed.exit_code, where=self._at(key)))
        left = [f"the server left a process running: {process}" for process in observed.left_running]
        return found + [Finding(message=message, where=self._at(key)) for message in left]

    def _of_time(self, observed: Observed) -> list[Finding]:
        if self.slowest is not None and observed.seconds > self.slowest:
            limit = f"more than {self.slowest * 1000:g} ms"
        elif self.quickest is not None and observed.seconds < self.quickest:
            limit = f"less than {self.quickest * 1000:g} ms"
        else:
            return []
        message = f"the reply took {observed.seconds * 1000:.0f} ms, {limit}"
        return [Finding(message=message, where=self._at("performance"))]


def stray(line: str) -> Finding:
    hint = "stdout is for messages alone; logs belong on stderr (`stdout: any` allows it)"
    return Finding(message=f"the server printed a line that is not a message: {line!r}", actual=line, hint=hint)


def error_of(reply: Json) -> Json | None:
    """The error in REPLY: a JSON-RPC error, or the text of a tool result with isError; None without one."""
    if "error" in reply:
        error = reply["error"]
        return error if isinstance(error, dict) else {"message": compact(error)}
    if "result" not in reply:
        return {"message": "the reply has neither a result nor an error"}
    result = reply["result"]
    is_error = result.get("isError") if isinstance(result, dict) else None
    if is_error is None or is_error is False:
        return None
    if is_error is not True:
        return {"message": f"isError is {kind_of(is_error)}, neither true nor false", "isError": is_error}
    return {"message": "\n".join(_texts(result).values()), "isError": True}


def _texts(result: Json) -> dict[int, str]:
    """The texts in the content of RESULT, by their places."""
    blocks = result.get("content")
    return {
        place: block["text"]
        for place, block in enumerate(blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    }


def _place_of_text(result: Json) -> str:
    texts = _texts(result)
    return f"result.content[{next(iter(texts)) if len(texts) == 1 else '*'}].text"


def answered_error(reply: Json, *, instead: str = "") -> Finding | None:
    """The finding that tells the error in REPLY, if there is one; INSTEAD says what it is not, of a tool's."""
    problem = error_of(reply)
    if problem is None:
        return None
    text = problem.get("message")
    told = clipped(text if isinstance(text, str) else compact(text), _MAX_ERROR_TEXT)
    if "error" in reply:
        code = f" (code {compact(problem['code'])})" if "code" in problem else ""
        message = f"the server answered with an error{code}: {told}"
        return Finding(message=message, path="error", actual=reply["error"])
    if problem.get("isError") is not True:
        return None
    if not text:
        message = f"the tool answered with an error{instead}, and without a text that says why"
        return Finding(message=message, path="result", actual=reply["result"])
    message = f"the tool answered with an error{instead}: {told}"
    return Finding(message=message, path=_place_of_text(reply["result"]), actual=text)


def _error_path(reply: Json) -> str:
    return "error" if "error" in reply else "result"


def plain(reply: Json, dialect: Dialect, wanted: Any, *, verbatim: bool) -> Json:
    """REPLY without what a test cannot expect: an id that it did not give, and what the modern era adds to results."""
    if verbatim and dialect.handshake:
        return reply
    asked = wanted if isinstance(wanted, dict) else {}
    shown = {
        key: value for key, value in reply.items() if verbatim or key not in ("jsonrpc", "id") or _mentions(asked, key)
    }
    result = shown.get("result")
    if dialect.handshake or not isinstance(result, dict):
        return shown
    about = next(_members(asked, "result"), asked)
    kept = {key: value for key, value in result.items() if key not in _MODERN_MEMBERS or _mentions(about, key)}
    if isinstance(kept.get("_meta"), dict) and not _mentions(about, "_meta"):
        kept["_meta"] = {key: value for key, value in kept["_meta"].items() if key != f"{META}serverInfo"}
        if not kept["_meta"]:
            del kept["_meta"]
    return {**shown, "result": kept}


def _mentions(wanted: Any, key: str) -> bool:
    """Whether an expectation says anything of a member, however deep in special keys it stands."""
    return any(True for _ in _members(wanted, key))


def _members(wanted: Any, key: str) -> Iterator[Any]:
    """What an expectation says of a member, here or below special keys."""
    for name, value in wanted.items() if isinstance(wanted, dict) else ():
        if name == key:
            yield value
        elif name.startswith("match:"):
            yield from _members(value, key)


def _comparison_findings(
    given: Field, expected: Expected, actual: Any, tool: Json | None, *, below: str = ""
) -> list[Finding]:
    mismatches = expected.check(actual, None if tool is None else {str(tool.get("name")): tool})
    found = [_finding(given, each, below) for each in mismatches]
    if len(mismatches) > 1 and not expected.has_matchers and isinstance(given.value, dict | list):
        where = given.document.locate(given.path)
        message = f"the whole {below or 'reply'} differs"
        found.append(Finding(message=message, path=below, expected=given.value, actual=actual, where=where, whole=True))
    return found


def _finding(given: Field, mismatch: Mismatch, below: str) -> Finding:
    path = _below(below, mismatch.path)
    return Finding(
        message=f"{path or 'the reply'} {mismatch.message}",
        path=path,
        expected=mismatch.expected,
        actual=mismatch.actual,
        where=given.document.locate((*given.path, *mismatch.at)),
        hint=mismatch.hint,
    )


def _below(parent: str, path: str | None) -> str:
    if not path:
        return parent
    return f"{parent}{path}" if path.startswith("[") or not parent else f"{parent}.{path}"


# Reading.


def read_expect(given: Field, known: Names) -> Expect:
    """What stands under `expect`."""
    if given.value == "snapshot":
        return Expect(given, snapshot=True)
    mistakes = Mistakes()
    members = known_members(given, _EXPECT_KEYS, IN_EXPECT, mistakes)
    found: dict[str, Any] = {}
    for key, each in members.items():
        try:
            found.update(_READ[key](each, known))
        except UsageError as error:
            mistakes.add(error)
    mistakes.tell()
    return Expect(given, **found)


def _read_asserts(given: Field, known: Names) -> tuple[Template, ...]:
    if isinstance(given.value, str):
        hint = f"each assertion is an element: asserts: [{compact(given.value)}]"
        given.refuse("must be an array, not a string", hint)
    from mcp_conductor.suites.language.asserts import compile_assert  # and the matchers that it names

    return tuple(read_all(lambda item: Template(item, known, compile_assert), given.items()))


def _read_performance(given: Field) -> Json:
    members = {"maxResponseTime": "slowest", "minResponseTime": "quickest"}
    return {members[key]: bound.seconds() for key, bound in given.members(tuple(members)).items()}


def _compile_error(given: Field) -> Expected:
    if not isinstance(given.value, (str, dict)) or given.value == "":
        given.refuse(
            f"must be a text, a pattern or an object, not {kind_of(given.value)}", "`ok: false` takes any error"
        )
    return compile_expected(given, partial=True)


def _read_shutdown(given: Field) -> Shutdown:
    members = given.members(("within", "exitCode"))
    within = members["within"].seconds() if "within" in members else 2.0
    return Shutdown(within, members["exitCode"].integer(-255, 255) if "exitCode" in members else None)


def _template(member: str, make: Callable[[Field], Any]) -> Callable[..., Json]:
    return lambda field, known: {member: Template(field, known, make)}


def _value(member: str, read: Callable[[Field], Any]) -> Callable[..., Json]:
    return lambda field, known: {member: read(field)}  # noqa: ARG005  # values have no placeholders


# The members of an `Expect` that each key gives.
_READ: dict[str, Callable[..., Json]] = {
    "response": _template("response", compile_expected),
    "result": _template("result", compile_expected),
    "ok": _value("ok", Field.boolean),
    "error": _template("error", _compile_error),
    "asserts": lambda field, known: {"asserts": _read_asserts(field, known)},
    "notifications": lambda field, known: {"notifications": read_notifications(field, known)},
    "stderr": _template("stderr", compile_text),
    "stdout": _value("clean_stdout", lambda field: field.one_of(("clean", "any")) != "any"),
    "exitCode": _value("exit_code", lambda field: field.integer(-255, 255)),
    "shutdown": _value("shutdown", _read_shutdown),
    "performance": lambda field, known: _read_performance(field),  # noqa: ARG005  # two members, no placeholders
    "snapshot": _value("snapshot", Field.boolean),
    "no_response_within": _value("silence", Field.seconds),
}
