"""Tools about HTTP headers and protocol errors: arguments that travel in headers, and errors on demand."""

from collections.abc import Callable

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import missing_capability, unsupported_version
from mcp_conductor.server.definitions import Refusal, Tool, text_result
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import string, tool


@preset("tool")
def get_weather() -> Tool:
    """An argument that is also sent as an HTTP header, Mcp-Param-City."""
    return tool(
        "get_weather",
        "Get the weather for a city (its `city` argument mirrors to Mcp-Param-City)",
        {"city": string("City name", **{"x-mcp-header": "City"})},
        lambda call: text_result(f"Weather in {call.arguments['city']}: sunny, 24°C"),
    )


@preset("tool")
def invalid_header_tool() -> Tool:
    """A wrong x-mcp-header: clients must leave this tool out when they talk over HTTP."""
    return tool(
        "invalid_header_tool",
        "A tool with an invalid x-mcp-header annotation; conforming clients exclude it.",
        {"value": string("A value", **{"x-mcp-header": "Bad Header"})},
        lambda _: text_result("should have been excluded"),
    )


@preset("tool")
def trigger_header_mismatch(enabled: bool | None = None) -> Tool:
    """Refuse with -32020, header mismatch, where injectSpecErrors or `enabled` is on."""
    name, description = "trigger_header_mismatch", "Returns -32020 HeaderMismatch (HTTP 400)"
    words = "the header Mcp-Method does not say what the body says"
    return _trigger(name, description, lambda _: Refusal(HEADER_MISMATCH, words), enabled)


@preset("tool")
def trigger_missing_capability(enabled: bool | None = None) -> Tool:
    """Refuse with -32021, missing client capability, where injectSpecErrors or `enabled` is on."""
    name, description = "trigger_missing_capability", "Returns -32021 MissingRequiredClientCapability (HTTP 400)"
    return _trigger(name, description, lambda _: missing_capability({"sampling": {}}), enabled)


@preset("tool")
def trigger_unsupported_version(enabled: bool | None = None) -> Tool:
    """Refuse with -32022, unsupported protocol version, where injectSpecErrors or `enabled` is on."""
    name, description = "trigger_unsupported_version", "Returns -32022 UnsupportedProtocolVersion (HTTP 400)"
    return _trigger(name, description, _unsupported_version, enabled)


def _unsupported_version(call: Call) -> Refusal:
    version = call.client.revision.version
    return unsupported_version(version, call.server.config.versions)


@preset("tool")
def trigger_method_not_found(enabled: bool | None = None) -> Tool:
    """Refuse with -32601, method not found, where injectSpecErrors or `enabled` is on."""
    name, description = "trigger_method_not_found", "Returns -32601 MethodNotFound (HTTP 404)"
    return _trigger(name, description, lambda _: Refusal(METHOD_NOT_FOUND, "Method not found"), enabled)


@preset("tool")
def trigger_invalid_params(enabled: bool | None = None) -> Tool:
    """Refuse with -32602, invalid params, where injectSpecErrors or `enabled` is on."""
    name, description = "trigger_invalid_params", "Returns a generic -32602 Invalid params (not an unknown tool)"
    words = "Invalid params: 'code' must be a positive integer"
    return _trigger(name, description, lambda _: Refusal(INVALID_PARAMS, words), enabled)


def _trigger(name: str, description: str, refusal: Callable[[Call], Refusal], enabled: bool | None) -> Tool:
    def run(call: Call) -> Json:
        if call.server.config.inject_spec_errors if enabled is None else enabled:
            raise refusal(call)
        return text_result(f"({name}) injector disabled — no error returned")

    return tool(name, description, {}, run)
