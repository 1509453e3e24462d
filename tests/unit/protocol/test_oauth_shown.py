"""What is shown of OAuth holds no token, code or secret, however short it is."""

import pytest

from mcp_conductor.protocol.oauth_shown import shown_body, tokens_in, without_tokens

FORM = "application/x-www-form-urlencoded"


def test_a_form_is_shown_without_what_is_secret_in_it():
    form = b"grant_type=authorization_code&code=a&code_verifier=b&client_id=me&client_secret=c&scope=x+y&resource=http%3A%2F%2Fh"
    assert shown_body(form, FORM) == (
        "grant_type=authorization_code&code=[redacted]&code_verifier=[redacted]&client_id=me"
        "&client_secret=[redacted]&scope=x+y&resource=http://h"
    )


@pytest.mark.parametrize(
    ("body", "shown"), [(None, ""), (b"", ""), (b'{"client_name": "me"}', '{"client_name": "me"}')]
)
def test_another_body_is_shown_as_it_is(body, shown):
    assert shown_body(body, "application/json") == shown


def test_an_answer_is_shown_without_its_tokens():
    answer = {"access_token": "a", "expires_in": 3, "code": "x", "nested": [{"refresh_token": "b"}], "id_token": None}
    assert without_tokens(answer) == {
        "access_token": "[redacted]",
        "expires_in": 3,
        "code": "x",
        "nested": [{"refresh_token": "[redacted]"}],
        "id_token": None,
    }
    assert tokens_in(answer) == ["a", "b"]
    assert (without_tokens(3), tokens_in("x")) == (3, [])
