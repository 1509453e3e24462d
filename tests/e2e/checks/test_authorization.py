"""Protected servers, seen from outside: each rule broken on purpose, and reported as that and nothing else."""

import pytest
from tests.servers.oauth_server import oauth_server

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.http_probe import UnopenedServer
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.server_spec import HttpSpec

# What a login would be needed for.
INSIDE = {"auths-token-every-request"}
GOOD = {
    "challenge": 'Bearer resource_metadata="{origin}{metadata}", scope="read"',
    "server_metadata": {"authorization_response_iss_parameter_supported": True},
}


async def looked_at(url: str, version: str, **spec) -> dict[str, str]:
    """What came of each check that needs no login: passed, broken, or skipped."""
    unopened = UnopenedServer(HttpSpec(url=url, **spec), DIALECTS[version], 2.0)
    found = {}
    for name, each in requirements().items():
        if each.group == "auth-server" and name in CHECKS and name not in INSIDE and version in each.revisions:
            try:
                findings = [finding async for finding in CHECKS.get(name).probe(unopened)]
                found[name] = "broken" if findings else "passed"
            except NotSeen:
                found[name] = "skipped"
    return found


def broken(found: dict[str, str]) -> set[str]:
    return {name for name, status in found.items() if status == "broken"}


BROKEN = [
    ("2025-06-18", {"challenge": "Bearer"}, {"auths-www-authenticate"}),
    ("2025-11-25", {"challenge": "Bearer"}, {"auths-scope-in-challenge"}),
    ("2025-11-25", {"resource_metadata": None}, {"auths-prm-discoverable"}),
    ("2025-11-25", {"resource_metadata": {"authorization_servers": []}}, {"auths-prm-authorization-servers"}),
    ("2025-11-25", {"resource_metadata": {"resource": "https://other.example"}}, {"auths-prm-authorization-servers"}),
    ("2025-11-25", {"server_metadata": {"code_challenge_methods_supported": None}}, {"auths-pkce-metadata"}),
    ("2025-11-25", {"server_metadata": {"token_endpoint": "http://other.example/token"}}, {"auths-https"}),
    ("2026-07-28", {"resource_metadata": {"scopes_supported": ["offline_access"]}}, {"auths-offline-access"}),
    ("2026-07-28", {"server_metadata": {}}, {"auths-iss-advertised"}),
    ("2025-03-26", {"server_metadata": None, "resource_metadata": None}, {"auths-metadata-2025-03-26"}),
]


@pytest.mark.parametrize(("version", "screws", "ids"), BROKEN)
async def test_a_protected_server_is_reported_for_what_it_breaks_alone(version, screws, ids):
    with oauth_server(**{**GOOD, **screws}) as server:
        assert broken(await looked_at(server.url, version)) == ids


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_good_protected_server_breaks_nothing(version):
    with oauth_server(**GOOD) as server:
        found = await looked_at(server.url, version)
    assert set(found.values()) == {"passed"}
    assert "auths-401-without-token" in found


async def test_a_server_that_asks_for_no_token_is_not_judged(http):
    found = await looked_at(http().url, "2025-11-25")
    assert set(found.values()) == {"skipped"}


async def test_a_token_that_nobody_issued_must_not_open_the_door(http):
    def any_token(call):
        call.politely() if "authorization" in call.headers else call.reply(401, WWW_Authenticate="Bearer")

    found = await looked_at(http({"POST": any_token}).url, "2025-06-18")
    assert found["auths-401-without-token"] == "broken"


async def test_a_stranger_is_refused_with_401_and_nothing_else(http):
    def forbidden(call):
        call.politely() if call.headers.get("authorization") == "Bearer good" else call.reply(403)

    found = await looked_at(http({"POST": forbidden}).url, "2025-11-25", headers={"Authorization": "Bearer good"})
    assert found["auths-401-without-token"] == "broken"
