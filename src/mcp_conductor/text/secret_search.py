"""Where secrets stand in a text, also if they are escaped, encoded, or broken into lines.

A text is read three times at most: as it is, with its escapes undone, and with doubtful escapes undone too. Each
time it is searched for long forms in its letters and digits alone, in upper or lower case: so lines, indents, quotes,
separators and NULs between them do not matter. What is base64 of a text is read in the same way.
"""

import re
import sys
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from mcp_conductor.text.escapes import CUT_BYTE, Span, has_doubtful_escapes, has_escapes, origins, undone
from mcp_conductor.text.secret_forms import LONG_VALUE, SHORTEST, forms, forms_in_base64

_DIGITS = b"0123456789"
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
# Letters that are not ASCII too: who takes one encoding for another makes something else of them.
_DROPPED = bytes(set(range(256)) - set(_DIGITS + _LETTERS + _LETTERS.upper() + CUT_BYTE))
_LOWER = bytes.maketrans(_LETTERS.upper(), _LETTERS)
_BLOCK = 1024
_GRAM = 8  # the size of a number that `memoryview` reads

# A text of so many letters and digits is not an ordinary word, also if none of them is a digit.
_NO_WORD = 12
_WRAPPED = 60  # the shortest line that may have been broken because it was too long
_INSIDE = 16  # the shortest line that may be the middle of something
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
_LONGEST_LINE = 200  # of base64
_SHORTEST_LINE = 16  # of one that goes on
_SPACES = b" \t\r\n"
_STANDARD = bytes.maketrans(b"-_", b"+/")
# To look for runs of one letter takes a fraction of the time that it takes to look for runs of many.
_RUNS = bytes(byte if byte in _SPACES else ord("A") * (byte in _BASE64[:-1]) for byte in range(256))
_RUN = rb"A{16,}+(?:\r?\n[ \t]*+A++)*+"
# Bytes below 128 leave these characters: so the beginning shows what is not text, which may be within a group.
_ENCODED_TEXT = rb".{0,3}?((?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589].){3})"
_DEEPEST = 3  # base64 in base64
_CUT = rb"(?: ?\xff)+ ?"

Wanted = Callable[[bytes, int, int], bool]  # a form, and where a part of it begins and ends


class Searches:
    """Secrets that may become more, and where they stand in texts.

    A run may learn a secret from every message. To make one search of all of them each time would take as long as there
    are secrets; so they are in groups, and two groups of the same size become one.
    """

    def __init__(self) -> None:
        self._groups: list[Search] = []  # the largest first

    def add(self, secrets: set[str]) -> None:
        """Find SECRETS too, from now on."""
        while self._groups and len(self._groups[-1].secrets) <= len(secrets):
            secrets = secrets | self._groups.pop().secrets
        self._groups.append(Search(secrets))

    def places(self, data: bytes, *, goes_on: bool = False) -> list[Span]:
        """As that of one search of all secrets."""
        return [span for search in self._groups for span in search.places(data, goes_on=goes_on)]

    def after(self, data: bytes, spans: Iterable[Span]) -> bytes:
        """What stands in DATA after the last secret of those at SPANS that is over."""
        last = len(data.rstrip(_DROPPED))
        return data[max((stop for _, stop in spans if stop < last), default=0) :]


class Search:
    """Secrets, and where they stand in texts."""

    def __init__(self, secrets: set[str]) -> None:
        self.secrets = secrets
        self._forms = set[bytes]().union(*map(forms, secrets))

    def places(self, data: bytes, *, goes_on: bool = False) -> list[Span]:
        """Where in DATA, which is UTF-8, anything stands that shows a secret or a part of one; in no order.

        The last line of DATA may be broken off if it is long, or if it is known that others GO ON where one ends.
        """
        return [*self._within(data, 0, goes_on or len(data) >= _WRAPPED), *self._of_wrapped_line(data)]

    def _within(self, data: bytes, depth: int, goes_on: bool) -> list[Span]:
        found = self._as_it_is.places(data, goes_on)
        spans, layers = [], [data]
        if has_escapes(data):
            layers, spans = undone(data, doubtful=False), found
            found = self._undone.places(layers[-1], goes_on)
        if depth < _DEEPEST:
            found += self._in_base64(_without(found, layers[-1]), depth)
        spans += origins(layers, found, doubtful=False)
        if has_doubtful_escapes(data):
            further = undone(data, doubtful=True)
            spans += origins(further, self._all_undone.places(further[-1], goes_on), doubtful=True)
        return spans

    def _in_base64(self, data: bytes, depth: int) -> list[Span]:
        """What is a secret in another form, or in base64 again, when it is decoded."""
        runs = data.translate(_RUNS)
        if b"A" * 16 not in runs:
            return []
        begins_as_text = re.compile(_ENCODED_TEXT).match
        spans = [run.span() for run in re.finditer(_RUN, runs)]
        texts = [_Decoded(data, text.start(1), text.endpos) for span in spans if (text := begins_as_text(data, *span))]
        if not texts:
            return []
        ends = list(accumulate(len(text.decoded) + 1 for text in texts))

        def origin(place: int) -> Span:
            text = texts[number := bisect_right(ends, place)]
            return text.origin(place - ends[number] + len(text.decoded) + 1)

        # All at once: one by one, many short ones would take long.
        found = self._within(b"\n".join(text.decoded for text in texts), depth + 1, goes_on=False)
        return [(origin(start)[0], origin(stop - 1)[1]) for start, stop in found]

    @cached_property
    def _as_it_is(self) -> "_Reading":
        return _Reading(self._forms)

    @cached_property
    def _undone(self) -> "_Reading":
        return _Reading({undone(form, doubtful=False)[-1] for form in self._forms})

    @cached_property
    def _all_undone(self) -> "_Reading":
        return _Reading({undone(form, doubtful=True)[-1] for form in self._forms})

    @cached_property
    def _base64(self) -> "_Parts":
        return _Parts(set[bytes]().union(*map(forms_in_base64, self.secrets)))

    def _of_wrapped_line(self, data: bytes) -> Iterator[Span]:
        """Parts of secrets in a line of base64 at the end of DATA: what a server writes may come line by line."""
        last = data[-_LONGEST_LINE:].rstrip()
        line = last.split()[-1] if last else b""  # there may be words before it that say where it is from
        if line.translate(None, _BASE64):
            return
        stop = max(0, len(data) - _LONGEST_LINE) + len(last)
        yield from self._base64.end(data, stop - len(line))
        if len(line) >= _SHORTEST_LINE:
            yield from self._base64.beginning(data, stop)
        if len(line) >= LONG_VALUE and self._base64.has(line):
            yield stop - len(line), stop


class _Decoded:
    """What a run of base64 says that begins with a whole group."""

    def __init__(self, data: bytes, start: int, stop: int) -> None:
        self._data, self._start, self._stop = data, start, stop
        written = data[start:stop].translate(_STANDARD, _SPACES)
        self.decoded = a2b_base64((written + b"==")[: (len(written) + 2) // 4 * 4])

    @cached_property
    def _places(self) -> list[int]:
        """Where the characters stand that are not spaces."""
        return [place for place in range(self._start, self._stop) if self._data[place] not in _SPACES]

    def origin(self, place: int) -> Span:
        """Where the byte stands that has this place in what it says; what comes after that, where the run ends."""
        if place >= len(self.decoded):
            return self._stop, self._stop
        return self._places[place * 4 // 3], self._places[-(-(place + 1) * 4 // 3) - 1] + 1


class _Reading:
    """Forms of secrets as they stand in texts that are read in one way."""

    def __init__(self, shapes: Iterable[bytes]) -> None:
        exact = set()
        self._forms: dict[bytes, list[bytes]] = {}  # by their letters and digits
        for form in shapes:
            thin = _thin(form)
            if _is_telling(thin):
                self._forms.setdefault(thin, []).append(form)
            elif len(form) >= SHORTEST:
                exact.add(form)
        self._exact = _Parts(exact)
        self._thin = _Parts(self._forms)
        self._short = [form for form in self._forms if len(form) < 2 * _GRAM - 1]
        # In every text that has a long form, each _GRAM bytes read from the beginning, one of these is.
        self._grams = {
            int.from_bytes(form[place : place + _GRAM], sys.byteorder)
            for form in self._forms
            if len(form) >= 2 * _GRAM - 1
            for place in range(_GRAM)
        }

    @cached_property
    def _as_written(self) -> "_Parts":
        """All forms whole: of a short part at a cut, too few may be letters and digits."""
        return _Parts({*self._exact.forms, *(form for alike in self._forms.values() for form in alike)})

    def places(self, data: bytes, goes_on: bool) -> list[Span]:
        found = [span for form in self._exact.forms for span in _places(form, data)]
        thin = _thin(data)
        may_have_long = not self._grams.isdisjoint(memoryview(thin)[: len(thin) // _GRAM * _GRAM].cast("Q"))
        shapes = self._forms if may_have_long else self._short
        whole = [(span, form) for form in shapes if form in thin for span in _places(form, thin)]
        parts: list[Span] = []
        if CUT_BYTE in data:
            found += self._as_written.cut_places(data)
            parts += self._thin.cut_places(thin)
        # What a server writes may come line by line.
        if goes_on and self._thin.has(thin[-LONG_VALUE:]):
            parts += self._thin.beginning(thin, len(thin), LONG_VALUE, self._may_be_broken)
        if len(thin) >= LONG_VALUE and self._thin.has(thin[:LONG_VALUE]):
            parts += self._thin.end(thin, 0, LONG_VALUE, self._may_be_broken)
            parts += self._thin.all_of(thin, _INSIDE, self._may_be_broken)
        spans = _thick(data, [*(span for span, _ in whole), *parts])
        for span, (_, form) in zip(spans, whole, strict=False):
            found += [_with_edges(span, data, *around) for around in self._edges(form)]
        return found + spans[len(whole) :]

    def _edges(self, thin: bytes) -> set[tuple[bytes, bytes]]:
        """What the forms of these letters and digits have before and after them."""
        return {form.partition(form.strip(_DROPPED))[::2] for form in self._forms[thin]}

    def _may_be_broken(self, thin: bytes, start: int, stop: int) -> bool:
        """Whether this part is not a word, and ends within one: a host or a file is often named without the rest."""
        part = thin[start:stop]
        if not _is_telling(part):
            return False
        spans = [_thick(form, [(start, stop)])[0] for form in self._forms[thin]]
        ends = [
            (form[first - 1 : first] if start else b"x") + (form[last : last + 1] if stop < len(thin) else b"x")
            for form, (first, last) in zip(self._forms[thin], spans, strict=True)
        ]
        return part.isdigit() or any(len(_thin(each)) == len(b"xx") for each in ends)


def _anywhere(_form: bytes, _start: int, _stop: int) -> bool:
    return True


class _Parts:
    """Forms of secrets, and parts of them where a text was cut."""

    def __init__(self, shapes: Iterable[bytes]) -> None:
        self.forms = frozenset(shapes)
        self._all = b"\0".join([b"", *self.forms, b""])
        self._places: dict[bytes, list[tuple[bytes, int]]] = {}  # of parts that were looked for

    def has(self, data: bytes) -> bool:
        """Whether DATA is a part of a form."""
        return data in self._all

    def cut_places(self, data: bytes) -> Iterator[Span]:
        """The beginnings of secrets before a mark that says that something was left out, and the ends after one."""
        for mark in re.finditer(_CUT, data):
            yield from self.beginning(data, mark.start())
            yield from self.end(data, mark.end())

    def beginning(self, data: bytes, stop: int, least: int = SHORTEST, wanted: Wanted = _anywhere) -> Iterator[Span]:
        """The longest wanted beginning of a form that ends at STOP."""
        ends = data[max(0, stop - least) : stop]
        sizes = [
            place + least
            for form, place in self._forms_with(ends, least)
            if data.endswith(form[: place + least], 0, stop) and wanted(form, 0, place + least)
        ]
        if sizes:
            yield stop - max(sizes), stop

    def end(self, data: bytes, start: int, least: int = SHORTEST, wanted: Wanted = _anywhere) -> Iterator[Span]:
        """The longest wanted end of a form that begins at START."""
        sizes = [
            len(form) - place
            for form, place in self._forms_with(data[start : start + least], least)
            if data.startswith(form[place:], start) and wanted(form, place, len(form))
        ]
        if sizes:
            yield start, start + max(sizes)

    def all_of(self, data: bytes, least: int, wanted: Wanted) -> Iterator[Span]:
        """All of DATA, if that is a wanted part of a form."""
        if any(wanted(form, place, place + len(data)) for form, place in self._forms_with(data, least)):
            yield 0, len(data)

    def _forms_with(self, part: bytes, least: int) -> list[tuple[bytes, int]]:
        """The forms that have this part, and where; none if it is too short."""
        if len(part) < least or b"\0" in part or part not in self._all:
            return []
        if part not in self._places:
            found = [place for place, _ in _places(part, self._all, each=True)]
            forms_of = [(self._all.rindex(b"\0", 0, place) + 1, self._all.index(b"\0", place)) for place in found]
            self._places[part] = [
                (self._all[start:stop], place - start) for place, (start, stop) in zip(found, forms_of, strict=True)
            ]
        return self._places[part]


def _is_telling(thin: bytes) -> bool:
    """Whether so many letters and digits cannot be ordinary text, also in another case and with separators."""
    letters = len(thin.translate(None, _DIGITS))
    return len(thin) >= _NO_WORD or (len(thin) >= LONG_VALUE and 0 < letters < len(thin))


def _without(spans: list[Span], data: bytes) -> bytes:
    """DATA with nothing at SPANS: what was found there need not be looked at again."""
    rest = bytearray(data)
    for start, stop in spans:
        rest[start:stop] = bytes(stop - start)
    return bytes(rest) if spans else data


def _thin(data: bytes) -> bytes:
    """The letters and digits of DATA, in small letters, and marks of cuts."""
    return data.translate(_LOWER, _DROPPED)


def _thick(data: bytes, spans: list[Span]) -> list[Span]:
    """Where in DATA stands what has these places in `_thin(data)`."""
    if not spans:
        return []
    blocks = range(0, len(data), _BLOCK)
    counts = list(accumulate((len(_thin(data[start : start + _BLOCK])) for start in blocks), initial=0))

    kept: dict[int, list[int]] = {}  # places of letters and digits, by the number of the block

    def origin(place: int) -> int:
        block = bisect_right(counts, place) - 1
        if block not in kept:
            start = block * _BLOCK
            part = enumerate(data[start : start + _BLOCK], start)
            kept[block] = [place for place, byte in part if byte not in _DROPPED]
        return kept[block][place - counts[block]]

    return [(origin(start), origin(stop - 1) + 1) for start, stop in spans]


def _with_edges(span: Span, data: bytes, before: bytes, after: bytes) -> Span:
    """SPAN, and as much of BEFORE and AFTER as stands around it."""
    start, stop = span
    while before and start and data.endswith(before[-1:], 0, start):
        before, start = before[:-1], start - 1
    while after and data.startswith(after[:1], stop):
        after, stop = after[1:], stop + 1
    return start, stop


def _places(form: bytes, data: bytes, *, each: bool = False) -> Iterator[Span]:
    """Where FORM stands in DATA; places that overlap are one, unless EACH is wanted."""
    start = data.find(form)
    while start >= 0:
        stop = start + len(form)
        following = data.find(form, start + 1)
        while not each and 0 <= following < stop:
            stop = following + len(form)
            following = data.find(form, following + 1)
        yield start, stop
        start = following
