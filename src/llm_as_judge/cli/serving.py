"""solve: one problem, every stage shown as it ends; serve: the policy behind the OpenAI API."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from llm_as_judge.cli.options import (
    BudgetOption,
    ConfigOption,
    DeviceOption,
    ExecutorOption,
    JsonOption,
    ModelOption,
    SeedOption,
    SetOption,
    console,
    note,
    require_told,
    say,
    settings_of,
)
from llm_as_judge.cli.programs import DomainOption, wanted_domain, wanted_problem
from llm_as_judge.cli.verbs import verb
from llm_as_judge.config import RULES_ALONE, Config
from llm_as_judge.types import to_json

PolicyOption = Annotated[
    str,
    typer.Option("--policy", help="untrained, a checkpoint folder, or a program FILE.py."),
]


@verb("Example: llm-as-judge solve --config embedded --problem '17 * 3?'")
def solve(
    problem: Annotated[
        str | None, typer.Option("--problem", help="Text of the problem, or - for standard input.")
    ] = None,
    problem_file: Annotated[
        Path | None, typer.Option("--problem-file", help="File with the text of the problem.")
    ] = None,
    domain: DomainOption = "qa",
    entry_point: Annotated[
        str, typer.Option("--entry-point", help="For code: name of the function to write.")
    ] = "",
    reference: Annotated[
        list[str] | None,
        typer.Option("--reference", help="Gold answer, to also print a verdict; may be repeated."),
    ] = None,
    policy: PolicyOption = "untrained",
    budget: BudgetOption = None,
    config: ConfigOption = None,
    model: ModelOption = None,
    device: DeviceOption = None,
    executor: ExecutorOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Solve one problem and show every stage: prompt, program, calls, answer, verdict."""
    from llm_as_judge.cli.writers import open_writer
    from llm_as_judge.solving.solve import solve as run_solve

    settings = settings_of(
        config,
        set_,
        model=model,
        device=device,
        executor=executor,
        seed=seed,
        flags={
            "reward.budget": budget,
            **({} if reference else RULES_ALONE),  # nothing is graded
        },
    )
    settings = _with_prompt_of(policy, settings)
    require_told(budget, settings, _program_file(policy))
    text = sys.stdin.read() if problem == "-" else problem
    task = wanted_problem(
        text, problem_file, wanted_domain(domain), entry_point, tuple(reference or ())
    )

    def show(stage: str, value: Any) -> None:
        if as_json:
            print(json.dumps({"stage": stage, "value": to_json(value)}), flush=True)  # noqa: T201
        else:
            _print_stage(stage, to_json(value))

    async def run() -> int:
        async with open_writer(settings, policy) as (bench, writer):
            execution = await run_solve(bench, writer, task, show, graded=bool(reference))
        return 0 if execution.status == "ok" else 1

    raise typer.Exit(asyncio.run(run()))


def _program_file(policy: str) -> str | None:
    return policy if Path(policy).suffix == ".py" else None


def _with_prompt_of(policy: str, settings: Config) -> Config:
    from llm_as_judge.assembly import under_trained_prompt

    return under_trained_prompt(settings, Path(policy) if Path(policy).is_dir() else None)


def _print_stage(stage: str, value: Any) -> None:
    """A stage for people; what a model wrote is printed as it is, without terminal codes."""
    console.rule(stage)
    lines: list[str] = []
    if isinstance(value, str):
        lines = [value]
    elif stage == "prompt":
        lines = [f"[{message['role']}]\n{message['content']}" for message in value]
    elif stage == "program":
        lines = [value["source"] or "(no program in the reply)"]
        lines += [f"{d['code']} line {d['line']}: {d['message']}" for d in value["diagnostics"]]
        lines += [f"repaired: {name}" for name in value["repairs"]]
    elif stage == "call":
        used = f"{value['prompt_tokens']} + {value['completion_tokens']} tokens"
        lines = [value["asked"], f"-> {value['replied']}", f"({used}, {value['seconds']:.2f} s)"]
    elif stage == "execution":
        lines = [f"status  {value['status']} {value['error']}", f"answer  {value['answer']}"]
    else:
        lines = [json.dumps(value, indent=2)]
    for line in lines:
        say(_printable(line))


def _printable(text: str) -> str:
    """Without control characters but line ends and tabs: a terminal obeys them."""
    return "".join(
        c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


@verb("Example: llm-as-judge serve --config embedded --policy untrained")
def serve(
    policy: PolicyOption = "untrained",
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on; any but this machine's own needs an API key."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8080,
    name: Annotated[
        str, typer.Option("--name", help="Model name that clients ask for.")
    ] = "llm-as-judge",
    domain: DomainOption = "qa",
    budget: BudgetOption = None,
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", min=1, help="Most requests at once; further ones get status 429."
        ),
    ] = 64,
    max_connections: Annotated[
        int,
        typer.Option(
            "--max-connections",
            min=1,
            help="Most open connections; then one that has sent no whole request gives way.",
        ),
    ] = 1024,
    max_calls: Annotated[
        int, typer.Option("--max-calls", min=1, help="Most executor calls of a request's program.")
    ] = 32,
    max_tokens: Annotated[
        int,
        typer.Option("--max-tokens", min=1, help="Most executor tokens of a request's program."),
    ] = 100_000,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds that a request's program may run.")
    ] = 180.0,
    head_timeout: Annotated[
        float, typer.Option("--head-timeout", min=0.1, help="Seconds for the head of a request.")
    ] = 10.0,
    body_timeout: Annotated[
        float, typer.Option("--body-timeout", min=0.1, help="Seconds for the body of a request.")
    ] = 30.0,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1024, help="Most bytes of a request.")
    ] = 2**20,
    grace: Annotated[
        int,
        typer.Option(
            "--grace", min=0, help="Seconds that running requests get when the server stops."
        ),
    ] = 30,
    config: ConfigOption = None,
    model: ModelOption = None,
    device: DeviceOption = None,
    executor: ExecutorOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
) -> None:
    """Serve a policy behind the OpenAI API (/v1/chat/completions).

    The API key is read from the environment variable LLM_AS_JUDGE_API_KEY.
    """
    from llm_as_judge.cli.writers import open_writer
    from llm_as_judge.serving.app import ServerOptions
    from llm_as_judge.serving.requests import RequestLimits
    from llm_as_judge.serving.server import Binding, safe_options
    from llm_as_judge.serving.server import serve as run_server

    settings = settings_of(
        config,
        set_,
        model=model,
        device=device,
        executor=executor,
        seed=seed,
        flags={"reward.budget": budget, **RULES_ALONE},  # nothing is graded
    )
    settings = _with_prompt_of(policy, settings)
    require_told(budget, settings, _program_file(policy))
    options = ServerOptions(
        model=name,
        domain=wanted_domain(domain),
        api_key=os.environ.get("LLM_AS_JUDGE_API_KEY", ""),
        concurrency=concurrency,
        max_body_bytes=max_body,
        limits=RequestLimits(max_calls, max_tokens, timeout),
    )
    binding = Binding(host, port, grace, max_connections, head_timeout, body_timeout)
    safe_options(options, binding)  # refused before a model is loaded
    asyncio.run(
        run_server(
            open_writer(settings, policy),
            options,
            binding,
            announce=lambda url: note(f"serving  {url}"),
        )
    )
