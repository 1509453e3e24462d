"""What all presets have in common: a name, a sentence, and params that are checked."""

import pytest
from tests.unit.server.harness import config_of, made

from mcp_conductor.server.params import BadParam
from mcp_conductor.server.presets import PRESETS

# The names by which config files of the Inspector's composable server ask for things.
INSPECTOR = [
    "add",
    "add_prompt",
    "add_resource",
    "add_tool",
    "architecture",
    "args_prompt",
    "collect_elicitation",
    "collect_sample",
    "collect_url_elicitation",
    "echo",
    "elicitation_task",
    "file",
    "forbidden_task",
    "get-env",
    "get_annotated_message",
    "get_env",
    "get_sum",
    "get_temp",
    "get_temp_extra",
    "get_weather",
    "immediate_return_task",
    "invalid_header_tool",
    "list_items",
    "list_roots",
    "mcp_app_demo",
    "mcp_app_demo_widget",
    "modern_input_task",
    "modern_loop_task",
    "modern_task",
    "mrtr_confirm",
    "mrtr_edge",
    "mrtr_empty",
    "mrtr_loop",
    "mrtr_roots",
    "mrtr_sample",
    "mrtr_two_step",
    "nullable_fields",
    "numbered_prompts",
    "numbered_resource_templates",
    "numbered_resources",
    "numbered_tools",
    "optional_task",
    "progress_task",
    "record_shipment",
    "remove_prompt",
    "remove_resource",
    "remove_tool",
    "rfc6570_base",
    "rfc6570_templates",
    "sampling_task",
    "send_notification",
    "send_progress",
    "simple_prompt",
    "simple_task",
    "test_argv",
    "test_cwd",
    "test_env",
    "trigger_header_mismatch",
    "trigger_invalid_params",
    "trigger_method_not_found",
    "trigger_missing_capability",
    "trigger_unsupported_version",
    "update_resource",
    "url_elicitation_form",
    "user",
    "write_to_stderr",
]
ALIASES = {"get_env": "get-env", "nullable_fields": "record_shipment"}


def test_every_preset_of_the_inspector_is_there():
    assert [name for name in INSPECTOR if name not in PRESETS] == []


def test_every_preset_has_one_sentence_for_the_list():
    docs = {name: preset.doc for name, preset in PRESETS.items()}
    assert [name for name, doc in docs.items() if not doc.endswith(".") or not doc[0].isupper()] == []


def test_every_preset_can_be_made_and_they_do_not_get_into_each_others_way():
    names = [name for name, preset in PRESETS.items() if name not in (*ALIASES, "composable_tool")]
    config = config_of(*names)
    tools = [tool.name for tool in config.tools]
    assert len(tools) == len(set(tools))
    assert len({resource.uri for resource in config.resources}) == len(config.resources)
    assert len({prompt.name for prompt in config.prompts}) == len(config.prompts)


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_an_alias_makes_the_same_tool(alias, name):
    (one,), (other,) = made(alias), made(name)
    assert one.listed == other.listed


@pytest.mark.parametrize(
    "name", ["numbered_tools", "numbered_resources", "numbered_resource_templates", "numbered_prompts"]
)
def test_a_count_of_zero_is_an_empty_list_and_a_negative_one_is_refused(name):
    assert len(made(name)) == (5 if name == "numbered_tools" else 3)
    assert made(name, count=0) == []
    with pytest.raises(BadParam, match="count.*at least 0"):
        made(name, count=-1)


@pytest.mark.parametrize("name", ["send_progress", "simple_task", "elicitation_task", "forbidden_task"])
def test_a_tool_can_have_another_name_but_not_none(name):
    (tool,) = made(name, name="other")
    assert tool.name == "other"
    with pytest.raises(BadParam, match="name"):
        made(name, name="")


@pytest.mark.parametrize(
    "name", ["simple_task", "progress_task", "optional_task", "forbidden_task", "immediate_return_task"]
)
def test_a_negative_delay_is_refused(name):
    with pytest.raises(BadParam, match="delayMs.*at least 0"):
        made(name, delayMs=-1)
