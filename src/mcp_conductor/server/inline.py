"""Definitions that a config file writes out: what they show in their lists, what they do, and what they give.

What MCP lists stands as MCP writes it, and is listed verbatim. The rest is read here, completely, before anything is
served: a mistake is an error that names the file, the line, the column and the nearest name.
"""

from typing import TYPE_CHECKING

from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.schema import flaw
from mcp_conductor.server.call import Call
from mcp_conductor.server.content_checks import content_mistakes, message_mistakes, output_mistakes
from mcp_conductor.server.definitions import Act, Completions, Prompt, Resource, TaskSupport, Template, Tool
from mcp_conductor.server.placeholders import Draft, Scope, array, record
from mcp_conductor.server.steps import Script, Step, one_of, perform
from mcp_conductor.server.steps.resources import CONTENTS, RESOURCE_MEMBERS, contents

if TYPE_CHECKING:
    from mcp_conductor.protocol.uri_template import UriTemplate

_DESCRIBED = ("name", "title", "description", "icons", "_meta")
_TOOL_MEMBERS = (*_DESCRIBED, "inputSchema", "outputSchema", "annotations", "execution")
_TEMPLATE_MEMBERS = (*_DESCRIBED, "uriTemplate", "mimeType", "annotations")
_ARGUMENT_MEMBERS = ("name", "title", "description", "required")

# What is no member that MCP lists: what a definition does.
OWN_KEYS = {
    "result": "what a call returns: a text, an array (the content) or an object (the whole result)",
    "steps": "what is done before that, in order",
    "task": "required or optional: whether the tool is run as a task",
    "before": "steps before the task begins",
    "checked": "false: accept arguments and return results that break the schemas",
    "text": "the content of a resource as text; of a prompt, one message of the user",
    "blob": "the content of a resource in base64",
    "contents": "the contents of a resource, as in MCP",
    "completions": "values of the variables of a template, for completion/complete",
    "messages": "the messages of a prompt, as in MCP",
    "complete": "values of an argument of a prompt, for completion/complete",
}
TOOL_KEYS = (*_TOOL_MEMBERS, "task", "before", "steps", "result", "checked")
RESOURCE_KEYS = (*RESOURCE_MEMBERS, *CONTENTS, "steps")
TEMPLATE_KEYS = (*_TEMPLATE_MEMBERS, *CONTENTS, "completions", "steps")
PROMPT_KEYS = (*_DESCRIBED, "arguments", "messages", "text", "steps")
ARGUMENT_KEYS = (*_ARGUMENT_MEMBERS, "complete")


def tool(field: Field) -> Tool:
    """The tool that FIELD describes."""
    mistakes = Mistakes()
    given = _members(field, TOOL_KEYS, "name", mistakes)
    checked = mistakes.read(given.get("checked"), Field.boolean, otherwise=True)
    for key in ("inputSchema", "outputSchema") if checked else ():
        mistakes.read(given.get(key), _check_schema, None)
    task = mistakes.read(field, lambda _: _task(given), None)
    listed = _listed_members(given, _TOOL_MEMBERS)
    listed.setdefault("inputSchema", {"type": "object", "properties": {}})
    if task is not None:
        listed["execution"] = {"taskSupport": task, **listed.get("execution", {})}
    script = Script()
    before = mistakes.read(given.get("before"), script.steps, [])
    steps = mistakes.read(given.get("steps"), script.steps, [])
    result = mistakes.read(given.get("result"), lambda given: _result(given, script), Draft({"content": []}))
    if checked:
        _check_result(field, given, mistakes)
    mistakes.tell()
    begin, run = _acts(before, steps, result)
    return Tool(listed=listed, run=run, task=task, before=begin, arguments_checked=checked, output_checked=checked)


def resource(field: Field) -> Resource:
    """The resource that FIELD describes."""
    mistakes = Mistakes()
    given = _members(field, RESOURCE_KEYS, "uri", mistakes)
    uri = "" if mistakes else given["uri"].text()
    script = Script()
    steps = mistakes.read(given.get("steps"), script.steps, [])
    read_contents = mistakes.read(field, lambda field: contents(field, given, Draft(uri), script), Draft({}))
    mistakes.tell()
    _, read = _acts([], steps, read_contents)
    return Resource(listed={"name": uri, **_listed_members(given, RESOURCE_MEMBERS)}, read=read)


def template(field: Field) -> Template:
    """The resource template that FIELD describes."""
    mistakes = Mistakes()
    given = _members(field, TEMPLATE_KEYS, "uriTemplate", mistakes)
    mistakes.tell()  # what it is called is what the rest is about
    uri_template = given["uriTemplate"].text()
    pattern = _pattern(given["uriTemplate"])
    script = Script({"variables": pattern.names})
    steps = mistakes.read(given.get("steps"), script.steps, [])
    asked_for = Draft(None, lambda scope: scope.call.params["uri"])
    read_contents = mistakes.read(field, lambda field: contents(field, given, asked_for, script), Draft({}))
    completions: dict[str, Field] = mistakes.read(
        given.get("completions"), lambda given: given.members(pattern.names), {}
    )
    mistakes.tell()
    _, read = _acts([], steps, read_contents)
    return Template(
        listed={"name": uri_template, **_listed_members(given, _TEMPLATE_MEMBERS)},
        read=read,
        pattern=pattern,
        completions={name: _texts(values) for name, values in completions.items()},
    )


def prompt(field: Field) -> Prompt:
    """The prompt that FIELD describes."""
    mistakes = Mistakes()
    given = _members(field, PROMPT_KEYS, "name", mistakes)
    listed = _listed_members(given, _DESCRIBED)
    arguments: list[dict[str, Field]] = mistakes.read(
        given.get("arguments"), lambda given: read_all(_argument, given.items()), []
    )
    if "arguments" in given:
        listed["arguments"] = [_listed_members(argument, _ARGUMENT_MEMBERS) for argument in arguments]
    completions: Completions = {
        argument["name"].text(): _texts(argument["complete"]) for argument in arguments if "complete" in argument
    }
    if mistakes:  # what placeholders may be about is not known
        mistakes.tell()
    script = Script({"arguments": [argument["name"].text() for argument in arguments]})
    steps = mistakes.read(given.get("steps"), script.steps, [])
    messages = mistakes.read(field, lambda field: _messages(field, given, script), Draft([]))
    mistakes.tell()
    _, get = _acts([], steps, record({"messages": messages}))
    return Prompt(listed=listed, get=get, completions=completions)


# What is listed.


def _members(field: Field, known: tuple[str, ...], name: str, mistakes: Mistakes) -> dict[str, Field]:
    """The members of a definition; NAME is the one by which clients name it."""
    given = field.members(known, mistakes=mistakes)
    if name in given or not mistakes:  # else a key that is not known may be this one
        mistakes.read(field, lambda field: _check_name(field, given, name), None)
    return given


def _check_name(field: Field, given: dict[str, Field], key: str) -> None:
    if not given[one_of(field, given, key)].text():
        given[key].refuse("must not be empty")


def _argument(entry: Field) -> dict[str, Field]:
    """An argument of a prompt."""
    mistakes = Mistakes()
    given = _members(entry, ARGUMENT_KEYS, "name", mistakes)
    mistakes.read(given.get("complete"), _texts, None)
    mistakes.tell()
    return given


def _listed_members(given: dict[str, Field], members: tuple[str, ...]) -> Json:
    return {key: field.value for key, field in given.items() if key in members}


def _texts(given: Field) -> list[str]:
    return [item.text() for item in given.items()]


def _task(given: dict[str, Field]) -> TaskSupport | None:
    """Whether the tool runs as a task: by `task`, or by the `execution` that it lists."""
    execution = given["execution"].members() if "execution" in given else {}
    asked = given["task"].one_of(("required", "optional")) if "task" in given else None
    if asked is None and "taskSupport" in execution:
        asked = execution["taskSupport"].value
    return "required" if asked == "required" else "optional" if asked == "optional" else None


def _pattern(given: Field) -> "UriTemplate":
    from mcp_conductor.protocol.uri_template import parse

    try:
        return parse(given.text())
    except ValueError as error:
        given.refuse(f"cannot be used: {error}")


def _check_schema(given: Field) -> None:
    given.members()
    if problem := flaw(given.value):
        given.refuse(
            f"is not a usable JSON Schema: {problem}",
            "`checked: false` lists it as it is, and checks nothing by it",
        )


# What is given.


def _check_result(field: Field, given: dict[str, Field], mistakes: Mistakes) -> None:
    """Note what is wrong with the result of a tool; what it would be by a schema that is wrong itself is not known."""
    result = given.get("result")
    if result is not None:
        for mistake in content_mistakes(result):
            mistakes.add(mistake)
    may_fail = any(isinstance(step, dict) and "fail" in step for step in _steps_of(given))
    if "outputSchema" in given and not may_fail and not mistakes:
        for mistake in output_mistakes(result, given["outputSchema"].value, field):
            mistakes.add(mistake)


def _steps_of(given: dict[str, Field]) -> list[object]:
    return [step.value for key in ("before", "steps") if key in given for step in given[key].items()]


def _result(given: Field, script: Script) -> Draft:
    """A tool's result: one text, the content, or the whole of it."""
    if isinstance(given.value, str):
        return record({"content": array([_text_block(given, script)])})
    if isinstance(given.value, list):
        return record({"content": script.draft(given)})
    if not isinstance(given.value, dict):
        given.refuse(f"must be a text, an array (content) or an object (all of the result), not {kind_of(given.value)}")
    return script.draft(given)


def _messages(field: Field, given: dict[str, Field], script: Script) -> Draft:
    if one_of(field, given, "messages", "text") == "messages":
        mistakes = Mistakes()
        for mistake in message_mistakes(given["messages"]):
            mistakes.add(mistake)
        draft = mistakes.read(given["messages"], script.draft, Draft([]))
        mistakes.tell()
        return draft
    return array([record({"role": Draft("user"), "content": _text_block(given["text"], script)})])


def _text_block(given: Field, script: Script) -> Draft:
    return record({"type": Draft("text"), "text": script.text(given)})


def _acts(before: list[Step], steps: list[Step], result: Draft) -> tuple[Act | None, Act]:
    """What is done BEFORE a task is made, if anything is, and the rest: without any STEPS that is there at once."""
    if not before and not steps:
        fixed: Json = result.value
        return None, (lambda _: fixed) if result.fill is None else (lambda call: result.filled(Scope(call)))

    async def begin(call: Call) -> Json:
        scope = Scope(call)
        await perform(before, scope)
        call.answers = scope.answers  # they are for the rest, too
        return {}

    async def run(call: Call) -> Json:
        scope = Scope(call)
        scope.answers.update(call.answers)
        await perform(steps, scope)
        filled: Json = result.filled(scope)
        return filled

    return begin if before else None, run
