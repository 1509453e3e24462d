"""One request, as the code that answers it sees it: what was asked, by whom, and how to say something meanwhile."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import LOG_LEVELS, META, RELATED_TASK
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.schema import complaints, flaw
from mcp_conductor.server.client import Client, Send
from mcp_conductor.server.definitions import AskFailed
from mcp_conductor.server.rounds import Rounds
from mcp_conductor.server.state import ServerState
from mcp_conductor.server.tasks import Task


class Call:
    """A request and its surroundings."""

    __slots__ = (
        "answers",
        "client",
        "hang_up",
        "id",
        "method",
        "params",
        "rounds",
        "send",
        "server",
        "task",
        "variables",
    )

    def __init__(self, server: ServerState, client: Client, message: Message, send: Send) -> None:
        self.server = server
        self.client = client
        self.id: Id = message.id  # type: ignore[assignment]  # a request has one
        self.method: str = message.raw["method"]
        self.params: Json = message.raw.get("params") or {}
        self.send = send  # for what belongs to this request
        self.hang_up: Callable[[], None] | None = getattr(send, "hang_up", None)
        self.task: Task | None = None  # the task that this request has become
        self.answers: Json = {}  # what the client said before this became a task
        self.variables: dict[str, str] = {}  # of a resource template
        self.rounds: Rounds | None = None  # what the client answered before; modern era only

    def become(self, task: Task) -> None:
        """From here on, this request is the work of TASK."""
        self.task = task
        if self.client.revision.handshake:
            self.send = self.client.send  # the stream of this request ends with its answer

    @property
    def arguments(self) -> Json:
        arguments = self.params.get("arguments")
        return arguments if isinstance(arguments, dict) else {}

    @property
    def meta(self) -> Json:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def repeating(self) -> bool:
        """Whether this has all been done in an earlier round: effects must not happen twice."""
        return self.rounds is not None and self.rounds.repeating

    def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification that belongs to this request."""
        if self.repeating:
            return
        params = params or {}
        if self.task is not None:
            if not self.client.revision.handshake:
                return  # the request is answered, and nothing else leads to the client
            params = {**params, "_meta": {**params.get("_meta", {}), RELATED_TASK: {"taskId": self.task.id}}}
        self.send(compose(method, params or None))

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message, if this server logs and the client wants to hear of this level."""
        least = self.meta.get(f"{META}logLevel")
        if self.client.revision.handshake:
            least = LOG_LEVELS[self.client.level] if self.client.lasting else None
        if self.server.config.logging and least in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least):
            named = {} if logger is None else {"logger": logger}
            self.notify("notifications/message", {"level": level, **named, "data": data})

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> bool:
        """Report progress, if the client asked for it; whether it did."""
        token = self.meta.get("progressToken")
        if token is None:
            return False
        params: Json = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self.client.revision.progress_message:
            params["message"] = message
        self.notify("notifications/progress", params)
        return True

    async def sleep(self, seconds: float) -> None:
        """Let time pass, unless it has passed in an earlier round."""
        if not self.repeating:
            await asyncio.sleep(seconds)

    def close_stream(self) -> None:
        """Close the HTTP event stream of this request, so that the client has to resume it for the rest."""
        if not self.repeating and self.hang_up is not None and self.client.revision.handshake:
            self.hang_up()

    async def ask(self, questions: Json) -> Json:
        """Ask the client, each question under a key of its own; the answers under the same keys.

        A question is `{"method": …, "params": …}`. It travels as a request of the server, as the result of this
        request, or by way of the task that this request has become, as the revision wants it.
        """
        for question in questions.values():
            self.client.require(question)
        questions = {key: self._in_revision(question) for key, question in questions.items()}
        if self.task is not None:
            answers = await self.task.ask(questions)
        elif self.rounds is not None:
            answers = self.rounds.answers(questions)
        else:
            answers = {key: await self.client.ask(question, self.send) for key, question in questions.items()}
        for key, question in questions.items():
            if question["method"] == "elicitation/create":
                await without_blocking(_check_form, question.get("params", {}), answers.get(key))
        return answers

    def _in_revision(self, question: Json) -> Json:
        """QUESTION without what this revision does not know."""
        params = question.get("params")
        if question["method"] != "elicitation/create" or params is None:
            return question
        unknown = set() if self.client.revision.elicitation else {"mode"}
        if not self.client.revision.elicitation_id:
            unknown.add("elicitationId")
        return {**question, "params": {key: value for key, value in params.items() if key not in unknown}}


def _check_form(asked: Json, answer: Any) -> None:
    """A client must answer an elicitation with an action, and what it accepts must fit what it was asked."""
    given = answer if isinstance(answer, dict) else {}
    action, schema = given.get("action"), asked.get("requestedSchema")
    if action not in ("accept", "decline", "cancel"):
        problem = f"its action is {action!r}, not accept, decline or cancel"
    elif action != "accept" or schema is None or flaw(schema) is not None:
        return  # where the schema is none, nothing can be held against the client
    elif "content" not in given:
        problem = "it has no content"
    else:
        problem = "; ".join(complaints(given["content"], schema))
    if problem:
        raise AskFailed(f"the client's answer to elicitation/create is wrong: {problem}")
