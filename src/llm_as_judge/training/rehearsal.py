"""What the reward says of made programs, before a run: a part that fails is found in a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llm_as_judge.config import Config
from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.types import (
    Completion,
    Execution,
    OperatorCall,
    Problem,
    Program,
    Rollout,
    Verdict,
)
from llm_as_judge.workflow.program import parse_program

PROGRAM = """reply = await custom(input=problem, instruction="Answer.")
return reply["response"]"""
READ, WRITTEN = 200, 100
"""Tokens of the made program's one call."""
WRONG_ANSWER = "a made answer that is wrong"
CASES = ("right", "wrong", "no program")


def rehearsed_reward(config: Config, problem: Problem) -> list[str]:
    """A table of the reward of three rollouts of ``problem``: a right program of one call, the same one
    wrong, and a text that is no program.

    Raises:
        ConfigError: a part of the reward fails, or scores off the scale.
    """
    program = parse_program(PROGRAM, problem.domain, "body")
    other = replace(program, hash="another text: copies would cost the reward of variety")
    asked = OperatorCall(program.operators[0], READ, WRITTEN, llm_calls=1)
    answer = problem.answers[0] if problem.answers else ""
    group = [
        _rollout(problem, 0, program, Execution("ok", answer, (asked,)), correct=True),
        _rollout(problem, 1, other, Execution("ok", WRONG_ANSWER, (asked,)), correct=False),
        _rollout(
            problem, 2, parse_program("none", problem.domain), Execution("rejected"), correct=False
        ),
    ]
    rewards = [
        rollout.reward
        for rollout in reward_group(group, RewardOptions(**config.reward.model_dump()))
        if rollout.reward is not None
    ]
    head = f"reward of a program of one call ({READ} + {WRITTEN} tokens)"
    width = max(len(head), *map(len, rewards[0].parts))
    lines = [_row(head, CASES, width)]
    for name, part in rewards[0].parts.items():
        scores = [f"{reward.parts[name].score:+.2f}" for reward in rewards]
        lines.append(_row(f"  {name} x {part.weight:g}", scores, width))
    return [*lines, _row("  sum", [f"{reward.total:+.2f}" for reward in rewards], width)]


def _row(name: str, cells: Sequence[str], width: int) -> str:
    return f"{name:{width}}" + "".join(f"{cell:>12}" for cell in cells)


def _rollout(
    problem: Problem, index: int, program: Program, execution: Execution, *, correct: bool
) -> Rollout:
    completion = Completion((1,), (2, 3), (-1.0, -1.0), program.source, "stop")
    verdict = Verdict(correct, "exact", "rehearsal")
    return Rollout(problem.id, index, completion, program, execution, verdict)
