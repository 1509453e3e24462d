"""The public interface is a promise: its signatures stand in public_api.txt, and change only on purpose.

After a change on purpose: `python tests/e2e/library/test_public_api.py` writes the file again, and `scripts/docs` the
page of the manual that is made from it.
"""

import enum
import inspect
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import mcp_conductor

FILE = Path(__file__).parent / "public_api.txt"
ROOT = Path(__file__).parents[3]
# Where Any stands for a JSON value, or for what a foreign stream carries.
JSON = {
    "Content.__init__", "Content.each", "View.each", "Answers.__init__", "StreamsSpec.__init__", "Message.__new__", "ToolResult.structured",
    "HttpStatusError.error", "LogMessage.data", "MethodError.__init__", "MethodError.code", "ProtocolError.__init__", "Message.result",
    "Message.error", "Session.request", "Session.input_responses", "SyncSession.input_responses", "SyncSession.request", "SyncSession.everything", "SyncSession.pages", "Session.everything", "Session.pages", "Bridge.request", "like", "Call.log", "Probe.ask", "Record.items",
}  # fmt: skip

# How a session is opened, and what our own modules change in it later: no promise to others.
INNER = {
    f"Session.{member}"
    for member in (
        "__init__", "answer_with", "assume", "avoid_ids", "client_capabilities", "compose", "declare_extension", "exchange_later", "flood", "forget", "ids_starting_at",
        "lacks_tools", "open_stream", "ask_for_log", "pass_on", "progress_for", "reply_to", "send", "settle",
    )
} | {"Bridge.secrets", "Subscription.__init__", "Subscription.over", "Subscription.hears", "Subscription.heard", "SyncSession.__init__", "SyncSubscription.__init__"} | {
    # What a plugin is given, and does not make.
    "SpoiledReply.__init__", "SpoiledReply.changed", "SpoiledReply.garbled", "SpoiledReply.leaves", "SpoiledReply.truncates",
    "Call.__init__", "Field.__init__", "Field.member", "Field.root",
    "Outcome.__init__", "Probe.__init__", "Probe.again", "Probe.once", "Probe.anew", "Probe.apart", "Probe.beside", "Probe.dialect", "Probe.ended_sessions",
    "Probe.harmless", "Probe.never_cancel", "Probe.unanswered", "Probe.http", "Probe.odd", "Probe.patience", "Probe.reachable", "Probe.reply_to", "Probe.served", "Probe.settled",
    "Probe.spec", "Probe.taken_on", "Probe.unopened", "Probe.write", "Record.__init__", "Record.some_results", "Record.traits", "Transcript.decoded", "Transcript.read", "Transcript.spoken", "Report.__init__", "Scope.__init__", "Script.__init__", "Script.answered", "Script.next_key", "Script.steps",
}  # fmt: skip
# Of every error: how its surroundings get into it. Of every spec: what our own modules ask it.
INNER_EVERYWHERE = {"tell_with"}
INNER_OF_SPECS = {
    "config",
    "credentials",
    "as_http",
    "as_process",
    "kind",
    "label",
    "module",
    "older",
    "secrets",
    "starting_within",
    "startup_timeout",
}


def written(annotation):
    text = inspect.formatannotation(annotation) if not isinstance(annotation, str) else annotation
    text = re.sub(r"\b(?:mcp_conductor|collections|typing|os|contextlib|types|asyncio)\.(?:\w+\.)*", "", text)
    return text.replace("~", "")


def signature(thing):
    found = inspect.signature(thing)
    parameters = []
    for each in found.parameters.values():
        # Typed calls are functions of something that can send a request: a session, which has them as its methods.
        if each.name in ("self", "cls") or written(each.annotation) == "Requests":
            continue
        if each.kind is each.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        prefix = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        hint = "" if each.annotation is each.empty else f": {written(each.annotation)}"
        default = "" if each.default is each.empty else f" = {shown(each.default)}"
        parameters.append(f"{prefix}{each.name}{hint}{default}")
    returned = "" if found.return_annotation is found.empty else f" -> {written(found.return_annotation)}"
    return f"({', '.join(parameters)}){returned}"


def shown(default):
    if isinstance(default, (str, int, float, tuple, type(None), enum.Enum)):
        return repr(default)
    return "…" if not hasattr(default, "__name__") or default.__name__ == "<lambda>" else default.__name__


def lines():
    for name in sorted(mcp_conductor.__all__):
        thing = getattr(mcp_conductor, name)
        if not inspect.isclass(thing):
            yield name + signature(thing) if callable(thing) else name
            continue
        bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
        yield f"class {name}({bases})"
        yield from sorted(members(name, thing))


def members(name, owner):
    with suppress(ValueError, TypeError):
        inspect.signature(owner)  # some classes write their __init__ when it is asked for
    for member, kept in inspect.getmembers_static(owner):
        inner = f"{name}.{member}" in INNER or member in INNER_EVERYWHERE
        inner |= name.endswith("Spec") and member in INNER_OF_SPECS
        if inner or (member.startswith("_") and member != "__init__"):
            continue
        value = kept.__func__ if isinstance(kept, (classmethod, staticmethod)) else kept
        if isinstance(value, property):
            yield f"    {name}.{member}: {written(value.fget.__annotations__.get('return', ''))}"
        elif inspect.isfunction(value) and not value.__module__.startswith("abc"):
            yield f"    {name}.{member}{signature(value)}"


def test_the_signatures_are_those_that_were_promised():
    assert list(lines()) == FILE.read_text().splitlines()


def test_any_stands_for_json_alone():
    strange = []
    for line in lines():
        rest = re.sub(r"(?:dict|Mapping|MutableMapping)\[str, Any\]|AsyncIterable\[Any\]", "JSON", line.strip())
        place = re.match(r"[\w.]+", rest.removeprefix("class "))[0]
        if re.search(r"\bAny\b", rest) and place not in JSON and not place.endswith((".each", ".__init__")):
            strange.append(line)
    assert strange == []


def test_the_examples_are_typed_strictly():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            str(ROOT / "examples" / "library"),
            str(ROOT / "examples" / "agent"),
            str(ROOT / "examples" / "plugins"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_public_names_are_these():
    assert sorted(mcp_conductor.__all__) == [
        "Answers",
        "AsgiSpec",
        "Backoff",
        "Bridge",
        "BridgeEvent",
        "Budgets",
        "Call",
        "Completion",
        "ConductorError",
        "ConfigError",
        "ConnectionLost",
        "Content",
        "ElicitationRequest",
        "Exchange",
        "Field",
        "Finding",
        "Health",
        "HttpSpec",
        "HttpStatusError",
        "Incoming",
        "LogMessage",
        "Message",
        "MethodError",
        "NotSeen",
        "OAuth",
        "Outcome",
        "Probe",
        "Prompt",
        "PromptMessage",
        "PromptResult",
        "ProtocolError",
        "ReadResult",
        "Record",
        "Recording",
        "Refused",
        "Report",
        "RequestTimeout",
        "Resource",
        "ResourceContents",
        "ResourceTemplate",
        "ResourceUpdate",
        "SamplingMessage",
        "SamplingRequest",
        "Scope",
        "Script",
        "ServerDown",
        "ServerSpec",
        "Session",
        "SpoiledReply",
        "StdioNotSupported",
        "StdioSpec",
        "StreamsSpec",
        "Subscription",
        "SyncSession",
        "SyncSubscription",
        "Tool",
        "ToolResult",
        "Transcript",
        "TransportError",
        "UsageError",
        "__version__",
        "check",
        "connect",
        "connect_sync",
        "fault",
        "like",
        "matcher",
        "opens",
        "predicate",
        "preset",
        "read_recording",
        "reporter",
        "save_recording",
        "step",
    ]
    assert all(getattr(mcp_conductor, name) for name in mcp_conductor.__all__)


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n")
