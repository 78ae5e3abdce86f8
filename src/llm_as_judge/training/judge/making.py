"""From files of labeled rows to the folder of a judge: examples, training, thresholds, card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.labeled import cases_sha256
from llm_as_judge.errors import DataError, ModelError
from llm_as_judge.files import output_errors, write_text
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.judge_file import (
    QUESTIONS,
    JudgeFile,
    judge_sha256,
    read_judge_file,
    refuse_features,
)
from llm_as_judge.policy.adapter import CONFIG, WEIGHTS, AdapterSpec, read_spec
from llm_as_judge.policy.checkpoint import latest_checkpoint, save_half
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.training.judge.calibrating import PRECISION, Place, choose_thresholds, scored_here
from llm_as_judge.training.judge.learner import JudgeLearner, LearnOptions, StepReport
from llm_as_judge.training.judge.rows import (
    Counted,
    Sets,
    digests,
    known_questions,
    read_learnable,
    read_training_rows,
    require_learnable,
    source_name,
    split_sets,
)

EXAMPLES, HELD_OUT = "examples.jsonl", "held_out.jsonl"
"""Rows to learn from, and rows of the questions kept apart."""


def going_on(place: Place, options: LearnOptions) -> LearnOptions:
    """The options with shape and SHA-256 of the judge that the training goes on from, if there is one.

    Raises:
        ModelError: there is no judge in that folder, or one of another base model or of other layers.
    """
    if place.start is None:
        return options
    made = read_judge_file(place.start)
    for what, found, wanted in (
        ("base model", made.base, place.base),
        ("layers", made.layers, options.layers or made.layers),
    ):
        if found != wanted:
            raise ModelError(
                f"--start {place.start}: a judge with {what} {found or 'all'}, wanted {wanted or 'all'}; name "
                "another judge, or leave --start out"
            )
    rank = read_spec(place.start).rank
    return replace(options, rank=rank, layers=made.layers, start=judge_sha256(place.start))


async def train_judge(
    place: Place,
    paths: Sequence[Path],
    options: LearnOptions,
    *,
    limit: int | None,
    precision: float = PRECISION,
    making: Counted,
    begun: Callable[[Sets, JudgeLearner], None],
    told: Callable[[StepReport], None],
    scoring: Counted,
) -> JudgeFile:
    """Trains, then chooses thresholds on the questions kept apart; goes on where it was broken off.

    Args:
        limit: examples to learn from at most; None = all.
        making: called with (done, all) of the examples.
        begun: called with the examples before the first step.
        told: called after every step.
        scoring: called with (done, all) of the answers scored for the thresholds.
    Raises:
        DataError: rows are broken, too few, or of one label.
        ModelError: weights, or a training of other rows in the folder.
    """
    refuse_features(place.folder)
    labeled, bare = read_learnable(paths)
    options = going_on(place, options)
    async with aclosing(Judge()) as rules:
        sets = await split_sets(labeled, bare, rules, seed=options.seed, limit=limit, told=making)
    known = known_questions(place.start) if place.start is not None else frozenset()
    sets = _unlearned(sets, known)
    cases = [graded.case for graded in sets.learn]
    require_learnable(cases, "the examples to learn from")
    root = place.folder / "checkpoints"
    learner = JudgeLearner(_new_policy(place, options), cases, options, root)
    begun(sets, learner)
    metrics = JsonLines(place.folder / "metrics.jsonl")
    done = [row for row in metrics.rows("step", missing_ok=True) if row["step"] <= learner.step]
    metrics.rewrite(map(json.dumps, done))  # steps behind the checkpoint are made again

    def step(report: StepReport) -> None:
        metrics.append(asdict(report))
        told(report)

    learner.run(step)
    _keep_adapter(root, place.folder)
    made = JudgeFile(
        base=place.base,
        layers=options.layers,
        start=options.start,
        seed=options.seed,
        examples=sets.counts,
        data_sha256=cases_sha256(cases),
    )
    keys = sorted(known | digests(cases))
    write_text(place.folder / QUESTIONS, "".join(f"{key}\n" for key in keys))
    del learner  # its weights make room for the adapter as it was kept, in half precision
    rows = await scored_here(place, options.layers, sets.calibrate, scoring)
    return choose_thresholds(place.folder, made, rows, precision)


def _unlearned(sets: Sets, known: frozenset[str]) -> Sets:
    """Without those answers to choose thresholds on whose questions an earlier training has learned from."""
    kept = tuple(g for g in sets.calibrate if not known & digests([g.case]))
    counts = {**sets.counts, "calibrated on": len(kept)}
    return replace(sets, calibrate=kept, counts=counts)


def _new_policy(place: Place, options: LearnOptions) -> Policy:
    return load_policy(
        place.weights,
        adapter=place.start or AdapterSpec(rank=options.rank, alpha=2 * options.rank),
        name=place.base,
        device=place.device,
        dtype="auto",
        seed=options.seed,
        layers=options.layers,
    )


def _keep_adapter(root: Path, folder: Path) -> None:
    last = latest_checkpoint(root)
    if last is None:
        raise ModelError(f"{root}: no checkpoint; train the judge again")
    save_half(last / WEIGHTS, folder / WEIGHTS)
    with output_errors(folder / CONFIG):
        shutil.copyfile(last / CONFIG, folder / CONFIG)


async def write_examples(
    folder: Path, paths: Sequence[Path], *, seed: int, limit: int | None, making: Counted
) -> Sets:
    """The examples of a training as rows of ``grade`` with ``correct``, ``source`` and ``family``; nothing is trained.

    Args:
        making: called with (done, all) of the examples to learn from.
    Raises:
        DataError: rows are broken, or nothing can be made of them.
        OutputError: the folder cannot be written.
    """
    labeled, bare = read_training_rows(paths)
    async with aclosing(Judge()) as rules:
        sets = await split_sets(labeled, bare, rules, seed=seed, limit=limit, told=making)
    if not sets.learn:
        where = ", ".join(map(str, paths))
        raise DataError(f"{where}: no example can be made; wanted questions with a reference")
    for name, part in ((EXAMPLES, sets.learn), (HELD_OUT, sets.calibrate)):
        rows = (_row(number, graded.case) for number, graded in enumerate(part))
        write_text(folder / name, "".join(json.dumps(row) + "\n" for row in rows))
    return sets


def _row(number: int, case: Case) -> dict[str, object]:
    problem = case.problem
    return {
        "id": f"{number}/{problem.id}",
        "domain": problem.domain,
        "dataset": problem.dataset,
        "question": problem.question,
        "reference": list(problem.answers),
        "candidate": case.candidate,
        "correct": case.correct,
        "source": source_name(case),
        "family": case.category,
    }
