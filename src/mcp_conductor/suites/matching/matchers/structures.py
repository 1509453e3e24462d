"""Matchers that are keys of a mapping: each compiles what stands below its key.

A maker is given the value of its key, the mapping that the key stands in, and whether a `match:partial` is around it.
"""

from typing import Any

from mcp_conductor.files.fields import Field
from mcp_conductor.protocol.message import read, why_not_json
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.comparison import Comparison, Place
from mcp_conductor.suites.matching.differences import described, shown
from mcp_conductor.suites.matching.expected import Leaf, Node, Plain, Together, compare, compile_node, matches
from mcp_conductor.suites.matching.matchers import ANYTHING, Tools, special_key
from mcp_conductor.suites.matching.matchers.conditions import cross_field, read_condition
from mcp_conductor.suites.matching.paths import JsonPath, joined, parse_path
from mcp_conductor.values import dataclass


@special_key("partial")
def partial(field: Field, _: Field, __: bool) -> Node:
    """match:partial: {…} — only what is listed is looked at, at every depth: other members of objects do not matter,
    nor do elements of arrays after those that are listed.

    {match:partial: {a: 1}}        {"a": 1, "b": 2}         passes
    {match:partial: [{a: 1}]}      [{"a": 1, "b": 2}, 3]    passes
    {match:partial: {a: 1, c: 3}}  {"a": 1, "b": 2}         c is missing
    {match:partial: {a: {b: 1}}}   {"a": {"b": 2, "c": 3}}  a.b is 2, not 1
    """
    return compile_node(field, partial=True)


@dataclass(frozen=True, slots=True)
class EachElement:
    node: Node
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        if not isinstance(actual, list):
            return seen.add(place, f"is {described(actual)}, not an array", NOTHING, actual)
        for index, item in enumerate(actual):
            self.node.walk(item, place.to(index, at=()), seen)
        return None


@special_key("arrayElements")
def array_elements(field: Field, _: Field, __: bool) -> Node:
    """match:arrayElements: … — an array of which every element matches this; an empty array too. Elements are compared
    exactly, unless `match:partial` stands here.

    {match:arrayElements: {n: match:type:number}}  [{"n": 1}, {"n": 2}]  passes
    {match:arrayElements: match:type:number}       [1, "2"]              [1] is the string '2', not a number
    {match:arrayElements: {n: match:any}}          [{"n": 1, "m": 2}]    [0].m is not expected
    """
    return EachElement(compile_node(field, partial=False))


@dataclass(frozen=True, slots=True)
class Extracted:
    field: JsonPath
    node: Node
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        found = self.field.find(actual)
        inner = place.within(joined(place.path, self.field.text))
        if found is NOTHING and not self.node.optional:
            seen.add(inner, f"is missing: {self.field.why(actual)}")
        elif found is not NOTHING:
            # The expectation is next to the path, under `value`.
            self.node.walk(found, Place(inner.steps, (*place.at[:-1], "value"), inner.source), seen)


@special_key("extractField")
def extract_field(field: Field, around: Field, _: bool) -> Node:
    """match:extractField: PATH — with `value: …` next to it: what is at PATH matches that. `tools.*.name` is an
    array of all names.

    {match:extractField: dogs.*.age, value: [7]}  {"dogs": [{"age": 7}]}  passes
    {match:extractField: dogs.*.age, value: [8]}  {"dogs": [{"age": 7}]}  dogs.*.age[0] is 7, not 8
    """
    if "value" not in around.value:
        field.refuse("has no `value` next to it: nothing would be compared")
    try:
        path = parse_path(field.text())
    except ValueError as error:
        field.refuse(f"must be a path: {error}")
    return Extracted(path, compile_node(around.member("value", around.value["value"]), partial=False))


def _conditions(field: Field, *, negated: bool) -> Node:
    listed = field.items() if isinstance(field.value, list) else [field]
    parts = [(each.path[len(field.path) :], _condition(each, negated=negated)) for each in listed]
    if not parts:
        field.refuse("must have a condition")
    return Together(tuple(parts))


def _condition(field: Field, *, negated: bool) -> Node:
    text = field.text()
    if text == ANYTHING:
        return compile_node(field, partial=False)
    try:
        condition = read_condition(text)
    except ValueError as error:
        field.refuse(f"is not a condition: {error}", "for example: startDate < endDate, or price > 0")

    def complaint(actual: Any, _: Tools | None) -> str | None:
        found = cross_field(actual, condition)
        if negated:
            return f"must not have {text!r}, but has" if found is None else None
        return found

    return Leaf(text, complaint)


@special_key("crossField")
def cross_field_key(field: Field, _: Field, __: bool) -> Node:
    """match:crossField: A < B — the condition is true of the fields of this object; a list has several conditions.

    {match:crossField: start < end}             {"start": 1, "end": 2}   passes
    {match:crossField: [start < end, end < 9]}  {"start": 1, "end": 10}  has end = 10, not less than 9
    """
    return _conditions(field, negated=False)


@special_key("not:crossField")
def not_cross_field_key(field: Field, _: Field, __: bool) -> Node:
    """match:not:crossField: A < B — the condition is not true, or one of the fields is missing.

    {match:not:crossField: start < end}  {"start": 3, "end": 2}  passes
    {match:not:crossField: start < end}  {"start": 1, "end": 2}  must not have 'start < end', but has
    """
    return _conditions(field, negated=True)


@dataclass(frozen=True, slots=True)
class JsonText:
    node: Node
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        if not isinstance(actual, str):
            return seen.add(place, f"is {described(actual)}, not a text with JSON", NOTHING, actual)
        try:
            value = read(actual)
        except (ValueError, RecursionError) as error:
            return seen.add(place, f"is not JSON: {why_not_json(error)}: {shown(actual)}", NOTHING, actual)
        return self.node.walk(value, place.within(f"{place.path or '$'} | json"), seen)


@special_key("json")
def json(field: Field, _: Field, partial: bool) -> Node:
    r"""match:json: … — a text that holds JSON, which matches this.

    {match:json: {a: match:type:number}}  "{\"a\": 1}"  passes
    {match:json: {a: 2}}                  "{\"a\": 1}"  $ | json | a is 1, not 2
    {match:json: {a: 1}}                  "a: 1"        is not JSON: expecting value at character 1: 'a: 1'
    """
    return JsonText(compile_node(field, partial=partial))


@dataclass(frozen=True, slots=True)
class AnyOf:
    nodes: list[Node]

    @property
    def optional(self) -> bool:
        return any(node.optional for node in self.nodes)

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        if any(matches(node, actual, seen) for node in self.nodes):
            return
        tried = [compare(node, actual, seen.tools, place, seen.trials) for node in self.nodes]
        # The fewest differences; among equals, the one that went furthest.
        closest = min(range(len(tried)), key=lambda index: (len(tried[index]), -len(tried[index][0].path)))
        first = tried[closest][0]
        reason = first.sentence if first.path != place.path else f"it {first.message}"
        hint = f"closest is the {_ordinal(closest)}, but {reason}"
        seen.add(place, f"matches none of the {len(tried)} alternatives", NOTHING, actual, hint)


def _ordinal(index: int) -> str:
    return ("first", "second", "third")[index] if index < 3 else f"{index + 1}th"


@special_key("anyOf")
def any_of(field: Field, _: Field, partial: bool) -> Node:
    """match:anyOf: […] — matches at least one of these.

    {match:anyOf: [match:type:number, auto]}  "auto"   passes
    {match:anyOf: [match:type:number, auto]}  "never"  matches none of the 2 alternatives
    """
    if field.value == ANYTHING:
        return compile_node(field, partial=partial)
    return AnyOf([compile_node(item, partial=partial) for item in _some(field)])


@special_key("allOf")
def all_of(field: Field, _: Field, partial: bool) -> Node:
    """match:allOf: […] — matches all of these.

    {match:allOf: [match:type:number, match:lessThan:9]}  5   passes
    {match:allOf: [match:type:number, match:lessThan:9]}  10  is 10, not less than 9
    """
    if field.value == ANYTHING:
        return compile_node(field, partial=partial)
    nodes = [compile_node(item, partial=partial) for item in _some(field)]
    return Together(tuple(((index,), node) for index, node in enumerate(nodes)))


def _some(field: Field) -> list[Field]:
    items = field.items()
    if not items:
        field.refuse("must not be empty")
    return items


@dataclass(frozen=True, slots=True)
class Unlike:
    node: Node
    value: Any

    @property
    def optional(self) -> bool:
        # A missing member is usually a mistake, unless the test asks for exactly that.
        return isinstance(self.node, Leaf) and self.node.text == "match:exists"

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        if matches(self.node, actual, seen):
            verb = "equal" if isinstance(self.node, Plain) else "match"
            seen.add(place, f"must not {verb} this, but does: {shown(self.value)}", NOTHING, actual)


@special_key("not")
def unlike(field: Field, _: Field, partial: bool) -> Node:
    """match:not: … — does not match this.

    {match:not: {a: 1}}  {"a": 2}  passes
    {match:not: {a: 1}}  {"a": 1}  must not equal this, but does: {"a":1}
    """
    return Unlike(compile_node(field, partial=partial), field.value)
