"""Resources and resource templates."""

import os
import sys
from dataclasses import replace

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import Definition, Resource, Template
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.content import ANNOTATIONS, ICONS, PNG
from mcp_conductor.server.presets.making import contents, numbers, text_resource, text_template

_ARCHITECTURE = """# Architecture Documentation

A document that a test server offers, so that there is one to read.

## Introduction

It is short, it is Markdown, and it does not change.

## Design

One heading for each of four sections.

## Implementation

A constant.

## Testing

Read it twice: both times say the same.
"""


@preset("resource")
def architecture() -> Resource:
    """A document in Markdown that does not change."""
    uri = "demo://resource/static/document/architecture.md"
    return text_resource("architecture", uri, "Architecture documentation", lambda: _ARCHITECTURE, "text/markdown")


@preset("resource")
def test_cwd() -> Resource:
    """The server's working directory."""
    return text_resource(
        "test_cwd", "test://cwd", "Current working directory of the test server", os.getcwd, "text/plain"
    )


@preset("resource")
def test_env() -> Resource:
    """The server's environment variables, as JSON."""
    description = "Environment variables available to the test server"
    words = lambda: render(dict(os.environ), 2)  # noqa: E731
    made = text_resource("test_env", "test://env", description, words, "application/json")
    return replace(made, shows_environment=True)


@preset("resource")
def test_argv() -> Resource:
    """The server's command line, as JSON."""
    description = "Command-line arguments the test server was started with"
    return text_resource("test_argv", "test://argv", description, lambda: render(sys.orig_argv, 2), "application/json")


@preset("resource")
def numbered_resources(count: int = 3) -> list[Definition]:
    """As many resources as `count` says, test://resource_1 and so on."""
    return [_numbered_resource(number) for number in numbers(count)]


def _numbered_resource(number: int) -> Resource:
    name, description = f"resource_{number}", f"Test resource number {number}"
    return text_resource(name, f"test://{name}", description, lambda: f"Content for resource {number}", "text/plain")


@preset("resource")
def titled_resource() -> Resource:
    """A resource with a title for people besides its name."""
    return _static("titled_resource", "A resource that has a title", title="A Titled Resource")


@preset("resource")
def icon_resource() -> Resource:
    """A resource with an icon."""
    return _static("icon_resource", "A resource that has an icon", icons=ICONS)


@preset("resource")
def annotated_resource() -> Resource:
    """A resource with audience, priority and lastModified."""
    return _static("annotated_resource", "A resource that has annotations", annotations=ANNOTATIONS)


def _static(name: str, description: str, **listed: object) -> Resource:
    return text_resource(name, f"test://{name}", description, lambda: f"{description}.", "text/plain", **listed)


@preset("resource")
def binary_resource() -> Resource:
    """A resource that is an image, and so a blob."""
    uri = "test://binary_resource"
    blob = {"uri": uri, "mimeType": "image/png", "blob": PNG}
    return Resource(
        listed={"uri": uri, "name": "binary_resource", "description": "One blue pixel", "mimeType": "image/png"},
        read=lambda _: {"contents": [blob]},
    )


@preset("resource")
def rfc6570_base() -> Resource:
    """The resource foobar://events, which shares its beginning with the rfc6570_templates."""
    return text_resource("events", "foobar://events", "All events", lambda: "All events", "text/plain")


@preset("resource template")
def file(completions: Json | None = None) -> Template:
    """Files by their path, file:///{path}; `completions` has the paths that are offered."""
    return text_template(
        "file",
        "file:///{path}",
        "Read a file by path",
        lambda values: f"Mock file content for: {values['path']}\nThis is a test resource template.",
        "text/plain",
        completions,
    )


@preset("resource template")
def user(completions: Json | None = None) -> Template:
    """Users by their id, user://{userId}; `completions` has the ids that are offered."""
    return text_template(
        "user",
        "user://{userId}",
        "Get user data by ID",
        lambda values: render(_user(values["userId"]), 2),
        "application/json",
        completions,
    )


def _user(identity: str) -> Json:
    return {
        "id": identity,
        "name": f"User {identity}",
        "email": f"user{identity}@example.com",
        "role": "test-user",
    }


@preset("resource template")
def numbered_resource_templates(count: int = 3) -> list[Definition]:
    """As many templates as `count` says, test://template_1/{param} and so on."""
    return [_numbered_template(number) for number in numbers(count)]


def _numbered_template(number: int) -> Template:
    return text_template(
        f"template_{number}",
        f"test://template_{number}/{{param}}",
        f"Test resource template number {number}",
        lambda values: f"Content for template {number} with param {values['param']}",
        "text/plain",
        None,
    )


@preset("resource template")
def rfc6570_templates() -> list[Definition]:
    """Three templates: a path, a query, and one that is malformed on purpose."""
    return [
        _events("events_by_topic", "foobar://events/{topic}", "Events of a topic, by path"),
        _events("events_by_query", "foobar://events{?topic}", "Events of a topic, by query"),
        _events("events_malformed", "foobar://events/{topic:abc}", "A malformed template", malformed=True),
    ]


def _events(name: str, uri_template: str, description: str, *, malformed: bool = False) -> Template:
    from mcp_conductor.protocol.uri_template import parse

    def read(call: Call) -> Json:
        found = {"template": uri_template, "matchedUri": call.params["uri"], "variables": call.variables}
        return contents(call, "application/json", render(found, 2))

    return Template(
        listed={
            "uriTemplate": uri_template,
            "name": name,
            "description": description,
            "mimeType": "application/json",
        },
        read=read,
        pattern=None if malformed else parse(uri_template),
    )
