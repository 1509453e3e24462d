"""When a value that came now is the one of the recording."""

from base64 import b64encode

import pytest

from mcp_conductor.suites.matching.paths import parse_path
from mcp_conductor.suites.verifying.alignment import Alignment, Equalities, Ignored

ONE = "6f1c2c6e-92a1-4d8b-9c55-0c8f5b1c9a11"
OTHER = "7f1c2c6e-92a1-4d8b-9c55-0c8f5b1c9a22"
THIRD = "8f1c2c6e-92a1-4d8b-9c55-0c8f5b1c9a33"

BEGAN, NOW = 1_700_000_000.0, 1_790_000_000.0


def base64(text):
    return b64encode(text.encode()).decode()


def alignment(**carried):
    made = Alignment(began=BEGAN, now=NOW)
    made.carry(carried)
    return made


@pytest.mark.parametrize(
    ("recorded", "actual"),
    [
        ("at 2025-01-02T03:04:05Z", "at 2026-07-28T09:30:00.123+02:00"),
        ("at 2025-01-02 03:04:05", "at 2026-07-28 09:30:00"),
        ("6f1c2c6e-92a1-4d8b-9c55-0c8f5b1c9a11 is new", "0e4f3a5b-1111-4222-8333-444455556666 is new"),
        ("created at 7:47:26 AM", "created at 11:02:03 PM"),
        ("It is Tuesday, 2023-11-14.", "It is Monday, 2026-09-21."),
        ("Tue Nov 14 2023 22:13:20 GMT+0000 (UTC)", "Mon Sep 21 2026 14:13:20 GMT+0000 (UTC)"),
        ("2023-11-14 22:13:20 +0100", "2026-09-21 14:13:20 +0200"),
        ("closed on Monday; it is 22:13:20", "closed on Monday; it is 14:13:20"),
        ("closed on Tuesday; it is 22:13:20", "closed on Tuesday; it is 14:13:20"),
        (f"took place at {BEGAN}", f"took place at {NOW}"),
        (base64("a blob that was created at 7:47:26 AM"), base64("a blob that was created at 11:02:03 PM")),
        (BEGAN + 5.5, NOW + 1.25),
        (int(BEGAN * 1000), int(NOW * 1000) + 3),
        ('{"b": 1, "at": "2025-01-02T03:04:05Z"}', '{"at":"2026-01-02T03:04:05Z","b":1.0}'),
        ("the key is [redacted].", "the key is hunter2."),
        ("[redacted] and [redacted]", "one and other"),
        ({"a": [1, "note-a1b2c3"]}, {"a": [1, "note-ffffff"]}),
        (1234567, 7654321),
        ("note://note-a1b2c3/1234567", "note://note-ffffff/7654321"),
    ],
)
def test_what_is_volatile_secret_or_carried_is_the_same(recorded, actual):
    assert alignment(**{"note-a1b2c3": "note-ffffff", "1234567": 7654321}).is_same(recorded, actual)


@pytest.mark.parametrize(
    ("recorded", "actual"),
    [
        ("milk", "Milk"),
        (1, True),
        (1, "1"),
        (5, 6),
        (NOW, NOW + 1),
        (10**400, NOW),
        ("opens at 10:00", "opens at 11:00"),
        ("it took 1:02:03 h", "it took 5 s"),
        ("closed on Thursday", "closed on Friday"),
        ("due 2024-01-02", "due 2024-01-03"),
        ("at 2025-01-02T03:04:05Z", "at 7:47:26 AM"),
        (base64("a blob with the word milk"), base64("a blob with the word soap")),
        ("6f1c2c6e-92a1-4d8b-9c55-0c8f5b1c9a11 is new", "6f1c2c6e-92a1-4d8b-9c55-0c8f5b1c9a11 is old"),
        ("the key is [redacted].", "the key was hunter2."),
        ("[redacted]aa[redacted]aa", "aa"),
        ("note-a1b2c3", "note-a1b2c4"),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([1, 2], [1]),
        ('{"a": 1}', '{"a": 2}'),
        (None, 0),
    ],
)
def test_all_else_is_another_value(recorded, actual):
    assert not alignment(**{"note-a1b2c3": "note-ffffff"}).is_same(recorded, actual)


def test_a_number_is_no_time_where_the_recording_does_not_say_when_it_began():
    assert not Alignment(began=None, now=NOW).is_same(BEGAN, NOW)


def test_what_is_aligned_shows_the_recorded_value_where_it_differs():
    aligned = alignment().aligned(
        {"at": "2025-01-02T03:04:05Z", "n": 1, "gone": 0}, {"at": "2026-01-02T03:04:05Z", "n": 2}
    )
    assert aligned == {"at": "2026-01-02T03:04:05Z", "n": 1, "gone": 0}


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("result.a", {"result": {"b": [{"c": 1, "d": 2}, {"c": 3}]}}),
        ("result.b[0].c", {"result": {"a": 0, "b": [{"d": 2}, {"c": 3}]}}),
        ("result.b[-1].c", {"result": {"a": 0, "b": [{"c": 1, "d": 2}, {}]}}),
        ("result.b[*].c", {"result": {"a": 0, "b": [{"d": 2}, {}]}}),
        ("result.b[d=2].c", {"result": {"a": 0, "b": [{"d": 2}, {"c": 3}]}}),
        ("result.b[0]", {"result": {"a": 0, "b": [None, {"c": 3}]}}),
        ("result.none.x", {"result": {"a": 0, "b": [{"c": 1, "d": 2}, {"c": 3}]}}),
    ],
)
def test_what_is_ignored_is_left_out(path, left):
    assert Ignored(parse_path(path)).without({"result": {"a": 0, "b": [{"c": 1, "d": 2}, {"c": 3}]}}) == left


def test_in_a_text_with_values_that_may_differ_only_the_rest_is_left_to_differ():
    alignment = Alignment(began=None, now=0.0)
    alignment.carry({"note-a1b2c3": "note-d4e5f6"})
    was = f"note-a1b2c3 ({ONE}) of 2025-01-02T03:04:05Z is open"
    came = f"note-d4e5f6 ({OTHER}) of 2026-01-02T03:04:05Z is closed"
    assert alignment.aligned(was, came) == came.replace("closed", "open")


def test_strictly_times_and_uuids_are_values_as_others():
    alignment = Alignment(began=1.7e9, now=1.8e9, strict=True)
    assert not alignment.is_same(ONE, OTHER)
    assert not alignment.is_same("at 2025-01-02T03:04:05Z", "at 2025-01-02T03:04:06Z")
    assert not alignment.is_same(1_700_000_000, 1_800_000_000)
    assert alignment.is_same(ONE, ONE)
    alignment.carry({"note-a1b2c3": "note-d4e5f6"})
    assert alignment.is_same("see note-a1b2c3", "see note-d4e5f6")


def test_the_nil_uuid_is_no_identifier():
    alignment = Alignment(began=None, now=0.0)
    assert not alignment.is_same(ONE, "00000000-0000-0000-0000-000000000000")
    assert alignment.is_same(ONE, OTHER)


def test_values_that_were_equal_and_are_not_or_the_other_way_round_are_told():
    equalities = Equalities()
    assert not list(
        equalities.broken({"a": ONE, "t": "2025-01-01T00:00:00Z"}, {"a": OTHER, "t": "2026-01-01T00:00:00Z"})
    )
    assert not list(equalities.broken({"b": f"it is {ONE}"}, {"b": f"it is {OTHER}", "new": ONE}))
    assert list(equalities.broken([ONE], [THIRD])) == [
        f"{ONE} was equal in several places of the recording; now there are {OTHER} and {THIRD}"
    ]
    assert list(equalities.broken([THIRD], [OTHER])) == [
        f"{ONE} and {THIRD} differed in the recording; now both are {OTHER}"
    ]


def test_times_are_held_against_those_of_the_same_answer_and_a_second_is_no_difference():
    equalities = Equalities()
    one, second, minute = "2025-01-01T00:00:00Z", "2025-01-01T00:00:01Z", "2025-01-01T00:01:00Z"
    assert not list(equalities.broken([one, one], [one, second]))
    assert not list(equalities.broken([one], [minute]))
    assert len(list(equalities.broken([one, one], [one, minute]))) == 1
    assert len(list(equalities.broken([one, minute], [one, one]))) == 1


@pytest.mark.parametrize(
    ("path", "left", "matched", "text"),
    [
        ("a.next", '{"state":"open"}', True, None),
        ("a.items[*].id", '{"next":1,"state":"open"}', False, None),
        ("b.next", None, False, "plain"),
        ("c", None, False, None),
    ],
)
def test_a_path_leads_into_json_within_a_text(path, left, matched, text):
    document = {"a": '{"next":1,"state":"open"}', "b": "plain"}
    ignored = Ignored(parse_path(path))
    assert ignored.without(document) == {**document, **({"a": left} if left else {})}
    assert (ignored.matched, ignored.text) == (matched, text)
