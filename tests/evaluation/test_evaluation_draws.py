"""Several runs of a program: averaged within their problem, listed one by one, written once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from evaluation_values import CALL, OK, RIGHT, WRONG, rollout
from listed_system import ROWS, evaluated, rows_in, settings

from llm_as_judge.config import Config
from llm_as_judge.evaluation.results import full_results_of, write_results
from llm_as_judge.evaluation.system_results import read_systems
from llm_as_judge.evaluation.systems import Keep, Opened, PolicySystem
from llm_as_judge.statistics import bootstrap, share_interval
from llm_as_judge.types import Execution, IsolationReport, Problem, Program, Rollout, Verdict

DRAWS = 3


def drawn(of: Problem, verdicts: Sequence[Verdict]) -> Rollout:
    """Run m makes m + 1 calls."""
    runs = [Execution("ok", "4", (CALL,) * (m + 1), seconds=1.0) for m in range(DRAWS)]
    first = replace(runs[0], again=tuple(runs[1:]))
    graded = [v.correct for v in verdicts if v.correct is not None]
    verdict = replace(verdicts[0], share=fmean(graded), again=tuple(verdicts[1:]))
    return rollout(of, first, verdict)


class Drawing(PolicySystem):
    """Row n is right in n of its three runs, row 4 never ran, row 5 has one run that nobody could grade."""

    def check(self, config: Config) -> None:
        pass

    @asynccontextmanager
    async def open(self, config: Config) -> AsyncIterator[Opened]:
        async def attempt(wanted: Sequence[tuple[Problem, int]], keep: Keep) -> None:
            for of, _ in wanted:
                number = int(of.id.rpartition("/")[2])
                verdicts = [RIGHT] * number + [WRONG] * (DRAWS - number)
                if number == 4:
                    keep(rollout(of, Execution("malformed"), WRONG, program=Program("?", "")))
                elif number == 5:
                    keep(drawn(of, [Verdict(None, "llm", "unsure"), RIGHT, WRONG]))
                else:
                    keep(drawn(of, verdicts))

        yield Opened(attempt, IsolationReport("jail", {}))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return rows_in(tmp_path)


async def results_file(place: Path) -> tuple[Path, Any]:
    config = settings(
        place,
        executor={"model": "scripted", "temperature": 0.7},
        data={"data_dir": place, "sets": ["gsm8k"], "train_file": place / "none"},
        workflow={"draws": DRAWS},
    )
    record = await evaluated(config, Drawing("drawing", None))
    return write_results(record, place / "results" / "evaluation"), full_results_of(record)


async def test_each_run_is_listed_and_a_problem_is_their_mean(place: Path) -> None:
    path, full = await results_file(place)
    right = [0, 1 / 3, 2 / 3, 1, 0, 1 / 3]
    assert (full.samples, full.draws) == (1, DRAWS)
    assert full.overall["accuracy"] == pytest.approx(fmean(right))
    assert full.problems[1].correct == (True, False, False)
    assert full.problems[1].calls == (2, 4, 6)
    assert full.problems[4].correct == (False, False, False)
    assert full.problems[5].correct == (None, True, False)
    assert full.overall["graded"] == 6 * DRAWS - 1
    assert full.overall["calls"] == pytest.approx(5 * 4 / 6)
    (system,) = read_systems([path])
    assert list(system.correct.values()) == pytest.approx(right)


async def test_intervals_are_over_problems_whatever_the_runs(place: Path) -> None:
    _, full = await results_file(place)
    right = [0, 1 / 3, 2 / 3, 1, 0, 1 / 3]
    most = [*right[:-1], 2 / 3]  # one run of the last is open
    overall = full.overall
    ends = share_interval(right)[0], share_interval(most)[1]
    assert (overall["accuracy_low"], overall["accuracy_high"]) == ends
    ends = bootstrap(right)[0], bootstrap(most)[1]
    assert (overall["bootstrap_low"], overall["bootstrap_high"]) == ends


async def test_a_program_is_written_once_however_often_it_runs(place: Path) -> None:
    _, full = await results_file(place)
    assert full.totals["policy_tokens"] == 6 * 3
    assert full.overall["policy_tokens"] == 3
    assert full.totals["calls"] == 5 * 12


def test_a_rollout_without_further_runs_is_the_same_in_each_draw() -> None:
    one = rollout(ROWS[0], OK, RIGHT)
    assert one.each_draw(1) == (one,)
    assert one.each_draw(3) == (one, one, one)
    kept_before = replace(
        drawn(ROWS[0], [RIGHT, WRONG, RIGHT]), verdict=replace(RIGHT, share=2 / 3)
    )
    assert [r.verdict for r in kept_before.each_draw(3)] == [RIGHT, None, None]


async def test_votes_can_be_counted_without_an_answer_in_clear(place: Path) -> None:
    path, full = await results_file(place)
    row = full.problems[2]
    assert len(set(row.answers)) == 1  # all say 4
    assert full.problems[4].answers == ("", "", "")
    assert full.salt
    (kept,) = path.parent.glob("x/*/full.json")
    assert '"4"' not in kept.read_text()
