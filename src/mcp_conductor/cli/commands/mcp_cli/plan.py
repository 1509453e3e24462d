"""A command line of `mcp-cli`, understood completely before anything is started."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_conductor.cli.commands.mcp_cli import methods
from mcp_conductor.cli.commands.mcp_cli.flags import FLAGS
from mcp_conductor.cli.flags import Given, check_flags
from mcp_conductor.cli.flags.target import load_plugins, target
from mcp_conductor.cli.flags.values import time
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers, elicitation_answers, sampling_answers
from mcp_conductor.protocol.message import how_to_quote, kind_of, read, why_not_json
from mcp_conductor.protocol.server_spec import ServerSpec

if TYPE_CHECKING:
    from mcp_conductor.cli.commands.mcp_cli.script_lines import ScriptLine

DEFAULT_TIMEOUT = "30s"
LONGEST_ARGUMENT = 64_000_000  # bytes of @FILE, or of stdin
CONSENT_TIMEOUT = "6m"  # with --oauth: a person may have to log in first


class Script(NamedTuple):
    """The lines of --script; None: they come from stdin."""

    lines: "list[ScriptLine] | None"


class CallPlan(NamedTuple):
    """What is to be done."""

    given: Given
    spec: ServerSpec
    method: str | None
    params: Json | None
    meta: Json
    arguments: Json  # of a tool, given as JSON
    typed_arguments: list[tuple[str, str]]  # of a tool, given as text
    raw: str | None
    script: "Script | None"
    answers: Answers
    follow: bool
    events: bool
    timeout: float
    request_timeout: float | None
    poll_interval: float | None
    task_ttl: float | None


def plan(given: Given, terminal: Terminal) -> CallPlan:
    """Understand the command line; refuses what cannot be meant."""
    check_flags(given, FLAGS)
    method, raw, follow = given.one("--method"), given.one("--raw"), "--follow" in given
    if method is None and raw is None and not follow and "--script" not in given:
        hint = f"--method tools/list, for instance; {given.program} --help lists all of them"
        if (word := next(iter(given.words), None)) in methods.METHODS:
            hint = f"{word!r} is a method: {given.program} --method {word} COMMAND (or URL)"
        if given.words == ("server-composable",) and (file := given.one("--config")) is not None:
            from shlex import quote

            command = f"server-composable --config {quote(file)}"
            hint = f"it is a program of its own: {command}, or conductor serve {quote(file)}; as a server: "
            hint += f"{given.program} -- {command} -- --method tools/list"
        raise UsageError("no --method is given", hint=hint)
    if method is None:
        methods.check_none(given)
    else:
        methods.check(method, given)
    output = given.one("--output")
    if output is not None and (output in ("", "-") or os.path.isdir(os.path.join(terminal.directory, output))):
        raise UsageError(f"--output takes the name of a file, not {output!r}")
    load_plugins(given, terminal)
    return common_plan(given, terminal, target(given, terminal, program=given.program))


def common_plan(given: Given, terminal: Terminal, spec: ServerSpec) -> CallPlan:
    """What a command line, which was looked at, says about the server of SPEC."""
    method, raw = given.one("--method"), given.one("--raw")
    params = None if method is None else methods.check(method, given).params(given)
    return CallPlan(
        given=given,
        spec=spec,
        method=method,
        params=params,
        meta=_meta(given),
        arguments=_arguments(given, terminal),
        typed_arguments=given.pairs("--tool-arg"),
        raw=None if raw is None else _one_line(_text_of("--raw", raw, terminal)),
        script=_script(given, terminal),
        answers=Answers(
            roots=[root(text) for text in given.all("--roots")] or None,
            sampling=_answer(given, "--handle-sampling", sampling_answers),
            elicitation=_answer(given, "--handle-elicitation", elicitation_answers),
        ),
        follow="--follow" in given,
        events="--events" in given,
        timeout=run_time(given),
        request_timeout=time(given, "--request-timeout"),
        poll_interval=time(given, "--poll-interval"),
        task_ttl=time(given, "--task-ttl"),
    )


def _script(given: Given, terminal: Terminal) -> Script | None:
    file = given.one("--script")
    if file is None or file == "-":
        return None if file is None else Script(None)
    from mcp_conductor.cli.commands.mcp_cli.script_lines import read_script

    return Script(read_script(os.path.join(terminal.directory, os.path.expanduser(file)), file))


def run_time(given: Given) -> float:
    """How long the whole run may take, in seconds."""
    return time(given, "--timeout", CONSENT_TIMEOUT if "--oauth" in given else DEFAULT_TIMEOUT) or 0.0


def _meta(given: Given) -> Json:
    pairs = given.pairs("--metadata") + given.pairs("--tool-metadata")
    meta = {key: _json_or_text(value) for key, value in pairs}
    token = given.one("--progress-token")
    return meta if token is None else {**meta, "progressToken": token}


def _arguments(given: Given, terminal: Terminal) -> Json:
    text = given.one("--tool-args-json")
    if text is None:
        return {}
    arguments = json_of("--tool-args-json", _text_of("--tool-args-json", text, terminal))
    if not isinstance(arguments, dict):
        raise UsageError(f"--tool-args-json must be a JSON object, not {kind_of(arguments)}")
    return arguments


def _json_or_text(text: str) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return text


def _answer(given: Given, flag: str, check: Callable[[Any], Any]) -> Any:
    text = given.one(flag)
    if text is None:
        return None
    try:
        return check(json_of(flag, text) if text.lstrip().startswith(("{", "[", '"')) else text)
    except UsageError as error:
        message = error.message if error.message.startswith(flag) else f"{flag}: {error.message}"
        raise UsageError(message, hint=error.hint) from error


def json_of(flag: str, text: str) -> Any:
    """The JSON value given to a flag."""
    try:
        return read(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{flag} is not JSON: {why_not_json(error)}", hint=how_to_quote(text)) from error


def _text_of(flag: str, text: str, terminal: Terminal) -> str:
    """The text given to a flag: itself, or the content of @FILE, or of stdin for -."""
    try:
        if text == "-":
            data = terminal.stdin.read(LONGEST_ARGUMENT + 1) if terminal.stdin else b""
            if len(data) > LONGEST_ARGUMENT:
                raise UsageError(f"{flag}: stdin has more than {LONGEST_ARGUMENT // 1_000_000} MB")
            return data.decode(errors="surrogateescape")
        if text.startswith("@"):
            from mcp_conductor.files.reading import read_bytes

            data = read_bytes(os.path.join(terminal.directory, text[1:]), LONGEST_ARGUMENT)
            return data.decode(errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"{flag}: cannot read {text[1:]}: {error.strerror}") from error
    return text


def _one_line(text: str) -> str:
    """On stdio a message is one line; in JSON, line ends are only white space."""
    return text.strip("\r\n").replace("\r", " ").replace("\n", " ")


def root(text: str) -> Json:
    """The root that URI or URI=NAME spells; an = inside the URI's authority or path separates."""
    scheme = text.find("://")
    if scheme <= 0:
        raise UsageError(f"--roots takes URI or URI=NAME, not {text!r}", hint="a URI has a scheme: file:///path")
    uri, equals, name = text[scheme + 3 :].partition("=")
    return {"uri": text[: scheme + 3] + uri, **({"name": name} if equals else {})}
