"""grade: answers in, verdicts out, of a file or of an evaluation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from llm_as_judge.cli.options import progress_bar, say
from llm_as_judge.cli.regrading import regrade
from llm_as_judge.config import RULES_ALONE, load_config
from llm_as_judge.errors import ConfigError


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Examples: llm-as-judge grade results/evaluation/cot_results.json --rules-only"
        " · llm-as-judge grade --in rows.jsonl --out verdicts.jsonl"
    )(grade)


def grade(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="Results file of an evaluation, or its folder results/evaluation/NAME/HASH: "
            "its executions are graded again. Runs no policy and no executor."
        ),
    ] = None,
    in_path: Annotated[
        Path | None, typer.Option("--in", help="Instead of RESULTS: JSONL, one answer a line.")
    ] = None,
    out_path: Annotated[
        Path | None,
        typer.Option(
            "--out", help="With --in: JSONL of id, correct, stage, rule, explanation, score."
        ),
    ] = None,
    rules_only: Annotated[
        bool, typer.Option("--rules-only", help="No LLM judge; needs no model.")
    ] = False,
    config: Annotated[
        str | None, typer.Option("--config", help="With --in: YAML file or shipped profile.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="With --in: override a configuration key."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Of RESULTS: judge model; default: the evaluation's."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Of RESULTS: name of the new ones; default NAME_regraded."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Of RESULTS: print JSON, for scripts.")
    ] = False,
) -> None:
    """Grade answers: correct is true, false, or null where nobody could decide.

    With RESULTS, executions of an evaluation are graded again. A stopped command goes on when it
    is given again. With --in and --out, rows of a file.

    A row: {"id": "1", "domain": "math", "question": "6*7?", "reference": "42", "candidate": "42"}.

    domain: math, qa, code, squad2 or hotpotqa. reference: a text or a list of accepted texts; empty
    in QA: unanswerable. qa and squad2 also take context; multiple choice options, with the letter
    as reference; code takes tests and entry_point instead of a reference; hotpotqa
    supporting_facts and predicted_facts. All fields: docs/grading.md.
    """
    rows_only = {"--in": in_path, "--out": out_path, "--config": config, "--set": set_}
    results_only = {"--judge": judge, "--name": name, "--json": as_json or None}
    if results is not None:
        _refuse_given("grade RESULTS", rows_only)
        regrade(results, rules_only=rules_only, judge=judge, name=name, as_json=as_json)
        return
    _refuse_given("grade --in", results_only)
    if in_path is None or out_path is None:
        raise ConfigError(
            "grade: nothing to grade; give a results file of an evaluation, "
            "or --in ROWS.jsonl and --out VERDICTS.jsonl"
        )
    _grade_rows(in_path, out_path, rules_only, config, set_)


def _refuse_given(form: str, options: Mapping[str, object]) -> None:
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise ConfigError(f"{form}: takes no {', '.join(given)}; leave it out")


def _grade_rows(
    in_path: Path, out_path: Path, rules_only: bool, config: str | None, set_: list[str] | None
) -> None:
    from llm_as_judge.assembly import open_judge
    from llm_as_judge.judge.rows import grade_file

    settings = load_config(config, overrides=set_ or (), flags=RULES_ALONE if rules_only else {})

    async def job() -> dict[str, int]:
        async with open_judge(settings) as judge:
            with progress_bar() as show:
                return await grade_file(
                    in_path, out_path, judge, lambda done, total: show("grading", done, total)
                )

    say(f"{asyncio.run(job())} -> {out_path}")
