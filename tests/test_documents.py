"""Documents and code are kept together: links lead somewhere, commands and options exist."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml
from reference_pages import configuration_page

from documented import DOCUMENTS, ROOT, blocks, commands
from llm_as_judge.cli import app
from llm_as_judge.config import (
    Config,
    Endpoint,
    iterate_fields,
    load_config,
    load_endpoints,
    load_hub_records,
    load_models,
)
from llm_as_judge.renamed import GONE, KEYS
from llm_as_judge.workflow.program import parse_program

DOORS = [
    path
    for path in sorted([*ROOT.glob("*.py"), *ROOT.glob("scripts/*.py")])
    if re.search(r"open_(door|recipe)\(", path.read_text(encoding="utf-8"))
    and path.name != "door.py"
]
TEXTS = {document: document.read_text(encoding="utf-8") for document in DOCUMENTS}
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
GROUPS = {name.rpartition(" ")[0] for name in VERBS if " " in name}


def test_links_lead_to_files_that_exist() -> None:
    link = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
    links = [(document, to) for document, text in TEXTS.items() for to in link.findall(text)]
    assert [(of.name, to) for of, to in links if not (of.parent / to).exists()] == []


def test_commands_and_their_options_exist() -> None:
    """Also of those that are only mentioned; test_typed_commands.py has all others parsed or run."""
    for command in (one for document in DOCUMENTS for one in commands(document)):
        if not command.text.startswith("llm-as-judge "):
            continue
        words = command.text.split()[1:]
        two, one = " ".join(words[:2]), words[0]
        verb = two if two in VERBS else one
        assert verb in VERBS, f"{command}: no such verb"
        assert verb not in GROUPS, f"{command}: no such verb of {verb}"
        unknown = set(re.findall(r"(?<!\S)\[?(--[a-z-]+)", command.text)) - VERBS[verb]
        assert unknown == set(), f"{command}: {verb} has no {unknown}"


def test_lists_are_lists_on_the_site_too() -> None:
    """Its Markdown, unlike GitHub's, wants a blank line before a list and four spaces before an inner one."""
    item, inner = re.compile(r"(?:[-*]|\d+\.) "), re.compile(r" {1,3}(?:[-*]|\d+\.) ")
    for document, text in TEXTS.items():
        above, fenced = "", False
        for number, line in enumerate(text.splitlines(), start=1):
            fenced ^= line.lstrip().startswith("```")
            within = fenced or above[:1] in ("", " ", "#") or item.match(above) is not None
            assert within or not item.match(line), f"{document}:{number}: no blank line before"
            assert fenced or not inner.match(line), f"{document}:{number}: an inner list"
            above = line


def test_the_list_for_language_models_has_every_verb_and_every_document_once() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("Verbs of"))
    listed = line.partition(": ")[2].partition(". Each")[0].split(", ")
    assert sorted(listed) == sorted(VERBS.keys() - GROUPS - {""})
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert sorted(linked) == sorted(path.relative_to(ROOT).as_posix() for path in DOCUMENTS)


def test_places_that_agents_are_sent_to_exist() -> None:
    text = TEXTS[ROOT / "AGENTS.md"]
    named = re.findall(r"`((?:src|tests|docs)/[\w/.]*|pyproject\.toml)`", text)
    assert len(named) > 4
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(text.split()) <= 400


def test_the_site_has_at_most_25_pages_each_under_one_heading_and_a_search() -> None:
    """Built by `make docs`, which ends at a page that is in no place of the list, or in two."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r"^ +- (\S+\.md)$", settings.partition("\nnav:")[2], re.M)
    assert 15 < len(set(pages)) == len(pages) <= 25
    assert "plugins: [search]" in settings
    for page in pages:
        source = ROOT / ("README.md" if page == "index.md" else f"docs/{page}")
        text = re.sub(r"^```.*?^```", "", source.read_text("utf-8"), flags=re.M | re.S)
        assert len(re.findall(r"^# ", text, re.M)) == 1, page


def test_the_readme_is_short() -> None:
    """At most 900 words."""
    assert len(TEXTS[ROOT / "README.md"].split()) <= 900


def test_a_table_cell_is_short() -> None:
    """At most 120 characters; what does not fit stands below the table."""
    for document, text in TEXTS.items():
        rows = map(str.strip, re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).splitlines())
        cells = (cell for row in rows if row[:1] == "|" for cell in re.split(r"(?<!\\)\|", row))
        assert [cell for cell in cells if len(cell.strip()) > 120] == [], document.name


def test_what_is_asked_first_is_one_click_from_the_readme() -> None:
    linked = " ".join(re.findall(r"\]\(docs/answers\.md#([a-z0-9-]+)", TEXTS[ROOT / "README.md"]))
    for of in ("what-does-a-run-cost", "gpu-memory", "reward", "add-a-domain", "accuracy-does-not"):
        assert of in linked


def test_commands_that_the_pipeline_names_at_its_end_exist() -> None:
    script = (ROOT / "scripts" / "run_full_pipeline.sh").read_text(encoding="utf-8")
    named = re.findall(r"^  \$verb ([a-z]+)(.*)", script, re.M)
    assert [verb for verb, _ in named] == ["compare", "report", "solve"]
    for verb, rest in named:
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= VERBS[verb]


def test_configuration_keys_in_documents_exist() -> None:
    for document, text in TEXTS.items():
        of_before = (*GONE, *KEYS) if document.name == "CHANGELOG.md" else ()
        now = text.partition("\n## Older names\n")[0]
        for key in re.findall(r"`([a-z]+\.[a-z_]+)(?::[^`]*)?`", now):
            if key.split(".")[0] not in SECTIONS or key.endswith((".py", ".json", ".yaml")):
                continue
            module = ROOT / "src/llm_as_judge" / f"{key.replace('.', '/')}.py"
            known = key in FIELDS or key in of_before or module.exists()
            assert known, f"{document.name}: no configuration key {key}"


def test_the_page_of_keys_is_what_the_code_says() -> None:
    page = TEXTS[ROOT / "docs" / "configuration.md"]
    assert page == configuration_page(), "run: python scripts/reference_pages.py"


@pytest.mark.parametrize("door", DOORS, ids=lambda p: p.name)
def test_a_door_outside_the_environment_says_how_to_enter_it(door: Path, tmp_path: Path) -> None:
    bare = [sys.executable, "-S", str(door), "--help"]  # no site-packages
    done = subprocess.run(bare, capture_output=True, text=True, cwd=tmp_path, env={})
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "run: " in line


def test_blocks_can_be_read(tmp_path: Path) -> None:
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.kind == "python" and block.words != "body":
                compile(block.text, document.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            elif block.kind == "python":
                program = parse_program(block.text, "math", "body", executors=("small",))
                assert program.strictly_valid, f"{document.name}: {block.text}"
            elif block.kind == "json":
                json.loads(block.text)
            elif block.kind == "yaml":
                read_configuration(block.text, tmp_path)
            else:  # commands are typed, and rows graded, by test_typed_commands.py; what they print; pictures of words
                assert block.kind in ("bash", "jsonl", "text", ""), f"{document.name}: {block.kind}"


def read_configuration(text: str, folder: Path) -> None:
    """A block of a configuration file, by the kind of file that has its keys."""
    (folder / "block.yaml").write_text(text, encoding="utf-8")
    keys = set(yaml.safe_load(text))
    if keys == {"datasets"}:
        assert load_hub_records(folder / "block.yaml")
    elif keys == {"models"} and "base_url" in text:
        assert load_endpoints(folder / "block.yaml")
    elif keys == {"models"}:
        assert load_models(folder / "block.yaml")
    else:
        load_config(folder / "block.yaml")


def test_scripts_in_documents_exist() -> None:
    for document, text in TEXTS.items():
        started = re.findall(r"(?:python|bash) ([\w./]+\.(?:py|sh))", text)
        named = re.findall(r"(?<![\w/])((?:scripts|benchmarks|examples|recipes)/[\w/]+\.\w+)", text)
        missing = [name for name in (*started, *named) if not (ROOT / name).exists()]
        assert missing == [], document.name


def test_every_configuration_key_says_what_it_means() -> None:
    undescribed = [
        name for name, info in iterate_fields(Config) if "." in name and not info.description
    ]
    undescribed += [name for name, info in Endpoint.model_fields.items() if not info.description]
    assert not undescribed


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == importlib.metadata.version("llm-as-judge")
    assert set(cited) >= {"cff-version", "message", "title", "authors", "license"}


def test_help_of_every_verb_has_an_example() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert all(c.epilog for name, c in commands.items() if not hasattr(c, "commands"))
