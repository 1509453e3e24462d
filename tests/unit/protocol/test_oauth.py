"""The decisions of OAuth, as tables: challenges, places to look, what is believed, which scopes are asked for."""

import pytest

from mcp_conductor.errors import TransportError
from mcp_conductor.protocol.dialect import DIALECTS, OAuthRules
from mcp_conductor.protocol.oauth import (
    Challenge,
    OAuthRefusal,
    authorization_server,
    bearer,
    canonical,
    challenges,
    check_pkce,
    check_resource,
    choose_scopes,
    code_of,
    default_metadata,
    endpoint,
    is_web,
    issuer_mismatch,
    nearby_metadata_urls,
    redirect_answer,
    resource_metadata_urls,
    response_issuer_mismatch,
    rules_of,
    server_metadata_urls,
    why_unauthorized,
    with_offline_access,
)

HOST = "https://mcp.example"
PRM = "/.well-known/oauth-protected-resource"
ASM = "/.well-known/oauth-authorization-server"
OIDC = "/.well-known/openid-configuration"


def test_a_revision_that_we_do_not_know_has_the_strictest_rules():
    assert rules_of("2099-01-01") == rules_of("2026-07-28")


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Bearer", [("Bearer", {})]),
        ('Bearer realm="a b", scope="x y"', [("Bearer", {"realm": "a b", "scope": "x y"})]),
        ("Bearer error=invalid_token", [("Bearer", {"error": "invalid_token"})]),
        ("Bearer resource_metadata=https://h/p?q", [("Bearer", {"resource_metadata": "https://h/p?q"})]),
        ('Bearer realm="say \\"hi\\", you"', [("Bearer", {"realm": 'say "hi", you'})]),
        ('Bearer realm = "a" ,scope="x"', [("Bearer", {"realm": "a", "scope": "x"})]),
        ('Bearer REALM="a", Realm="b"', [("Bearer", {"realm": "a"})]),
        ('Basic realm="a", Bearer scope="x"', [("Basic", {"realm": "a"}), ("Bearer", {"scope": "x"})]),
        ('Negotiate dG9rZW4=, Bearer scope="x"', [("Negotiate", {}), ("Bearer", {"scope": "x"})]),
        ('Negotiate, Bearer scope=""', [("Negotiate", {}), ("Bearer", {"scope": ""})]),
        ('Bearer scope="never closed', [("Bearer", {}), ("scope", {})]),
        ("", []),
        (' , "", ,', []),
        ('=,Bearer scope="x"', [("Bearer", {"scope": "x"})]),
    ],
)
def test_challenges_are_read(header, found):
    assert [(challenge.scheme, dict(challenge.params)) for challenge in challenges(header)] == found


@pytest.mark.parametrize("header", [None, "", 'Basic realm="a"'])
def test_without_a_bearer_challenge_there_is_an_empty_one(header):
    assert bearer(header) == Challenge()


def test_the_bearer_challenge_that_says_most_is_taken_in_upper_or_lower_case():
    assert bearer('bearer, BEARER error="insufficient_scope", scope="a b"').scopes == ("a", "b")


@pytest.mark.parametrize(
    ("url", "told", "urls"),
    [
        (f"{HOST}/mcp", None, [HOST + PRM + "/mcp", HOST + PRM]),
        (f"{HOST}/a/b/", None, [HOST + PRM + "/a/b", HOST + PRM]),
        (HOST, None, [HOST + PRM]),
        (f"{HOST}/mcp", "https://x.example/y", ["https://x.example/y", HOST + PRM + "/mcp", HOST + PRM]),
        (f"{HOST}/mcp", HOST + PRM, [HOST + PRM, HOST + PRM + "/mcp"]),
        (f"{HOST}/mcp", "file:///etc/passwd", [HOST + PRM + "/mcp", HOST + PRM]),
        ("https://user:pass@mcp.example/mcp?a=1", None, [HOST + PRM + "/mcp", HOST + PRM]),
    ],
)
def test_the_metadata_of_the_resource_is_looked_for_in_this_order(url, told, urls):
    assert resource_metadata_urls(url, Challenge("Bearer", {"resource_metadata": told} if told else {})) == urls


@pytest.mark.parametrize(
    ("issuer", "urls"),
    [
        (HOST, [HOST + ASM, HOST + OIDC]),
        (f"{HOST}/", [HOST + ASM, HOST + OIDC]),
        (f"{HOST}/t1", [HOST + ASM + "/t1", HOST + OIDC + "/t1", f"{HOST}/t1{OIDC}"]),
    ],
)
def test_the_metadata_of_the_authorization_server_is_looked_for_in_this_order(issuer, urls):
    assert server_metadata_urls(issuer) == urls


def test_near_a_url_every_place_is_looked_at_once():
    near = nearby_metadata_urls(f"{HOST}/t1")
    assert near == [
        *server_metadata_urls(f"{HOST}/t1"),
        f"{HOST}/t1{ASM}",
        *server_metadata_urls(HOST),
    ]
    assert nearby_metadata_urls(HOST) == server_metadata_urls(HOST)


def test_the_default_endpoints_are_at_the_root_of_the_host():
    assert default_metadata(f"{HOST}/v1/mcp")["token_endpoint"] == f"{HOST}/token"


@pytest.mark.parametrize(
    ("url", "web"),
    [
        ("https://a.example/x?y", True),
        ("http://127.0.0.1:80", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("https://", False),
        ("https://a.example:99999", False),
        ("https://[", False),
        ("https://a.example/\n-rf", False),
        ("https://a.example/ x", False),
        ("https://evil.example\\@a.example/", False),
        ("https://ä.example", False),
        (None, False),
        (["https://a.example"], False),
    ],
)
def test_only_http_and_https_are_opened(url, web):
    assert is_web(url) == web


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        (f"{HOST}/", HOST),
        (f"{HOST}/mcp#part", f"{HOST}/mcp"),
        ("HTTPS://MCP.Example/Path/", f"{HOST}/Path/"),
        ("https://user:pass@mcp.example/mcp", f"{HOST}/mcp"),
    ],
)
def test_the_resource_is_the_canonical_url_of_the_server(url, resource):
    assert canonical(url) == resource


@pytest.mark.parametrize(
    ("resource", "ours"),
    [
        (f"{HOST}/mcp", True),
        (f"{HOST}/mcp/", True),
        (HOST, True),
        (f"{HOST}:443/mcp", True),
        ("https://MCP.example/mcp", True),
        (f"{HOST}/mc", False),
        (f"{HOST}/mcp/more", False),
        (f"{HOST}/mcp?tenant=2", False),
        ("http://mcp.example/mcp", False),
        ("https://mcp.example.evil.example/mcp", False),
        (None, False),
        (7, False),
    ],
)
def test_metadata_must_be_about_our_server(resource, ours):
    if ours:
        assert check_resource(f"{HOST}/mcp", {"resource": resource}) == resource
    else:
        with pytest.raises(TransportError):
            check_resource(f"{HOST}/mcp", {"resource": resource})


@pytest.mark.parametrize("servers", [None, [], "https://as.example", [7], ["javascript:x"]])
def test_metadata_must_name_an_authorization_server(servers):
    with pytest.raises(TransportError):
        authorization_server({"authorization_servers": servers})


def test_the_authorization_server_that_is_wanted_is_taken_if_the_metadata_names_it():
    metadata = {"authorization_servers": ["https://one.example", "https://two.example/"]}
    assert authorization_server(metadata) == "https://one.example"
    assert authorization_server(metadata, "https://two.example") == "https://two.example/"
    with pytest.raises(TransportError):
        authorization_server(metadata, "https://three.example")


@pytest.mark.parametrize(
    ("header", "body", "says"),
    [
        ('Bearer error="a", error_description="b"', {"error": "c"}, "a: b"),
        ('Bearer scope="x y"', None, "scope: x y"),
        ('Bearer error="a", scope="x"', "text", "a (scope: x)"),
        (None, {"error": "c", "error_description": "d"}, "c: d"),
        (None, {"error": {"code": 1, "message": "m"}}, "m"),
        (None, {"error": {"message": 7}, "error_description": ["d"]}, ""),
        ("Basic realm=x, Digest nonce=y", [], "Basic, Digest"),
        ("Bearer", {}, ""),
    ],
)
def test_a_401_says_why_in_its_challenge_or_in_its_body(header, body, says):
    assert why_unauthorized(header, body) == says


@pytest.mark.parametrize("named", ["https://AS.example", "https://as.example/", "https://as.example:443", None, 7])
def test_an_issuer_is_compared_letter_by_letter(named):
    exact = OAuthRules(exact_issuer=True)
    assert issuer_mismatch("https://as.example", {"issuer": named}, exact)
    assert not issuer_mismatch("https://as.example", {"issuer": "https://as.example"}, exact)


@pytest.mark.parametrize(
    ("named", "good"),
    [
        ("https://as.example/t", True),
        ("https://as.example/t/", True),
        ("https://as.example", False),
        ("https://as.example/T", False),
        ("https://AS.example/t", False),
        ("http://as.example/t", False),
        ("https://as.example:443/t", False),
        ("https://as.example/t?x", False),
        (None, False),
        (["https://as.example/t"], False),
    ],
)
def test_before_2026_a_slash_at_the_end_of_an_issuer_makes_no_difference_but_all_else_does(named, good):
    rules = rules_of("2025-11-25")
    for issuer in ("https://as.example/t", "https://as.example/t/"):
        assert (issuer_mismatch(issuer, {"issuer": named}, rules) is None) == good
        if isinstance(named, str):
            assert (response_issuer_mismatch({"iss": named}, issuer, {}, rules) is None) == good


@pytest.mark.parametrize(
    ("methods", "advertised", "good"),
    [
        (["plain", "S256"], True, True),
        (["plain"], False, False),
        (None, False, True),
        (None, True, False),
        ("S256", True, False),
    ],
)
def test_pkce_with_s256_is_a_must(methods, advertised, good):
    metadata = {} if methods is None else {"code_challenge_methods_supported": methods}
    rules = OAuthRules(pkce_advertised=advertised)
    if good:
        check_pkce(metadata, rules)
    else:
        with pytest.raises(TransportError):
            check_pkce(metadata, rules)


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "/token", 7])
def test_an_endpoint_must_be_a_url(url):
    with pytest.raises(TransportError):
        endpoint({"token_endpoint": url}, "token_endpoint")


@pytest.mark.parametrize("query", ["code=c", "code=c&state=", "code=c&state=T", ""])
def test_a_redirect_with_another_state_is_not_ours(query):
    with pytest.raises(TransportError) as caught:
        redirect_answer(f"http://127.0.0.1/callback?{query}", state="t")
    assert "code=c" not in str(caught.value)


def test_of_a_param_that_stands_twice_in_a_redirect_the_first_counts():
    assert redirect_answer("http://h/?state=t&code=1&code=2", state="t")["code"] == "1"


@pytest.mark.parametrize(
    ("iss", "advertised", "good"),
    [
        ("https://as.example", True, True),
        ("https://as.example", False, True),
        (None, False, True),
        (None, True, False),
        ("https://as.example/", False, False),
        ("https://other.example", False, False),
        ("", False, False),
    ],
)
def test_a_redirect_must_come_from_the_issuer_that_was_asked(iss, advertised, good):
    answer = {} if iss is None else {"iss": iss}
    metadata = {"authorization_response_iss_parameter_supported": advertised}
    for version in DIALECTS:
        lenient = version != "2026-07-28" and iss == "https://as.example/"
        mismatch = response_issuer_mismatch(answer, "https://as.example", metadata, rules_of(version))
        assert (mismatch is None) == (good or lenient)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"code": "c"}, "c"),
        ({"error": "access_denied", "error_description": "no", "code": "c"}, OAuthRefusal("access_denied", "no")),
        ({}, OAuthRefusal("invalid_response", "the redirect has no code")),
    ],
)
def test_a_redirect_brings_a_code_or_a_refusal(answer, code):
    assert code_of(answer) == code


@pytest.mark.parametrize(
    ("told", "listed", "configured", "earlier", "chosen"),
    [
        ("a b", ["c"], (), (), ("a", "b")),
        ("", ["c", "d"], (), (), ("c", "d")),
        ("", None, (), (), ()),
        ("", "c", (), (), ()),
        ("b c", ["x"], (), ("a", "b"), ("a", "b", "c")),
        ("", ["x"], ("mine",), (), ("mine",)),
        ("a", ["x"], ("mine",), (), ("mine", "a")),
    ],
)
def test_scopes_come_from_the_challenge_else_from_us_else_from_the_resource(told, listed, configured, earlier, chosen):
    challenge = Challenge("Bearer", {"scope": told})
    metadata = {"scopes_supported": listed}
    assert (
        choose_scopes(challenge=challenge, resource_metadata=metadata, configured=configured, earlier=earlier) == chosen
    )


@pytest.mark.parametrize(
    ("version", "listed", "scopes"),
    [
        ("2026-07-28", ["offline_access"], ("a", "offline_access")),
        ("2026-07-28", ["other"], ("a",)),
        ("2026-07-28", None, ("a",)),
        ("2025-11-25", ["offline_access"], ("a",)),
    ],
)
def test_offline_access_is_for_the_newest_revision_and_servers_that_list_it(version, listed, scopes):
    assert with_offline_access(("a",), {"scopes_supported": listed}, rules_of(version)) == scopes
