"""export: the best programs of a run, and its policy as one model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    DeviceOption,
    JsonOption,
    SetOption,
    note,
    say,
)
from llm_as_judge.cli.programs import DomainOption, FormOption, parse_file, wanted_domain
from llm_as_judge.cli.verbs import verbs_of
from llm_as_judge.config import load_config

export = verbs_of("export", "Export programs, adapter or merged model, for use elsewhere.")


@export.command(epilog="Example: llm-as-judge export programs logs/RUN --out exported")
def programs(
    run_dir: Annotated[
        Path | None, typer.Argument(help="Run folder. Default: the newest under logs/.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("exported"),
    top: Annotated[int, typer.Option("--top", min=1, help="Programs of each domain.")] = 5,
    min_problems: Annotated[
        int,
        typer.Option("--min-problems", min=1, help="Least number of graded problems of a program."),
    ] = 2,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the best programs of each domain as Python files, with their statistics."""
    from llm_as_judge.export.programs import best_programs, write_programs
    from llm_as_judge.runs.runlog import newest_run

    folder = run_dir or newest_run(load_config(config).output.logs)
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


@export.command(epilog="Example: llm-as-judge export aflow FILE.py --out graph.py")
def aflow(
    file: Annotated[Path, typer.Argument(help="The program.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File to write, e.g. workspace/SET/workflows/round_N/graph.py. Default: print it.",
        ),
    ] = None,
    operators: Annotated[
        str, typer.Option("--operators", help="AFlow module to import the operators from.")
    ] = "scripts.operators",
    domain: DomainOption = "qa",
    form: FormOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
) -> None:
    """Write a program as a file that runs in AFlow unchanged."""
    from llm_as_judge.files import write_text
    from llm_as_judge.workflow import export_program

    settings = load_config(config, overrides=set_ or ())
    most_calls = settings.workflow.max_worst_case_calls
    program = parse_file(file, wanted_domain(domain), form, most_calls, settings.executors)
    models = {name: one.model for name, one in settings.executors.items()}
    source = export_program(program, operators, models)
    if out is None:
        print(source, end="")  # noqa: T201
        return
    write_text(out, source)
    say(f"workflow  {out}")


ResultsOption = Annotated[
    list[Path] | None,
    typer.Option("--results", help="Results file for the model card; may be repeated."),
]


@export.command(epilog="Example: llm-as-judge export adapter checkpoints/M/grpo_mixed/step_100")
def adapter(
    checkpoint: Annotated[Path, typer.Argument(help="Checkpoint folder.")],
    out: Annotated[Path, typer.Option("--out", help="New folder for the adapter.")] = Path(
        "adapter"
    ),
    results: ResultsOption = None,
    push: Annotated[
        str | None,
        typer.Option("--push", help="Also upload adapter and card to the hub, as OWNER/NAME."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the adapter of a checkpoint, without optimizer and training state.

    evaluate, serve, PEFT and vLLM load it; it names its base model by hub id.
    """
    from llm_as_judge.config import published_base
    from llm_as_judge.evaluation.layout import headed
    from llm_as_judge.export.adapter import export_adapter, push_adapter, push_token
    from llm_as_judge.export.card import model_card

    token = push_token(push) if push else ""
    base, files = model_card(checkpoint, headed(results or ()), merged=False)
    export_adapter(checkpoint, out, files["README.md"])
    pushed = push_adapter(out, push, token) if push else None
    if as_json:
        said = {"adapter": str(out), "base": published_base(base), "pushed": pushed}
        print(json.dumps(said))  # noqa: T201
        return
    say(f"adapter  {out}")
    if pushed:
        say(f"pushed   {pushed}")


@export.command(epilog="Example: llm-as-judge export model checkpoints/M/grpo_mixed/step_100")
def model(
    checkpoint: Annotated[
        Path,
        typer.Argument(
            help="Checkpoint folder, or the name of a model for its base weights alone."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="New folder for the model.")] = Path("merged"),
    results: ResultsOption = None,
    device: DeviceOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Merge an adapter into its base model: safetensors, tokenizer, model card.

    Given the name of a model, writes its base weights alone, which a base that exists only as GGUF needs.

    Writes float32. --set policy.dtype=bfloat16 halves the files, but rounding may lose a small update.
    """
    from llm_as_judge.config import find_model
    from llm_as_judge.config.names import resolved_name
    from llm_as_judge.errors import OutputError
    from llm_as_judge.evaluation.layout import headed
    from llm_as_judge.export.card import base_card, model_card

    is_name = not checkpoint.is_dir() or (checkpoint / "config.json").is_file()
    alone = is_name and find_model(str(checkpoint)) is not None
    base, files = (
        (resolved_name(str(checkpoint)), {"README.md": base_card(str(checkpoint))})
        if alone
        else model_card(checkpoint, headed(results or ()))
    )
    if out.exists():  # said before gigabytes are loaded
        raise OutputError(f"{out}: is there already; name a new folder with --out")
    settings = load_config(
        config, model=base, overrides=set_ or (), flags={"policy.device": device}
    )
    from llm_as_judge.assembly import model_weights

    weights = model_weights(settings, base, "policy.name")
    if alone:
        from llm_as_judge.policy.merged import save_base

        save_base(weights, out, files)
    else:
        from llm_as_judge.policy.merged import save_merged
        from llm_as_judge.policy.model import load_policy

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
        print(json.dumps({"model": str(out), "base": base}))  # noqa: T201
    else:
        say(f"model  {out}")
