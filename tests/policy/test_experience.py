"""The buffer keeps few, good and different programs, and never shows a problem to itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from experience_fakes import experience, rollout, unit
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.policy.experience import ExperienceBuffer, passage_digests, same_problem
from llm_as_judge.types import Problem, Program, Verdict

OTHER = Problem("other/1", "other", "math", "Something with no word in common?")


def ids(buffer: ExperienceBuffer) -> list[str]:
    return [entry.problem_id.rpartition("/")[2] for entry in buffer.entries("math")]


# ------------------------------------------------------------------------------------ what is kept
@pytest.mark.parametrize(
    ("reward", "kept"), [(8.0, True), (7.999, False), (9.5, True)], ids=["at", "below", "above"]
)
def test_the_threshold_itself_is_enough(reward: float, kept: bool) -> None:
    assert ExperienceBuffer(threshold=8.0).admits(rollout(OTHER, "p", reward)) is kept


@pytest.mark.parametrize(
    "changes",
    [
        {"reward": None},
        {"verdict": None},
        {"verdict": Verdict(False, "exact", "equal")},
        {"verdict": Verdict(None, "llm", "unreadable")},
        {"program": Program("p", "p", repairs=("await",))},
        {"program": Program("p", "")},
    ],
    ids=["no reward", "no verdict", "wrong", "not graded", "repaired", "cannot run"],
)
def test_only_right_programs_that_ran_as_written_are_kept(changes: dict[str, object]) -> None:
    good = rollout(OTHER, "p", 9.0)
    buffer = ExperienceBuffer()
    assert buffer.admits(good)
    assert not buffer.admits(replace(good, **changes))  # type: ignore[arg-type]


def test_one_entry_for_a_program_and_a_problem_with_the_better_reward() -> None:
    buffer = ExperienceBuffer()
    assert buffer.add([experience(1, reward=8.5), experience(2, reward=8.5)]) == 2
    assert buffer.add([experience(1, reward=8.1), experience(2, reward=9.0)]) == 0
    assert [entry.reward for entry in buffer.entries("math")] == [8.5, 9.0]
    assert buffer.add([experience(1, "another program")]) == 1


def test_the_most_frequent_program_makes_room_with_its_least_reward() -> None:
    buffer = ExperienceBuffer(size=3)
    buffer.add([experience(1, "common", 9.9), experience(2, "common", 9.0)])
    buffer.add([experience(3, "rare", 8.0)])
    assert buffer.add([experience(4, "new", 8.2)]) == 1
    assert ids(buffer) == ["1", "3", "4"]


def test_a_newcomer_that_makes_room_itself_is_not_counted_as_added() -> None:
    buffer = ExperienceBuffer(size=2)
    buffer.add([experience(1, "h", 9.0), experience(2, "h", 9.0)])
    assert buffer.add([experience(3, "h", 8.0)]) == 0
    assert ids(buffer) == ["1", "2"]


def test_of_equals_the_oldest_leaves() -> None:
    buffer = ExperienceBuffer(size=2)
    buffer.add([experience(1, step=2), experience(2, step=1), experience(3, step=3)])
    assert ids(buffer) == ["1", "3"]


def test_domains_are_filled_apart() -> None:
    buffer = ExperienceBuffer(size=1)
    buffer.add([experience(1), experience(2, domain="qa")])
    assert (len(buffer), buffer.distinct_programs) == (2, 1)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abcd"), st.floats(8, 10)), max_size=40)
)
def test_never_more_than_its_size_and_no_program_is_lost_to_copies(
    entries: list[tuple[int, str, float]],
) -> None:
    buffer = ExperienceBuffer(size=5)
    seen: set[str] = set()
    for number, hash_, reward in entries:
        buffer.add([experience(number, hash_, reward)])
        seen.add(hash_)
        kept = buffer.entries("math")
        assert len(kept) <= 5
        assert len({entry.key for entry in kept}) == len(kept)
        assert {entry.hash for entry in kept} == seen  # four programs, five places


# ----------------------------------------------------------------------------------- what is shown
def test_nearest_first_by_cosine_worked_by_hand() -> None:
    buffer = ExperienceBuffer()
    buffer.add(
        [
            experience(1, "a", vector=(0, 1)),
            experience(2, "b", vector=(1, 1)),
            experience(3, "c", vector=(1, 0)),
        ]
    )
    hits = buffer.nearest(unit(2, 1), "math", 2, [OTHER])
    assert [hit.hash for hit in hits] == ["b", "c"]
    # (2,1)/sqrt 5 on (1,1)/sqrt 2 = 3/sqrt 10; on (1,0) = 2/sqrt 5; on (0,1) = 1/sqrt 5


def test_entries_added_after_a_search_are_found_by_the_next() -> None:
    buffer = ExperienceBuffer()
    buffer.add([experience(1, "a", vector=(0, 1))])
    assert buffer.nearest(unit(1, 0), "math", 1, [])[0].hash == "a"
    buffer.add([experience(2, "b", vector=(1, 0))])
    assert buffer.nearest(unit(1, 0), "math", 1, [])[0].hash == "b"


def test_a_program_is_shown_once() -> None:
    buffer = ExperienceBuffer()
    buffer.add([experience(1, "a"), experience(2, "a"), experience(3, "b", vector=(0, 1))])
    hits = buffer.nearest(unit(1, 0), "math", 3, [OTHER])
    assert [hit.hash for hit in hits] == ["a", "b"]


def test_an_entry_of_an_asked_problem_is_never_shown() -> None:
    buffer = ExperienceBuffer()
    buffer.add([experience(1, "a"), experience(2, "b", vector=(0, 1))])
    asked = [OTHER, Problem("set/train/1", "set", "math", "quite another text")]
    assert [h.hash for h in buffer.nearest(unit(1, 0), "math", 3, asked)] == ["b"]


LONG = "A baker sells fourteen loaves an hour for six hours and throws five of them away. "


@pytest.mark.parametrize(
    ("question", "same"),
    [
        (LONG + "How many loaves did he bake?", True),
        (LONG.upper() + " HOW many   loaves did he bake?", True),
        (LONG + "How many loaves did he bake then?", True),
        ("How many loaves did he bake?", False),
        ("A smith sells nine nails a day for two weeks. How many nails did he make?", False),
        ("", False),
    ],
    ids=["equal", "letter case", "one more word", "the end of it", "another", "empty"],
)
def test_near_identical_questions_are_one_problem(question: str, same: bool) -> None:
    entry = experience(1, question=LONG + "How many loaves did he bake?")
    assert same_problem(entry, Problem("x/1", "x", "math", question)) is same


def test_questions_about_one_passage_are_one_problem() -> None:
    first = Problem(
        "s/1", "squad2", "qa", "Who lit the lamp?", context="Edna Moss  lit it in 1871."
    )
    second = Problem("s/2", "squad2", "qa", "In which year?", context="edna moss lit it in 1871.")
    third = Problem("s/3", "squad2", "qa", "In which year?", context="It was lit by nobody.")
    entry = replace(experience(1, domain="qa"), passages=passage_digests(first))
    assert same_problem(entry, second)
    assert not same_problem(entry, third)


def test_an_empty_buffer_and_k_of_zero_show_nothing() -> None:
    buffer = ExperienceBuffer()
    assert buffer.nearest(unit(1, 0), "math", 3, []) == []
    buffer.add([experience(1)])
    assert buffer.nearest(unit(1, 0), "math", 0, []) == []
    assert buffer.nearest(unit(1, 0), "code", 3, []) == []
