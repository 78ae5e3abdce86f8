"""An evaluation and a grading on an endpoint that misbehaves in every way: no traceback, nothing lost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from called_verbs import Verbs

from endpoint_modes import FAILURES, MODES, OF_THE_REQUEST, RIGHT
from fault_endpoint import FaultEndpoint, in_a_thread
from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.types import Problem

NAMES = [*MODES, *(f"{mode}, again" for mode in RIGHT)]
"""A row of each mode; where the answer comes, two, since the first may change what is sent."""
PROBLEMS = [
    Problem(f"gsm8k/test/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(len(NAMES))
]

pytestmark = pytest.mark.slow


def number(asked: str) -> int | None:
    found = re.findall(r"What is (\d+) plus 2\?", asked)
    return int(found[-1]) if found else None


def adds(asked: str) -> str:
    return str((number(asked) or 0) + 2)


def mode_of(asked: str) -> str:
    n = number(asked)
    return "ok" if n is None else NAMES[n].removesuffix(", again")


def decided(folder: Path, name: str) -> dict[str, bool | None]:
    """Mode -> whether its row was right; rows that failed are left out."""
    (kept,) = (folder / "results" / "evaluation" / name).iterdir()
    rollouts = [r for g in EvaluationRecord.read(kept).groups() for r in g.rollouts]
    return {
        NAMES[int(r.problem_id.rpartition("/")[2])]: r.verdict.correct
        for r in rollouts
        if r.verdict is not None
    }


def test_an_evaluation_meets_every_mode_and_resumed_it_is_that_of_a_sound_endpoint(
    verb: Verbs, folder: Path
) -> None:
    write_problems(folder / "data" / "test" / "gsm8k_test.jsonl", PROBLEMS)
    with in_a_thread(FaultEndpoint(0.0, answer=adds, mode_of=mode_of)) as server:
        evaluate = (
            *("evaluate", "--config", "embedded", "--policy", "direct", "--limit", "all"),
            *("--executor", f"openai:m@{server.url}", "--set", "data.sets=[gsm8k]"),
            *("--set", "judge.kind=rules", "--set", "calls.mode=off"),
            *("--set", "executor.retries=1", "--set", "executor.timeout_s=20"),
        )
        code, out, err = verb(*evaluate)
        assert code == 1, err
        assert "Traceback" not in out + err
        failed = [name for name in FAILURES if name not in OF_THE_REQUEST]
        assert f"{len(failed)} answers failed outside of programs" in err
        first = decided(folder, "direct")
        assert set(NAMES) - set(first) == set(failed)
        assert {n for n, right in first.items() if not right} == set(OF_THE_REQUEST)

        server.mode_of = lambda asked: "ok"
        _, err = verb.done(*evaluate)
        assert f"{len(first)} of {len(NAMES)} rollouts are on disk" in err
        resumed = decided(folder, "direct")
        assert verb(*evaluate, "--name", "sound")[0] == 0
        sound = decided(folder, "sound")
    assert all(sound.values())
    assert resumed == {name: right and name not in OF_THE_REQUEST for name, right in sound.items()}


ROW = {"domain": "qa", "question": "Who keeps the key?", "reference": "Ada Brandt of Lund"}
WORD = {"verdict": "correct", "reference_answer": "Ada Brandt", "differences": ""}


def rows(folder: Path) -> str:
    """Answers that rules leave open."""
    said = [f"Ada Brandt, as page {n} says" for n in range(8)]
    lines = [json.dumps({**ROW, "id": str(n), "candidate": text}) for n, text in enumerate(said)]
    (folder / "rows.jsonl").write_text("".join(line + "\n" for line in lines))
    return "rows.jsonl"


def opinion(asked: str) -> str:
    """A judge that agrees, by the JSON object at the end of what it is asked."""
    candidate = json.loads(asked[asked.rindex('{"question"') :])["candidate"]
    return json.dumps({"candidate_final_answer": candidate, **WORD})


@pytest.mark.parametrize(
    ("mode", "status"),
    [
        ("no system role", 0),
        ("text in parts", 0),
        ("400", 3),
        ("a refusal", 3),
        ("402", 3),
    ],
)
def test_a_judge_that_grades_nothing_ends_with_3_and_its_reason(
    verb: Verbs, folder: Path, mode: str, status: int
) -> None:
    with in_a_thread(FaultEndpoint(1.0, faults=[mode], answer=opinion)) as server:
        grade = (
            *("grade", "--in", rows(folder), "--out", "verdicts.jsonl"),
            *("--set", "judge.kind=llm", "--set", f"judge.model=openai:m@{server.url}"),
        )
        code, out, err = verb(*grade)
    assert code == status, err
    assert "Traceback" not in out + err
    told = [line for line in err.splitlines() if line.startswith("error: ")]
    graded = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    judged = [one for one in graded if one["stage"] == "llm"]
    assert judged
    if status:
        assert all(one["correct"] is None for one in judged)
        (line,) = told
        assert "the judge graded none of the answers it was asked about: judge " in line
        assert f" at {server.url}: " in line
    else:
        assert all(one["correct"] for one in judged)
        assert not told
