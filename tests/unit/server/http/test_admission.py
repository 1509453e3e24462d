"""Which Host and which Origin are let in, by the address that the server listens on."""

import pytest

from mcp_conductor.server.http.admission import Admission, is_loopback

LOCAL = ["127.0.0.1", "localhost:1", "LOCALHOST", "[::1]", "[0:0:0:0:0:0:0:1]:3000"]


def served(host, address, given, **more):
    return {each for each in given if Admission(host, address, **more).serves(each)}


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1")]
)
def test_a_server_of_this_machine_goes_by_its_usual_names(host, address):
    assert served(host, address, [*LOCAL, "127.0.0.2", "a.example", "0.0.0.0", ""]) == set(LOCAL)


def test_a_server_on_another_address_goes_by_that_address_alone():
    given = [*LOCAL, "127.0.0.2", "127.0.0.2:3000", "127.0.0.3", "a.example"]
    assert served("127.0.0.2", "127.0.0.2", given) == {"127.0.0.2", "127.0.0.2:3000"}
    assert served("192.0.2.1", "192.0.2.1", [*given, "192.0.2.1"]) == {"192.0.2.1"}
    assert served("box.example", "192.0.2.1", ["BOX.example:80", "192.0.2.1", "x.box.example", "192.0.2.2"]) == {
        "BOX.example:80",
        "192.0.2.1",
    }


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_on_all_addresses_goes_by_any_address_but_by_no_name(host):
    addresses = {*LOCAL, "192.0.2.1", "[2001:db8::1]:80", "0.0.0.0"}
    assert served(host, host, [*addresses, "a.example", "2130706433", "0x7f.1", "127.1", ""]) == addresses


def test_names_can_be_allowed_with_and_without_a_port():
    given = ["a.example", "A.example:1", "b.example:80", "b.example", "b.example:1", "c.example", "127.0.0.1"]
    found = served("0.0.0.0", "0.0.0.0", given, hosts=["A.example", "b.example:80"])
    assert found == {"a.example", "A.example:1", "b.example:80", "127.0.0.1"}


@pytest.mark.parametrize(
    ("origin", "host", "let_in"),
    [
        ("http://localhost:6274", "192.0.2.1", True),  # a page of the user's machine, wherever the server is
        ("https://127.0.0.1", "127.0.0.2", True),
        ("HTTP://LOCALHOST", "127.0.0.1", True),
        ("tauri://localhost", "127.0.0.1", True),  # because it is allowed by name
        ("app://localhost", "127.0.0.1", False),
        ("ftp://localhost", "127.0.0.1", False),
        ("data://localhost", "127.0.0.1", False),
        ("file://localhost", "127.0.0.1", False),
        ("ws://localhost", "127.0.0.1", False),
        ("httpx://localhost", "127.0.0.1", False),
        ("chrome-extension://localhost", "127.0.0.1", False),
        ("chrome-extension://a.example", "a.example", False),
        ("http://192.0.2.1:9", "192.0.2.1:80", True),
        ("http://A.example", "a.example", True),
        ("https://b.example", "192.0.2.1", True),
        ("http://b.example", "192.0.2.1", False),
        ("http://192.0.2.2", "192.0.2.1", False),
        ("http://127.0.0.2", "127.0.0.1", False),
        ("null", "127.0.0.1", False),
        ("", "127.0.0.1", False),
    ],
)
def test_a_page_is_one_of_this_machine_or_of_the_server_itself_or_is_allowed(origin, host, let_in):
    admission = Admission("0.0.0.0", "0.0.0.0", ["a.example"], ["https://b.example", "tauri://localhost"])
    assert admission.trusts([origin], host) is let_in
    assert admission.trusts([origin, origin], host) is False
    assert admission.trusts([], host) is True


def test_only_programs_of_this_machine_reach_a_loopback_address():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "[::]", "192.0.2.1", "box.example"))
