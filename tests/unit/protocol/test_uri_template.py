"""URI templates: which are well formed, which URIs they match with which values, and the URIs that they make."""

import time

import pytest

from mcp_conductor.protocol.budgets import LONGEST_URI
from mcp_conductor.protocol.uri_template import parse


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("test://static", ()),
        ("", ()),
        ("file:///{path}", ("path",)),
        ("a://{x}/{y}{?z,w}", ("x", "y", "z", "w")),
        ("a://{x}/{x}", ("x",)),
        ("a://{x.y}/{a_1}/{%C3%A9}", ("x.y", "a_1", "%C3%A9")),
        ("a://{x:3}/{y*}", ("x", "y")),
    ],
)
def test_the_variables_of_a_template_have_names_in_order(text, names):
    template = parse(text)
    assert (template.text, template.names) == (text, names)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("foobar://events/{topic:abc}", "'abc'"),
        ("a://{x:0}", "'0'"),
        ("a://{x:10000}", "'10000'"),
        ("a://{x:}", "''"),
        ("a://{x:-1}", "'-1'"),
        ("a://{x", "'{x' has no closing"),
        ("a://{", "'{' has no closing"),
        ("a://{x{y}}", "'{x{y' has no closing"),
        ("a://x}", "has no opening"),
        ("a://{x}}", "has no opening"),
        ("a://{}", "in '{}'"),
        ("a://{?}", "in '{?}'"),
        ("a://{x,}", "in '{x,}'"),
        ("a://{x y}", "'x y'"),
        ("a://{x-y}", "'x-y'"),
        ("a://{.x.}", "'x.'"),
        ("a://{é}", "'é'"),
        ("a://{x*:3}", "'x*:3'"),
        ("a://{x:3*}", "'3*'"),
        ("a://{$x}", "'$x'"),
        ("a://{=x}", "'='"),
        ("a://{|x}", "'|'"),
        ("a://two words", "' ' must be"),
        ("a://100%", "'%' must be"),
        ("a://<x>", "'<' must be"),
    ],
)
def test_a_malformed_template_is_refused_with_its_fault(text, told):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse(text)
    assert repr(text) in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "uri", "values"),
    [
        ("test://static", "test://static", {}),
        ("file:///{path}", "file:///a.txt", {"path": "a.txt"}),
        ("file:///{path}", "file:///a%2Fb%20c", {"path": "a/b c"}),
        ("file:///{path}", "file:///a b", {"path": "a b"}),
        ("file:///{path}", "file:///100%", {"path": "100%"}),
        ("file:///{path}", "file:///é", {"path": "é"}),
        ("file:///é/{path}", "file:///é/x", {"path": "x"}),
        ("file:///é/{path}", "file:///%C3%A9/x", {"path": "x"}),
        ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
        ("file:///{+path}/{name}", "file:///a/b/c", {"path": "a/b", "name": "c"}),
        ("file:///{name}.{ext}", "file:///a.tar.gz", {"name": "a.tar", "ext": "gz"}),
        ("file:///{name}{.ext}", "file:///a.tar.gz", {"name": "a.tar", "ext": "gz"}),
        ("a://x{/y,z}", "a://x/1/2", {"y": "1", "z": "2"}),
        ("a://{lat,lon}", "a://1,2", {"lat": "1", "lon": "2"}),
        ("a://{x}{y}", "a://abc", {"x": "ab", "y": "c"}),
        ("a://x{#f}", "a://x#1/2", {"f": "1/2"}),
        ("a://x{;y,z}", "a://x;y=1;z=2", {"y": "1", "z": "2"}),
        ("a://{x*}", "a://1", {"x": "1"}),
        ("a://{x:3}", "a://abcdef", {"x": "abcdef"}),
        ("a://{x:1}/{x}", "a://a/abc", {"x": "abc"}),
        ("a://{x}/{x}", "a://1/1", {"x": "1"}),
        ("foobar://events{?topic}", "foobar://events", {}),
        ("foobar://events{?topic}", "foobar://events?topic=x", {"topic": "x"}),
        ("foobar://events{?topic}", "foobar://events?topic=", {"topic": ""}),
        ("foobar://events{?topic}", "foobar://events?topic=a%26b=c/d?e", {"topic": "a&b=c/d?e"}),
        ("a://x{?y,z}", "a://x?z=2&y=1", {"y": "1", "z": "2"}),
        ("a://x{?y,z}", "a://x?z=2", {"z": "2"}),
        ("a://x{?y}{&z}", "a://x?z=2&y=1", {"y": "1", "z": "2"}),
        ("a://x?v=1{&y,z}", "a://x?v=1", {}),
        ("a://x?v=1{&y,z}", "a://x?v=1&z=2", {"z": "2"}),
        ("a://x?v={v}&w=1{&y}", "a://x?v=1&w=1&y=2", {"v": "1", "y": "2"}),
        ("a://{+path}{?q}", "a://1/2?q=3", {"path": "1/2", "q": "3"}),
        ("a://{+path}{?q}{#f}", "a://1/2?q=3#4", {"path": "1/2", "q": "3", "f": "4"}),
        ("a://x{?q}#end", "a://x#end", {}),
        ("a://x?{+query}", "a://x?y=1&z=2", {"query": "y=1&z=2"}),
    ],
)
def test_a_uri_that_fits_gives_its_values(text, uri, values):
    assert parse(text).match(uri) == values


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("test://static", "test://static/"),
        ("test://static", ""),
        ("test://a.b", "test://aXb"),
        ("file:///{path}", "file:///a/b.txt"),
        ("file:///{path}", "file:///"),
        ("file:///{path}", "file:///a?b"),
        ("file:///{path}", "file:///a#b"),
        ("file:///{path}", "FILE:///a"),
        ("file:///{path}", "file:///a/"),
        ("file:///{path}.txt", "file:///.txt"),
        ("file:///{+path}", "file:///"),
        ("a://x{/y}", "a://x"),
        ("a://x{/y}", "a://x/1/2"),
        ("a://x{.y}", "a://x"),
        ("a://{x}/{x}", "a://1/2"),
        ("a://{x:1}/{x}", "a://b/abc"),
        ("foobar://events{?topic}", "foobar://events?"),
        ("foobar://events{?topic}", "foobar://events?topic"),
        ("foobar://events{?topic}", "foobar://events?other=x"),
        ("foobar://events{?topic}", "foobar://events?topic=x&other=y"),
        ("foobar://events{?topic}", "foobar://events?topic=x&topic=y"),
        ("foobar://events{?topic}", "foobar://events?topic=x&"),
        ("foobar://events{?topic}", "foobar://events&topic=x"),
        ("foobar://events{?topic}", "foobar://events/?topic=x"),
        ("foobar://events{?topic}", "foobar://events/x"),
        ("foobar://events{?topic}", "foobar://events?topic=x#f"),
        ("foobar://events{?topic}", "foobar://events#f"),
        ("foobar://events{?topic}", "foobar://eventsX"),
        ("a://x?v=1{&y}", "a://x?y=2"),
        ("a://x?v=1{&y}", "a://x?v=2"),
    ],
)
def test_a_uri_that_does_not_fit_gives_nothing(text, uri):
    assert parse(text).match(uri) is None


def test_octets_that_are_no_text_are_replaced():
    assert parse("a://{x}").match("a://%FF") == {"x": "\ufffd"}


VALUES = {"var": "value", "hello": "Hello World!", "empty": "", "path": "/foo/bar", "x": "1024", "y": "768"}


@pytest.mark.parametrize(
    ("text", "uri"),
    [  # from RFC 6570, section 3.2
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{path}", "%2Ffoo%2Fbar"),
        ("{+path}/here", "/foo/bar/here"),
        ("{+hello}", "Hello%20World!"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("X{#undef}", "X"),
        ("X{#empty}", "X#"),
        ("X{.x,y}", "X.1024.768"),
        ("X{.var:3}", "X.val"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"),
        ("{/var:1,var}", "/v/value"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?undef}", ""),
        ("{?var:3}", "?var=val"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
        ("{var*}{/var*}{?var*}", "value/value?var=value"),
    ],
)
def test_values_make_a_uri(text, uri):
    assert parse(text).expand(VALUES) == uri


def test_what_is_percent_encoded_stays_so_only_where_reserved_characters_may_stand():
    assert parse("{x}/{+x}").expand({"x": "50%/%20"}) == "50%25%2F%2520/50%25/%20"


def test_letters_outside_ascii_are_percent_encoded():
    assert parse("a://é/{x}").expand({"x": "ü"}) == "a://%C3%A9/%C3%BC"


def test_a_lone_surrogate_is_no_failure():
    template = parse("a://{x}")
    assert template.match(template.expand({"x": "\ud800"})) is not None
    assert template.match("a://\ud800") is not None


@pytest.mark.parametrize("value", ["a", "a b", "a/b?c#d", "{x}", "100%", "%41", "é&=+", "a,b"])
@pytest.mark.parametrize("text", ["a://{v}", "a://x/{v}/y", "a://x{/v}", "a://x{.v}", "a://x{;v}", "a://x{?v}"])
def test_a_template_matches_the_uri_that_it_made(text, value):
    template = parse(text)
    assert template.match(template.expand({"v": value})) == {"v": value}


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("a://{+a}{+b}{+c}{+d}!", "a://" + "x" * 100_000),
        ("a://{+a}/{+b}/{+c}/{+d}!", "a://" + "/" * 100_000),
        ("a://{a}{b}{c}{d}/", "a://" + "x" * 100_000),
        ("a://{+a}aaaaaaaaaa{+b}aaaaaaaaaab", "a://" + "a" * 100_000),
        ("a://{+a}{?b}", "a://" + "?" * 100_000),
        ("a://x{?b,c}", "a://x?" + "&" * 100_000),
        ("a://x?y={y}{&b}", "a://x?y=1" + "&b=1" * 25_000),
        ("a://{+a}/{b}", "a://" + "%" * 100_000),
    ],
)
def test_a_long_uri_takes_no_long_time(text, uri):
    template = parse(text)
    started = time.process_time()
    assert template.match(uri) is None
    assert time.process_time() - started < 2  # it is some hundredths; what backtracks takes hours


def test_a_long_value_is_found_whole():
    assert parse("a://{+a}/{b}").match("a://" + "x/" * 30_000 + "y") == {"a": ("x/" * 30_000)[:-1], "b": "y"}


@pytest.mark.parametrize(
    "uri", ["a://" + "x" * LONGEST_URI, "a://" + "%" * LONGEST_URI, "a://" + "€" * (LONGEST_URI // 4)]
)
def test_a_uri_far_longer_than_any_in_use_fits_nothing(uri):
    assert parse("a://{x}").match(uri) is None


def test_a_match_that_would_take_much_memory_is_none():
    template = parse("{x}" * 2000)
    assert template.match("x" * 2000) == {"x": "x"}
    assert template.match("x" * 60_000) is None


def test_a_template_far_longer_than_any_in_use_is_refused_in_few_words():
    with pytest.raises(ValueError, match="has 6000007 characters, more than 65536") as refused:
        parse("a://{x}" + "a" * 6_000_000)
    assert len(str(refused.value)) < 200
