"""Clients that get a token by OAuth: a careful one passes, and each step that is left out or wrong is reported."""

import sys
import textwrap

import pytest
from tests import prefork

from mcp_conductor.checks.harness.run_client import Command

from .conftest import HERE

MODERN = "2026-07-28"
CLI = (sys.executable, "-c", "import sys; from mcp_conductor.cli import mcp_cli; sys.exit(mcp_cli())")
CARELESS = "insist = False"

BROKEN = {
    "authc-prm-used": ('def places(self, challenge): return [self.origin + "/as/other"]\ndef resource(self, challenge): return {"resource": self.url, "authorization_servers": [self.origin + "/as"]}', ("authc-prm-order", "authc-prm-resource-match")),
    "authc-401-starts-flow": ('def server(self, issuer): raise Refused("what now?")', ()),
    "authc-prm-order": ('def places(self, challenge): return [self.origin + "/.well-known/oauth-protected-resource/mcp", self.origin + "/told/metadata"]', ()),
    "authc-asm-discovery-order": ("def server_places(self, path): return list(reversed(super().server_places(path)))", ()),
    "authc-pkce-s256": ('def query(self, *a): return {key: value for key, value in super().query(*a).items() if "code_c" not in key}', ()),
    "authc-resource-parameter": ('def form(self, *a): return {key: value for key, value in super().form(*a).items() if key != "resource"}', ()),
    "authc-redirect-uri": ('def registration(self): return {**super().registration(), "redirect_uris": ["http://127.0.0.1:1/other"]}', ()),
    "authc-dcr-application-type": ('def registration(self): return {key: value for key, value in super().registration().items() if key != "application_type"}', ()),
    "authc-prm-resource-match": ('def resource(self, challenge): return {**super().resource(challenge), "resource": self.url}', ()),
    "authc-pkce-required-metadata": ('def server(self, issuer): return {**super().server(issuer), "code_challenge_methods_supported": ["S256"]}', ()),
    "authc-issuer-validated": ('def server(self, issuer): return {**super().server(issuer), "issuer": issuer}', ()),
    "authc-iss-validated": ('def check(self, back, query, issuer): return back["state"] == query["state"] or super().check(back, query, issuer)', ()),
    "authc-state": ('def check(self, back, query, issuer): return back["iss"] == issuer or super().check(back, query, issuer)', ()),
    "authc-cimd-url": ('def query(self, *a): return {**super().query(*a), "client_id": "https://client.example/"}', ()),
    "authc-scope-selection": ('def query(self, *a): return {**super().query(*a), "scope": "everything"}', ()),
}  # fmt: skip


@pytest.fixture
def oauth_client(tmp_path):
    def write(change="pass", tail=""):
        body = textwrap.indent(change, "    ")
        code = f"from polite_oauth import *\nimport sys\nclass Mine(OAuth):\n{body}\n{tail}\n"
        file = tmp_path / "client.py"
        file.write_text(code + "sys.exit(TokenClient(sys.argv, Mine).main())\n")
        words = prefork.command((sys.executable, str(file), "--version", MODERN, "--url", "{url}"), kind="script")
        return Command(words, {"PYTHONPATH": str(HERE)}, str(tmp_path))

    return write


async def test_a_client_that_gets_its_token_with_care_passes(oauth_client, verdicts_of):
    outcomes = await verdicts_of(oauth_client(), only=("auth-client",))
    assert {each.id: each.findings for each in outcomes.values() if each.findings} == {}
    assert [each.id for each in outcomes.values() if each.status == "skipped"] == ["authc-cimd-url"]


async def test_what_is_judged_by_comparison_is_skipped_where_nothing_was_run_to_compare_with(oauth_client, verdicts_of):
    name = "authc-prm-resource-match"
    outcomes = await verdicts_of(oauth_client(), only=(name,), scenarios=("locked-foreign",))
    assert outcomes[name].status == "skipped"
    assert outcomes[name].reason.startswith("the scenario 'locked'")


async def test_a_client_that_is_known_by_its_document_passes(oauth_client, verdicts_of):
    change = 'def query(self, *a): return {**super().query(*a), "client_id": "https://client.example/about.json"}'
    outcomes = await verdicts_of(oauth_client(change), only=("authc-cimd-url",))
    assert outcomes["authc-cimd-url"].status == "passed"


@pytest.mark.parametrize("name", BROKEN)
async def test_a_step_that_is_wrong_is_reported(name, oauth_client, reported):
    change, also = BROKEN[name]
    await reported(oauth_client(change), name, also, only=("auth-client",))


async def test_a_request_without_its_token_is_reported(oauth_client, reported):
    tail = """
def with_token(self, headers, kept=TokenHttp.with_token):
    self.count = getattr(self, "count", 0) + 1
    return headers if self.count == 5 else kept(self, headers)
TokenHttp.with_token = with_token
"""
    await reported(oauth_client(tail=tail), "authc-bearer-header", only=("auth-client",))


async def test_an_authorization_header_for_the_token_endpoint_is_reported(oauth_client, reported):
    tail = """
import polite_oauth
def careless(url, data=None, headers=None, kept=polite_oauth.fetch):
    return kept(url, data, {**(headers or {}), **({"Authorization": "Basic eDp5"} if url.endswith("/token") else {})})
polite_oauth.fetch = careless
"""
    await reported(oauth_client(tail=tail), "authc-token-endpoint-auth", only=("auth-client",))


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_our_own_client_passes_with_somebody_who_opens_the_page(era, verdicts_of, tmp_path):
    words = prefork.command((*CLI, "{url}", "--oauth", "--timeout", "10s", "--protocol", era, "--method", "tools/list"))
    outcomes = await verdicts_of(Command(words, {}, str(tmp_path)), only=("auth-client",))
    assert {each.id: each.findings for each in outcomes.values() if each.findings} == {}
    assert outcomes["authc-bearer-header"].status == "passed"


async def test_a_client_that_prints_its_url_on_a_screen_is_given_one_that_is_wide_enough(verdicts_of, tmp_path):
    words = (sys.executable, str(HERE / "sdk_oauth.py"), "screen", "{url}")
    outcomes = await verdicts_of(
        Command(words, {"COLUMNS": "80"}, str(tmp_path)), only=("auth-client",), scenarios=("locked",)
    )
    assert {each.id: each.findings for each in outcomes.values() if each.findings} == {}
    assert outcomes["authc-pkce-s256"].status == outcomes["authc-bearer-header"].status == "passed"


async def test_a_part_of_a_printed_url_says_nothing_of_what_it_lacks(verdicts_of, tmp_path):
    words = (sys.executable, str(HERE / "sdk_oauth.py"), "80", "{url}")
    outcomes = await verdicts_of(Command(words, {}, str(tmp_path)), only=("auth-client",), scenarios=("locked",))
    assert {each.id: each.findings for each in outcomes.values() if each.findings} == {}
    assert outcomes["authc-pkce-s256"].reason == "the authorization page was not opened: the client showed no whole URL"


async def test_a_client_without_oauth_is_not_judged_by_it(broken, verdicts_of):
    outcomes = await verdicts_of(broken(transport="http"), only=("auth-client",))
    assert {each.status for each in outcomes.values()} == {"skipped"}
