"""Signs that a run goes wrong before its accuracy shows it, and what to do about each.

Every rule looks at the metrics of the last steps alone, so a resumed run warns as the unbroken one.
The thresholds are judgments, not measurements; a warning stops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import fmean, median

Steps = Sequence[Mapping[str, float]]
"""Metrics of steps, oldest first."""

WINDOW = 5
"""Steps that a mean is taken over."""
HISTORY = 20
"""Steps that the newest is compared with."""
REPEAT = 10
"""A warning that stays is shown again after so many steps."""

ZERO_VARIANCE, SOME_VARIANCE = 0.6, 0.3
ENTROPY_NATS, ENTROPY_OF_START = 0.02, 0.2
DISTINCT = 0.35
GAP, GAP_GROWTH = 1e-4, 10.0
KL_NATS = 0.5
CLIPPED = 0.3
GRAD_GROWTH = 5.0
TRUNCATED = 0.25
VALID = 0.5


def early_warnings(steps: Steps) -> dict[str, str]:
    """Name -> one line that says what was seen and what to do, for the newest step of ``steps``."""
    found = {name: rule(steps) for name, rule in _RULES.items()}
    return {name: message for name, message in found.items() if message}


def news(now: Mapping[str, str], before: Sequence[Mapping[str, str]]) -> list[str]:
    """Messages to show: those that are new, and those that have stayed for ``REPEAT`` steps.

    Args:
        before: warnings of the earlier steps, oldest first.
    """

    def lasted(name: str) -> int:
        return sum(1 for _ in takewhile(lambda earlier: name in earlier, reversed(before)))

    return [message for name, message in now.items() if lasted(name) % REPEAT == 0]


def _zero_variance(steps: Steps) -> str:
    idle = _without_variance(steps)
    if idle <= ZERO_VARIANCE:
        return ""
    return (
        f"{idle:.0%} of the groups of the last {len(steps[-WINDOW:])} steps had equal rewards and "
        f"taught nothing: {_floor(steps)}raise sampling.temperature or "
        "training.samples_per_problem, or train on "
        "problems that are sometimes solved"
    )


def _without_variance(steps: Steps) -> float:
    """Share of the last groups whose rewards were equal; 0 of too few."""
    last = steps[-WINDOW:]
    idle = sum(step.get("update/groups_without_variance", 0.0) for step in last)
    groups = idle + sum(step.get("update/groups", 0.0) for step in last)
    return 0.0 if len(last) < 3 or groups < 6 else idle / groups


def _entropy(steps: Steps) -> str:
    values = _values(steps, "update/entropy")
    if len(values) < 6:
        return ""
    start, now = fmean(values[:3]), fmean(values[-3:])
    if now >= ENTROPY_NATS and now >= ENTROPY_OF_START * start:
        return ""
    return (
        f"entropy is {now:.3f} nats a token, {start:.3f} in the first steps: the policy writes "
        f"nearly the same text each time. What helps: {_floor(steps)}lower training.learning_rate, or raise "
        "sampling.temperature"
    )


def _floor(steps: Steps) -> str:
    """The first advice where programs grow alike; empty in a run that has a floor."""
    if "update/entropy_bonus" in steps[-1]:
        return ""
    values = _values(steps, "update/entropy")[:3]
    half = f" ({fmean(values) / 2:.2g})" if values else ""
    return f"set training.entropy_floor to half of the first steps' entropy{half}, "


def _distinct(steps: Steps) -> str:
    # 0 means that no program could run, which is another matter
    values = [v for v in _values(steps, "rollout/distinct_programs")[-WINDOW:] if v > 0]
    if len(values) < 3 or fmean(values) >= DISTINCT:
        return ""
    # a few kinds in a large group are enough to compare
    if _without_variance(steps) <= SOME_VARIANCE:
        return ""
    return (
        f"only {fmean(values):.0%} of a group's programs differ: the group compares copies. What helps: "
        f"{_floor(steps)}raise sampling.temperature, or reward.weights.repetition "
        "(reward.scheme=priced has no such part)"
    )


def _invalid(steps: Steps) -> str:
    values = _values(steps, "rollout/strictly_valid")[-3:]
    if not values or fmean(values) >= VALID:
        return ""
    repaired = _values(steps, "rollout/repaired")[-3:]
    if repaired and fmean(repaired) >= VALID:
        return (
            f"{fmean(repaired):.0%} of the programs run only after a repair, which rollouts.jsonl names: the policy "
            "unlearns the form. Go on from an earlier checkpoint, with a lower training.learning_rate"
        )
    return (
        f"only {fmean(values):.0%} of the programs are valid: most of what is sampled teaches the form alone. Raise "
        "training.warm_start_epochs, or the bank's rows; without training.warm_start set sampling.prompt_style to calls"
    )


def _logprob_gap(steps: Steps) -> str:
    fresh = [step for step in steps if step.get("rollout/staleness") == 0]
    values = _values(fresh, "update/logprob_gap_mean")
    if len(values) < 4 or not fresh or fresh[-1] is not steps[-1]:
        return ""
    now, usual = values[-1], median(values[-HISTORY:-1])
    if now <= GAP or now <= GAP_GROWTH * usual:
        return ""
    return (
        f"log-probs at sampling and at the update differ by {now:.1e} in the mean, {usual:.1e} "
        "before: sampler and learner drift apart. Set policy.dtype to float32 or lower "
        "training.learning_rate; above training.max_logprob_gap the run stops"
    )


def _grad_norm(steps: Steps) -> str:
    values = _values(steps, "update/grad_norm")
    if len(values) < 6 or "update/grad_norm" not in steps[-1]:
        return ""
    now, usual = values[-1], median(values[-HISTORY - 1 : -1])
    if now <= GRAD_GROWTH * usual:
        return ""
    return (
        f"gradient norm {now:.2g}, {usual:.2g} in the steps before: look at this step's programs "
        "in rollouts.jsonl; if it comes again, lower training.learning_rate or "
        "training.max_grad_norm"
    )


@dataclass(frozen=True, slots=True)
class _TooHigh:
    """A figure whose mean over the last three steps is above a limit."""

    key: str
    limit: float
    message: str
    """``{}`` is the mean."""

    def __call__(self, steps: Steps) -> str:
        values = _values(steps, self.key)[-3:]
        if len(values) < 3 or fmean(values) <= self.limit:
            return ""
        return self.message.format(fmean(values))


_RULES: dict[str, Callable[[Steps], str]] = {
    "zero_variance": _zero_variance,
    "entropy": _entropy,
    "distinct_programs": _distinct,
    "invalid_programs": _invalid,
    "logprob_gap": _logprob_gap,
    "kl": _TooHigh(
        "update/kl",
        KL_NATS,
        "the policy is {:.2f} nats a token from the base model: lower training.learning_rate or "
        "raise training.kl_weight",
    ),
    "clipped": _TooHigh(
        "update/clipped_fraction",
        CLIPPED,
        "{:.0%} of the tokens have a clipped ratio: the programs are too old for the policy they "
        "teach. Lower training.learning_rate or training.max_staleness",
    ),
    "grad_norm": _grad_norm,
    "truncated": _TooHigh(
        "rollout/truncated",
        TRUNCATED,
        "{:.0%} of the programs are cut off at the token limit: raise sampling.max_new_tokens",
    ),
}


def _values(steps: Steps, key: str) -> list[float]:
    return [step[key] for step in steps if key in step]
