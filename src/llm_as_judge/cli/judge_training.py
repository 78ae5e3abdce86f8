"""judge train, judge calibrate: a scoring judge of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.table import Table

from llm_as_judge.assembly import model_weights, open_judge_model
from llm_as_judge.audit.attacks import Case
from llm_as_judge.cli.asking import Asked
from llm_as_judge.errors import ConfigError
from llm_as_judge.files import exclusive
from llm_as_judge.judge.calibration import Thresholds
from llm_as_judge.judge.endpoint_scorer import EndpointScorer
from llm_as_judge.judge.judge_file import JudgeFile, read_judge_file
from llm_as_judge.judge.kinds import scoring_folder
from llm_as_judge.judge.scoring import ScoringOptions
from llm_as_judge.training.judge.calibrating import (
    Place,
    calibrate_again,
    calibrate_endpoint,
    calibrate_on_rows,
)
from llm_as_judge.training.judge.learner import JudgeLearner, LearnOptions, StepReport
from llm_as_judge.training.judge.making import (
    EXAMPLES,
    HELD_OUT,
    train_judge,
    write_examples,
)
from llm_as_judge.training.judge.rows import Graded, Sets, source_name
from llm_as_judge.views.console import console, note, say
from llm_as_judge.views.progress import Progress

_MAKING = "examples made and graded by the rules"


def train(
    asked: Asked,
    *,
    labeled: list[Path],
    out: Path,
    start: Path | None,
    limit: int,
    layers: int | None,
    rank: int,
    learning_rate: float,
    epochs: int,
    precision: float,
    examples_only: bool,
) -> None:
    settings = asked.settings()
    seed = settings.training.seed
    if examples_only:
        _make_examples(out, labeled, seed, limit)
        return
    options = LearnOptions(
        seed=seed, rank=rank, layers=layers, learning_rate=learning_rate, epochs=epochs
    )
    weights = model_weights(settings, settings.policy.name, "--model")
    begun_from = start and scoring_folder(ScoringOptions(adapter=start))
    place = Place(out, settings.policy.name, weights, settings.policy.device, begun_from)
    with exclusive(out, "name another --out", doing="training a judge"), Progress() as view:
        made = asyncio.run(
            train_judge(
                place,
                labeled,
                options,
                limit=limit,
                precision=precision,
                making=partial(view.show, _MAKING),
                begun=partial(_begun, view),
                told=partial(_show_step, view),
                scoring=partial(view.show, "answers scored"),
            )
        )
    if _say_thresholds(made.thresholds, out):
        say(
            f"next    set judge.kind: scoring, judge.model: none and judge.options.adapter: {out} in "
            "llm-as-judge.yaml, then llm-as-judge judge audit"
        )


def _make_examples(out: Path, labeled: list[Path], seed: int, limit: int) -> None:
    """Says how many there are by source and by family."""
    doing = "making examples of a judge"
    with exclusive(out, "name another --out", doing=doing), Progress() as view:
        making = partial(view.show, _MAKING)
        sets = asyncio.run(write_examples(out, labeled, seed=seed, limit=limit, making=making))
    by_source = _counted("source", sets.learn, source_name)
    console.print(by_source, _counted("family", sets.learn, lambda case: case.category))
    say(
        f"{len(sets.learn)} examples in {out / EXAMPLES}, {len(sets.calibrate)} of other questions in "
        f"{out / HELD_OUT}"
    )


def _begun(view: Progress, sets: Sets, learner: JudgeLearner) -> None:
    for name, count in sets.counts.items():
        note(f"{count:7} {name}")
    note(f"{learner.tokens} tokens in {learner.steps} steps, {learner.step} done")
    view.part("the judge learns", learner.steps, "steps", learner.step, begun=True)


def _show_step(view: Progress, report: StepReport) -> None:
    view.did()
    speed = report.tokens / report.seconds
    view.doing(f"loss {report.loss:.3f}, right {report.right:.2f}, {speed:.0f} tokens/s")


def calibrate(
    asked: Asked, *, folder: Path, labeled: list[Path] | None, model: str | None, precision: float
) -> None:
    if not labeled:
        if model is not None:
            raise ConfigError(f"--model {model}: no rows for it to score; name them with --labeled")
        _say_thresholds(calibrate_again(folder, precision=precision).thresholds, folder)
        return

    async def chosen(scoring: Callable[[int, int], None]) -> JudgeFile:
        if model is not None:
            settings = asked.settings({"judge.model": model})
            async with open_judge_model(settings) as (endpoint, base):
                return await calibrate_endpoint(
                    folder,
                    base,
                    EndpointScorer(endpoint),
                    labeled,
                    precision=precision,
                    seed=settings.training.seed,
                    scoring=scoring,
                )
        made = read_judge_file(folder)
        if made.endpoint:
            raise ConfigError(f"{folder}: thresholds of {made.base}; name it with --model")
        settings = replace(asked, model=made.base).settings()
        weights = model_weights(settings, made.base, "--judge")
        place = Place(folder, made.base, weights, settings.policy.device)
        return await calibrate_on_rows(place, labeled, precision=precision, scoring=scoring)

    with Progress() as view:
        made = asyncio.run(chosen(partial(view.show, "answers scored")))
    _say_thresholds(made.thresholds, folder)


def _counted(title: str, examples: Sequence[Graded], name: Callable[[Case], str]) -> Table:
    table = Table(title, "right", "wrong", "open to the rules", box=None)
    for group in sorted({name(one.case) for one in examples}):
        mine = [one for one in examples if name(one.case) == group]
        right = sum(one.case.correct for one in mine)
        cells = (right, len(mine) - right, sum(one.open for one in mine))
        table.add_row(group, *map(str, cells))
    return table


def _say_thresholds(thresholds: Mapping[str, Thresholds], folder: Path) -> bool:
    """Says what to do about a judge that accepts nothing; whether it accepts anything."""
    for domain, limits in thresholds.items():
        say(
            f"{domain}: accepts {_bound('from', limits.accept)}, rejects {_bound('to', limits.reject)}, "
            f"chosen on {limits.rows} answers"
        )
    say(f"judge  {folder}")
    accepts = any(limits.accept is not None for limits in thresholds.values())
    if not accepts:
        say(
            "next    it accepts nothing: label more rows, or promise less with judge calibrate --precision"
        )
    return accepts


def _bound(word: str, limit: float | None) -> str:
    return "never" if limit is None else f"{word} {limit:.2f}"
