"""Every method that `mcp-cli` can call: one row each, with its flags and how its params are built."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mcp_conductor.cli.flags import Given
from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import LOG_LEVELS, MODERN


class Method(NamedTuple):
    """One method: what it needs, what it may take, and its params."""

    help: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    params: Callable[[Given], Json | None] = lambda _: None
    more: str = ""  # what --help says besides
    examples: tuple[str, ...] = ()  # the flags of examples, beside --method and the server


def _from_flag(member: str, flag: str) -> Callable[[Given], Json]:
    return lambda given: {member: given.need(flag)}


def _texts(given: Given, flag: str) -> Json:
    """The arguments given to FLAG, which are always text."""
    arguments: Json = {}
    for name, value in given.pairs(flag):
        if name in arguments:
            raise UsageError(f"argument {name!r} is given twice")
        arguments[name] = value
    return arguments


def _prompt(given: Given) -> Json:
    arguments = _texts(given, "--prompt-arg")
    return {"name": given.need("--prompt-name"), **({"arguments": arguments} if arguments else {})}


def _completion(given: Given) -> Json:
    argument = {"name": given.need("--argument-name"), "value": given.need("--argument-value")}
    known = _texts(given, "--context-argument")
    context = {"context": {"arguments": known}} if known else {}
    return {"ref": completion_ref(given.need("--completion-ref")), "argument": argument, **context}


def completion_ref(text: str) -> Json:
    """The reference that `ref/prompt/NAME` or `ref/resource/URI` spells."""
    for kind, member in (("ref/prompt", "name"), ("ref/resource", "uri")):
        if text.startswith(f"{kind}/"):
            return {"type": kind, member: text[len(kind) + 1 :]}
    raise UsageError(f"--completion-ref must start with ref/prompt/ or ref/resource/, not {text!r}")


def _level(given: Given) -> Json:
    level = given.need("--log-level")
    check_level("--log-level", level)
    return {"level": level}


def check_level(where: str, level: Any) -> None:
    """Refuse what stands at WHERE if it is not a log level."""
    if level not in LOG_LEVELS:
        raise UsageError(f"{where} {level!r} is not a level of MCP", hint=f"the levels are {', '.join(LOG_LEVELS)}")


_PAGE = ("--cursor",)
_OUTPUT = "--output"
_CALL = (
    _OUTPUT,
    "--tool-arg",
    "--tool-args-json",
    "--tool-metadata",
    "--run-as-task",
    "--poll",
    "--poll-interval",
    "--task-ttl",
    "--output-schema-validate",
)
_SECRET = "--oauth-client-secret"
_CLIENT = ("--server-url", "--oauth-client-id")
# With --oauth these identify the client, for every method.
_TRUST = ("--oauth-issuer", "--oauth-allow-http")
_AUTH = "--oauth-client-auth"
_IDENTITY = ("--oauth-client-id", _SECRET, _AUTH, "--oauth-scope", "--oauth-refresh-token", *_TRUST)
_AT = "--server-url https://example.com/mcp"  # in examples
_BY_CLIENT = f"{_AT} --oauth-client-id my-client"
_task = _from_flag("taskId", "--task-id")
_uri = _from_flag("uri", "--uri")

SKILLS = ("skills/list", "skills/get", "resources/directory/read")  # of an extension, in no revision
METHODS = {
    "tools/list": Method("list the tools (all pages)", takes=_PAGE),
    "tools/call": Method(
        "call a tool",
        ("--tool-name",),
        _CALL,
        _from_flag("name", "--tool-name"),
        "The exit code is 2 where the result has isError. Where the tool's schema says string, zip=01234 stays text;\n"
        "an array takes a,b,c, or JSON, or the same argument several times.",
        (
            "--tool-name add --tool-arg a=1 --tool-arg b=2",
            """--tool-name add --tool-args-json '{"a": 1, "b": 2}'""",
            "--tool-name simple_task --run-as-task --poll",
            "--tool-name image_content --output picture.png",
        ),
    ),
    "resources/list": Method("list the resources (all pages)", takes=_PAGE),
    "resources/read": Method(
        "read a resource",
        ("--uri",),
        (_OUTPUT,),
        _uri,
        examples=("--uri file:///hello.txt", "--uri file:///hello.txt --output hello.txt"),
    ),
    "resources/templates/list": Method("list the resource templates (all pages)", takes=_PAGE),
    "resources/subscribe": Method(
        "subscribe to a resource; --follow shows its updates",
        ("--uri",),
        (),
        _uri,
        "--follow stays connected, and prints each update as a line of JSON until it is interrupted or --timeout.",
        ("--uri file:///hello.txt --follow --timeout 1m",),
    ),
    "resources/unsubscribe": Method("end a subscription", ("--uri",), (), _uri, examples=("--uri file:///hello.txt",)),
    "prompts/list": Method("list the prompts (all pages)", takes=_PAGE),
    "prompts/get": Method(
        "get a prompt",
        ("--prompt-name",),
        ("--prompt-arg", _OUTPUT),
        _prompt,
        examples=("--prompt-name args_prompt --prompt-arg city=Ulm --prompt-arg state=Bavaria",),
    ),
    "completion/complete": Method(
        "complete an argument of a prompt or a resource template",
        ("--completion-ref", "--argument-name", "--argument-value"),
        ("--context-argument",),
        _completion,
        examples=("--completion-ref ref/prompt/args_prompt --argument-name city --argument-value U",),
    ),
    "logging/setLevel": Method(
        "set the log level; --follow shows the messages",
        ("--log-level",),
        (),
        _level,
        examples=("--log-level debug --follow --timeout 1m",),
    ),
    "tasks/list": Method("list the tasks (all pages)", takes=_PAGE),
    "tasks/get": Method("get the state of a task", ("--task-id",), (), _task, examples=("--task-id 786512e2",)),
    "tasks/result": Method(
        "get the result of a task, waiting for it",
        ("--task-id",),
        (_OUTPUT,),
        _task,
        "Questions of the server, while the task waits for input, are answered as in a call: --handle-elicitation.",
        ("--task-id 786512e2",),
    ),
    "tasks/cancel": Method("cancel a task", ("--task-id",), (), _task, examples=("--task-id 786512e2",)),
    "skills/list": Method("list the skills (all pages)", takes=("--verify", *_PAGE), examples=("", "--verify")),
    "skills/get": Method(
        "get the entry of a skill, by the URI of its SKILL.md",
        ("--uri",),
        ("--verify",),
        _uri,
        examples=("--uri skill://review/SKILL.md --verify",),
    ),
    "resources/directory/read": Method(
        "list what is in a directory of resources (all pages)",
        ("--uri",),
        _PAGE,
        _uri,
        examples=("--uri skill://review",),
    ),
    "ping": Method(
        "ask whether the server is alive",
        more=f"The revision {MODERN[0]} has no ping: there, server/discover is sent instead.",
    ),
    "server/info": Method("show the server's name, version, capabilities and protocol version"),
    "server/discover": Method(f"ask a {MODERN[0]} server what it supports", examples=("--protocol modern",)),
    "initialize": Method("show the answer to initialize, as it came"),
    "oauth/discover": Method(
        "show the metadata of a server's authorization server", ("--server-url",), _TRUST, examples=(_AT,)
    ),
    "oauth/register": Method(
        "register a client there",
        ("--server-url", "--client-name", "--redirect-uri"),
        ("--oauth-scope", _AUTH, *_TRUST),
        examples=(f"{_AT} --client-name 'My client' --redirect-uri http://127.0.0.1:8765/callback",),
    ),
    "oauth/authorize-url": Method(
        "make the URL where a user authorizes the client, with its PKCE verifier and state",
        (*_CLIENT, "--redirect-uri"),
        ("--oauth-scope", *_TRUST),
        examples=(f"{_BY_CLIENT} --redirect-uri http://127.0.0.1:8765/callback",),
    ),
    "oauth/token": Method(
        "exchange an authorization code for a token",
        (*_CLIENT, "--oauth-code", "--oauth-code-verifier"),
        (_SECRET, _AUTH, "--redirect-uri", *_TRUST),
        examples=(f"{_BY_CLIENT} --oauth-code env:CODE --oauth-code-verifier env:VERIFIER",),
    ),
    "oauth/refresh": Method(
        "exchange a refresh token for a token",
        (*_CLIENT, "--oauth-refresh-token"),
        (_SECRET, _AUTH, "--oauth-scope", *_TRUST),
        examples=(f"{_BY_CLIENT} --oauth-refresh-token @refresh-token.txt",),
    ),
    "oauth/client-credentials": Method(
        "get a token for the client itself",
        (*_CLIENT, _SECRET),
        ("--oauth-scope", _AUTH, *_TRUST),
        examples=(f"{_BY_CLIENT} --oauth-client-secret env:CLIENT_SECRET",),
    ),
}

_SPECIFIC = {flag for method in METHODS.values() for flag in (*method.needs, *method.takes)}


def known(name: str, program: str) -> Method:
    """The method called NAME; refuses names that are none of ours."""
    if (method := METHODS.get(name)) is not None:
        return method
    near = nearest(name, list(METHODS))
    hint = f"did you mean {near}? " if near else f"{program} --help lists the methods; "
    raise UsageError(f"unknown method {name!r}", hint=f"{hint}--raw sends any other")


def check(name: str, given: Given) -> Method:
    """The method called NAME; refuses unknown names, missing flags, and flags that mean nothing to it."""
    method = known(name, given.program)
    if missing := [flag for flag in method.needs if flag not in given]:
        raise UsageError(f"{name} needs {' and '.join(missing)}")
    for flag in given.values:
        if "--oauth" in given and flag in _IDENTITY:
            continue
        if flag in _SPECIFIC and flag not in method.needs and flag not in method.takes:
            users = ", ".join(user for user, row in METHODS.items() if flag in (*row.needs, *row.takes))
            raise UsageError(f"{flag} has no meaning for {name}", hint=f"it is for {users}")
    for flag, other in (("--poll", "--run-as-task"), ("--poll-interval", "--poll"), ("--task-ttl", "--run-as-task")):
        if flag in given and other not in given:
            raise UsageError(f"{flag} has no meaning without {other}")
    return method


def check_none(given: Given) -> None:
    """Refuse the flags of methods where no method is called."""
    for flag in given.values:
        if flag in _SPECIFIC and not ("--oauth" in given and flag in _IDENTITY):
            raise UsageError(f"{flag} has no meaning without a --method")


def listing() -> str:
    """The methods with their one-line descriptions, for --help."""
    return "\n".join(f"  {name:<26}  {method.help}" for name, method in METHODS.items())


def is_tool_error(result: Any) -> bool:
    return isinstance(result, dict) and result.get("isError") is True
