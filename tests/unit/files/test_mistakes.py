"""All mistakes of a file are told at once, in its order, each once; of very many, the first twenty and their number."""

import pytest

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import MOST, Mistakes, read_all
from mcp_conductor.files.source import parse
from mcp_conductor.report.error_text import diagnostic


def mistake(line: int, text: str = "is wrong") -> UsageError:
    return UsageError(f"a.yml: {text}", where=Location("a.yml", line, 1))


def told(mistakes: Mistakes) -> UsageError:
    with pytest.raises(UsageError) as raised:
        mistakes.tell()
    return raised.value


def lines(error: UsageError) -> list[int]:
    return [each.where.line for each in (error, *error.more) if each.where is not None]


def test_nothing_is_told_where_nothing_is_wrong():
    mistakes = Mistakes()
    assert mistakes.read(2, lambda given: given + 1, None) == 3
    assert mistakes.read(None, lambda given: given + 1, "nothing") == "nothing"
    mistakes.tell()


def test_mistakes_are_told_in_the_order_of_the_file():
    mistakes = Mistakes()
    for line in (3, 1, 2):
        mistakes.add(mistake(line))
    assert lines(told(mistakes)) == [1, 2, 3]


def test_what_is_read_from_several_places_has_one_mistake():
    mistakes = Mistakes()
    for index in range(3):
        mistakes.add(mistake(1, f"tests[{index}].call is wrong"))
    error = told(mistakes)
    assert (error.message, error.more) == ("a.yml: tests[0].call is wrong", ())


@pytest.mark.parametrize("count", [MOST, MOST + 1, 5 * MOST])
def test_of_many_mistakes_the_first_are_told_and_how_many_more_there_are(count):
    mistakes = Mistakes()
    for line in reversed(range(1, count + 1)):
        mistakes.add(mistake(line))
    error = told(mistakes)
    assert (lines(error), error.left_out) == (list(range(1, MOST + 1)), count - MOST)
    assert ("more mistakes" in diagnostic(error)) == (count > MOST)


def test_mistakes_within_mistakes_are_told_together():
    def read(given: int) -> int:
        return read_all(lambda each: (_ for _ in ()).throw(mistake(10 * given + each)), range(1, 3))[0]

    with pytest.raises(UsageError) as raised:
        read_all(read, range(15))
    assert len(raised.value.more) == MOST - 1
    assert raised.value.left_out == 10
    assert lines(raised.value)[:3] == [1, 2, 11]


def test_all_keys_that_are_not_known_are_told_and_x_keys_are_not():
    document = parse("naem: 1\nx-y: 2\nversoin: 3\nname: 4\n", "a.yml")
    with pytest.raises(UsageError) as raised:
        Field(document, (), document.data).members(("name", "version"))
    assert lines(raised.value) == [1, 3]
    assert [each.hint for each in (raised.value, *raised.value.more)] == [
        "did you mean 'name'?",
        "did you mean 'version'?",
    ]


def test_a_mapping_of_very_many_unknown_keys_is_refused_quickly():
    document = parse("".join(f"key{n}: 1\n" for n in range(20_000)), "a.yml")
    with pytest.raises(UsageError) as raised:
        Field(document, (), document.data).members(("name",))
    assert raised.value.left_out == 20_000 - MOST


def test_a_diagnostic_has_a_block_for_each_mistake():
    mistakes = Mistakes()
    for line in (2, 1):
        mistakes.add(mistake(line))
    assert (
        diagnostic(told(mistakes)) == "error: a.yml: is wrong\n  --> a.yml:1:1\nerror: a.yml: is wrong\n  --> a.yml:2:1"
    )
