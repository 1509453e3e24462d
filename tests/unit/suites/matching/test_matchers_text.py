"""Matchers of text: what each accepts, what it says otherwise, and the dialect of regular expressions."""

import re

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.message import Digits
from mcp_conductor.suites.matching.manual import manual
from mcp_conductor.suites.matching.matchers import MATCHERS, SPECIAL_KEYS
from mcp_conductor.suites.matching.matchers.patterns import read_pattern
from mcp_conductor.suites.matching.matchers.regexes import read_regex


def complaint(pattern, actual):
    return read_pattern(pattern).complaint(actual)


@pytest.mark.parametrize(
    ("pattern", "actual"),
    [
        # regular expressions search, and take scalars as text
        ("regex:^a.c$", "abc"),
        ("regex:b", "abc"),
        ("regex:^\\d+$", 42),
        ("regex:^5$", 5.0),
        ("regex:^10\\.50$", Digits("10.50")),
        ("regex:^true$", True),
        ("regex:a:b:c", "xa:b:cx"),
        # without a name: a regular expression if it looks like one, else a part
        ("File not found", "Error: File not found!"),
        ("file.txt", "the file.txt"),
        ("^File .*", "File x"),
        ("Really?", "Reall"),
        ("5", 1.5),
        ("^\\[.*\\]$", [{"a": 1}]),
        ("^a,b,$", ["a", "b", None]),
        ("Error: no such file", "Error: no such file: x"),
        ("http://localhost:8080", "at http://localhost:8080/"),
        ("Error:x", "Error:xyz"),
        ("12:30", "at 12:30"),
        ("contains:x", "axb"),
        ("contains:", "anything"),
        ("contains:a:b", "xa:bx"),
        ("contains:oo", ["bar", "foo"]),
        ("contains:1", ["a", 12]),
        ("containsIgnoreCase:HELLO", "say hello"),
        ("containsIgnoreCase:B", ["a", "b"]),
        ("equalsIgnoreCase:HeLLo", "hEllO"),
        ("startsWith:He", "Hello"),
        ("startsWith:", "Hello"),
        ("endsWith:lo", "Hello"),
        ("endsWith:", "Hello"),
        ("stringLength:2", "ab"),
        ("stringLength:2", "😀"),
        ("stringLengthGreaterThan:1", "ab"),
        ("stringLengthLessThan:3", "ab"),
        ("stringLengthGreaterThanOrEqual:2", "ab"),
        ("stringLengthLessThanOrEqual:2", "ab"),
        ("stringLengthBetween:2:2", "ab"),
        ("stringEmpty", ""),
        ("stringNotEmpty", " "),
        ("length:2", "ab"),
        ("length:2", [1, 2]),
        ("literal:match:contains:x", "match:contains:x"),
        ("literal:", ""),
        ("equals:abc", "abc"),
        ("equals:5", 5.0),
        ("equals:5", "5"),
        ("notEquals:5", 6),
        ("notEquals:abc", "abd"),
        ("not:contains:x", "abc"),
        ("not:regex:^x", "abc"),
        ("not:File not found", "all is well"),
        ("not:not here", "here"),
        ("not:equals:abc", "abd"),
        ("not:stringEmpty", "x"),
    ],
)
def test_a_matcher_accepts_what_it_says(pattern, actual):
    assert complaint(pattern, actual) is None


@pytest.mark.parametrize(
    ("pattern", "actual", "said"),
    [
        ("regex:^b", "abc", "is 'abc', which does not match the regular expression"),
        ("regex:null", None, "is null, not text"),
        ("regex:a", ["a"], "is an array, not text"),
        ("regex:object", {"a": 1}, "is an object, not text"),
        ("regex:^a$", "a\n", "is 'a\\n', which does not match the regular expression"),
        ("File not found", "All is well", "does not contain 'File not found'"),
        ("file not found", "File not found", "does not contain 'file not found' (but it does in a different case)"),
        ("null", None, "is null, not text"),
        ("^a", {"a": 1}, "is an object, not text"),
        ("^a", "b", "is the string 'b', which does not match it"),
        ("contains:x", "abc", "does not contain 'x'"),
        ("contains:x", ["abc"], "has no element that contains 'x'"),
        ("contains:5", 5, "is the number 5, not text or an array"),
        ("contains:x", {}, "is an empty object, not text or an array"),
        ("containsIgnoreCase:X", "abc", "does not contain 'X', ignoring case"),
        ("containsIgnoreCase:X", ["abc"], "has no element that contains 'X', ignoring case"),
        ("equalsIgnoreCase:a", "b", "is 'b', not 'a', ignoring case"),
        ("equalsIgnoreCase:1", 1, "is the number 1, not text"),
        ("startsWith:Hello", "Goodbye, MCP!", "does not start with 'Hello', but with 'Goodbye, MCP!'"),
        ("startsWith:1", 1, "is the number 1, not text"),
        ("endsWith:x", "abc", "does not end with 'x', but with 'abc'"),
        ("endsWith:c", "abc\n", "does not end with 'c', but with 'abc\\n' (there is white space after it)"),
        ("endsWith:1", 1, "is the number 1, not text"),
        ("stringLength:3", "ab", "is 2 characters long, not 3: 'ab'"),
        ("stringLength:1", 1, "is the number 1, not text"),
        ("stringLengthGreaterThan:2", "ab", "is 2 characters long, not more than 2: 'ab'"),
        ("stringLengthLessThan:1", "a", "is 1 character long, not less than 1: 'a'"),
        ("stringLengthLessThan:0", "", "is 0 characters long, not less than 0: ''"),
        ("stringLengthGreaterThanOrEqual:3", "ab", "is 2 characters long, not at least 3: 'ab'"),
        ("stringLengthLessThanOrEqual:1", "ab", "is 2 characters long, not at most 1: 'ab'"),
        ("stringLengthBetween:3:4", "ab", "is 2 characters long, not from 3 to 4: 'ab'"),
        ("stringEmpty", "x", "is not empty: 'x'"),
        ("stringEmpty", None, "is null, not text"),
        ("stringNotEmpty", "", "is an empty string"),
        ("stringNotEmpty", [], "is an empty array, not text"),
        ("length:1", {"a": 1}, "is an object, not text or an array"),
        ("length:1", [], "has no elements, not 1"),
        ("literal:match:x", "match:y", "is 'match:y', not 'match:x' (differs at character 7)"),
        ("equals:abc", "abcd", "continues after the expected text with 'd'"),
        ("equals:5", 6, "is 6, not 5"),
        ("equals:5", "five", "is the string 'five', not the number 5"),
        ("equals:5", True, "is true, not the number 5"),
        ("notEquals:5", 5.0, "is 5.0, but must not be"),
        ("notEquals:5", "five", "is the string 'five', not a number"),
        ("notEquals:abc", "abc", "is 'abc', but must not be"),
        ("not:contains:x", "axb", "matches 'contains:x', but must not"),
        ("not:^a", "abc", "matches '^a', but must not"),
    ],
)
def test_a_matcher_says_what_is_the_case(pattern, actual, said):
    assert complaint(pattern, actual) == said


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        ("startswith:foo", "unknown matcher 'startswith'", "did you mean 'match:startsWith:foo'?"),
        ("not:startswith:foo", "unknown matcher 'startswith'", "match:not:contains:startswith:foo"),
        ("icontains:x", "unknown matcher 'icontains'", "did you mean 'match:contains:x'?"),
        ("arraylength:3", "unknown matcher 'arraylength'", "match:arrayLength:3"),
        ("existsFoo", "unknown matcher 'existsFoo'", "did you mean 'match:exists'?"),
        ("minLength:3", "unknown matcher 'minLength'", "match:contains:minLength:3"),
        ("localhost:8080", "unknown matcher 'localhost'", "match:contains:localhost:8080"),
        ("not:http://x", "unknown matcher 'http'", "match:not:contains:http://x"),
        ("not:frob:x", "unknown matcher 'frob'", "match:not:contains:frob:x"),
        ("partial:x", "'partial' in a text, which is a key", "match:partial: …"),
        ("arrayElements", "'arrayElements' in a text, which is a key", "a mapping"),
        ("contains", "has nothing after 'contains'", "match:contains:PART"),
        ("type", "has nothing after 'type'", "match:contains:type"),
        ("exists:now", "has 'now' after 'exists', which takes no argument", "match:exists"),
        (" contains:x", "white space before 'contains'", "write match:contains:x"),
        ("", "matches everything", "match:any"),
        ("not:", "matches everything", "match:any"),
        ("arrayLength:3abc", "'3abc' is not a whole number", "match:arrayLength:LENGTH"),
        ("arrayLength:-1", "'-1' is not a whole number", "match:arrayLength:LENGTH"),
        ("stringLength:", "'' is not a whole number", "match:stringLength:LENGTH"),
        ("stringLengthBetween:5:2", "reversed", "match:stringLengthBetween:LOW:HIGH"),
        ("stringLengthBetween:5", "'5' must be LOW:HIGH", "match:stringLengthBetween:LOW:HIGH"),
        ("stringLengthBetween:1:2:3", "'1:2:3' must be LOW:HIGH", "match:stringLengthBetween:LOW:HIGH"),
        ("regex:a(b", "missing ), unterminated subpattern at character 2", "match:regex:REGEX"),
        ("regex:\\d[", "unterminated character set at character 3", "match:regex:REGEX"),
        ("regex:$$$(", "at character 4", "match:regex:REGEX"),
        ("a(b", "not a regular expression", "match:contains:a(b"),
        ("not:*", "nothing to repeat at character 1", "match:not:contains:*"),
        ("regex:\\p{L}", "\\p{…}", "match:regex:REGEX"),
    ],
)
def test_what_can_only_be_a_mistake_is_refused(pattern, message, hint):
    with pytest.raises(UsageError) as caught:
        read_pattern(pattern)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("regex", "text", "matches"),
    [
        ("a$", "a", True),
        ("a$", "a\n", False),
        ("[$]", "$", True),
        ("\\$5", "$5", True),
        ("a.b", "a\nb", False),
        ("a.b", "a\rb", False),
        ("a.b", "a\u2028b", False),
        ("[.]", "x", False),
        ("^\\d+$", "٣", False),
        ("^\\w+$", "é", False),
        ("^\\W$", "é", True),
        ("a\\sb", "a\u00a0b", True),
        ("a[\\s]b", "a\u3000b", True),
        ("^\\S$", "\u00a0", False),
        ("^[\\s\\S]$", "\n", True),
        ("^[^]$", "\n", True),
        ("[]", "anything", False),
        ("(?<year>\\d)-\\k<year>", "4-4", True),
        ("(?<=a)b", "ab", True),
        ("(?<!a)b", "ab", False),
        ("\\/path\\/", "/path/", True),
        ("\\u0041\\x42", "AB", True),
        ("\\u{1F600}", "😀", True),
        ("[[]x]", "[x]", True),
        ("[[]$", "[\n", False),
        ("[\\]$]", "$", True),
        ("[a&&b]", "&", True),
        ("[a||b]", "|", True),
        ("[~~]", "~", True),
        ("a{,2}", "a{,2}", True),
        ("^a{2,}$", "aaa", True),
        ("{x}", "{x}", True),
        ("\\e", "e", True),
        ("\\-", "-", True),
        ("\\cJ", "\n", True),
        ("\\0", "\0", True),
        ("[\\b]", "\b", True),
        ("\\bfoo\\b", "a foo b", True),
        ("(a)\\1", "aa", True),
        ("(?i)ABC", "abc", True),
        ("[\\]]", "]", True),
        ("[^\\]]", "]", False),
        ("[a-z]+", "ABC", False),
        ("\\\\d", "\\d", True),
        ("^(?:[A-Z]:)?[\\\\/].+", "C:\\x", True),
    ],
)
def test_regular_expressions_mean_what_they_mean_in_javascript(regex, text, matches):
    assert bool(read_regex(regex).search(text)) is matches


@pytest.mark.parametrize(
    ("regex", "flags", "text"), [("^b$", "m", "a\nb\nc"), ("A.C", "is", "a\nc"), ("(?<a>x)$", "", "x")]
)
def test_flags_mean_what_they_mean_in_javascript(regex, flags, text):
    assert read_regex(regex, flags).search(text)


def test_every_matcher_has_an_entry_in_the_manual_that_shows_how_it_is_written():
    entries = manual()
    assert len(entries) == len(MATCHERS.items()) + len(SPECIAL_KEYS.items()) + 2
    for name, usage, doc in entries:
        assert usage.startswith(f"match:{name}"), name
        assert doc.endswith("."), name


def test_every_matcher_without_arguments_is_written_so():
    for name, each in MATCHERS.items():
        assert (each.usage == f"match:{name}") == (not each.params), name
        assert re.fullmatch(rf"match:{name}(:.+)?", each.usage), name
