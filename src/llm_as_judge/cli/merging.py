"""export model: a policy as one model, or the base weights of a name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from llm_as_judge.assembly import model_weights
from llm_as_judge.cli.asking import Asked
from llm_as_judge.config import find_model
from llm_as_judge.config.names import resolved_name
from llm_as_judge.errors import OutputError
from llm_as_judge.evaluation.layout import headed
from llm_as_judge.export.card import base_card, model_card
from llm_as_judge.policy.merged import save_base, save_merged
from llm_as_judge.policy.model import load_policy
from llm_as_judge.views.console import say, say_json


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
