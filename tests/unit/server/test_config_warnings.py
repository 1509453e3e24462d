"""What the clients of a revision that is served cannot see, and the mistakes in a file that only the whole of it shows."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.server.config_file import read
from mcp_conductor.server.transport_file import Overrides

HEAD = 'serverInfo: {name: it, version: "1"}\n'


def config(text, **over):
    return read(Field.root(parse(HEAD + text, "it.yaml", json=False), {}), Overrides(**over))


def about(problems):
    """The keys that PROBLEMS are about."""
    return [problem.message.removeprefix("it.yaml: ").split()[0] for problem in problems]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("transport: {type: stdio}\ntasks: {}", []),
        ("transport: {type: stdio, modern: true}\ntasks: {}", ["tasks"]),
        ("transport: {type: stdio, modern: true}\ntasks: {}\ntasksExtension: {}", []),
        ("transport: {type: stdio, modern: true}\ntasksExtension: {}", ["tasksExtension"]),
        ("transport: {type: stdio}\ntasksExtension: {}", ["tasksExtension"]),
        ('transport: {type: stdio}\nprotocolVersions: ["2025-06-18"]\ntasks: {}', ["tasks"]),
        ('transport: {type: stdio}\nprotocolVersions: ["2026-07-28"]\ntasksExtension: {}', []),
        ('transport: {type: sse}\nprotocolVersions: ["2026-07-28"]', ["protocolVersions"]),
    ],
)
def test_what_a_revision_cannot_see_is_warned_of(text, keys):
    assert about(config(text).warnings) == keys


@pytest.mark.parametrize(
    "preset", ["simple_task", "sampling_task", "modern_task", "modern_input_task", "modern_loop_task"]
)
def test_a_preset_that_is_about_tasks_needs_a_server_that_has_them(preset):
    for tasks, warned in (("", ["tools[0].preset"]), ("tasks: {}", []), ("tasksExtension: {}", [])):
        text = f"transport: {{type: stdio}}\ntools: [{{preset: {preset}}}]\n{tasks}"
        assert [each for each in about(config(text).warnings) if each != "tasksExtension"] == warned


def test_revisions_are_those_of_the_era_that_the_file_asks_for():
    eras = {
        "{type: stdio}": 4,
        "{type: stdio, modern: false}": 4,
        "{type: stdio, modern: true}": 5,
        "{type: streamable-http, modern: {legacy: stateless}}": 5,
        "{type: streamable-http, modern: {legacy: reject}}": 1,
    }
    assert {text: len(config(f"transport: {text}").versions) for text in eras} == eras
    named = 'transport: {type: stdio, modern: false}\nprotocolVersions: ["2026-07-28"]'
    assert config(named).versions == ("2026-07-28",)


def test_fault_without_means_is_a_mistake_unless_the_transport_is_that_of_a_flag():
    text = "transport: {type: stdio}\nfaults: [{fault: stdout_noise}]"
    assert config(text).warnings == ()
    assert about(config(text, transport="sse").warnings) == ["faults[0]"]
    with pytest.raises(UsageError) as refused:
        config(text.replace("stdio", "sse"))
    assert about([refused.value]) == ["faults[0]"]


def test_all_mistakes_of_a_file_are_told_at_once():
    with pytest.raises(UsageError) as refused:
        config("""transport: {type: pigeon}
state: perhaps
tools:
  - {name: one, result: [{type: txt}]}
  - {name: two, outputSchema: {type: object, required: [a]}, result: {content: [], structuredContent: {}}}
faults:
  - {fault: delay, params: {time: 1s}, when: {method: tools/cal}}
""")
    assert about([refused.value, *refused.value.more]) == [
        "transport.type",
        "state",
        "tools[0].result[0].type",
        "tools[1].result.structuredContent",
        "faults[0].when.method",
    ]
