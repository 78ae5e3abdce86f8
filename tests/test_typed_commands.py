"""Every command of the documents is typed, word for word, in a folder prepared for it.

What cannot run here is listed with the reason, and checked up to what it would start: its verb, options
and their values, configuration, model entries, scripts and files. A command that is neither a verb nor
in the list fails: say there how it is checked. Those of docs/results/ are checked alone: they say how
figures were made, in hours.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer

from documented import DOCUMENTS, ROOT, TYPED, Command, commands
from fault_endpoint import FaultEndpoint, in_a_thread
from llm_as_judge import plugins
from llm_as_judge.assembly.chat_models import require_known_models
from llm_as_judge.cli import app
from llm_as_judge.config import known_model, load_config
from llm_as_judge.serving.requests import RequestLimits, read_ask
from restored import plugins_restored
from typed_place import BEFORE, Knowing, ended, prepare

MENTIONED = {
    "./scripts/run_full_pipeline.sh",
    "accelerate launch",
    "llm-as-judge judge audit",
    "llm-as-judge check --domain DOMAIN",
    "llm-as-judge check FILE [--domain D] [--json]",
    "llm-as-judge compare",
    "llm-as-judge grade",
    "llm-as-judge run",
    "pip download",
    "python -c",
    "python -i",
    "python -m asyncio",
}
"""Named in a sentence, without what it works on."""
NOT_RUN = {
    r"make ": "targets run the tests, benchmarks and small real models, minutes to hours each",
    r"pip install ": "downloads packages",
    r"(uvx|pipx run) ": "makes an environment of the package and all it needs",
    r"apt(-get)? install ": "changes the machine",
    r"python benchmarks/": "measures for minutes to hours",
    r"python scripts/gpu_check": "needs a GPU",
    r"python scripts/mutants": "breaks the package in many places, a quarter of an hour and more",
    r"python scripts/entered": "runs a whole command with real models; test_entered.py",
    r"python scripts/own_task_walk": "trains, half an hour with a small model; tests/test_own_task_page.py",
    r"python scripts/pictures": "needs a browser",
    r"python scripts/reference_pages": "writes into docs/; test_documents.py compares the pages",
    r"vllm-router ": "forwards to servers at fixed addresses",
    r"(VLLM_\w+=\S+ )?(vllm serve|pytest -s tests/policy/test_vllm_real)": "needs vLLM",
    r"(CUDA_VISIBLE_DEVICES=\S+ )?bash scripts/launch_sampler": "serves until stopped; test_launch_sampler.py",
    r"\./scripts/run_full_pipeline.sh .*--device cuda": "needs a GPU; test_pipeline_script.py",
    r"llm-as-judge .*--device cuda": "needs a GPU",
    r"accelerate launch ": "several processes; tests/training/test_launched_runs.py",
    r"llm-as-judge train .*sampling.backend=vllm": "needs vLLM servers; tests/policy/test_vllm.py",
    r"llm-as-judge train .*workers.backend=ray": "needs a cluster; tests/workers",
    r"llm-as-judge train .*tracking.sinks": "needs the extras; tests/runs/test_runs_sinks.py",
    r"ray ": "starts a cluster",
    r"jq ": "a tool of its own; tests/evaluation/test_evaluation_records.py holds the form that it reads",
    r"llm-as-judge judge audit .*judge.model=|llm-as-judge judge audit --labeled FILE$": (
        "asks the judge some thousand times; tests/audit/test_audit.py"
    ),
    r"llm-as-judge train .*warm_start=results/headroom": "wants the split that init makes; tests/test_own_task_page.py",
    r"llm-as-judge init ": "begins in an empty folder; tests/test_own_task_page.py",
    r"llm-as-judge judge (train|calibrate) ": "learns from labeled rows, minutes to hours; tests/cli/test_cli_judging.py",
    r"llm-as-judge search$": "runs fifty programs of each domain; evaluation.md types one of twelve",
    r"llm-as-judge models pull ": "downloads weights; tests/llm/test_llm_weights.py",
    r"llm-as-judge export adapter .*--push": "uploads to the hub; tests/export/test_export_adapter.py",
    r"llm-as-judge export model qwen": "downloads weights; tests/cli/test_cli_exporting.py",
    r"llm-as-judge models probe http": "asks a server at a fixed address; tests/cli/test_cli_endpoints.py",
    r"llm-as-judge monitor(?!.*--once)|python monitor_training": (
        "shows a run until stopped; tests/views/test_views_live.py"
    ),
    r"curl ": "asks a served policy; its body is read as the server reads it",
    r"llm-as-judge serve ": "serves until stopped; tests/serving",
    r"export JUDGE_|inspect eval ": "needs inspect_ai and a policy that is served",
}
"""Beginning of a command -> why it is checked and not run."""
SMALLER = (
    ("--steps 60", "--steps 2"),
    ("--rows 50", "--rows 2"),
    ("--rows 12", "--rows 2"),
    ("--limit 30", "--limit 2"),
    ("headroom mine.jsonl", "headroom mine.jsonl --limit 2 --draws 1"),
    ("judge audit", "judge audit --sample 0.1"),
    (r"--limit [58]\b", "--limit 2"),
    ("--limit 100$", "--limit 6"),
)
"""A pattern of what a document types, and what is typed in its place: seconds in the place of minutes."""
LEAVES = re.compile(r"llm-as-judge (train|data|evaluate)")
"""What such a command leaves is wanted by those that follow it, so each document types it."""
RUN = re.compile(r"llm-as-judge |python |bash launch_vllm|echo .* \| llm-as-judge |for gpu in ")
VERB_OF_DOOR = {
    "train.py": "train",
    "monitor_training.py": "monitor",
    "scripts/download_datasets.py": "data download",
    "scripts/process_datasets.py": "data process",
    "scripts/eval_6datasets.py": "evaluate",
}
RECIPE_OF_DOOR = {"analyze_by_domain.py": "recipes/by_domain.py"}
SHELL = re.compile(r"[|&;]|\$\(|^for ")


def reason_not_to_run(text: str) -> str | None:
    if text in MENTIONED:
        return "mentioned"
    return next((why for begin, why in NOT_RUN.items() if re.match(begin, text)), None)


# ------------------------------------------------------------------------------------------ checked
def check(text: str) -> None:
    """A command up to what it would start; AssertionError or the program's own error if it is wrong."""
    words = [word for word in shlex.split(text) if not re.match(r"[A-Z_]+=", word)]
    first, rest = words[0], words[1:]
    if first == "llm-as-judge":
        check_verb(rest)
    elif first == "make":
        targets = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.M)
        assert rest[0] in targets, f"no target {rest[0]}"
    elif first in ("uvx", "pipx"):
        check_verb(rest[rest.index("llm-as-judge") + 1 :])
    elif first == "accelerate":
        assert (ROOT / rest[rest.index("--config_file") + 1]).is_file()
        check_verb(rest[rest.index("llm_as_judge") + 1 :])
    elif first == "pytest" or words[:3] == ["python", "-m", "pytest"]:
        (path,) = (word for word in rest if word.startswith("tests/"))
        assert (ROOT / path).exists(), f"no {path}"
    elif first in ("python", "bash") and rest[0].startswith("-"):
        assert "-c" in rest, "neither a script nor a text to run"
    elif first in ("python", "bash") or first.startswith("./"):
        check_script(words)
    elif first == "pip":
        check_packages(rest[1:])
    elif first == "curl":
        assert rest[0].endswith("/v1/chat/completions"), f"no such path: {rest[0]}"
        read_ask(json.loads(rest[rest.index("-d") + 1]), "llm-as-judge", "math", RequestLimits())


def check_verb(words: list[str]) -> None:
    """Verb, options and values as they are parsed, and the configuration and models that they name."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words, "a verb is missing"
        assert words[0] in command.commands, f"no verb {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    given = command.make_context("llm-as-judge", list(words)).params
    asked = {"config", "model", "set_"} & set(given)
    if asked == {"config", "model", "set_"}:
        config = load_config(given["config"], model=given["model"], overrides=given["set_"] or ())
        require_known_models(config)
        known_model(config.policy.name, "policy.name")


def check_script(words: list[str]) -> None:
    """The script is there, and has the options; a door takes those of its verb."""
    name = words[0] if words[0].startswith("./") else words[1]
    options = words[words.index(name) + 1 :]
    script = ROOT / name
    assert script.is_file(), f"no {name}"
    if name in VERB_OF_DOOR:
        check_verb([*VERB_OF_DOOR[name].split(), *options])
    elif "launch_" not in name:  # these hand options on
        source = (ROOT / RECIPE_OF_DOOR.get(name, name)).read_text(encoding="utf-8")
        unknown = [o for o in options if o.startswith("--") and o not in source]
        assert unknown == [], f"{name} has no {unknown}"


def check_packages(words: list[str]) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    if words[0] == "-r":
        assert (ROOT / words[1]).is_file()
    for extras in re.findall(r"\[(.*)\]", " ".join(words)):
        for extra in extras.split(","):
            assert re.search(rf"^{extra} = \[", project, re.M), f"no extra {extra}"


CHECKED = {
    command.text: command
    for document in DOCUMENTS
    for command in commands(document)
    if command.text not in MENTIONED
    and (document in TYPED or re.match(r"(llm-as-judge|make|python|bash) [^<]", command.text))
    and not SHELL.search(command.text)
    and " ... " not in command.text
    and "[" not in re.sub(r"=\S*|'[^']*'", "", command.text)  # a synopsis
}


@pytest.mark.slow
def test_commands_are_right_up_to_what_they_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.copy(ROOT / "config" / "training.yaml", tmp_path / "my.yaml")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    entry = "  NAME: {format: gguf, sources: [{path: /none}]}\n"
    models = tmp_path / "config" / "models.yaml"
    models.write_text(models.read_text("utf-8") + "\n" + entry, encoding="utf-8")
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    with plugins_restored():  # a grader of a command would grade in the tests that follow
        for command in CHECKED.values():
            with named_where_it_fails(command):
                check(command.text)


@contextmanager
def named_where_it_fails(command: Command) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise AssertionError(command) from error


def test_every_command_is_run_or_listed() -> None:
    unknown = [
        str(command)
        for document in TYPED
        for command in commands(document)
        if not reason_not_to_run(command.text) and not RUN.match(command.text)
    ]
    assert unknown == []


def test_nothing_is_listed_that_no_document_says() -> None:
    said = {command.text for document in TYPED for command in commands(document)}
    assert said >= MENTIONED
    assert [b for b in NOT_RUN if not any(re.match(b, text) for text in said)] == []


def test_a_wrong_command_is_found() -> None:
    for wrong in (
        "llm-as-judge trian",
        "llm-as-judge train --stepz 3",
        "llm-as-judge train --steps many",
        "llm-as-judge train --set training.stepz=3",
        "llm-as-judge train --model no_such_model",
        "llm-as-judge evaluate --executor",
        "make no-such-target",
        "python scripts/no_such_script.py",
        "python benchmarks/pool.py --no-such-option",
        "python train.py --no-such-option",
        "pip install -e '.[no_such_extra]'",
        "curl http://127.0.0.1:8080/v1/chat/completions -d '{}'",
    ):
        with pytest.raises(Exception, match=r"\w"):
            check(wrong)


# --------------------------------------------------------------------------------------------- run
@pytest.fixture(scope="module")
def prepared(
    tmp_path_factory: pytest.TempPathFactory,
    fluent_weights: Path,
    tiny_encoder: Path,
    audits: Path,
) -> Iterator[Path]:
    """The place that every document starts from, and its endpoint while they are typed."""
    place = tmp_path_factory.mktemp("typed")
    with (
        in_a_thread(
            FaultEndpoint(0.0, answer=Knowing(place / "data" / "mixed" / "train_mixed.jsonl"))
        ) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        clean_environment(patch, place)
        patch.chdir(place)
        prepare(place, fluent_weights, tiny_encoder, audits, server.url)
        yield place


@pytest.fixture
def place(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which commands are typed."""
    place = tmp_path / "place"
    shutil.copytree(prepared, place, symlinks=True)
    clean_environment(monkeypatch, place)
    monkeypatch.chdir(place)
    return place


def clean_environment(patch: pytest.MonkeyPatch, place: Path) -> None:
    patch.setattr(plugins, "_loaded", {})  # those of a command are not those of other tests
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "QWEN_MODEL_PATH", "GPT_OSS_MODEL_PATH"):
        patch.delenv(name, raising=False)
    patch.setenv("LLM_AS_JUDGE_CONFIG", str(place / "config"))
    patch.setenv("LLM_AS_JUDGE_CACHE", str(place / "cache"))
    patch.setenv("HF_HUB_OFFLINE", "1")
    patch.setenv("OMP_NUM_THREADS", "1")
    patch.setenv("PATH", f"{place / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}")


def typed_once() -> dict[str, list[Command]]:
    """Document -> what is typed of it: no command twice, unless it leaves what others want.

    What begins a document and :func:`prepare` has typed is there.
    """
    found: dict[str, list[Command]] = {}
    seen: set[str] = set()
    for document in TYPED:
        if document.stem == "own-task":
            continue  # it begins in a folder of its own: test_own_task_page.py
        for command in commands(document):
            if reason_not_to_run(command.text):
                continue
            leaves = LEAVES.match(command.text)
            changed = any(LEAVES.match(one.text) for one in found.get(command.document, ()))
            if command.text in BEFORE and not changed:
                continue
            if leaves or command.text not in seen:
                found.setdefault(command.document, []).append(command)
            seen.add(command.text)
    return found


ONCE = typed_once()


@pytest.mark.slow
@pytest.mark.parametrize("document", ONCE)
@pytest.mark.usefixtures("place")
def test_commands_run_word_for_word(document: str) -> None:
    with plugins_restored():
        for command in ONCE[document]:
            with named_where_it_fails(command):
                type_in(command)


@pytest.mark.slow
def test_a_policy_named_by_its_folder_or_hub_id_is_trained_evaluated_and_reported(
    place: Path,
) -> None:
    ended(["train", "--model", "./FOLDER", "--steps", "1"])
    ended(["evaluate", "--model", "FOLDER", "--limit", "1"])  # finds that training's checkpoint
    assert (place / "checkpoints" / "FOLDER" / "grpo_mixed" / "step_1").is_dir()
    assert (place / "results" / "evaluation" / "FOLDER_results.json").is_file()
    hub_id_of_an_entry = "Qwen/Qwen2.5-7B-Instruct"
    ended(["evaluate", "--model", hub_id_of_an_entry, "--limit", "1", "--dry-run"])
    ended(["evaluate", "--model", "Qwen/Qwen3-4B", "--untrained"], wanted=2)  # up to its download


def type_in(command: Command) -> None:
    """Type one command: a verb in this process, its words expanded by the shell; all else in a shell."""
    words = None
    text = command.text
    for said, smaller in SMALLER:
        text = re.sub(said, smaller, text)
    if text.startswith("llm-as-judge ") and not SHELL.search(text):
        words = in_a_shell(rf"printf '%s\0' {text}").split("\0")[1:-1]
    ended(words) if words else in_a_shell(text)


def in_a_shell(text: str) -> str:
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
