"""Documents and code are kept together: links lead somewhere, commands and options exist."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from llm_as_judge.cli import app
from llm_as_judge.config import Config, iterate_fields
from llm_as_judge.config.reference import configuration_page
from llm_as_judge.monitoring.metric_names import metrics_page

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path for of in ("*.md", "docs/**/*.md", "recipes/*.md") for path in ROOT.glob(of)
)
DOORS = [
    path
    for path in sorted([*ROOT.glob("*.py"), *ROOT.glob("scripts/*.py")])
    if "open_door(" in path.read_text(encoding="utf-8") and path.name != "door.py"
]
FIELDS = {name for name, _ in iterate_fields(Config)}
SECTIONS = {name.split(".")[0] for name in FIELDS}


def options_of_verbs() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}

    def collect(name: str, command: typer.core.click.Command) -> None:  # type: ignore[name-defined]
        for sub, child in getattr(command, "commands", {}).items():
            collect(f"{name} {sub}".strip(), child)
        found[name] = {option for p in command.params for option in p.opts}

    collect("", typer.main.get_command(app))
    return found


VERBS = options_of_verbs()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_to_files_that_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text)
    missing = [t for t in targets if not (document.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_commands_and_their_options_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for line in re.findall(r"(?:^ {4}|`)llm-as-judge ([a-z][^`\n]*)", text, re.MULTILINE):
        words = line.split("#")[0].split()
        two, one = " ".join(words[:2]), words[0]
        verb = two if two in VERBS else one
        if "|" in one or "," in one:
            continue
        assert verb in VERBS, f"{document.name}: no verb in {line!r}"
        for option in re.findall(r"(?<!\S)(--[a-z-]+)", line.split("#")[0]):
            known = VERBS[verb] | {"--help"}
            assert option in known, f"{document.name}: {verb} has no {option}"


def test_commands_that_the_pipeline_names_at_its_end_exist() -> None:
    script = (ROOT / "scripts" / "run_full_pipeline.sh").read_text(encoding="utf-8")
    named = re.findall(r"^  \$verb ([a-z]+)(.*)", script, re.M)
    assert [verb for verb, _ in named] == ["compare", "report", "solve"]
    for verb, rest in named:
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= VERBS[verb]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_configuration_keys_in_documents_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for key in re.findall(r"`([a-z]+\.[a-z_]+)(?::[^`]*)?`", text):
        if key.split(".")[0] in SECTIONS and not key.endswith((".py", ".json", ".yaml")):
            if (ROOT / "src/llm_as_judge" / f"{key.replace('.', '/')}.py").exists():
                continue  # a module's name
            assert key in FIELDS, f"{document.name}: no configuration key {key}"


@pytest.mark.parametrize(
    ("name", "page"), [("configuration.md", configuration_page()), ("metrics.md", metrics_page())]
)
def test_generated_pages_are_what_the_code_says(name: str, page: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == page, "run: python scripts/reference_pages.py"


@pytest.mark.parametrize("door", DOORS, ids=lambda p: p.name)
def test_a_door_outside_the_environment_says_how_to_enter_it(door: Path, tmp_path: Path) -> None:
    bare = [sys.executable, "-S", str(door), "--help"]  # no site-packages
    done = subprocess.run(bare, capture_output=True, text=True, cwd=tmp_path, env={})
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "run: " in line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_blocks_of_code_can_be_read(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for kind, words, block in re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```", text, re.M | re.S):
        if kind == "python" and "body" not in words:  # a body has a `return` outside of functions
            compile(block, document.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if kind == "yaml":
            yaml.safe_load(block)
        for text in [block] * (kind == "json") + block.splitlines() * (kind == "jsonl"):
            json.loads(text)
        known = ("python", "bash", "yaml", "json", "jsonl")
        assert kind in known, f"{document.name}: block of {kind!r}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_scripts_and_targets_in_documents_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.M))
    asked = re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text, re.M)
    assert [name for name in asked if name not in targets] == []
    started = re.findall(r"(?:python|bash) ([\w./]+\.(?:py|sh))", text)
    named = re.findall(r"(?<![\w/])((?:scripts|benchmarks|examples|recipes)/[\w/]+\.\w+)", text)
    missing = [name for name in (*started, *named) if not (ROOT / name).exists()]
    assert missing == []


def test_every_configuration_key_says_what_it_means() -> None:
    undescribed = [
        name for name, info in iterate_fields(Config) if "." in name and not info.description
    ]
    assert not undescribed


def test_help_of_every_verb_has_an_example() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert all(c.epilog for name, c in commands.items() if not hasattr(c, "commands"))
