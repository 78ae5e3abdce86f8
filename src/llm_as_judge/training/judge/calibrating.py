"""Thresholds of a judge, chosen on labeled rows that it has not learned from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError, ModelError
from llm_as_judge.files import write_text
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.judge.calibration import Scored, calibrated
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.judge_file import (
    JUDGE_FILE,
    QUESTIONS,
    JudgeFile,
    read_judge_file,
    write_judge_file,
)
from llm_as_judge.judge.parts import part_of
from llm_as_judge.judge.scoring import InThread, Scorer
from llm_as_judge.policy.label_scorer import LabelScorer
from llm_as_judge.training.judge.rows import (
    Counted,
    Graded,
    digests,
    graded_by_rules,
    known_questions,
    made_wrong,
    read_learnable,
    without_duplicates,
)
from llm_as_judge.training.judge.sources import LABELED
from llm_as_judge.types import from_json

PRECISION = 0.97
"""Least lower bound of acceptances and of rejections."""
SCORES = "calibration.jsonl"
"""The answers that the thresholds of a folder were chosen on, with their log-odds."""
_AT_ONCE, _AT_ONCE_HERE = 32, 8


@dataclass(frozen=True, slots=True)
class Place:
    folder: Path
    base: str
    """Name of the base model."""
    weights: Path
    device: str = "auto"
    start: Path | None = None
    """Folder of the judge that a training goes on from."""


async def calibrate_on_rows(
    place: Place, paths: Sequence[Path], *, precision: float, scoring: Counted
) -> JudgeFile:
    """New thresholds for the judge in a folder.

    Raises:
        DataError: rows are broken or few, or the judge has learned from one of their questions.
        ModelError: the folder holds no judge.
    """
    made = read_judge_file(place.folder)
    labeled, _ = read_learnable(paths)
    if again := len(known_questions(place.folder) & digests(labeled)):
        raise DataError(
            f"{', '.join(map(str, paths))}: the judge has learned from {again} of its questions; thresholds chosen "
            "on them promise too much. Take rows of other questions"
        )
    graded = await _to_calibrate(labeled, made.seed)
    rows = await scored_here(place, made.layers, graded, scoring)
    return choose_thresholds(place.folder, made, rows, precision)


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
    return choose_thresholds(folder, made, rows, precision)


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
    labeled, _ = read_learnable(paths)
    graded = await _to_calibrate(labeled, seed)
    rows = await _scored_rows(graded, scorer, scoring, _AT_ONCE)
    asked = sum(one.open for one in graded)
    if asked and all(row.log_odds is None for row in rows):
        raise ModelError(f"{base}: none of {asked} answers has a score; is it a chat model?")
    made = JudgeFile(base=base, endpoint=True, seed=seed, examples={}, data_sha256="")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / QUESTIONS, "")
    return choose_thresholds(folder, made, rows, precision)


async def _to_calibrate(labeled: Sequence[Case], seed: int) -> list[Graded]:
    rows, _, _ = without_duplicates(labeled)
    async with aclosing(Judge()) as rules:
        return [*await graded_by_rules(rows, rules), *await made_wrong(rows, rules, seed)]


def choose_thresholds(
    folder: Path, made: JudgeFile, rows: Sequence[Scored], precision: float
) -> JudgeFile:
    update = {"precision": precision, "thresholds": calibrated(rows, precision)}
    found = made.model_copy(update=update)
    write_judge_file(folder, found)
    write_text(folder / "README.md", judge_card(found, rows))
    lines = [json.dumps(asdict(row)) for row in rows]
    JsonLines(folder / SCORES).rewrite(lines)
    return found


async def scored_here(
    place: Place, layers: int | None, graded: Sequence[Graded], scoring: Counted
) -> list[Scored]:
    """Every row with the rules' word; those that are open with the log-odds of the judge in the folder.

    Args:
        scoring: told how many of the open rows are scored.
    """
    scorer = LabelScorer.load(place.weights, place.folder, layers=layers, device=place.device)
    try:
        return await _scored_rows(graded, InThread(scorer), scoring, _AT_ONCE_HERE)
    finally:
        scorer.close()


async def _scored_rows(
    graded: Sequence[Graded], scorer: Scorer, scoring: Counted, at_once: int
) -> list[Scored]:
    pairs = [(g.case.problem, g.case.candidate) for g in graded if g.open]
    log_odds: list[float | None] = []
    for at in range(0, len(pairs), at_once):
        log_odds += await scorer.log_odds(pairs[at : at + at_once])
        scoring(len(log_odds), len(pairs))
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


_CELLS = ("accepted right", "accepted wrong", "rejected right", "rejected wrong", "abstained")


def judge_card(judge: JudgeFile, rows: Sequence[Scored]) -> str:
    """README.md of the folder."""
    layers = f", its first {judge.layers} layers" if judge.layers else ""
    kind = "Thresholds for" if judge.endpoint else "LoRA adapter on"
    lines = [
        "# A judge of answers",
        "",
        f"{kind} {judge.base}{layers}. It reads a question, a reference answer and a candidate, and",
        "says by the log-odds of two tokens whether they agree. LLM-as-Judge uses it: `judge.kind: scoring`.",
        "",
        "## What it learned from",
        "",
        *(f"- {name}: {count}" for name, count in judge.examples.items()),
        f"- seed {judge.seed}, examples with SHA-256 {judge.data_sha256}",
        "",
        f"## Thresholds, lower bound of precision {judge.precision}",
        "",
        f"| domain | accept from | reject to | {' | '.join(_CELLS)} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    words = {True: "accepted", False: "rejected", None: "abstained"}
    for domain, limits in judge.thresholds.items():
        cells = Counter[str]()
        for row in rows:
            if row.domain == domain and row.log_odds is not None and not row.made:
                said = limits.verdict(row.log_odds)
                label = "" if said is None else " right" if row.correct else " wrong"
                cells[words[said] + label] += 1
        shown = [
            "-" if value is None else f"{value:.2f}" for value in (limits.accept, limits.reject)
        ]
        shown += [str(cells[name]) for name in _CELLS]
        lines.append(f"| {domain} | {' | '.join(shown)} |")
    lines += [
        "",
        "Counts are of the answers that the rules left open among the rows kept apart for the thresholds.",
        "Before it may train a policy it must pass `llm-as-judge judge audit`.",
    ]
    return "\n".join(lines) + "\n"
