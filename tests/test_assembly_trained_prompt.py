"""A policy is used under the prompt that it was trained under, whatever the configuration says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from documented import ROOT
from llm_as_judge.assembly import PromptRecord, policy_prompt, under_trained_prompt
from llm_as_judge.config import Config, load_config
from llm_as_judge.errors import ConfigError, ModelError

SHORT = "sampling.prompt_style=signatures"


def trained_under(folder: Path, *overrides: str) -> Path:
    """A checkpoint of a run with these settings, without its weights."""
    config = load_config("embedded", overrides=overrides)
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    (folder / "config.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    record = {"prompt": PromptRecord.of(config).model_dump(mode="json")}
    (folder / "state.json").write_text(json.dumps({"base_model": config.policy.name, **record}))
    return folder


def text(config: Config) -> str:
    return policy_prompt(config).sha256


def changed(folder: Path, **fields: Any) -> Path:
    """Fields of the record, changed."""
    state = json.loads((folder / "state.json").read_text())
    state["prompt"].update(fields)
    (folder / "state.json").write_text(json.dumps(state))
    return folder


@pytest.mark.parametrize(
    "key",
    [
        SHORT,
        "sampling.form=class",
        "sampling.operators=[Programmer, Vote]",
        "sampling.examples=false",
    ],
)
def test_the_checkpoint_wins_over_a_file_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    step = trained_under(tmp_path / "step_1", key)
    plain = load_config("embedded")
    found = under_trained_prompt(plain, step)
    assert text(found) == text(load_config("embedded", overrides=[key])) != text(plain)
    name, _, value = key.partition("=")
    said = capsys.readouterr().err
    assert f"{step}: the prompt is the one it was trained under: {name} {value}" in said
    assert "keeps no record" not in said


def test_what_is_in_force_already_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load_config("embedded", overrides=[SHORT])
    step = trained_under(tmp_path / "step_1", SHORT)
    assert under_trained_prompt(config, step) is config
    assert under_trained_prompt(config, None) is config
    assert capsys.readouterr().err == ""


def test_another_wish_of_the_command_line_is_an_error_with_both_names(tmp_path: Path) -> None:
    step = trained_under(tmp_path / "step_1", SHORT)
    asked = load_config("embedded", overrides=["sampling.prompt_style=full"])
    with pytest.raises(ConfigError) as caught:
        under_trained_prompt(asked, step)
    assert str(caught.value) == (
        f"sampling.prompt_style: the command line asks for full, and the policy of {step} was trained under "
        "signatures; leave that out, or evaluate --untrained to try another prompt"
    )


PRICED, LOW = "reward.scheme=priced", "reward.budget=low"


@pytest.mark.parametrize(
    ("trained", "asked", "told"),
    [
        ((), (PRICED,), None),
        ((PRICED,), (), "middle"),
        ((PRICED,), (PRICED, LOW), "low"),
        ((PRICED, LOW), (), "low"),
    ],
    ids=["none", "drawn", "one of those drawn", "one"],
)
def test_the_word_of_a_budget_is_one_that_training_told(
    tmp_path: Path, trained: tuple[str, ...], asked: tuple[str, ...], told: str | None
) -> None:
    step = trained_under(tmp_path / "step_1", *trained)
    as_in_a_file = load_config("embedded", overrides=asked).as_commanded(())
    assert under_trained_prompt(as_in_a_file, step).reward.prompt_budget == told


def test_a_word_that_training_never_told_is_refused(tmp_path: Path) -> None:
    step = trained_under(tmp_path / "step_1", PRICED, LOW)
    asked = load_config("embedded", flags={"reward.budget": "high"})
    with pytest.raises(ConfigError, match=r"^reward\.budget: .* asks for high, .* under low; "):
        under_trained_prompt(asked, step)


def test_texts_that_have_changed_since_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = changed(trained_under(tmp_path / "step_1"), sha256="0" * 64)
    under_trained_prompt(load_config("embedded"), step)
    assert "texts that have changed since (SHA-256 000000000000, now " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"style": "long"}, r"prompt\.style: Input should be 'full', "),
        ({"operators": 3}, r"prompt\.operators: "),
        ({"more": 1}, r"prompt\.more: "),
    ],
)
def test_a_damaged_record_is_one_line(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    step = changed(trained_under(tmp_path / "step_1"), **fields)
    with pytest.raises(ModelError, match=rf"state\.json: {reason}.*is damaged$"):
        under_trained_prompt(load_config("embedded"), step)


def test_an_operator_that_is_gone_is_named(tmp_path: Path) -> None:
    step = changed(trained_under(tmp_path / "step_1"), operators=["Gone"], sha256=None)
    with pytest.raises(ConfigError, match=r"sampling\.operators: there is no operator 'Gone'"):
        under_trained_prompt(load_config("embedded"), step)


def test_the_shipped_policy_reads_the_line_of_an_operator_that_is_no_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = ROOT / "examples" / "adaptive"
    config = under_trained_prompt(load_config(folder / "run.yaml"), folder / "adapter")
    trained = json.loads((folder / "adapter" / "state.json").read_text())["prompt"]
    assert PromptRecord.of(config).sha256 == trained["sha256"]
    assert "warning" not in capsys.readouterr().err


def test_an_operator_that_is_no_more_has_no_line_in_a_longer_prompt() -> None:
    sampling = {"operators": ["Choose", "Custom"], "prompt_style": "calls"}
    config = Config.model_validate({"executor": {"model": "m"}, "sampling": sampling})
    with pytest.raises(ConfigError, match=r"sampling\.operators: there is no operator 'Choose'"):
        PromptRecord.of(config)


def test_an_adapter_of_elsewhere_gets_the_prompt_of_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    config = load_config("embedded")
    assert under_trained_prompt(config, tmp_path) is config
    assert capsys.readouterr().err == (
        f"{tmp_path}: keeps no record of its prompt; assumed: that of the configuration\n"
    )
