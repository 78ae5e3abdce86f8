"""export programs, adapter: what a run found, as files for use elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from llm_as_judge.assembly import model_weights
from llm_as_judge.cli.asking import Asked
from llm_as_judge.config import find_model, published_base
from llm_as_judge.config.names import resolved_name
from llm_as_judge.errors import OutputError
from llm_as_judge.evaluation.layout import headed
from llm_as_judge.export.adapter import export_adapter, push_adapter, push_token
from llm_as_judge.export.card import base_card, model_card
from llm_as_judge.export.programs import best_programs, write_programs
from llm_as_judge.policy.merged import save_base, save_merged
from llm_as_judge.policy.model import load_policy
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


def model(
    asked: Asked, *, checkpoint: Path, out: Path, results: list[Path] | None, as_json: bool
) -> None:
    is_name = not checkpoint.is_dir() or (checkpoint / "config.json").is_file()
    alone = is_name and find_model(str(checkpoint)) is not None
    base, files = (
        (resolved_name(str(checkpoint)), {"README.md": base_card(str(checkpoint))})
        if alone
        else model_card(checkpoint, headed(results or ()))
    )
    if out.exists():  # said before gigabytes are loaded
        raise OutputError(f"{out}: is there already; name a new folder with --out")
    settings = replace(asked, model=base).settings()

    weights = model_weights(settings, base, "policy.name")
    if alone:
        save_base(weights, out, files)
    else:
        policy = load_policy(
            weights,
            adapter=checkpoint,
            name=base,
            device=settings.policy.device,
            # in bfloat16 a weight that the adapter changes little stays as it was
            dtype="float32" if settings.policy.dtype == "auto" else settings.policy.dtype,
        )
        save_merged(policy, out, files)
    if as_json:
        say_json({"model": str(out), "base": base})
    else:
        say(f"model  {out}")
