"""A folder of one's own lies over the shipped configuration, file by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_as_judge.config import config_file, config_files, load_config, load_models, shipped_dir
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.records import code_digest
from llm_as_judge.judge.llm_judge import JudgePrompts

VARIABLE = "LLM_AS_JUDGE_CONFIG"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_an_empty_folder_changes_nothing(own: Path) -> None:
    assert config_file("training.yaml") == shipped_dir() / "training.yaml"
    assert config_files("prompts") == [
        path for path in sorted((shipped_dir() / "prompts").rglob("*")) if path.is_file()
    ]


def test_a_file_stands_in_for_the_shipped_one_and_no_other(own: Path) -> None:
    shipped = JudgePrompts.load()
    before = code_digest()
    write(own / "prompts/judge/plain.txt", "Is it right? yes or no")
    found = JudgePrompts.load()
    assert (found.rubric, found.plain) == (shipped.rubric, "Is it right? yes or no")
    assert own / "prompts/judge/plain.txt" in config_files("prompts")
    assert shipped_dir() / "prompts/judge/plain.txt" not in config_files("prompts")
    assert (
        code_digest() != before
    )  # figures of the shipped prompts are not taken for those of these


def test_a_models_entry_is_added_and_one_of_an_equal_name_wins(own: Path) -> None:
    shipped = load_models()
    write(
        own / "models.yaml",
        "models:\n  mine: {format: gguf, sources: [{hub: a/b}]}\n"
        "  qwen25-7b: {format: gguf, sources: [{hub: c/d}]}\n",
    )
    found = load_models()
    assert set(found) == {*shipped, "mine"}
    assert [source.hub for source in found["qwen25-7b"].sources] == ["c/d"]
    assert found["smollm2-135m"] == shipped["smollm2-135m"]


def test_a_profile_of_ones_own_has_a_name_beside_the_shipped_ones(own: Path) -> None:
    write(own / "cheap.yaml", "training: {steps: 7}\n")
    assert load_config("cheap").training.steps == 7
    assert load_config("quickstart").training.steps != 7
    with pytest.raises(ConfigError, match=r"no profile 'dear' .*cheap.*quickstart"):
        load_config("dear")


def test_a_folder_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(ConfigError, match=rf"{VARIABLE}=.*none: no such folder; make it, or unset"):
        load_config()
