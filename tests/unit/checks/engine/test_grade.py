"""The grade as a function of what came of the requirements."""

from pathlib import Path

import pytest

from mcp_conductor.checks.engine.grade import LETTERS, grade, metrics, unseen
from mcp_conductor.checks.requirements import SEVERITIES
from mcp_conductor.report.model import Outcome


def outcome(status, severity="major", name="x", **members):
    return Outcome(id=name, title="", group="base", status=status, severity=severity, **members)


def kept(critical=10, major=50, minor=40):
    """What a usual server keeps."""
    counts = {"critical": critical, "major": major, "minor": minor}
    return [outcome("passed", severity) for severity, count in counts.items() for _ in range(count)]


def letter(*outcomes):
    found = grade(outcomes, "2025-11-25")
    return found and found.letter


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ([], "A"),
        ([("warned", "minor")], "A"),
        ([("warned", "minor")] * 13, "A"),
        ([("warned", "minor")] * 14, "B"),
        ([("failed", "major")], "C"),
        ([("failed", "major"), *[("warned", "minor")] * 30], "C"),
        ([("failed", "major")] * 20, "C"),
        ([("failed", "major")] * 21, "E"),
        ([("failed", "critical")], "D"),
        ([("failed", "critical")] * 3, "D"),
        ([("warned", "critical")], "D"),  # a server that dies by what only SHOULD be answered
        ([("failed", "critical")] * 60, "E"),
        ([("failed", "critical")] * 61, "F"),
    ],
)
def test_the_letter_says_what_is_broken_and_how_much_of_what_was_seen(broken, expected):
    assert letter(*kept(), *(outcome(*each) for each in broken)) == expected


def test_a_revision_in_which_nothing_was_checked_leaves_no_letter_for_all_of_them():
    found = {"2025-11-25": grade(kept(), "2025-11-25"), "2026-07-28": grade([outcome("skipped")], "2026-07-28")}
    assert unseen(found) == "nothing was checked in 2026-07-28"
    assert unseen({"2025-11-25": grade(kept(), "2025-11-25")}) is None


def test_a_server_of_which_nothing_could_be_seen_but_a_broken_handshake_has_the_worst_grade():
    assert letter(outcome("failed", "critical"), *[outcome("skipped")] * 100) == "F"


def test_what_is_absent_counts_neither_way():
    few, many = kept(1, 2, 3), [*kept(1, 2, 3), *[outcome("skipped", "critical")] * 50]
    assert grade([*few, outcome("warned", "minor")], "v") == grade([*many, outcome("warned", "minor")], "v")


def test_there_is_no_grade_where_nothing_was_seen():
    assert grade([], "2025-11-25") is None
    assert grade([outcome("skipped")], "2025-11-25") is None
    assert metrics([]) == {}


def test_a_worse_server_has_never_a_better_grade():
    """One more thing that is broken never raises the letter."""
    seen = [outcome("passed", severity) for severity in SEVERITIES for _ in range(4)]
    before = grade(seen, "v")
    for index, each in enumerate(seen):
        seen[index] = outcome("failed", each.severity)
        after = grade(seen, "v")
        assert after.letter >= before.letter
        before = after
    assert before.letter == "F"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ([], "all that was seen is kept"),
        ([("failed", "major", "a")], "a MUST is broken: a"),
        ([("failed", "critical", "a"), ("failed", "major", "b")], "a critical MUST is broken: a"),
        (
            [("failed", "major", name) for name in "abcde"],
            "5 MUSTs are broken: a, b, c and 2 more",
        ),
        (
            [("failed", "major", f"m{number}") for number in range(30)] + [("failed", "critical", "a")],
            "31 of 91 MUSTs are broken: a, m0, m1 and 28 more",
        ),
        ([("warned", "minor", "a")], "no MUST is broken; 1 of 41 recommendations is not followed"),
        ([("warned", "minor", name) for name in "ab"], "no MUST is broken; 2 of 42 recommendations are not followed"),
    ],
)
def test_the_reason_says_what_decides(broken, reason):
    assert grade([*kept(), *(outcome(*each) for each in broken)], "2025-11-25").reason == reason


def test_a_server_that_went_away_is_told_before_anything_else():
    broken = [outcome("failed", "critical", "a"), outcome("warned", "critical", "b", cause="server")]
    assert grade([*kept(), *broken], "v").reason == "the server went away: b"


def test_of_several_revisions_the_worst_is_shown_and_named():
    good = grade(kept(), "2025-06-18")
    bad = grade([*kept(), outcome("failed", "major", "a")], "2025-11-25")
    broken = {"letter": "C", "reason": "a MUST is broken: a", "broken": {"musts": 1, "recommendations": 0}}
    assert metrics([good, bad]) == {
        "grade": {
            **broken,
            "revision": "2025-11-25",
            "perRevision": {
                "2025-06-18": {
                    "letter": "A",
                    "reason": "all that was seen is kept",
                    "broken": {"musts": 0, "recommendations": 0},
                },
                "2025-11-25": broken,
            },
        },
    }


def test_of_revisions_with_the_same_letter_the_one_where_more_is_broken_is_shown():
    one = grade([*kept(), outcome("failed", "major", "a")], "2025-06-18")
    two = grade([*kept(), outcome("failed", "major", "a"), outcome("warned", "minor", "b")], "2025-11-25")
    assert metrics([one, two])["grade"]["revision"] == "2025-11-25"


def test_a_check_of_a_part_has_no_letter():
    assert metrics([grade(kept(), "v")], "--only leaves something out") == {"ungraded": "--only leaves something out"}


def test_the_manual_has_the_same_words():
    manual = (Path(__file__).parents[4] / "docs" / "check.md").read_text(encoding="utf-8")
    for letter, meaning in LETTERS.items():
        assert f"| {letter} | {meaning.format(subject='server')} |" in manual
