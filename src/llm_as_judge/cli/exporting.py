"""export programs, adapter: what a run found, as files for use elsewhere."""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.cli.asking import Asked
from llm_as_judge.config import published_base
from llm_as_judge.evaluation.layout import headed
from llm_as_judge.export.adapter import export_adapter, push_adapter, push_token
from llm_as_judge.export.card import model_card
from llm_as_judge.export.programs import best_programs, write_programs
from llm_as_judge.runs.runlog import newest_run
from llm_as_judge.views.console import note, say, say_json


def programs(
    asked: Asked, *, run_dir: Path | None, out: Path, top: int, min_problems: int, as_json: bool
) -> None:
    folder = run_dir or newest_run(asked.settings().output.logs)
    best = best_programs(folder, top=top, min_problems=min_problems)
    paths = write_programs(best.programs, folder, out)
    if as_json:
        print((out / "programs.json").read_text(encoding="utf-8"), end="")  # noqa: T201
        return
    found = [record for records in best.programs.values() for _, record in records]
    for path, record in zip(paths, found, strict=True):
        say(f"{path}  {record.accuracy.text()} of {record.runs}")
    if best.never_right:
        by_domain = ", ".join(f"{domain} {count}" for domain, count in best.never_right.items())
        note(f"left out, never right: {by_domain} programs")


def adapter(
    *, checkpoint: Path, out: Path, results: list[Path] | None, push: str | None, as_json: bool
) -> None:
    token = push_token(push) if push else ""
    base, files = model_card(checkpoint, headed(results or ()), merged=False)
    export_adapter(checkpoint, out, files["README.md"])
    pushed = push_adapter(out, push, token) if push else None
    if as_json:
        say_json({"adapter": str(out), "base": published_base(base), "pushed": pushed})
        return
    say(f"adapter  {out}")
    if pushed:
        say(f"pushed   {pushed}")
