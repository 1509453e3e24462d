"""Where secrets stand in a text: in one of their forms, broken into lines, or in part where the text was cut."""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.secret_forms import ESCAPE, LONG_VALUE, SHORTEST, forms, is_escaped, spelled
from mcp_conductor.text.visible import CUT

Span = tuple[int, int]

_ESCAPING = ("\\", "%", "&", "+", "'")
_CUT_MARKS = rf"(?: ?(?:{CUT}|\.\.\.))++ ?"
# What a logger puts between: the end of a line, an indent and a border, also in JSON, and colours, as for numbers.
# Each alternative begins with a character of its own, which makes the search several times quicker.
_QUOTED_END = r"\\\\{0,15}+(?:r\\{1,16}+)?n"
_BETWEEN = compiled_later(
    rf"(?:\n|\r\n|{_QUOTED_END}|\|(?:\r?\n|{_QUOTED_END})|│(?:\r?\n|{_QUOTED_END})"
    rf"| [|│](?:\r?\n|{_QUOTED_END}))[ \t|│]{{0,40}}+"
    r"|\x1b\[[0-9;]{0,40}+m|\\\\{0,15}+(?:u001b|x1b|033|e)\[[0-9;]{0,40}+m"
)
# A line of base64 as mail and PEM break it, at the end of a text: what a server writes may come line by line.
_WRAPPED_LINE = compiled_later(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,80}\Z")
_GRAM = 8  # the size of a number that `memoryview` reads
_NO_CHANCE = 12  # so many characters are no chance where something stood between them


class Search:
    """Secrets that may become more, and where they stand in texts."""

    def __init__(self) -> None:
        self._forms: set[str] = set()
        # Each with its longest run of letters and digits.
        self._short: list[tuple[str, _Form]] = []
        self._escaped: list[tuple[str, _Form]] = []
        self._long: list[tuple[str, _Form]] = []
        self._grams: set[int] = set()  # a text in which a long form stands has one of these at some eighth byte
        self._parts: dict[str, list[tuple[str, int]]] = {}  # what forms have in them, and where

    def add(self, secrets: Iterable[str]) -> None:
        """Find SECRETS too, from now on."""
        for form in {form for secret in secrets for form in forms(secret)} - self._forms:
            self._forms.add(form)
            # No escape changes letters and digits, so the longest run of them is there if the form is.
            longest = max(re.findall("[A-Za-z0-9]+", form), key=len, default="")
            each = longest, _Form(form, longest == form)
            if is_escaped(form):
                self._escaped.append(each)
            elif len(longest) >= 2 * _GRAM - 1:
                self._long.append(each)
                self._grams.update(int.from_bytes(longest[place : place + _GRAM].encode(), sys.byteorder)
                                   for place in range(len(longest) - _GRAM + 1))  # fmt: skip
            else:
                self._short.append(each)
        self._parts = {}

    def places(self, text: str, *, goes_on: bool = False) -> list[Span]:
        """Where in TEXT anything stands that shows a secret, in no order; it GOES ON with another line."""
        found = list(self._whole(text, 0))
        pieces = [0, *(place for end in _BETWEEN.finditer(text) for place in end.span()), len(text)]
        if len(pieces) > 2 or goes_on:
            lines = list(zip(pieces[::2], pieces[1::2], strict=True))
            begins = list(accumulate((stop - start for start, stop in lines), initial=0))
            joined = "".join(text[start:stop] for start, stop in lines)

            def origin(place: int) -> int:
                line = bisect_right(begins, place) - 1
                return lines[line][0] + place - begins[line]

            parts = [*self._whole(joined, _NO_CHANCE)]
            parts += self._beginning(joined, len(joined), LONG_VALUE) if goes_on else ()
            found += [(origin(start), origin(stop - 1) + 1) for start, stop in parts]
        if CUT in text or "..." in text:
            for mark in re.finditer(_CUT_MARKS, text):
                found += [*self._beginning(text, mark.start(), SHORTEST), *self._end(text, mark.end())]
        if (line := _WRAPPED_LINE.search(text, max(0, len(text) - 100))) is not None:
            found += [*self._beginning(text, len(text), SHORTEST), *self._end(text, line.start())]
            found += [line.span()] if any(line[0] in form for form in self._forms) else []
        return found

    def _whole(self, text: str, least: int) -> Iterator[Span]:
        escapes = any(sign in text for sign in _ESCAPING)
        likely = list(self._short)
        likely += self._escaped if escapes and re.search(ESCAPE + "{4}", text) else []
        data = text.encode(errors="surrogatepass")
        words = memoryview(data[: len(data) // _GRAM * _GRAM]).cast("Q")
        likely += [] if self._grams.isdisjoint(words) else self._long
        for each in [form for longest, form in likely if longest in text]:
            if len(each.text) >= least:
                yield from each.places(text, escapes=escapes)

    def _beginning(self, text: str, stop: int, least: int) -> Iterator[Span]:
        """The longest beginning of a form that ends at STOP."""
        sizes = [place + SHORTEST for form, place in self._with(text[max(0, stop - SHORTEST) : stop])
                 if text.endswith(form[: place + SHORTEST], 0, stop)]  # fmt: skip
        if max(sizes, default=0) >= least:
            yield stop - max(sizes), stop

    def _end(self, text: str, start: int) -> Iterator[Span]:
        """The longest end of a form that begins at START."""
        sizes = [len(form) - place for form, place in self._with(text[start : start + SHORTEST])
                 if text.startswith(form[place:], start)]  # fmt: skip
        if sizes:
            yield start, start + max(sizes)

    def _with(self, part: str) -> list[tuple[str, int]]:
        """The forms that have PART in them, and where."""
        if not self._parts:
            for form in self._forms:
                for place in range(len(form) - SHORTEST + 1):
                    self._parts.setdefault(form[place : place + SHORTEST], []).append((form, place))
        return self._parts.get(part, [])


class _Form:
    """One form of a secret, as it is and with escapes in it."""

    def __init__(self, text: str, is_plain: bool) -> None:
        self.text, self._is_plain = text, is_plain
        self._pattern: re.Pattern[str] | None = None

    def places(self, text: str, *, escapes: bool) -> Iterator[Span]:
        """Where it stands in TEXT; places that overlap are one."""
        if self._is_plain or not escapes:
            yield from _places(self.text, text)
            return
        if self._pattern is None:
            self._pattern = re.compile(spelled(self.text))
        yield from (found.span() for found in self._pattern.finditer(text))


def _places(form: str, text: str) -> Iterator[Span]:
    start = text.find(form)
    while start >= 0:
        stop = start + len(form)
        following = text.find(form, start + 1)
        while 0 <= following < stop:
            stop = following + len(form)
            following = text.find(form, following + 1)
        yield start, stop
        start = following
