"""Ids that cannot be guessed."""

from uuid import UUID

from mcp_conductor.server.identity import new_token, new_uuid


def test_a_uuid_is_a_random_one_in_the_usual_spelling() -> None:
    written = [new_uuid() for _ in range(200)]
    made = [UUID(each) for each in written]
    assert {each.version for each in made} == {4}
    assert [str(each) for each in made] == written


def test_no_id_comes_twice() -> None:
    assert len({new() for new in (new_uuid, new_token) for _ in range(1000)}) == 2000
