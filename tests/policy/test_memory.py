"""Retrieval by step and by problem, and what a step leaves in the buffer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experience_fakes import LetterEmbedder, group, rollout

from llm_as_judge.policy.experience import ExperienceBuffer
from llm_as_judge.policy.memory import Memory
from llm_as_judge.types import Problem

A = Problem("t/a", "t", "math", "aaaa alpha alone")
B = Problem("t/b", "t", "math", "bbbb beta but both")
ASK_A = Problem("t/1", "t", "math", "many aaaaaa of a kind")
ASK_B = Problem("t/2", "t", "math", "big bbbbbb in bulk")
QA = Problem("t/q", "t", "qa", "aaaa?")


def memory(folder: Path, **options: Any) -> Memory:
    buffer = ExperienceBuffer(threshold=8.0)
    return Memory(buffer, LetterEmbedder(), form="body", folder=folder, **options)


def remembered(folder: Path, **options: Any) -> Memory:
    found = memory(folder, **options)
    found.remember(1, [group(A, rollout(A, "return a", 9.0)), group(B, rollout(B, "return b", 9))])
    return found


def test_only_deserving_rollouts_enter_and_the_step_says_how_many(tmp_path: Path) -> None:
    found = memory(tmp_path)
    good, weak = rollout(A, "return 1", 8.0), rollout(A, "return 2", 7.0)
    wrong = rollout(A, "return 3", 9.0, correct=False)
    metrics = found.remember(3, [group(A, good, weak, wrong), group(B, good)])
    assert metrics == {
        "experience/entries": 2.0,
        "experience/added": 2.0,
        "experience/programs": 1.0,
    }
    entry = found.buffer.entries("math")[0]
    assert (entry.problem_id, entry.program, entry.step) == ("t/a", "return 1", 3)
    assert entry.shown == "aaaa alpha alone"


def test_the_next_run_begins_with_what_the_last_one_left(tmp_path: Path) -> None:
    remembered(tmp_path)
    assert len(memory(tmp_path).buffer) == 2


def test_a_checkpoint_is_begun_with_instead_of_the_folder(tmp_path: Path) -> None:
    found = remembered(tmp_path / "folder")
    (tmp_path / "step_1").mkdir()
    for name, text in found.files().items():
        (tmp_path / "step_1" / name).write_text(text)
    found.remember(2, [group(ASK_A, rollout(ASK_A, "return later", 9.0))])
    resumed = memory(tmp_path / "folder", start=tmp_path / "step_1")
    assert [e.step for e in resumed.buffer.entries("math")] == [1, 1]


def test_a_step_without_good_programs_writes_nothing(tmp_path: Path) -> None:
    memory(tmp_path).remember(1, [group(A, rollout(A, "return 1", 1.0))])
    assert list(tmp_path.iterdir()) == []


def test_an_empty_buffer_shows_nothing_and_embeds_nothing(tmp_path: Path) -> None:
    found = memory(tmp_path)
    assert found.examples([ASK_A, ASK_B]) == [(), ()]
    assert found._embedder.asked == []  # type: ignore[attr-defined]


def test_a_problem_alone_sees_its_nearest_last(tmp_path: Path) -> None:
    found = remembered(tmp_path)
    shown = [found.examples([one])[0] for one in (ASK_A, ASK_B)]
    assert [[e.program for e in examples] for examples in shown] == [
        ["return b", "return a"],
        ["return a", "return b"],
    ]
    assert shown[0][-1].problem_id == "t/a"


def test_all_problems_of_a_domain_in_a_step_see_the_same(tmp_path: Path) -> None:
    found = remembered(tmp_path)
    one, two, other = found.examples([ASK_A, ASK_B, QA])
    assert one == two
    assert len(one) == 2
    assert other == ()
    leaning = found.examples([ASK_A, ASK_A, ASK_B])[0]
    assert leaning[-1].program == "return a"


def test_no_problem_of_the_step_is_an_example_in_it(tmp_path: Path) -> None:
    found = remembered(tmp_path)
    assert [[e.program for e in s] for s in found.examples([A, ASK_B])] == [["return b"]] * 2
    assert found.examples([A, B]) == [(), ()]


def test_no_more_than_top_k_are_shown(tmp_path: Path) -> None:
    found = remembered(tmp_path, top_k=1)
    assert [len(examples) for examples in found.examples([ASK_A, ASK_B])] == [1, 1]


def test_the_problem_of_an_example_is_cut_with_a_mark(tmp_path: Path) -> None:
    found = memory(tmp_path, example_chars=40)
    long = Problem("t/l", "t", "math", "a" * 100)
    found.remember(1, [group(long, rollout(long, "return 1", 9.0))])
    assert "[... 60 characters left out ...]" in found.examples([ASK_B])[0][0].problem
