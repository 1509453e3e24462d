"""The client that the official conformance suite drives: as little as possible on top of `connect()`.

The suite appends the URL of its server, and tells by the environment which scenario it plays and in which revision.
"""

import asyncio
import json
import os
import sys
import tempfile
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from mcp_conductor import Answers, HttpSpec, MethodError, Session, connect
from mcp_conductor.protocol.http_headers import annotations_of
from mcp_conductor.transport.authorization import Authorization, OAuth
from mcp_conductor.transport.http_client import HttpClient

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The server of this scenario knows only the handshake, whatever the revision.
PROTOCOL = "handshake" if SCENARIO == "json-schema-ref-no-deref" else VERSION
ANSWERS = Answers(
    roots=[],
    sampling="auto",
    elicitation="auto",
)


async def play(session: Session) -> None:
    """Do what the scenario wants to see."""
    tools = {tool["name"]: tool for tool in (await session.everything("tools/list"))["tools"]}
    usable = [name for name, tool in tools.items() if annotations_of(tool["inputSchema"]) is not None]
    match SCENARIO:
        case "tools_call" | "request-metadata" | "http-standard-headers":
            await call(session, "add_numbers", a=5, b=3)
        case "sse-retry":
            await call(session, "test_reconnection")
        case "elicitation-sep1034-client-defaults":
            await call(session, "test_client_elicitation_defaults")
        case "json-schema-2020-12-preservation":
            await call(session, "json_schema_echo", schema=tools["json_schema_2020_12_tool"]["inputSchema"])
        case "sep-2322-client-request-state":
            for name in (
                "test_mrtr_echo_state",
                "test_mrtr_unrelated",
                "test_mrtr_no_state",
                "test_mrtr_no_result_type",
            ):
                await call(session, name)
        case "http-custom-headers":
            for wanted in CONTEXT["toolCalls"]:
                await call(session, wanted["name"], **wanted["arguments"])
        case "http-invalid-tool-headers":
            for name in usable:
                await call(session, name, **dict.fromkeys(tools[name]["inputSchema"].get("required", []), "x"))
        case _ if SCENARIO.startswith("auth/") and usable:
            try:
                await call(session, usable[0])
            except MethodError as error:
                print(error.message, file=sys.stderr)


async def call(session: Session, tool: str, **arguments: Any) -> Any:
    return await session.request("tools/call", {"name": tool, "arguments": arguments})


def authorization(url: str, http: HttpClient) -> Authorization:
    """Authorization by a user who always consents, at once."""
    grant = "client_credentials" if "client-credentials" in SCENARIO else "authorization_code"
    settings = OAuth(
        client_id=CONTEXT.get("client_id"),
        client_secret=CONTEXT.get("client_secret"),
        client_metadata_url="https://conformance-test.local/client-metadata.json",
        grant=grant,
        private_key=key_file(CONTEXT.get("private_key_pem")),
        signing_alg=CONTEXT.get("signing_algorithm"),
        issuer=issuer(url) if {"client_secret", "private_key_pem"} & CONTEXT.keys() else None,
        show=lambda text: None,
        consent=consent,
    )
    return Authorization(server_url=url, http=http, version=VERSION, oauth=settings)


def issuer(url: str) -> str:
    """The authorization server that the user trusts: the suite gives a secret, and runs that server itself."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", f"/.well-known/oauth-protected-resource{parts.path}")
    metadata: dict[str, Any] = json.load(connection.getresponse())
    return str(metadata["authorization_servers"][0])


def key_file(pem: str | None) -> str | None:
    if pem is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False) as file:
        file.write(pem)
    return file.name


async def consent(url: str) -> str:
    """Visit the authorization server as a browser would, and see where it sends us back to."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", f"{parts.path}?{parts.query}")
    return connection.getresponse().headers["Location"]


async def main(url: str) -> None:
    authorize = partial(authorization, url) if SCENARIO.startswith("auth/") else None
    async with connect(HttpSpec(url=url), protocol=PROTOCOL, answers=ANSWERS, authorize=authorize) as session:
        await play(session)


asyncio.run(main(sys.argv[-1]))
