"""A form in the browser: a page on 127.0.0.1 that takes one value, and goes away.

It outlives the request that opened it where a client must send the request again with its answer (2026-07-28), and
closes by itself when no client does.
"""

import asyncio
from collections.abc import Iterable
from urllib.parse import parse_qs

from mcp_conductor.server.identity import new_token
from mcp_conductor.transport.browser_pages import BrowserPages, Page, Request

FORM_SECONDS = 300.0
_LARGEST_BODY = 64 * 1024
_FORM = """<form method="post"><label>Value: <input name="value" required autofocus></label>
<button>Submit</button></form>"""


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
        self._pages = BrowserPages(self._answer)

    async def listen(self) -> None:
        self.url = f"{await self._pages.listen(0)}/{self.id}"
        self._registry[self.id] = self
        self._expiry = asyncio.get_running_loop().call_later(FORM_SECONDS, self.close)

    async def value(self) -> str | None:
        """What was entered; None when the form closed before anything was."""
        return await self._value

    def close(self) -> None:
        self._registry.pop(self.id, None)
        self._expiry.cancel()
        self._pages.close()
        self._settle(None)

    async def _answer(self, request: Request) -> Page:
        if request.target != f"/{self.id}" or request.method not in ("GET", "POST"):
            return Page("404 Not Found", "<p>There is nothing here.</p>")
        if request.method == "GET":
            return Page("200 OK", _FORM)
        length = next((int(value) for name, value in request.headers if name == "content-length"), 0)
        if length > _LARGEST_BODY:
            return Page("413 Content Too Large", "<p>That is too much.</p>")
        body = (await request.reader.readexactly(length)).decode()
        values = parse_qs(body, keep_blank_values=True, max_num_fields=10).get("value")
        if values is None:
            return Page("400 Bad Request", "<p>There is no value in it.</p>")
        done = "<p>Submitted. You can close this window.</p>"
        return Page("200 OK", done, on_sent=lambda: self._settle(values[0]))

    def _settle(self, value: str | None) -> None:
        if not self._value.done():
            self._value.set_result(value)
