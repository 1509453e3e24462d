"""An exploration of all that a server declares: lists, resources, prompts, and the tools that may be called.

It uses a server as a careful client does, so that there is a conversation to judge. What is not declared is not used.
"""

from collections import Counter
from collections.abc import Collection, Coroutine
from contextlib import suppress
from time import perf_counter
from typing import Any

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.checks.engine.findings import SERVER_ERROR
from mcp_conductor.checks.engine.first_session import SPREAD, spread_message
from mcp_conductor.checks.engine.probe import Found
from mcp_conductor.checks.engine.sessions import answers_anything, silent
from mcp_conductor.checks.engine.unanswered import PATIENCE
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, HttpStatusError, ProtocolError, RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.samples import filled_in
from mcp_conductor.protocol.schema import complaints
from mcp_conductor.protocol.schema_weight import is_vast
from mcp_conductor.protocol.transcript import Transcript

MOST_CALLS = 100  # tools that are called, of those that no person named
MOST_ITEMS = 25  # of each kind that are used; all are listed
MOST_PAGES = 200  # of one list
LONGEST_LIST = 10.0  # seconds for all pages of one list
BUSY = 3  # how much longer than an answer a server may be busy with the call before
MOST_LATE = 3  # requests of one method that are not answered in time, before it is left
ALL = "all"
_LATE = "was not answered in time"
_FAILED = "failed"
_OTHER_IDS = "its answers have other ids than our requests"
NO_SUCH_URI = "x-conductor-unknown:///no-such-resource"
# Where the server has nothing to work at: a method that does not answer this either is not slow.
_UNKNOWN: dict[str, Json] = {
    "tools/call": {"name": "conductor-no-such-tool", "arguments": {}},
    "resources/read": {"uri": NO_SUCH_URI},
    "prompts/get": {"name": "conductor-no-such-prompt"},
}


async def explore(session: Session, call: Collection[str] | str) -> Found:
    """Use what the server of SESSION declares. CALL: which tools besides the read-only ones may be called, or ALL."""
    explorer = _Explorer(session)
    with suppress(_SilentError):
        await explorer.everywhere(call)
    return explorer.found


class _SilentError(Exception):
    """The server has stopped answering, or is gone: the exploration ends."""


class _Explorer:
    def __init__(self, session: Session) -> None:
        self.found = Found()
        self._session = session
        self._problem: str | None = None  # what came of the last request, if it was no result
        self._broken = False  # whether what came over HTTP was no answer
        self._late: Counter[str] = Counter()  # by method
        self._untried: Counter[str] = Counter()

    async def everywhere(self, call: Collection[str] | str) -> None:
        session, found = self._session, self.found
        if "tools" in session.capabilities:
            found.tools = await self._list("tools/list", "tools")
        if "resources" in session.capabilities:
            found.resources = await self._list("resources/list", "resources")
            found.templates = await self._list("resources/templates/list", "resourceTemplates")
        if "prompts" in session.capabilities:
            found.prompts = await self._list("prompts/list", "prompts")
        for resource in found.resources[:MOST_ITEMS]:
            if isinstance(resource.get("uri"), str):
                await self._try("resources/read", {"uri": resource["uri"]})
        for prompt in found.prompts[:MOST_ITEMS]:
            await self._try("prompts/get", prompt_params(prompt))
        for tool in self._some_of([tool for tool in found.tools if may_call(tool, call)], call):
            await self._call(tool)
        if session.dialect.handshake:
            await self._try("ping", None)
            if "logging" in session.capabilities:
                await self._try("logging/setLevel", {"level": "debug"})
        for method, count in self._untried.items():
            if count:
                found.remarks.append(
                    f"{count} more of {method} were not tried, since it is not answered in time (--timeout)"
                )

    async def _list(self, method: str, member: str) -> list[Json]:
        items: list[Json] = []
        began = perf_counter()
        try:
            await self._await_result(self._turn_the_pages(method, member, items))
        except _SilentError:
            if not items:
                why = "was answered on several lines" if self.found.spread else _LATE
                self.found.unlisted = f"{method} {why}, so that nothing of the {member} was seen"
            raise
        if self._problem == _LATE:
            self.found.unanswered_requests.missed(self._session, method)
        elif self._broken:
            self.found.unanswered_requests.broken(self._session, method)
        else:
            self.found.unanswered_requests.answered(method, seconds=perf_counter() - began)
            if items:
                self.found.unanswered_requests.served(method)
        if self._problem is not None and member == "tools":
            self.found.unread_tools = f"{method} {self._problem}"
        if self._problem is not None and items:
            self.found.remarks.append(
                f"{method} was not read to its end: after {len(items)} items a page {self._problem}"
            )
        if self._problem is not None and not items and member != "resourceTemplates":
            self.found.unlisted = f"{method} {self._problem}, so that nothing of the {member} was seen"
        return items

    async def _turn_the_pages(self, method: str, member: str, items: list[Json]) -> None:
        """Add all items of a list to ITEMS; of one that seems to have no end, the first pages."""
        began, pages = perf_counter(), 0
        async for page in self._session.pages(method):
            listed = page.get(member) if isinstance(page, dict) else None
            if not isinstance(listed, list):
                self._session.note(f"{method}: the result has no array {member!r}")
                if member == "tools":
                    self.found.unread_tools = f"the result of {method} has no array {member!r}"
                return
            items += [item for item in listed if isinstance(item, dict)]
            pages, seconds = pages + 1, perf_counter() - began
            if page.get("nextCursor") and (pages == MOST_PAGES or seconds > LONGEST_LIST):
                figures = f"{len(items)} items on {pages} pages in {seconds:.1f} s, and a cursor for more"
                self.found.remarks.append(f"{method} was not read to its end: {figures}")
                if member == "tools":
                    self.found.unread_tools = f"{method} was not read to its end"
                return

    def _some_of(self, tools: list[Json], call: Collection[str] | str) -> list[Json]:
        """The tools that are called: all, if they are not very many, and those that a person named."""
        if len(tools) <= MOST_CALLS:
            return tools
        named = [] if call == ALL else [tool for tool in tools if tool["name"] in call]
        kept = [*named, *(tool for tool in tools if tool not in named)][: max(MOST_CALLS, len(named))]
        self.found.remarks.append(f"{len(kept)} of the {len(tools)} tools that may be called were called")
        return kept

    async def _call(self, tool: Json) -> None:
        params = await without_blocking(tool_params, tool)
        if params is not None and not self._is_left("tools/call", params):
            self.found.called.append(params)
            with_token = {**params, "_meta": {"progressToken": progress_token_of(tool)}}
            if await self._try("tools/call", with_token) == _LATE:
                self.found.unanswered.append(str(tool["name"]))

    async def _try(self, method: str, params: Json | None) -> str | None:
        """Ask for something that may take long; the problem with it, if there is one."""
        unanswered = self.found.unanswered_requests
        if self._is_left(method, params):
            return None
        began, patient = perf_counter(), unanswered.is_doubtful(method, params)
        limit = self._session.timeout * PATIENCE if patient else None
        await self._await_result(self._session.request(method, params, timeout=limit))
        problem = self._problem
        if self._broken:
            unanswered.broken(self._session, method)
            return problem
        if problem != _LATE:
            unanswered.answered(method, params, perf_counter() - began)
            if problem is None:
                unanswered.served(method)
            return problem
        unanswered.missed(self._session, method, params, patiently=patient)
        self._late[method] += 1
        if method in _UNKNOWN and self._late[method] == 1:
            await self._try(method, _UNKNOWN[method])
        return problem

    def _is_left(self, method: str, params: Json | None) -> bool:
        """Whether this is not tried, because too much of METHOD was not answered in time."""
        left = self._late[method] >= MOST_LATE or self.found.unanswered_requests.is_known(method, params)
        self._untried[method] += left
        return left

    async def _await_result(self, answer: Coroutine[Any, Any, Any]) -> Any:
        """The result to come; None if something else comes, which is then in the transcript."""
        self._problem, self._broken = None, False
        try:
            return await answer
        except RequestTimeout as error:
            self._problem = _LATE
            self.found.unasked_answer = answer_to_nothing(self._session.transcript)
            if self.found.unasked_answer is not None:
                self.found.silence = _OTHER_IDS
                raise _SilentError from error
            self.found.spread = spread_message(self._session.transcript)
            if self.found.spread is not None:
                self.found.silence = SPREAD
                raise _SilentError from error
            if await silent(self._session, BUSY * self._session.timeout, self.found.unanswered_requests):
                self.found.silence = error.message
                raise _SilentError from error
        except ProtocolError as error:
            self._problem = _FAILED
            if error.heard is None:  # not one answer was at fault, but all of them together
                self.found.remarks.append(error.message)
        except HttpStatusError as error:
            self._problem, self._broken = _FAILED, error.status >= SERVER_ERROR
        except TransportError as error:
            if not self._session.ended and await answers_anything(self._session):
                self._problem, self._broken = _FAILED, True
                return None
            self.found.unasked_answer = answer_to_nothing(self._session.transcript)
            if self.found.unasked_answer is None:
                self.found.lost = error.message
            else:
                self.found.silence = _OTHER_IDS
            raise _SilentError from error
        except ConductorError:
            self._problem = _FAILED
        return None


def answer_to_nothing(transcript: Transcript) -> Message | None:
    """An answer to no request of ours; who sends one may well have sent all."""
    if transcript.forgotten.frames:
        return None
    asked = {message.id for message in transcript.messages("client")}
    answers = (each for each in transcript.messages("server") if each.kind in ("result", "error"))
    return next((each for each in answers if each.id not in asked), None)


def progress_token_of(call: Json) -> str:
    """The token with which the exploration calls a tool: of the tool, or the params of the call."""
    return f"walk-{call.get('name')}"


def may_call(tool: Json, call: Collection[str] | str) -> bool:
    """Whether a tool may be called without asking: it says that it only reads, or the user says so."""
    if not isinstance(tool.get("name"), str):
        return False
    annotations = tool.get("annotations")
    reads = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
    return reads or call == ALL or tool["name"] in call


def tool_params(tool: Json) -> Json | None:
    """The params of a call that fits the tool's schema; None when we cannot make one."""
    schema: Any = tool.get("inputSchema")
    if is_vast(schema):
        return None
    arguments = filled_in(schema)
    if complaints(arguments, schema):
        return None
    execution = tool.get("execution")
    as_task = isinstance(execution, dict) and execution.get("taskSupport") == "required"
    return {"name": tool["name"], "arguments": arguments, **({"task": {}} if as_task else {})}


def prompt_params(prompt: Json) -> Json:
    listed = prompt.get("arguments")
    names = [each.get("name") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return {"name": prompt.get("name"), "arguments": {name: "x" for name in names if isinstance(name, str)}}
