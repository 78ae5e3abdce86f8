"""The judge's training: the right direction, and the same end after a kill."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import ModelError
from llm_as_judge.judge.scoring import ORDERS
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.label_scores import LabelTokens
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.training.judge.learner import (
    JudgeLearner,
    LearnOptions,
    StepReport,
    batches_of,
)
from llm_as_judge.types import Problem

OPTIONS = LearnOptions(rank=2, learning_rate=1e-3, tokens_per_step=200, warmup=0.0)


def cases(n: int = 6) -> list[Case]:
    return [
        Case(
            Problem(f"q/{i}", "open", "qa", f"Which lake {i}?", (f"Lake {i}",)), text, right, "made"
        )
        for i in range(n)
        for text, right in ((f"Lake {i}", True), (f"Hill {i + 1}", False))
    ]


def policy(weights: Path) -> Policy:
    spec = AdapterSpec(rank=2, alpha=4)
    return load_policy(weights, adapter=spec, device="cpu", dtype="float32", seed=3)


def trained(weights: Path, root: Path, told: list[StepReport]) -> dict[str, torch.Tensor]:
    made = policy(weights)
    JudgeLearner(made, cases(), OPTIONS, root).run(told.append, save_every_s=0.0)
    return made.adapter_state()


def test_a_step_makes_the_labels_of_its_rows_likelier(tiny_weights: Path, tmp_path: Path) -> None:
    one_step = replace(OPTIONS, tokens_per_step=100_000, learning_rate=1e-4)
    learning = policy(tiny_weights)
    told: list[StepReport] = []
    for root, options in (("a", one_step), ("b", replace(one_step, learning_rate=0.0))):
        JudgeLearner(learning, cases(2), options, tmp_path / root).run(told.append)
    before, after = told
    assert before.grad_norm > 0
    assert after.loss < before.loss


class _KilledError(Exception):
    pass


def test_a_killed_training_ends_as_one_that_was_not(tiny_weights: Path, tmp_path: Path) -> None:
    told: list[StepReport] = []
    whole = trained(tiny_weights, tmp_path / "whole", told)
    assert len(told) > 2

    def stop(report: StepReport) -> None:
        if report.step == 2:
            raise _KilledError

    with pytest.raises(_KilledError):
        JudgeLearner(policy(tiny_weights), cases(), OPTIONS, tmp_path / "broken").run(
            stop, save_every_s=0.0
        )
    rest: list[StepReport] = []
    again = trained(tiny_weights, tmp_path / "broken", rest)
    assert [report.step for report in rest] == [report.step for report in told[1:]]
    for name, value in whole.items():
        torch.testing.assert_close(again[name], value, atol=1e-6, rtol=1e-5)


def test_checkpoints_of_other_rows_or_options_are_refused(
    tiny_weights: Path, tmp_path: Path
) -> None:
    trained(tiny_weights, tmp_path, [])
    for rows, options in ((cases(5), OPTIONS), (cases(), replace(OPTIONS, seed=9))):
        with pytest.raises(ModelError, match="a training with other rows or options"):
            JudgeLearner(policy(tiny_weights), rows, options, tmp_path)


def test_every_row_is_in_one_step_of_each_epoch(tiny_weights: Path) -> None:
    tokens = LabelTokens(policy(tiny_weights).tokenizer)
    found = batches_of(cases(), tokens, replace(OPTIONS, epochs=2))
    labels = [label for batch in found for label in batch.labels_S]
    assert len(labels) == 2 * len(cases())
    assert sum(labels) == len(cases())
    assert found == batches_of(cases(), tokens, replace(OPTIONS, epochs=2))


def test_questions_are_shown_in_both_orders(tiny_weights: Path) -> None:
    tokens = LabelTokens(policy(tiny_weights).tokenizer)
    found = batches_of(cases(20), tokens, OPTIONS)
    prefixes = [prompt.prefix for batch in found for prompt in batch.prompts_S]
    shared = sum(prefixes.count(prefix) == 2 for prefix in set(prefixes))
    assert 0 < shared < 20, "shared: the reference stands first; not shared: the candidate does"
    assert len(ORDERS) == 2
