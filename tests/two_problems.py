"""A problem of mathematics, a question, and what a policy wrote for one, for tests of rollouts."""

from __future__ import annotations

from collections.abc import Sequence

from llm_as_judge.types import Completion, Group, Problem, Program, Reward, Rollout, StopReason

SUM = Problem("gsm8k/train/1", "gsm8k", "math", "2 + 2?", ("4",))
CAPITAL = Problem("squad2/train/1", "squad2", "qa", "Capital?", ("Oslo",))


def completion(text: str, tokens: int = 2, stop: StopReason = "stop") -> Completion:
    """``text`` as so many tokens of probability 1/e each."""
    return Completion((1,), tuple(range(tokens)), (-1.0,) * tokens, text, stop)


def group_of(
    completions: Sequence[Completion], rewards: Sequence[float | None], problem: Problem = SUM
) -> Group:
    """What was written for one problem; of reward None: not scored."""
    rollouts = [
        Rollout(
            problem.id,
            index,
            one,
            Program(one.text, one.text),
            reward=None if reward is None else Reward({}, reward),
        )
        for index, (one, reward) in enumerate(zip(completions, rewards, strict=True))
    ]
    return Group(problem, tuple(rollouts))
