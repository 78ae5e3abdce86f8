"""grade: answers in, verdicts out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from llm_as_judge.cli.options import ConfigOption, SetOption, console, progress_bar
from llm_as_judge.config import load_config


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge grade --in rows.jsonl --out verdicts.jsonl")(grade)


def grade(
    in_path: Annotated[
        Path, typer.Option("--in", help="JSONL: question, reference, candidate ...")
    ],
    out_path: Annotated[Path, typer.Option("--out", help="JSONL: id, correct, stage, rule ...")],
    rules_only: Annotated[
        bool, typer.Option("--rules-only", help="No LLM judge; needs no model.")
    ] = False,
    config: ConfigOption = None,
    set_: SetOption = None,
) -> None:
    """Grade rows {id, domain, question, reference, candidate, ...}: correct true, false or null."""
    from llm_as_judge.build import open_judge
    from llm_as_judge.judge.rows import grade_file

    settings = load_config(
        config, overrides=set_ or (), flags={"judge.model": "none" if rules_only else None}
    )

    async def job() -> dict[str, int]:
        async with open_judge(settings) as judge:
            with progress_bar() as show:
                return await grade_file(
                    in_path, out_path, judge, lambda done, total: show("grading", done, total)
                )

    console.print(f"{asyncio.run(job())} -> {out_path}", highlight=False)
