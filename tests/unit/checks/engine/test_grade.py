"""The grade as a function of what came of the requirements."""

from pathlib import Path

import pytest

from mcp_conductor.checks.engine.grade import LEAST, LETTERS, MUST_CAP, WEIGHTS, grade, metrics, unseen
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
        ([("failed", "minor")], "A"),  # a known limit of an SDK: a MUST, but minor
        ([("warned", "minor")] * 30, "B"),
        ([("failed", "major")], "C"),
        ([("failed", "major"), *[("warned", "minor")] * 30], "C"),
        ([("failed", "major")] * 25, "C"),
        ([("failed", "major")] * 40, "D"),
        ([("failed", "critical")], "D"),
        ([("failed", "critical")] * 3, "D"),
        ([("warned", "critical")], "D"),  # a server that dies by what only SHOULD be answered
        ([("failed", "critical")] * 40, "E"),
        ([("failed", "critical")] * 70, "F"),
    ],
)
def test_the_grade_is_the_lower_of_the_letter_of_the_score_and_the_cap(broken, expected):
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
    """One more thing that is broken lowers the score, or leaves it; and never raises the letter."""
    seen = [outcome("passed", severity) for severity in WEIGHTS for _ in range(4)]
    before = grade(seen, "v")
    for index, each in enumerate(seen):
        seen[index] = outcome("failed", each.severity)
        after = grade(seen, "v")
        assert after.score <= before.score
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
        ([("warned", "minor", "a"), ("failed", "minor", "b")], "2 minor requirements are broken: a, b"),
    ],
)
def test_the_reason_names_what_decides(broken, reason):
    assert grade([*kept(), *(outcome(*each) for each in broken)], "2025-11-25").reason == reason


def test_a_server_that_went_away_is_told_before_anything_else():
    broken = [outcome("failed", "critical", "a"), outcome("warned", "critical", "b", cause="server")]
    assert grade([*kept(), *broken], "v").reason == "the server went away: b"


def test_of_several_revisions_the_worst_is_shown_and_named():
    good = grade(kept(), "2025-06-18")
    bad = grade([*kept(), outcome("failed", "major", "a")], "2025-11-25")
    assert metrics([good, bad]) == {
        "score": bad.score,
        "grade": {
            "letter": "C",
            "cap": "C",
            "reason": "a MUST is broken: a",
            "revision": "2025-11-25",
            "perRevision": {
                "2025-06-18": {"letter": "A", "cap": None, "reason": "all that was seen is kept", "score": 100.0},
                "2025-11-25": {"letter": "C", "cap": "C", "reason": "a MUST is broken: a", "score": bad.score},
            },
        },
    }


def test_of_revisions_with_the_same_letter_the_one_with_the_lower_score_is_shown():
    one = grade([*kept(), outcome("failed", "major", "a")], "2025-06-18")
    two = grade([*kept(), outcome("failed", "major", "a"), outcome("warned", "minor", "b")], "2025-11-25")
    assert metrics([one, two])["grade"]["revision"] == "2025-11-25"


def test_a_check_of_a_part_has_a_score_and_no_letter():
    assert metrics([grade(kept(), "v")], "--only leaves something out") == {
        "score": 100.0,
        "ungraded": "--only leaves something out",
    }


def test_letters_go_down_with_the_score():
    assert list(LEAST) == list(LETTERS)
    assert sorted(LEAST.values(), reverse=True) == list(LEAST.values())
    assert MUST_CAP < "D"


def test_the_manual_has_the_same_figures():
    manual = (Path(__file__).parents[4] / "docs" / "check.md").read_text(encoding="utf-8")
    assert f"| the score is at least | {' | '.join(f'{least:g}' for least in LEAST.values())} |" in manual
    for severity, weight in WEIGHTS.items():
        assert f"| {severity} | {weight} | " in manual
