"""Prompts: of texts, of other content, and with what a list may say of them."""

from mcp_conductor.protocol import Json
from mcp_conductor.server.definitions import Definition, Prompt
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.content import EMBEDDED_RESOURCE, ICONS, IMAGE
from mcp_conductor.server.presets.making import message, numbers, text_prompt


@preset("prompt")
def simple_prompt() -> Prompt:
    """A prompt without arguments."""
    return text_prompt("simple_prompt", "A simple prompt for testing", "This is a simple prompt for testing purposes.")


@preset("prompt")
def args_prompt(completions: Json | None = None) -> Prompt:
    """A prompt with two arguments, city and state; `completions` has the values that are offered."""
    return text_prompt(
        "args_prompt",
        "A prompt that accepts arguments for testing",
        "This is a prompt with arguments: city={city}, state={state}",
        [
            {"name": "city", "description": "City name", "required": True},
            {"name": "state", "description": "State name", "required": True},
        ],
        completions,
    )


@preset("prompt")
def numbered_prompts(count: int = 3) -> list[Definition]:
    """As many prompts as `count` says, prompt_1 and so on."""
    return [
        text_prompt(f"prompt_{number}", f"Test prompt number {number}", f"This is prompt {number}")
        for number in numbers(count)
    ]


@preset("prompt")
def titled_prompt() -> Prompt:
    """A prompt with a title for people besides its name."""
    words = "This prompt has a title."
    return text_prompt("titled_prompt", "A prompt that has a title", words, title="A Titled Prompt")


@preset("prompt")
def icon_prompt() -> Prompt:
    """A prompt with an icon."""
    return text_prompt("icon_prompt", "A prompt that has an icon", "This prompt has an icon.", icons=ICONS)


@preset("prompt")
def image_prompt() -> Prompt:
    """A prompt that is an image."""
    return _showing("image_prompt", "A prompt that is an image", IMAGE)


@preset("prompt")
def embedded_resource_prompt() -> Prompt:
    """A prompt with a resource inside."""
    return _showing("embedded_resource_prompt", "A prompt with an embedded resource", EMBEDDED_RESOURCE)


def _showing(name: str, description: str, content: Json) -> Prompt:
    return Prompt(listed={"name": name, "description": description}, get=lambda _: message(content))
