"""What is secret in the entry of a server is not written into a file that is shared."""

import pytest

from mcp_conductor.suites.authoring.shared_entry import references, secrets_in, without_secrets

SECRET = "sk-3c9f0aa1b2"


@pytest.mark.parametrize(
    ("entry", "shared", "needed"),
    [
        ({"command": "x", "args": ["--level", "low"]}, {"command": "x", "args": ["--level", "low"]}, []),
        ({"env": {"API_KEY": SECRET, "LEVEL": "low"}}, {"env": {"API_KEY": "${API_KEY}", "LEVEL": "low"}}, ["API_KEY"]),
        ({"env": {"API_KEY": "${MINE}", "N": 1}}, {"env": {"API_KEY": "${MINE}", "N": 1}}, []),
        ({"env": {"my-key": SECRET}}, {"env": {"my-key": "${my_key}"}}, ["my_key"]),
        ({"args": ["--api-key", SECRET]}, {"args": ["--api-key", "${API_KEY}"]}, ["API_KEY"]),
        ({"args": [f"--api-key={SECRET}"]}, {"args": ["--api-key=${API_KEY}"]}, ["API_KEY"]),
        ({"args": ["-e", f"TOKEN={SECRET}"]}, {"args": ["-e", "TOKEN=${TOKEN}"]}, ["TOKEN"]),
        (
            {"headers": {"Authorization": f"Bearer {SECRET}", "X-Team": "blue"}},
            {"headers": {"Authorization": "Bearer ${AUTHORIZATION}", "X-Team": "${X_TEAM}"}},
            ["AUTHORIZATION", "X_TEAM"],
        ),
        (
            {"url": f"https://example.com/mcp?api_key={SECRET}&v=1"},
            {"url": "https://example.com/mcp?api_key=${URL_SECRET}&v=1"},
            ["URL_SECRET"],
        ),
    ],
)
def test_a_secret_becomes_a_reference_to_the_environment(entry, shared, needed):
    assert without_secrets(entry) == (shared, needed)
    assert SECRET not in str(shared)


def test_what_an_entry_refers_to_is_known():
    assert references({"args": ["${A}"], "env": {"B": "${env:B}", "C": "${A}"}}) == ["A", "B"]


def test_secrets_of_every_part_are_known_so_that_they_are_not_shown():
    entry = {"args": ["--token", SECRET + "1"], "env": {"KEY": SECRET + "2"}, "headers": {"X-Key": SECRET + "3"}}
    assert {SECRET + "1", SECRET + "2", SECRET + "3"} <= set(secrets_in(entry))
    assert SECRET in secrets_in({"url": f"https://user:{SECRET}@example.com/"})
