"""Where OAuth may lead us: decided by values alone, nothing is resolved and nothing is sent."""

import pytest

from mcp_conductor.protocol.oauth_trust import Trust, Untrusted, address_in, kind_of_address

PUBLIC = Trust(server_url="https://mcp.example/mcp")
LOCAL = Trust(server_url="http://127.0.0.1:8000/mcp")
ISSUER = "https://as.example"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("8.8.8.8", "public"),
        ("2606:4700::1111", "public"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("172.32.0.1", "public"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("0.1.2.3", "private"),
        ("240.0.0.1", "private"),
        ("255.255.255.255", "private"),
        ("::ffff:10.0.0.1", "private"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::1", "private"),
        ("2002:0a00:0001::", "private"),
        ("fc00::1", "private"),
        ("fd12:3456::1", "private"),
        ("fec0::1", "private"),
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("::ffff:0.0.0.0", "unspecified"),
    ],
)
def test_an_address_is_in_one_part_of_the_network(address, kind):
    assert kind_of_address(address) == kind


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("169.254.43518", "169.254.169.254"),
        ("0", "0.0.0.0"),
        ("::1", "::1"),
        ("::ffff:7f00:1", "::ffff:7f00:1"),
        ("fe80::1%25eth0", "fe80::1"),
        ("localhost", "127.0.0.1"),
        ("LocalHost.", "127.0.0.1"),
        ("a.localhost", "127.0.0.1"),
        ("as.example", None),
        ("256.1.1.1.1", None),
        ("1.2.3.256", None),
        ("1.2.65536", None),
        ("4294967296", None),
        ("09.0.0.1", None),
        ("+1", None),
        ("1_0.0.0.1", None),
        ("1..2", None),
        ("", None),
        ("cafe", None),
    ],
)
def test_a_host_may_spell_an_address_in_many_ways(host, address):
    assert address_in(host) == address


@pytest.mark.parametrize("url", ["https://as.example/x", "https://8.8.8.8", "https://AS.example:8443"])
def test_a_public_server_may_lead_to_public_places_by_https(url):
    PUBLIC.check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://as.example/x",
        "http://8.8.8.8/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://LOCALHOST./x",
        "https://[::1]/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://2130706433/x",
        "https://0x7f.1/x",
        "https://0177.0.0.1/x",
        "https://10.0.0.1/x",
        "https://10.0.0.1./x",
        "https://[fd00::1]/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:a9fe:a9fe]/x",
        "https://0.0.0.0/x",
        "https://[ff02::1]/x",
        "http://127.0.0.1/x",
    ],
)
def test_a_public_server_may_not_lead_to_plain_http_or_inside(url):
    with pytest.raises(Untrusted):
        PUBLIC.check_url(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://127.0.0.2", "http://[::1]:9", "http://localhost:9"])
def test_a_server_on_this_machine_may_lead_to_this_machine_by_plain_http(url):
    LOCAL.check_url(url)


@pytest.mark.parametrize("url", ["https://10.0.0.1", "https://169.254.169.254", "http://as.example", "http://0.0.0.0"])
def test_a_server_on_this_machine_may_lead_to_no_other_place_inside(url):
    with pytest.raises(Untrusted):
        LOCAL.check_url(url)


def test_plain_http_can_be_allowed_but_does_not_open_the_inside():
    trust = Trust(server_url="https://mcp.example/mcp", allow_http=True)
    trust.check_url("http://as.example")
    with pytest.raises(Untrusted):
        trust.check_url("http://10.0.0.1")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::1", "169.254.169.254", "::ffff:10.0.0.1"])
def test_a_name_that_resolves_to_the_inside_is_refused(address):
    with pytest.raises(Untrusted):
        PUBLIC.check_address("as.example", address)


def test_the_address_of_the_servers_connection_says_where_it_lives():
    PUBLIC.check_address("as.example", "10.9.9.9", server_address="10.0.0.1")
    PUBLIC.check_address("as.example", "fd00::1", server_address="10.0.0.1")
    with pytest.raises(Untrusted):
        PUBLIC.check_address("as.example", "127.0.0.1", server_address="10.0.0.1")
    with pytest.raises(Untrusted):
        PUBLIC.check_address("as.example", "10.0.0.1", server_address="127.0.0.1")
    with pytest.raises(Untrusted):
        PUBLIC.check_address("as.example", "10.0.0.1", server_address="8.8.8.8")


@pytest.mark.parametrize("host", ["10.0.0.1", "AS.internal", "as.internal."])
def test_an_issuer_that_the_user_names_may_be_anywhere_but_only_its_own_host(host):
    trust = Trust(server_url="https://mcp.example/mcp", issuer=f"https://{host}/tenant")
    trust.check_address(host.lower(), "10.0.0.1")
    with pytest.raises(Untrusted):
        trust.check_address("other.internal", "10.0.0.2")


@pytest.mark.parametrize(
    "url", ["https://as.example/token", "https://AS.example:443/deep/token", "https://user@as.example/token"]
)
def test_endpoints_are_on_the_origin_of_their_issuer(url):
    PUBLIC.check_endpoint(ISSUER, "token_endpoint", url)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/token",
        "http://as.example/token",
        "https://as.example:8443/token",
        "https://as.example.evil.example/",
    ],
)
def test_an_endpoint_elsewhere_needs_the_users_word(url):
    with pytest.raises(Untrusted) as caught:
        PUBLIC.check_endpoint(ISSUER, "token_endpoint", url)
    assert caught.value.hint == f'OAuth(issuer="{ISSUER}") allows it'
    Trust(server_url=PUBLIC.server_url, issuer=ISSUER + "/").check_endpoint(ISSUER, "token_endpoint", url)


@pytest.mark.parametrize(
    ("trust", "issuer", "known"),
    [
        (PUBLIC, "https://mcp.example", ()),
        (PUBLIC, "https://mcp.example/tenant", ()),
        (PUBLIC, ISSUER, {ISSUER}),
        (Trust(server_url=PUBLIC.server_url, issuer=ISSUER), ISSUER, ()),
        (Trust(server_url=PUBLIC.server_url, issuer=ISSUER), f"{ISSUER}/", ()),
    ],
)
def test_secrets_go_to_the_server_itself_to_whom_the_user_names_and_to_whom_they_went_before(trust, issuer, known):
    trust.check_secret(issuer, known=known)


@pytest.mark.parametrize(
    ("trust", "issuer"),
    [
        (PUBLIC, ISSUER),
        (PUBLIC, "http://mcp.example"),
        (PUBLIC, "https://mcp.example:8443"),
        (Trust(server_url=PUBLIC.server_url, issuer=ISSUER), "https://as.example/tenant"),
        (Trust(server_url=PUBLIC.server_url, issuer=ISSUER), "https://as.example.evil.example"),
    ],
)
def test_secrets_go_nowhere_else(trust, issuer):
    with pytest.raises(Untrusted) as caught:
        trust.check_secret(issuer, known={"https://other.example"})
    assert caught.value.hint == f'OAuth(issuer="{issuer}") allows it'


def test_where_the_metadata_may_be_of_another_issuer_only_the_users_word_is_enough():
    for issuer in ("https://mcp.example", ISSUER):
        with pytest.raises(Untrusted) as caught:
            PUBLIC.check_secret(issuer, known={ISSUER}, doubt="it has two names")
        assert caught.value.hint == f'OAuth(issuer="{issuer}") allows it'
        Trust(server_url=PUBLIC.server_url, issuer=issuer).check_secret(issuer, doubt="it has two names")
