"""From files of labeled rows to the folder of a judge: examples, training, thresholds, card."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.labeled import cases_sha256
from llm_as_judge.errors import DataError, ModelError
from llm_as_judge.files import output_errors, write_text
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.judge.calibration import (
    Scored,
    calibrated,
    reliability,
    risk_coverage,
)
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.feature_model import (
    FEATURES_FILE,
    FeatureModel,
    read_features,
    write_features,
)
from llm_as_judge.judge.judge_file import (
    JUDGE_FILE,
    QUESTIONS,
    JudgeFile,
    judge_sha256,
    read_judge_file,
    write_judge_file,
)
from llm_as_judge.judge.parts import part_of
from llm_as_judge.judge.scoring import Scorer
from llm_as_judge.policy.adapter import CONFIG, WEIGHTS, AdapterSpec, read_spec
from llm_as_judge.policy.checkpoint import latest_checkpoint, save_half
from llm_as_judge.policy.label_scorer import LabelScorer
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.training.judge.card import judge_card
from llm_as_judge.training.judge.gate import Gate, by_features, choose_gate, gated, without_gate
from llm_as_judge.training.judge.learner import JudgeLearner, LearnOptions, StepReport
from llm_as_judge.training.judge.lexical import learn_features
from llm_as_judge.training.judge.rows import (
    Counted,
    Graded,
    Sets,
    graded_by_rules,
    made_wrong,
    question_key,
    read_training_rows,
    require_learnable,
    split_sets,
    without_duplicates,
)
from llm_as_judge.training.judge.sources import LABELED
from llm_as_judge.types import Problem, from_json

PRECISION = 0.97
"""Least lower bound of acceptances and of rejections."""
SCORES = "calibration.jsonl"
"""The answers that the thresholds of a folder were chosen on, with their log-odds."""
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Place:
    folder: Path
    base: str
    """Name of the base model."""
    weights: Path
    device: str = "auto"
    start: Path | None = None
    """Folder of the judge that a training goes on from."""


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
) -> tuple[JudgeFile, Gate | None]:
    """Trains, then chooses thresholds on the questions kept apart; goes on where it was broken off.

    Args:
        limit: examples to learn from at most; None = all.
        making: called with (done, all) of the examples.
        begun: called with the examples before the first step.
        told: called after every step.
        scoring: called with (done, all) of the answers scored for the thresholds.
    Returns:
        What was made, and whether lexical features stand before it; None where no row asks for a text.
    Raises:
        DataError: rows are broken, too few, or of one label.
        ModelError: weights, or a training of other rows in the folder.
    """
    labeled, bare = read_training_rows(paths)
    require_learnable(labeled, ", ".join(map(str, paths)))
    rules = Judge()
    try:
        sets = await split_sets(labeled, bare, rules, seed=options.seed, limit=limit, told=making)
        features = None
        if any(case.problem.domain == "qa" for case in labeled):
            features = await learn_features(
                labeled, bare, rules, seed=options.seed, precision=precision
            )
    finally:
        await rules.aclose()
    known = _known(place.start) if place.start is not None else frozenset()
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
    write_text(
        place.folder / QUESTIONS, "".join(f"{key}\n" for key in sorted(known | {*_digests(cases)}))
    )
    del learner  # its weights make room for the adapter as it was kept, in half precision
    scorer = LabelScorer.load(
        place.weights, place.folder, layers=options.layers, device=place.device
    )
    try:
        rows = scored_rows(sets.calibrate, scorer.log_odds, scoring)
    finally:
        scorer.close()
    gate = None
    if features is not None:
        gate = choose_gate(features, rows, sets.calibrate, precision)
        features = features if gate.on else without_gate(features)
    keep_features(place.folder, features)
    if features is not None:
        rows = gated(rows, by_features(sets.calibrate, features), features.accept)
    return _calibrated(place.folder, made, rows, precision), gate


def keep_features(folder: Path, model: FeatureModel | None) -> None:
    """Writes the model; None: the folder has none, also where an earlier training left one."""
    if model is not None:
        write_features(folder, model)
        return
    with output_errors(folder / FEATURES_FILE):
        (folder / FEATURES_FILE).unlink(missing_ok=True)


def _unlearned(sets: Sets, known: frozenset[str]) -> Sets:
    """Without those answers to choose thresholds on whose questions an earlier training has learned from."""
    kept = tuple(g for g in sets.calibrate if not known & {*_digests([g.case])})
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


async def train_features(
    folder: Path, paths: Sequence[Path], *, precision: float, seed: int
) -> FeatureModel:
    """A new model of lexical features for the judge in a folder; its adapter stays.

    Raises:
        DataError: rows are broken or few.
        ModelError: the folder holds no judge.
    """
    read_judge_file(folder)
    labeled, bare = read_training_rows(paths)
    require_learnable(labeled, ", ".join(map(str, paths)))
    rules = Judge()
    try:
        model = await learn_features(labeled, bare, rules, seed=seed, precision=precision)
    finally:
        await rules.aclose()
    write_features(folder, model)
    return model


async def calibrate_on_rows(
    place: Place, paths: Sequence[Path], *, precision: float, scoring: Counted
) -> JudgeFile:
    """New thresholds for the judge in a folder.

    Raises:
        DataError: rows are broken or few, or the judge has learned from one of their questions.
        ModelError: the folder holds no judge.
    """
    made = read_judge_file(place.folder)
    labeled = _labeled_rows(paths)
    _refuse_learned(place.folder, labeled, ", ".join(map(str, paths)))
    graded = await _to_calibrate(labeled, made.seed)
    scorer = LabelScorer.load(place.weights, place.folder, layers=made.layers, device=place.device)
    try:
        rows = scored_rows(graded, scorer.log_odds, scoring)
    finally:
        scorer.close()
    if (features := read_features(place.folder)) is not None:
        rows = gated(rows, by_features(graded, features), features.accept)
    return _calibrated(place.folder, made, rows, precision)


def calibrate_again(folder: Path, *, precision: float) -> JudgeFile:
    """Thresholds for another promise, from the log-odds that the folder keeps; no model is asked.

    Raises:
        ModelError: the folder holds no judge, or no log-odds.
    """
    made = read_judge_file(folder)
    path = folder / SCORES
    if not path.exists():
        raise ModelError(f"{path}: not found; name rows with --labeled, and the judge scores them")
    try:
        rows: list[Scored] = [from_json(Scored, row) for row in JsonLines(path).rows()]
    except TypeError as error:
        raise DataError(f"{path}: not what judge train writes: {error}") from None
    return _calibrated(folder, made, rows, precision)


async def calibrate_endpoint(
    folder: Path,
    base: str,
    scorer: Scorer,
    paths: Sequence[Path],
    *,
    precision: float,
    seed: int,
    scoring: Counted,
) -> JudgeFile:
    """Thresholds for a model behind an endpoint, in a folder of their own.

    Args:
        base: what the model is known by.
    Raises:
        DataError: rows are broken or few.
        ModelError: the folder holds a trained judge, or no reply of the model had a score.
    """
    if (folder / JUDGE_FILE).exists() and not read_judge_file(folder).endpoint:
        raise ModelError(
            f"{folder}: holds a trained judge; name another --judge for the endpoint's"
        )
    labeled = _labeled_rows(paths)
    graded = await _to_calibrate(labeled, seed)
    pairs = _open_pairs(graded)
    log_odds: list[float | None] = []
    for at in range(0, len(pairs), _AT_ONCE):
        log_odds += await scorer.log_odds(pairs[at : at + _AT_ONCE])
        scoring(len(log_odds), len(pairs))
    if pairs and all(one is None for one in log_odds):
        raise ModelError(f"{base}: none of {len(pairs)} answers has a score; is it a chat model?")
    made = JudgeFile(base=base, endpoint=True, seed=seed, examples={}, data_sha256="")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / QUESTIONS, "")
    return _calibrated(folder, made, _with_scores(graded, log_odds), precision)


def _labeled_rows(paths: Sequence[Path]) -> list[Case]:
    labeled, _ = read_training_rows(paths)
    require_learnable(labeled, ", ".join(map(str, paths)))
    return labeled


async def _to_calibrate(labeled: Sequence[Case], seed: int) -> list[Graded]:
    rows, _, _ = without_duplicates(labeled)
    rules = Judge()
    try:
        return [*await graded_by_rules(rows, rules), *await made_wrong(rows, rules, seed)]
    finally:
        await rules.aclose()


def _keep_adapter(root: Path, folder: Path) -> None:
    last = latest_checkpoint(root)
    if last is None:
        raise ModelError(f"{root}: no checkpoint; train the judge again")
    save_half(last / WEIGHTS, folder / WEIGHTS)
    with output_errors(folder / CONFIG):
        shutil.copyfile(last / CONFIG, folder / CONFIG)


def _digests(cases: Sequence[Case]) -> list[str]:
    keys = {question_key(case) for case in cases}
    return sorted(hashlib.sha256(key.encode()).hexdigest()[:16] for key in keys)


def learned_questions(folder: Path, cases: Sequence[Case]) -> int:
    """How many questions of these rows the judge in a folder has learned from.

    Raises:
        ModelError: the folder does not say.
    """
    return len(_known(folder) & {*_digests(cases)})


def _known(folder: Path) -> frozenset[str]:
    """Digests of the questions that the judge in a folder has learned from."""
    try:
        return frozenset((folder / QUESTIONS).read_text(encoding="utf-8").split())
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / QUESTIONS}: {error}; train the judge anew") from None


def _refuse_learned(folder: Path, labeled: Sequence[Case], where: str) -> None:
    if again := learned_questions(folder, labeled):
        raise DataError(
            f"{where}: the judge has learned from {again} of its questions; thresholds chosen "
            "on them promise too much. Take rows of other questions"
        )


def _calibrated(
    folder: Path, made: JudgeFile, rows: Sequence[Scored], precision: float
) -> JudgeFile:
    thresholds = calibrated(rows, precision)
    labeled = [row for row in rows if not row.made]
    of_domain = {name: [row for row in labeled if row.domain == name] for name in thresholds}
    found = made.model_copy(
        update={
            "precision": precision,
            "thresholds": thresholds,
            "risk_coverage": {name: risk_coverage(mine) for name, mine in of_domain.items()},
            "reliability": {
                name: reliability(mine, thresholds[name]) for name, mine in of_domain.items()
            },
        }
    )
    write_judge_file(folder, found)
    write_text(folder / "README.md", judge_card(found, rows))
    lines = [json.dumps(asdict(row)) for row in rows]
    JsonLines(folder / SCORES).rewrite(lines)
    return found


def scored_rows(
    graded: Sequence[Graded],
    log_odds_of: Callable[[Sequence[tuple[Problem, str]]], Sequence[float]],
    scoring: Counted = lambda _done, _of: None,
) -> list[Scored]:
    """Every row with the rules' word; those that are open with log-odds.

    Args:
        log_odds_of: of candidates, each with its problem.
        scoring: told how many of the open rows are scored.
    """
    pairs = _open_pairs(graded)
    log_odds: list[float] = []
    for at in range(0, len(pairs), 8):
        log_odds += log_odds_of(pairs[at : at + 8])
        scoring(len(log_odds), len(pairs))
    return _with_scores(graded, log_odds)


def _open_pairs(graded: Sequence[Graded]) -> list[tuple[Problem, str]]:
    return [(g.case.problem, g.case.candidate) for g in graded if g.open]


def _with_scores(graded: Sequence[Graded], log_odds: Sequence[float | None]) -> list[Scored]:
    """
    Args:
        log_odds: of the open ones, in their order.
    """
    scores = iter(log_odds)
    by_people = {g.case.problem.domain for g in graded if g.case.category == LABELED}
    return [
        Scored(
            part_of(g.case.problem, g.case.candidate),
            g.case.correct,
            None if g.open else g.verdict.correct,
            next(scores) if g.open else None,
            g.case.category != LABELED and g.case.problem.domain in by_people,
        )
        for g in graded
    ]
