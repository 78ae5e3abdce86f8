"""judge audit: the judge is measured; judge train, judge calibrate: a scoring judge of one's own."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    DeviceOption,
    SeedOption,
    SetOption,
    console,
    note,
    say,
    settings_of,
)
from llm_as_judge.cli.pace import Pace
from llm_as_judge.cli.verbs import verbs_of
from llm_as_judge.config import RULES_ALONE, load_config
from llm_as_judge.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from llm_as_judge.audit.audit import AuditReport
    from llm_as_judge.config import Config
    from llm_as_judge.judge.feature_model import FeatureModel
    from llm_as_judge.judge.judge_file import JudgeFile

BASE = "qwen25-coder-0.5b"
"""What the shipped judge was trained on."""

judge = verbs_of("judge", "Judges: audit one; train and calibrate your own.")

LabeledOption = Annotated[
    list[Path],
    typer.Option(
        "--labeled",
        metavar="FILE",
        help="JSONL of `grade` rows with `correct` (true or false); may be repeated. Of a row without candidate "
        "and `correct` only generated answers are used.",
    ),
]
PrecisionOption = Annotated[
    float,
    typer.Option(
        "--precision",
        min=0.5,
        max=0.999,
        help="Precision to keep for acceptances and for rejections (lower 95 % bound).",
    ),
]


@judge.command(epilog="Example: llm-as-judge judge audit --rules-only")
def audit(
    labeled: Annotated[
        Path | None,
        typer.Option(
            "--labeled",
            metavar="FILE",
            help="JSONL of `grade` rows with `correct`, added to the shipped ones. `source` names them in the "
            "report; default: labeled.",
        ),
    ] = None,
    rules_only: Annotated[
        bool, typer.Option("--rules-only", help="Audit the rules without an LLM judge.")
    ] = False,
    attack_numbers: Annotated[
        int,
        typer.Option(
            "--attack-numbers", help="Number of word problems that attacks are made from."
        ),
    ] = 40,
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample",
            min=0.001,
            max=1.0,
            help="Share of the package's cases to grade, with all rows of --labeled: a quick look that does not permit "
            "training.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File for the report. Default: results/audit/FINGERPRINT.json."),
    ] = None,
    if_needed: Annotated[
        bool,
        typer.Option(
            "--if-needed",
            help="Skip the audit if a passing report on these rows exists.",
        ),
    ] = False,
    config: ConfigOption = None,
    set_: SetOption = None,
) -> None:
    """Measure the judge on attacks, controls and labeled rows. Exit status 3: below a bar.

    The package ships labeled rows of every domain; --labeled adds yours. The same command continues
    an audit that was stopped.
    """
    from llm_as_judge.assembly import judge_fingerprint, open_judge
    from llm_as_judge.audit.audit import run_audit
    from llm_as_judge.audit.journal import Journal
    from llm_as_judge.audit.labeled import cases_sha256, read_labeled, shipped_labeled
    from llm_as_judge.audit.report import render_report, verdict_line, write_report
    from llm_as_judge.audit.status import find_audit_status, measured_on, report_path
    from llm_as_judge.judge.kinds import judging_mode

    settings = load_config(
        config,
        overrides=set_ or (),
        flags={
            **(RULES_ALONE if rules_only else {}),
            "calls.mode": "off",  # an answer of yesterday says nothing of the judge of today
        },
    )
    shipped, own = shipped_labeled(), read_labeled(labeled) if labeled else []
    cases = [*shipped, *own]
    if if_needed:
        fingerprint = judge_fingerprint(settings)
        audit_status = find_audit_status(settings.output.results, fingerprint)
        if measured_on(audit_status, cases_sha256(cases)):
            say(f"report  {audit_status.report}: passed before")
            return

    async def job(journal: Journal) -> AuditReport:
        async with open_judge(settings) as judge:
            return await run_audit(
                judge.fresh,
                judge.fingerprint,
                judging_mode(settings.judge),
                shipped,
                own=own,
                attack_numbers=attack_numbers,
                sample=sample,
                journal=journal,
                progress=_AuditPace(len(journal), settings),
            )

    whole = report_path(settings.output.results, judge_fingerprint(settings))
    usual = whole if sample is None else whole.with_suffix(".sample.json")
    path = out or usual
    journal = Journal(path.with_name(f"{usual.stem}.partial.jsonl"))
    if len(journal):
        note(f"going on after {len(journal)} verdicts")
    report = asyncio.run(job(journal))
    write_report(report, path)
    journal.remove()
    brief = if_needed and report.passed  # one step of a pipeline: the tables are not what is asked
    console.print(verdict_line(report) if brief else render_report(report), highlight=not brief)
    say(f"report  {path}")
    if not brief:
        for line in _what_now(report):
            say(line)
    raise typer.Exit(0 if report.passed else 3)


def _what_now(report: AuditReport) -> list[str]:
    """What a person can do after an audit; nothing: nothing has to be done."""
    if report.sample is not None and report.passed:
        told = (
            "next    a sample gives no permission to train: the same command without --sample does "
            "where all its bars hold"
        )
        return [told]
    if report.passed:
        return []
    lines = []
    if report.wrong_by_rule:
        rules = sum(report.wrong_by_rule.values())
        shown = ", ".join(f"{rule} {count}" for rule, count in report.wrong_by_rule.items())
        lines.append(
            f"        rules accepted {rules} of the {report.wrong_accepted} wrong answers that were accepted ({shown}). "
            "No judge changes these; a grader of your own does: docs/extending.md#a-grader"
        )
    missed = f"next    below a bar: {', '.join(report.failures)}. "
    if report.sample is not None:
        missed += (
            "To train, the whole audit would have to pass, which after this is unlikely. "
            "Label more rows, or take another judge: docs/judge.md"
        )
    else:
        missed += (
            "Leave such answers ungraded (judge.kind: rules), or take another judge: docs/judge.md"
        )
    return [missed, *lines]


class _AuditPace:
    """Says before the first verdict how many there will be, then how many are left.

    Args:
        kept: verdicts of an earlier, broken off part.
    """

    def __init__(self, kept: int, settings: Config) -> None:
        self._kept = kept
        self._asks = settings.judge.model != RULES_ALONE["judge.model"]
        self._pace: Pace | None = None

    def __call__(self, done: int, total: int) -> None:
        from llm_as_judge.assembly.executor_settings import CALLS_A_VERDICT

        if self._pace is None:
            self._pace = Pace("answers graded", total)
            self._pace.found(self._kept)
            left = total - self._kept
            line = f"{left:,} answers to grade"
            if self._asks:
                line += f"; at most {CALLS_A_VERDICT * left:,} calls of the judge's model, none where rules decide"
            note(line)
        elif done > self._kept:
            self._pace.did()


@judge.command(epilog="Example: llm-as-judge judge train --labeled rows.jsonl --out judges/mine")
def train(
    labeled: LabeledOption,
    out: Annotated[Path, typer.Option("--out", help="Folder of the trained judge.")],
    model: Annotated[
        str,
        typer.Option(
            "--model", help="Base model of the judge: an entry of models.yaml, a hub id or a path."
        ),
    ] = BASE,
    limit: Annotated[
        int | None, typer.Option("--limit", min=40, help="Most examples to learn from.")
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(
            "--layers", min=1, help="Use only the lowest N layers of the base model. Default: all."
        ),
    ] = None,
    rank: Annotated[int, typer.Option("--rank", min=1, help="LoRA rank of the adapter.")] = 16,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", min=0.0, help="Learning rate.")
    ] = 3e-4,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the examples.")] = 1,
    features_only: Annotated[
        bool,
        typer.Option(
            "--features-only",
            help="Only learn the lexical features anew, for the judge that is in --out already.",
        ),
    ] = False,
    precision: PrecisionOption = 0.97,
    seed: SeedOption = None,
    device: DeviceOption = None,
    config: ConfigOption = None,
) -> None:
    """Train a scoring judge on labeled rows and choose its thresholds on held-out questions.

    The same command continues a training that was stopped.
    """
    from llm_as_judge.assembly import model_weights
    from llm_as_judge.training.judge.learner import JudgeLearner, LearnOptions, StepReport
    from llm_as_judge.training.judge.making import Place, train_features, train_judge
    from llm_as_judge.training.judge.rows import Sets

    if features_only:
        seed = settings_of(config, None, seed=seed).training.seed
        learned = asyncio.run(train_features(out, labeled, precision=precision, seed=seed))
        _say_features(learned, out)
        return
    settings = settings_of(config, None, model=model, device=device, seed=seed)
    options = LearnOptions(
        seed=settings.training.seed,
        rank=rank,
        layers=layers,
        learning_rate=learning_rate,
        epochs=epochs,
    )
    out.mkdir(parents=True, exist_ok=True)
    weights = model_weights(settings, settings.policy.name, "--model")
    place = Place(out, settings.policy.name, weights, settings.policy.device)

    def begun(sets: Sets, learner: JudgeLearner) -> None:
        for name, count in sets.counts.items():
            note(f"{count:7} {name}")
        note(f"{learner.tokens} tokens in {learner.steps} steps, {learner.step} done")

    def told(report: StepReport) -> None:
        left = timedelta(seconds=round(report.left_s))
        note(
            f"step {report.step}/{report.steps}  loss {report.loss:.3f}  right {report.right:.2f}  "
            f"{report.tokens / report.seconds:.0f} tokens/s  {left} left"
        )

    made = asyncio.run(
        train_judge(
            place,
            labeled,
            options,
            limit=limit,
            precision=precision,
            begun=begun,
            told=told,
            scoring=_scoring(),
        )
    )
    _say_thresholds(made.thresholds, out)
    if all(limits.accept is None for limits in made.thresholds.values()):
        say(
            "next    it accepts nothing: label more rows, or promise less with judge calibrate --precision"
        )
        return
    say(
        f"next    set judge.kind: scoring, judge.model: none and judge.options.adapter: {out} in llm-as-judge.yaml, "
        "then llm-as-judge judge audit"
    )


@judge.command(
    epilog="Example: llm-as-judge judge calibrate --judge judges/mine --labeled others.jsonl"
)
def calibrate(
    folder: Annotated[
        Path,
        typer.Option(
            "--judge", help="Folder of the trained judge, or of an endpoint's thresholds."
        ),
    ],
    labeled: Annotated[
        list[Path] | None,
        typer.Option(
            "--labeled",
            metavar="FILE",
            help="As for `judge train`. Without: the answers that the folder's thresholds were chosen on, "
            "with the scores kept there.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="A model behind an endpoint that gives log-probabilities, instead of a trained judge.",
        ),
    ] = None,
    precision: PrecisionOption = 0.97,
    device: DeviceOption = None,
    config: ConfigOption = None,
) -> None:
    """Choose thresholds: for a trained judge on questions that it has not learned from, or for an endpoint's model."""
    from llm_as_judge.assembly import model_weights, open_judge_model
    from llm_as_judge.judge.endpoint_scorer import EndpointScorer
    from llm_as_judge.judge.judge_file import read_judge_file
    from llm_as_judge.training.judge.making import (
        Place,
        calibrate_again,
        calibrate_endpoint,
        calibrate_on_rows,
    )

    if not labeled:
        if model is not None:
            raise ConfigError(f"--model {model}: no rows for it to score; name them with --labeled")
        _say_thresholds(calibrate_again(folder, precision=precision).thresholds, folder)
        return

    async def chosen(scoring: Callable[[int, int], None]) -> JudgeFile:
        if model is not None:
            settings = settings_of(config, [f"judge.model={model}"])
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
        settings = settings_of(config, None, model=made.base, device=device)
        weights = model_weights(settings, made.base, "--judge")
        place = Place(folder, made.base, weights, settings.policy.device)
        return await calibrate_on_rows(place, labeled, precision=precision, scoring=scoring)

    made = asyncio.run(chosen(_scoring()))
    _say_thresholds(made.thresholds, folder)


def _scoring() -> Callable[[int, int], None]:
    """Told how many of how many answers are scored."""
    pace: Pace | None = None
    before = 0

    def told(done: int, total: int) -> None:
        nonlocal pace, before
        pace = pace or Pace("answers scored", total)
        pace.did(done - before)
        before = done
        if done == total:
            pace.ended()

    return told


def _say_features(learned: FeatureModel, folder: Path) -> None:
    accept = "never" if learned.accept is None else f"from {learned.accept:.2f}"
    reject = "never" if learned.reject is None else f"to {learned.reject:.2f}"
    say(
        f"features: learned from {learned.learned} replies; may accept {accept}, rejects {reject}, "
        f"chosen on {learned.chosen_on} answers"
    )
    say(f"judge  {folder}")


def _say_thresholds(thresholds: object, folder: Path) -> None:
    from llm_as_judge.judge.calibration import Thresholds

    assert isinstance(thresholds, dict)
    for domain, limits in thresholds.items():
        assert isinstance(limits, Thresholds)
        accept = "never" if limits.accept is None else f"from {limits.accept:.2f}"
        reject = "never" if limits.reject is None else f"to {limits.reject:.2f}"
        say(f"{domain}: accepts {accept}, rejects {reject}, chosen on {limits.rows} answers")
    say(f"judge  {folder}")
