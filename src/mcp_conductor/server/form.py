"""A form in the browser: a page on 127.0.0.1 that takes one value, and goes away.

It outlives the request that opened it where a client must send the request again with its answer (2026-07-28), and
closes by itself when no client does.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import parse_qs

from mcp_conductor.server.identity import new_token

FORM_SECONDS = 300.0
_VISIT_SECONDS = 10.0
_MOST_VISITS = 16
_LARGEST_BODY = 64 * 1024
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>MCP Conductor</title>
<body style="font: 1.2em sans-serif; margin: 4em">{body}</body></html>
"""
_FORM = """<form method="post"><label>Value: <input name="value" required autofocus></label>
<button>Submit</button></form>"""
_DONE = "<p>Submitted. You can close this window.</p>"
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 413: "Content Too Large"}


class Forms:
    """The forms that are open."""

    def __init__(self) -> None:
        self._open: dict[str, Form] = {}

    async def open(self) -> "Form":
        """Show a form until its value is there, or until it is closed."""
        form = Form(self._open)
        await form.listen()
        return form

    def find(self, identities: Iterable[str]) -> "Form | None":
        """The form that is open under one of these ids."""
        return next((self._open[each] for each in identities if each in self._open), None)


class Form:
    """One form; its id cannot be guessed, and is the path of its page, so that no other page can fill it in."""

    def __init__(self, registry: "dict[str, Form]") -> None:
        self.id = f"form-{new_token()}"
        self.url = ""
        self._registry = registry
        self._value: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._visits: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._visit, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/{self.id}"
        self._registry[self.id] = self
        self._expiry = asyncio.get_running_loop().call_later(FORM_SECONDS, self.close)

    async def value(self) -> str | None:
        """What was entered; None when the form closed before anything was."""
        return await self._value

    def close(self) -> None:
        self._registry.pop(self.id, None)
        self._expiry.cancel()
        self._server.close()
        for visit in self._visits:
            visit.cancel()
        if not self._value.done():
            self._value.set_result(None)

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._visits) >= _MOST_VISITS:
            writer.close()
            return
        self._visits.add(task)
        try:
            with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_VISIT_SECONDS):
                    await self._serve(reader, writer)
        finally:
            self._visits.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, page, value = await self._answer(reader)
        writer.write(_response(status, page))
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        # Only now: the code that waits for the value closes the form at once, and the user should see the page.
        if value is not None and not self._value.done():
            self._value.set_result(value)

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, str, str | None]:
        """Status, page, and the value that was submitted."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split("\r\n", 1)[0].split(" ", 2)
        if target != f"/{self.id}" or method not in ("GET", "POST"):
            return 404, "<p>There is nothing here.</p>", None
        if method == "GET":
            return 200, _FORM, None
        length = _length(head)
        if length > _LARGEST_BODY:
            return 413, "<p>That is too much.</p>", None
        body = (await reader.readexactly(length)).decode()
        values = parse_qs(body, keep_blank_values=True, max_num_fields=10).get("value")
        if values is None:
            return 400, "<p>There is no value in it.</p>", None
        return 200, _DONE, values[0]


def _length(head: str) -> int:
    for line in head.split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0


def _response(status: int, page: str) -> bytes:
    body = _PAGE.format(body=page).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "X-Frame-Options: DENY\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
