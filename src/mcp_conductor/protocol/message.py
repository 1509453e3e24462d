"""A message is exactly what was on the wire, valid or not, with our verdict on it.

Nothing is dropped or repaired: `text` is verbatim, `kind` is what it can be used as, `problem` is the first rule that
it breaks. Reading never raises, because a tester must be able to show what a broken peer said.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any, ClassVar, Literal, NamedTuple, Self

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.budgets import DEFAULT, Budgets, TooLarge, braces_close, excess

Kind = Literal["request", "notification", "result", "error", "batch", "invalid"]

SAFE_INTEGER = 2**53 - 1

_STRING = r'"(?:[^"\\]|\\.)*"'
_ID = rf'"id"\s*:\s*({_STRING}|-?[0-9]+)'
# Patterns are texts here: most messages need none of them, and need not compile them.
# The id of a text that cannot be parsed as a whole: among the first scalar members, or the very last member. Both are
# certain to be members of the outermost object.
_LEADING_ID = rf"\s*\{{(?:\s*{_STRING}\s*:\s*(?:{_STRING}|[-+.\w]+)\s*,)*?\s*{_ID}\s*[,}}]"
_TRAILING_ID = rf",\s*{_ID}\s*\}}\s*$"
_HEAD, _TAIL = 65536, 4096  # how much of the ends of a text is looked at for its id
_KEPT = 2048  # of each end of a text that is too large
_LEFT_OUT = " … [0-9]+ more bytes … "
_MORE_BYTES = " more bytes … "  # which is quicker to look for


class Digits(float):
    """A number whose text says more than a float can hold; it is written back as it was read."""

    text: str
    seen: ClassVar[bool] = False  # whether there has ever been one: if not, no message is searched for them

    def __new__(cls, text: str) -> Self:
        Digits.seen = True
        number = super().__new__(cls, text)
        number.text = text
        return number


class Message(NamedTuple):
    """One JSON-RPC message as it was on the wire, and what we think of it."""

    text: str
    raw: Any
    kind: Kind
    id: Id | None = None
    problem: str | None = None

    @property
    def method(self) -> str:
        return str(self.raw["method"])

    @property
    def params(self) -> Json:
        params = self.raw.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def result(self) -> Any:
        return self.raw["result"]

    @property
    def error(self) -> Any:
        return self.raw["error"]

    def remarks(self) -> list[str]:
        """What a careful reader notices although the message is usable: repeated keys, integers beyond 2^53 - 1."""
        from mcp_conductor.protocol.remarks import remarks

        return remarks(self.text, SAFE_INTEGER)


def parse(text: str) -> Message:
    """Read one message; what cannot be read is an invalid message that says why."""
    try:
        raw = read(text)
    except RecursionError:
        return _unreadable(text, "nested too deeply to be read")
    except ValueError as error:
        return _unreadable(text, f"not JSON: {why_not_json(error)}")
    return _new_tuple(Message, (text, raw, *classify(raw)))  # as `Message(…)`, in half the time


def read(text: str) -> Any:
    """The JSON value in TEXT, no digit lost; NaN and Infinity are not JSON. Raises ValueError or RecursionError."""
    if "-0" in text and re.search(_NEGATIVE_ZERO, text):
        return _PATIENT_DECODER.decode(text)
    try:
        value, end = _SCAN(text, 0)
        if end == len(text):
            return value
    except StopIteration:
        pass  # white space first, or nothing: decode() knows
    except (json.JSONDecodeError, _NotJsonError):
        raise
    except ValueError:  # an integer of thousands of digits
        return _PATIENT_DECODER.decode(text)
    return _DECODER.decode(text)


def why_not_json(error: Exception) -> str:
    """What `read` found wrong, and where."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        problem = error.msg.removesuffix(" at")  # as some of them end
        return f"{problem[:1].lower()}{problem[1:]} at character {error.pos + 1}"
    return str(error)


def how_to_quote(text: str) -> str | None:
    """What to write instead of TEXT, if it is what a shell leaves of JSON without quotes around it."""
    if text.lstrip().startswith(("{", "[")) and '"' not in text:
        return 'in a shell, JSON stands in single quotes: \'{"name": "value"}\''
    return None


def decode(line: bytes, budgets: Budgets = DEFAULT) -> Message:
    """Read one message from bytes; broken UTF-8 is kept (as lone surrogates) and complained about.

    Of a message over its budget only the beginning and the end are kept.
    """
    # Most messages are short, and a call of `excess` for each of them would be a tenth of the time of reading it.
    size = len(line)
    if size > budgets.message_bytes or size > 2 * budgets.message_values:
        too_large = excess(line, budgets)
        if too_large is not None:
            return _cut_off(line, too_large)
    try:
        return parse(line.decode())
    except UnicodeDecodeError as error:
        message = parse(line.decode(errors="surrogateescape"))
        problem = message.problem or f"not UTF-8: byte 0x{line[error.start]:02x} at offset {error.start}"
        return Message(message.text, message.raw, message.kind, message.id, problem)


def build(raw: Any) -> Message:
    """The message that carries RAW, written compactly on one line."""
    kind, identity, problem = classify(raw)
    return Message(compact(raw), raw, kind, identity, problem)


def members(batch: Message) -> Iterator[Message]:
    """The messages in a batch, each made when it is asked for; a batch in a batch is not a message."""
    for raw in batch.raw:
        message = build(raw)
        yield message._replace(kind="invalid", problem="a batch within a batch") if message.kind == "batch" else message


def classify(raw: Any) -> tuple[Kind, Id | None, str | None]:
    """What RAW can be used as, its id, and the first rule of JSON-RPC 2.0 that it breaks."""
    if not isinstance(raw, dict):
        if isinstance(raw, list):
            return "batch", None, None if raw else "an empty batch"
        return "invalid", None, f"a message must be an object, not {kind_of(raw)}"
    identity = raw.get("id")
    problem = None if raw.get("jsonrpc") == "2.0" else _jsonrpc_problem(raw)
    if identity is not None and type(identity) is not int and type(identity) is not str:
        problem, identity = _odd_id(identity, problem)
    if "method" in raw:
        return _classify_call(raw, identity, problem)
    has_result, has_error = "result" in raw, "error" in raw
    if has_result and has_error:
        return "invalid", identity, "has both result and error"
    if has_result:
        if identity is None:
            return "invalid", None, problem or "a result without an id"
        return "result", identity, problem
    if has_error:
        return "error", identity, problem or _error_problem(raw["error"])
    return "invalid", identity, "has neither method, result nor error"


def _odd_id(identity: Any, problem: str | None) -> tuple[str | None, Id | None]:
    if isinstance(identity, Digits) and re.fullmatch("-?[0-9]+", identity.text):
        return problem, identity
    if isinstance(identity, float):
        return (problem if identity.is_integer() else "an id must not have a fraction"), identity
    return f"an id must be a string or an integer, not {kind_of(identity)}", None


def _classify_call(raw: Json, identity: Id | None, problem: str | None) -> tuple[Kind, Id | None, str | None]:
    if not isinstance(raw["method"], str):
        return "invalid", None, f"method must be a string, not {kind_of(raw['method'])}"
    if "result" in raw or "error" in raw:
        problem = problem or "has a method and an answer at once"
    if "params" in raw and not isinstance(raw["params"], dict):
        problem = problem or f"params must be an object, not {kind_of(raw['params'])}"
    if "id" not in raw:
        return "notification", None, problem
    if identity is None:
        return "invalid", None, problem or "a request must not have the id null"
    return "request", identity, problem


def _jsonrpc_problem(raw: Json) -> str:
    return (
        f'"jsonrpc" must be "2.0", not {compact(raw["jsonrpc"])}' if "jsonrpc" in raw else '"jsonrpc": "2.0" is missing'
    )


def _error_problem(error: Any) -> str | None:
    if not isinstance(error, dict):
        return f"error must be an object, not {kind_of(error)}"
    code = error.get("code")
    if isinstance(code, bool) or not isinstance(code, (int, float)) or not math.isfinite(code) or code != int(code):
        return "error.code must be an integer"
    return None if isinstance(error.get("message"), str) else "error.message must be a string"


def kind_of(value: Any) -> str:
    """The JSON word for the kind of VALUE, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case _:
            return "an object"


def compact(value: Any) -> str:
    """VALUE as JSON on one line, fast: what we send."""
    try:
        if not (Digits.seen and _holds_digits(value)):
            text = "".join(_ENCODE(value, 0))
            return text if text.isascii() else _escape_surrogates(text)
    except (ValueError, RecursionError):  # infinity, or nesting too deep for the C encoder
        pass
    return render(value)


def _holds_digits(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_digits(member) for member in value.values())
    if isinstance(value, list):
        return any(map(_holds_digits, value))
    return isinstance(value, Digits)


def render(value: Any, indent: int | None = None) -> str:
    """VALUE as JSON, faithfully: what we show. Numbers stay as they were written, however deep the nesting."""
    out: list[str] = []
    open_ones: list[tuple[Iterator[Any], str]] = []
    colon = ":" if indent is None else ": "

    def begin(value: Any) -> None:
        if isinstance(value, dict) and value:
            out.append("{")
            open_ones.append((iter(value.items()), "}"))
        elif isinstance(value, list) and value:
            out.append("[")
            open_ones.append((iter(value), "]"))
        else:
            out.append(_scalar(value))

    def line() -> str:
        return "" if indent is None else "\n" + " " * (indent * len(open_ones))

    begin(value)
    first = True
    while open_ones:
        members, closing = open_ones[-1]
        member: Any = next(members, _END)
        if member is _END:
            open_ones.pop()
            out.append(line() + closing)
            first = False
            continue
        out.append(line() if first else "," + line())
        if closing == "}":
            key, member = member
            out.append(encode_basestring(key) + colon)
        depth = len(open_ones)
        begin(member)
        first = len(open_ones) > depth
    return _escape_surrogates("".join(out))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, Digits):
        return value.text
    return _ENCODER.encode(value)


def _escape_surrogates(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8; in JSON they can be escaped."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return re.sub(_SURROGATE, lambda found: f"\\u{ord(found[0]):04x}", text)
    return text


def _unreadable(text: str, problem: str) -> Message:
    """An invalid message; its id, where the text still shows one, tells which request it was meant to answer."""
    return Message(text, None, "invalid", _salvaged_id(text), problem)


def _salvaged_id(text: str, whole: bytes | None = None) -> Id | None:
    """The id that TEXT shows, of which WHOLE has all if TEXT has only the ends."""
    if '"method"' in text[:_TAIL]:
        return None
    found = re.match(_LEADING_ID, text[:_HEAD])
    if found is None:
        found = re.search(_TRAILING_ID, text[-_TAIL:])
        # In a text that was cut off, the last may be an inner id.
        if found is None or not braces_close(whole or text.encode(errors="surrogatepass")):
            return None
    try:
        identity: Id = read(found[1])
    except ValueError:
        return None
    return identity


def _cut_off(line: bytes, problem: TooLarge) -> Message:
    """A message that is too large to be read; its id tells which request it was meant to answer."""
    head, tail = line[:_KEPT].decode(errors="replace"), line[_KEPT:][-_KEPT:].decode(errors="replace")
    left_out = f" … {len(line) - 2 * _KEPT} more bytes … " if len(line) > 2 * _KEPT else ""
    if left_out:  # of a character that was cut, nothing is left
        head, tail = head.rstrip("\ufffd"), tail.lstrip("\ufffd")
    ends = (line[:_HEAD] + line[_HEAD:][-_TAIL:]).decode(errors="replace")
    return Message(head + left_out + tail, None, "invalid", _salvaged_id(ends, line), problem)


def cut_off(text: str) -> str:
    """The ends of TEXT, a message for which there is no room."""
    return f"{text[:_KEPT]} … {len(text) - 2 * _KEPT} more bytes … {text[-_KEPT:]}"


def is_cut_off(text: str) -> bool:
    """Whether TEXT is what was kept of a message that was too large to be read: what is wrong with it is our doing."""
    return len(text) <= 2 * _KEPT + 100 and _MORE_BYTES in text and re.search(_LEFT_OUT, text) is not None


class _NotJsonError(ValueError):
    pass


def _refuse(constant: str) -> Any:
    raise _NotJsonError(f"{constant} is not a JSON value")


def _float(text: str) -> float:
    number = float(text)
    return number if repr(number) == text else Digits(text)


def _patient_int(text: str) -> float:
    # Python refuses to convert more than 4300 digits, for good reason: it takes quadratic time.
    return int(text) if len(text) < _MOST_DIGITS and text != "-0" else Digits(text)


_END = object()
_new_tuple = tuple.__new__
_MOST_DIGITS = 4300
_NEGATIVE_ZERO = r"-0(?<![^\[:,\s]-0)\s*(?:[,}\]]|$)"  # which begins with what is quick to find
_SURROGATE = "[\ud800-\udfff]"
_DECODER = json.JSONDecoder(parse_float=_float, parse_constant=_refuse)
_PATIENT_DECODER = json.JSONDecoder(parse_float=_float, parse_constant=_refuse, parse_int=_patient_int)
_SCAN: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once  # type: ignore[attr-defined]
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)


def _encoding() -> Callable[[Any, int], Iterable[str]]:
    """What JSONEncoder.encode makes for each call, made once: that is half the time of writing a small message."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: _ENCODER.iterencode(value)
    encode: Callable[[Any, int], Iterable[str]] = make(
        None, _ENCODER.default, encode_basestring, None, ":", ",", False, False, False
    )
    return encode


_ENCODE = _encoding()
