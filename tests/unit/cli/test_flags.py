"""Our flags and the server's words are told apart; nothing reaches the server by accident."""

import shlex

import pytest

from mcp_conductor.cli.commands.test.flags import FLAGS, in_our_words
from mcp_conductor.cli.flags import Flag, Given, check_flags, parse
from mcp_conductor.cli.flags.help import help_text
from mcp_conductor.errors import UsageError

GROUPS = {
    "Server": (
        Flag("--method", "what to do", "METHOD"),
        Flag("--env", "a variable", "KEY=VALUE", many=True, short="-e"),
        Flag("--a-flag-with-a-very-long-name", "wraps", "VALUE"),
    ),
    "Output": (Flag("--verbose", "say more", short="-v"), Flag("--uri", "which", "URI")),
}


def parsed(line: str) -> tuple[str, dict[str, list[str]]]:
    given = parse(shlex.split(line), GROUPS)
    return " ".join(given.words), dict(given.values)


def refusal(line: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(shlex.split(line), GROUPS)
    return caught.value


@pytest.mark.parametrize(
    ("line", "words", "values"),
    [
        ("", "", {}),
        ("node server.js", "node server.js", {}),
        ("node server.js --method ping", "node server.js", {"--method": ["ping"]}),
        ("--method ping node server.js", "node server.js", {"--method": ["ping"]}),
        ("--method ping node server.js -v", "node server.js", {"--method": ["ping"], "--verbose": []}),
        ("node --method=ping", "node", {"--method": ["ping"]}),
        ("node --uri=a=b", "node", {"--uri": ["a=b"]}),
        ("node --uri=", "node", {"--uri": [""]}),
        ("node --uri ''", "node", {"--uri": [""]}),
        ("node --uri -5", "node", {"--uri": ["-5"]}),
        ("node --uri -", "node", {"--uri": ["-"]}),
        ("node --uri=--verbose", "node", {"--uri": ["--verbose"]}),
        ("node -e A=1 --env B=2 --env=C=3", "node", {"--env": ["A=1", "B=2", "C=3"]}),
        ("node -v", "node", {"--verbose": []}),
        ("-", "-", {}),
    ],
)
def test_flags_may_stand_before_and_after_the_words(line, words, values):
    assert parsed(line) == (words, values)


@pytest.mark.parametrize(
    ("line", "words", "values"),
    [
        ("node server.js -- --port 3000 --method ping", "node server.js --port 3000", {"--method": ["ping"]}),
        ("node -- --port 3 --method=ping -v", "node --port 3", {"--method": ["ping"], "--verbose": []}),
        ("--method ping node -- --verbose", "node --verbose", {"--method": ["ping"]}),
        ("-v -- npx -y server --verbose --uri x", "npx -y server --verbose --uri x", {"--verbose": []}),
        ("-- npx -y server -- -v", "npx -y server", {"--verbose": []}),
        ("node -v -- --x -- --method ping", "node --x", {"--verbose": [], "--method": ["ping"]}),
        ("node -- --methodical --method-name x", "node --methodical --method-name x", {}),
        ("node -- -e A=1 --uri", "node -e A=1 --uri", {}),
        ("node --", "node", {}),
        ("-- --", "", {}),
        ("-- --method ping", "", {"--method": ["ping"]}),
    ],
)
def test_after_two_dashes_it_is_the_servers_turn_until_two_dashes_or_a_method(line, words, values):
    assert parsed(line) == (words, values)


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("node --methd ping", "--method"),
        ("node --verbos", "--verbose"),
        ("node --methd=ping", "--method"),
    ],
)
def test_an_unknown_flag_is_refused_with_the_nearest_known_one(line, near):
    error = refusal(line)
    assert error.message == f"unknown flag {line.split()[1].partition('=')[0]}"
    assert error.hint.startswith(f"did you mean {near}?")


@pytest.mark.parametrize("line", ["node --port 3000", "node -x", "node -y --method ping"])
def test_an_unknown_flag_like_no_other_may_be_the_servers(line):
    flag = line.split()[1]
    assert refusal(line).hint == f"the server's own flags go after --: mcp-cli node -- {flag} …"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("node --method", "--method needs a value: --method METHOD"),
        ("node --method --verbose", "--method needs a value: --method METHOD"),
        ("node --method -v", "--method needs a value: --method METHOD"),
        ("node --uri -- x", "--uri needs a value: --uri URI"),
        ("node -e", "-e needs a value: -e KEY=VALUE"),
        ("node -- x --method", "--method needs a value: --method METHOD"),
        ("node --verbose=1", "--verbose takes no value"),
        ("node --verbose=", "--verbose takes no value"),
        ("node --method a --method b", "--method is given twice"),
        ("node -v --verbose", "--verbose is given twice"),
        ("node --method a -- --method b", "--method is given twice"),
        ("node -- a -- -v -- b", "a third -- has no meaning"),
        ("node --method ping server.js", "unexpected word 'server.js': the server's words must stand together"),
        ("-- node -- server.js", "unexpected word 'server.js': the server's words must stand together"),
        ("node -e A=1 B=2", "unexpected word 'B=2': the server's words must stand together"),
    ],
)
def test_what_cannot_be_meant_is_refused(line, says):
    assert refusal(line).message == says


def test_a_word_after_the_second_two_dashes_is_refused_also_when_words_stood_before_the_first():
    refusal("node -- --port 3 -- extra")


def test_several_values_for_a_repeatable_flag_are_explained():
    assert refusal("node -e A=1 B=2").hint.startswith("to give --env several values, repeat it: --env ")


@pytest.mark.parametrize(
    "line", ["node -v server.js", "node --method ping server.js", "node -e A=1 --uri x -e B=2 C=3"]
)
def test_only_the_flag_before_the_word_and_only_a_repeatable_one_is_hinted_at(line):
    hint = refusal(line).hint
    assert hint is None or "--env" in hint


def test_values_are_asked_for_by_name():
    given = parse(["node", "--uri", "u", "-e", "A=1", "-e", "B=x=y", "-e", "C=", "-v"], GROUPS)
    assert ("--uri" in given, "--method" in given, "--verbose" in given) == (True, False, True)
    assert (given.one("--uri"), given.one("--method"), given.need("--uri")) == ("u", None, "u")
    assert (given.all("--env"), given.all("--method")) == (["A=1", "B=x=y", "C="], [])
    assert given.pairs("--env") == [("A", "1"), ("B", "x=y"), ("C", "")]
    assert given.pairs("--method") == []


@pytest.mark.parametrize("text", ["A", "=1", "", "="])
def test_a_pair_without_a_key_or_an_equals_sign_is_refused(text):
    with pytest.raises(UsageError) as caught:
        Given(values={"--env": [text]}).pairs("--env")
    assert caught.value.message.startswith("--env takes KEY=VALUE")


def test_help_has_every_group_and_every_flag_with_what_it_takes_and_means():
    text = help_text(GROUPS)
    for title, flags in GROUPS.items():
        assert f"{title}:" in text.splitlines()
        for flag in flags:
            assert f"{flag.name} {flag.metavar}".rstrip() in text
            assert flag.help in text
    assert "-e, --env KEY=VALUE" in text


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("-c a.json -v -t -q -f text", {"--config": ["a.json"], "--verbose": [], "--timing": [], "--quiet": [], "--filter": ["text"]}),
        ("-d --json --errors-only", {"--json": [], "--errors-only": [], "--wire": []}),
        ("--debug --wire", {"--wire": []}),
        ("--no-analysis", {"--max-errors": ["1"]}),
        ("--no-analysis --max-errors 3", {"--max-errors": ["3"]}),
        ("--syntax-only --group-errors --concise", {"--syntax-only": [], "--group-errors": [], "--concise": []}),
    ],
)  # fmt: skip
def test_conductor_test_understands_the_flags_of_mcp_aegis(line, values):
    given = in_our_words(parse([*shlex.split(line), "a.test.mcp.yml"], FLAGS, server_words=False))
    assert given.words == ("a.test.mcp.yml",)
    assert given.values == values


RULES = {
    "": (
        Flag("--form", "how", "FORM", choices=("text", "json"), excludes={"--raw": "--raw is as it came"}),
        Flag("--raw", "as it came", excludes={"--quick": ""}),
        Flag("--quick", "soon"),
        Flag("--poll", "wait", requires="--quick"),
        Flag("--side", "which", "SIDE", requires="--file FILE"),
        Flag("--file", "a file", "FILE"),
    )
}


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("--form yaml", "--form must be one of text, json, not 'yaml'", None),
        ("--form json --raw", "--form and --raw exclude each other", "--raw is as it came"),
        ("--quick --raw", "--raw and --quick exclude each other", None),
        ("--poll", "--poll has no meaning without --quick", None),
        ("--side a", "--side is for --file FILE", None),
    ],
)
def test_what_a_flag_declares_of_its_values_and_of_other_flags_is_refused_by_its_name(line, message, hint):
    with pytest.raises(UsageError) as caught:
        check_flags(parse(shlex.split(line), RULES), RULES)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_flags_that_fit_together_are_taken():
    check_flags(parse(shlex.split("--form json --quick --poll --side a --file f"), RULES), RULES)
