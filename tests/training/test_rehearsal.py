"""The reward is tried on made programs before a run: what it says is shown, what fails is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from llm_as_judge.assembly.preflight import rehearsed_reward
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError
from llm_as_judge.reward import REWARD_PARTS, PartFunction
from llm_as_judge.types import DOMAINS, Problem, Rollout

Score = Callable[[Rollout, Sequence[Rollout]], float]
PROBLEMS = [
    Problem(id=f"own/{domain}/0", dataset="own", domain=domain, question="6 x 7?", answers=("42",))
    for domain in DOMAINS
]


def scores(lines: Sequence[str], part: str) -> list[float]:
    (line,) = [line for line in lines if line.split()[0] == part]
    return [float(cell) for cell in line.split()[-3:]]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.domain)
@pytest.mark.parametrize("scheme", ["weighted", "gated", "priced"])
def test_the_right_program_stands_first_and_the_text_without_one_last(
    problem: Problem, scheme: str
) -> None:
    config = load_config("smoke", overrides=[f"reward.scheme={scheme}"])
    right, wrong, none = scores(rehearsed_reward(config, problem), "sum")
    assert right > wrong > none


def test_the_text_without_a_program_earns_what_the_documents_say() -> None:
    lines = rehearsed_reward(load_config("smoke"), PROBLEMS[0])
    earned = {part: scores(lines, part)[-1] for part in REWARD_PARTS.all()}
    assert earned == {
        "correctness": -5.0,
        "efficiency": -10.0,
        "simplicity": -10.0,
        "format": -10.0,
        "repetition": 10.0,
    }


def test_a_part_of_ones_own_is_called_as_in_a_run() -> None:
    seen: list[tuple[str, int]] = []

    def shouts(rollout: Rollout, group: Sequence[Rollout]) -> float:
        seen.append((rollout.problem_id, len(group)))
        return 3.0 if rollout.program.runnable else -3.0

    with REWARD_PARTS.with_also([PartFunction("shouts", shouts, weight=0.5)]):
        lines = rehearsed_reward(load_config("smoke"), PROBLEMS[0])
    assert scores(lines, "shouts") == [3.0, 3.0, -3.0]
    assert seen == [(PROBLEMS[0].id, 3)] * 3


@pytest.mark.parametrize(
    ("score", "said"),
    [
        pytest.param(
            lambda rollout, group: 1.0 / (len(group) - 3),
            r"reward part 'odd': own/.*division by zero.*test_rehearsal",
            id="it fails",
        ),
        pytest.param(
            lambda rollout, group: 10.0 + rollout.index,
            r"rollout 1: found 11\.0, .*\(\S+test_rehearsal\.py:\d+\) \(on made programs, before anything runs: .*1 wrong",
            id="it is off the scale",
        ),
    ],
)
def test_a_part_that_cannot_be_used_is_named_with_its_code(score: Score, said: str) -> None:
    with (
        REWARD_PARTS.with_also([PartFunction("odd", score, weight=1.0)]),
        pytest.raises(ConfigError, match=said),
    ):
        rehearsed_reward(load_config("smoke"), PROBLEMS[0])
