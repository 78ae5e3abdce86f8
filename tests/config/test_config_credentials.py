"""Keys are cleaned where they are read, refused by their origin, and shown by no error."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from llm_as_judge.config import (
    Config,
    checked_key,
    iterate_fields,
    load_config,
    load_endpoints,
)
from llm_as_judge.config.credentials import names_a_secret, without_secrets
from llm_as_judge.errors import ConfigError, LlmAsJudgeError

KEY = "sk-PLANTEDSECRET12345678"
PLAIN = "plantedsecret"
"""A secret that does not look like one."""
UNSENDABLE = {
    "line end": "sk-PLANTED\nSECRET12345678",
    "blank": "sk-PLANTED SECRET12345678",
    "control": "sk-PLANTED\x07SECRET12345678",
    "non-ascii": "sk-PLANTED\N{LATIN SMALL LETTER E WITH ACUTE}SECRET12345678",
    "surrogate": "sk-PLANTED\udce9SECRET12345678",
}


@pytest.fixture(autouse=True)
def no_key_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def endpoints_file(folder: Path, key: str) -> Path:
    path = folder / "aflow_llm.yaml"
    path.write_text(f"models: {{near: {{base_url: 'http://a/v1', api_key: {key}}}}}\n")
    return path


def refusal(call: object, *arguments: object, **named: object) -> str:
    """The one line of the error, which holds nothing of a planted secret."""
    assert callable(call)
    with pytest.raises(ConfigError) as caught:
        call(*arguments, **named)
    said = str(caught.value)
    assert "planted" not in said.lower()
    assert "secret1" not in said.lower()
    assert "\n" not in said
    return said


# ------------------------------------------------------------------------------------------ keys
@pytest.mark.parametrize("given", [f"{KEY}\n", f" {KEY}\t\r\n", KEY])
def test_blanks_round_a_key_are_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("TEST_NEAR_KEY", given)
    from_variable = load_endpoints(endpoints_file(tmp_path, "'${TEST_NEAR_KEY}'"))["near"]
    assert from_variable.api_key.get_secret_value() == KEY
    monkeypatch.setenv("OPENAI_API_KEY", given)
    for empty in ("''", "'  '", "null"):
        openai = load_endpoints(endpoints_file(tmp_path, empty))["near"]
        assert openai.api_key.get_secret_value() == KEY
    in_file = load_endpoints(endpoints_file(tmp_path, f"' {KEY} '"))["near"]
    assert in_file.api_key.get_secret_value() == KEY


def test_the_variable_of_a_key_is_known_by_the_endpoints_name(tmp_path: Path) -> None:
    named = load_endpoints(endpoints_file(tmp_path, "'${TEST_NEAR_KEY:-}'"))
    assert named.key_variable("near") == "TEST_NEAR_KEY"
    assert named.key_variable("openrouter/some/model") == "OPENROUTER_API_KEY"
    assert named.key_variable("openai:m@http://a/v1") == "OPENAI_API_KEY"


@pytest.mark.parametrize("key", UNSENDABLE.values(), ids=UNSENDABLE.keys())
def test_a_key_that_cannot_be_sent_is_refused_by_where_it_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    assert refusal(checked_key, key, "HERE").startswith("HERE: this key holds a blank, ")
    monkeypatch.setenv("OPENAI_API_KEY", key)
    path = endpoints_file(tmp_path, "''")
    assert "environment variable OPENAI_API_KEY (exported, or in .env)" in refusal(
        load_endpoints, path
    )
    monkeypatch.setenv("TEST_NEAR_KEY", key)
    path = endpoints_file(tmp_path, "'${TEST_NEAR_KEY:-none}'")
    said = refusal(load_endpoints, path)
    assert f"{path}: models.near.api_key: environment variable TEST_NEAR_KEY" in said


def test_a_key_in_the_file_that_cannot_be_sent_is_refused_by_file_and_entry(
    tmp_path: Path,
) -> None:
    path = endpoints_file(tmp_path, '"sk-PLANTED\\nSECRET12345678"')
    assert refusal(load_endpoints, path).startswith(f"{path}: models.near.api_key: this key")


# ------------------------------------------------------------------------------- text of the file
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (f'"{KEY}', "line 2, column 1: found unexpected end of stream"),
        (f'"{KEY}', "line 1, column 51: while scanning a quoted scalar"),
        (f"{KEY}: x: y", "line 1, column "),
        (f"*{KEY}", "found undefined alias ***"),
        (f"!{PLAIN} x", "could not determine a constructor for the tag ***"),
        (f"!plan'{PLAIN} x", "could not determine a constructor for the tag ***"),
        (f"!!int {PLAIN}", "a value is not of the kind that its tag"),
        (f"!!bool {PLAIN}", "a value is not of the kind that its tag"),
        (f"!!timestamp {PLAIN}", "a value is not of the kind that its tag"),
        (f"{KEY}\x07", "special characters are not allowed"),
    ],
)
def test_yaml_that_cannot_be_read_is_told_by_its_place_and_not_by_its_text(
    tmp_path: Path, value: str, said: str
) -> None:
    path = endpoints_file(tmp_path, value)
    line = refusal(load_endpoints, path)
    assert line.startswith(f"{path}: cannot be read as YAML: ")
    assert said in line


def test_an_override_that_is_no_yaml_shows_no_key() -> None:
    for value in (f'"{KEY}', "{api_key: plantedsecret", "{password: !!int plantedsecret}"):
        said = refusal(load_config, overrides=[f"data.sets={value}"])
        assert said.startswith("--set data.sets=")
        assert ": cannot be read as YAML: " in said


def test_what_the_parser_wanted_is_still_said(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("policy: {name: [\n")
    with pytest.raises(ConfigError, match=r"line 2, column 1: .*'<stream end>'"):
        load_config(path)
    path.write_text("policy: {name: [x}\n")
    with pytest.raises(ConfigError, match=r"line 1, column 18: expected ',' or '\]', but got '}'"):
        load_config(path)


# --------------------------------------------------------------------------- keys in the wrong place
@pytest.mark.parametrize(
    "text",
    [
        "executor.api_key=plantedsecret",
        "executor.apiKey=plantedsecret",
        "judge.token=plantedsecret",
        "hf_token=plantedsecret",
        "db.password.x=plantedsecret",
        "client_secret=plantedsecret",
        "executor={api_key: plantedsecret}",
        'executor={"password": plantedsecret}',
    ],
)
def test_a_key_given_as_an_override_is_refused_unseen_and_told_where_keys_belong(text: str) -> None:
    said = refusal(load_config, overrides=["training.steps=2", text])
    assert "unknown key" in said
    assert "put them into the environment, .env or config/aflow_llm.yaml" in said


def test_an_override_without_its_sign_shows_no_key() -> None:
    for text in ("executor.api_key plantedsecret", "executor.api_key: plantedsecret"):
        assert "wanted key=value" in refusal(load_config, overrides=[text])


def test_a_key_in_a_file_of_settings_is_told_where_it_belongs(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("executor: {api_key: plantedsecret}\n")
    said = refusal(load_config, path)
    assert f"{path}: unknown key 'executor.api_key'" in said
    assert "config/aflow_llm.yaml" in said


def test_a_misspelled_key_of_an_endpoint_is_told_its_name(tmp_path: Path) -> None:
    path = tmp_path / "aflow_llm.yaml"
    path.write_text("models: {near: {base_url: 'http://a/v1', token: plantedsecret}}\n")
    assert "unknown key 'token'; did you mean 'api_key'?" in refusal(load_endpoints, path)


@pytest.mark.parametrize(
    "override",
    [
        f"executor.timeout_s={KEY}",
        f"executor.{KEY}=1",
        f"executor={KEY}",
        "executor.retries={password: plantedsecret}",
        "executor.retries={'api_key': 'plantedsecret'}",
    ],
)
def test_a_value_that_is_a_key_is_not_shown(tmp_path: Path, override: str) -> None:
    said = refusal(load_config, overrides=[override])
    assert "***" in said
    key, _, value = override.rpartition("=")
    path = tmp_path / "run.yaml"
    tree = {"executor": {key.removeprefix("executor."): yaml.safe_load(value)}}
    path.write_text(yaml.safe_dump(tree if "." in key else {"executor": value}))
    assert "***" in refusal(load_config, path)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        "sk-proj-Ab_12-xyzxyz",
        "hf_" + "aB3" * 8,
        "ghp_" + "aB3" * 12,
        "github_pat_11AB_" + "aB3" * 8,
        "xoxb-1234-" + "aB3" * 8,
        "AKIA" + "ABCD" * 4,
        "AIza" + "aB3" * 10,
    ],
)
def test_no_error_shows_what_looks_like_a_key(key: str) -> None:
    assert str(LlmAsJudgeError(f"no '{key}' (known: m)")) == "no '***' (known: m)"
    assert key[-8:] not in str(LlmAsJudgeError("x" * 990 + key + "x" * 2000))


@pytest.mark.parametrize(
    "text", ["/tmp/task-of-the-day-1234", "sk-learn", "hf-internal-testing/tiny-random", "hf_hub_x"]
)
def test_a_word_that_only_begins_like_a_key_is_shown(text: str) -> None:
    assert str(LlmAsJudgeError(text)) == text


def test_no_field_of_a_run_is_taken_for_a_secret() -> None:
    assert [name for name, _ in iterate_fields(Config) if names_a_secret(name)] == []
    assert without_secrets("sampling.max_new_tokens=3") == "sampling.max_new_tokens=3"
