"""The catalogs: endpoints, models and places of data sets, their variables, and what is said of a wrong one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from config_files import yaml_file

from llm_as_judge.config import (
    config_file,
    config_files,
    load_config,
    load_endpoints,
    load_hub_records,
    load_models,
    shipped_dir,
)
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.records import code_digest
from llm_as_judge.judge.llm_judge import JudgePrompts

ENDPOINTS = """models:
  near:
    base_url: ${TEST_NEAR_URL:-http://localhost:1/v1}
    api_key: ${TEST_NEAR_KEY:-}
"""


def test_an_unset_variable_gives_its_default_and_a_set_one_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-openai")
    monkeypatch.delenv("TEST_NEAR_URL", raising=False)
    path = yaml_file(tmp_path, ENDPOINTS)
    endpoint = load_endpoints(path)["near"]
    assert endpoint.base_url == "http://localhost:1/v1"
    assert endpoint.api_key.get_secret_value() == "from-openai"
    assert "from-openai" not in repr(endpoint)
    monkeypatch.setenv("TEST_NEAR_URL", "http://other/v1")
    monkeypatch.setenv("TEST_NEAR_KEY", "own")
    endpoint = load_endpoints(path)["near"]
    assert (endpoint.base_url, endpoint.api_key.get_secret_value()) == ("http://other/v1", "own")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{}", "give base_url"),
        ("{base_urls: ['http://a/v1', 'http://b/v1']}", "start vllm-router before the servers"),
        (
            "{base_url: 'http://a/v1', usd_per_million_promt_tokens: 1}",
            "did you mean 'usd_per_million_prompt_tokens'?",
        ),
        (
            "{base_url: 'http://a/v1', usd_per_million_prompt_tokens: 1}",
            "one price without the other",
        ),
        (
            "{base_url: 'http://a/v1', usd_per_million_prompt_tokens: cheap}",
            "usd_per_million_prompt_tokens: found 'cheap'",
        ),
        (
            "{base_url: 'http://a/v1', usd_per_million_prompt_tokens: -1}",
            "usd_per_million_prompt_tokens: found -1",
        ),
        (
            "{base_url: 'http://a/v1', usd_per_million_cached_tokens: -0.1}",
            "usd_per_million_cached_tokens: found -0.1",
        ),
        (
            "{base_url: 'http://a/v1', usd_per_million_cached_tokens: 1}",
            "usd_per_million_cached_tokens without",
        ),
        ("{base_url: 'http://a/v1', requests_per_minute: 0}", "requests_per_minute: found 0"),
        ("{base_url: 'http://a/v1', top_p: 2}", "top_p: found 2"),
    ],
)
def test_an_endpoint_that_is_wrong_is_one_line_that_shows_no_key(
    tmp_path: Path, body: str, said: str
) -> None:
    secret = "{api_key: sk-secret, " + body[1:] if body != "{}" else "{api_key: sk-secret}"
    path = yaml_file(tmp_path, f"models: {{near: {secret}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_endpoints(path)
    assert f"{path}: models.near" in str(caught.value)
    assert said in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"localhost,127.0.0.1"', "localhost,127.0.0.1"),
        ("true", True),
        ("'${TEST_NO_PROXY:-false}'", False),
        ("'True'", True),
    ],
)
def test_no_proxy_is_yes_no_or_hosts(tmp_path: Path, written: str, read: bool | str) -> None:
    text = f"models: {{near: {{base_url: 'http://a/v1', no_proxy: {written}}}}}\n"
    assert load_endpoints(yaml_file(tmp_path, text))["near"].no_proxy == read


def test_a_key_of_the_wrong_type_is_not_shown(tmp_path: Path) -> None:
    path = yaml_file(tmp_path, "models: {near: {base_url: 'http://a/v1', api_key: 987654}}\n")
    with pytest.raises(
        ConfigError, match=r"models\.near: api_key: found a value that is not shown"
    ):
        load_endpoints(path)


def test_an_unset_variable_without_default_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_FAR_URL", raising=False)
    path = yaml_file(tmp_path, "models: {far: {base_url: '${TEST_FAR_URL}'}}\n")
    with pytest.raises(ConfigError, match=r"models\.far\.base_url: .*TEST_FAR_URL is not set"):
        load_endpoints(path)


def test_the_own_endpoints_file_of_the_folder_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    own = tmp_path / "config" / "aflow_llm.yaml"
    own.write_text("models: {mine: {base_url: http://localhost:2/v1}}\n", encoding="utf-8")
    assert list(load_endpoints()) == ["mine"]


def test_the_endpoints_of_a_named_configuration_folder_go_before_the_persons_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, name in (("config", "mine"), ("job", "of_the_job")):
        Path(folder).mkdir()
        text = f"models: {{{name}: {{base_url: http://a/v1}}}}"
        Path(folder, "aflow_llm.yaml").write_text(text)
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", "job")
    assert list(load_endpoints()) == ["of_the_job"]
    Path("job/aflow_llm.yaml").unlink()
    assert list(load_endpoints()) == ["mine"]


def test_a_source_whose_variable_is_unset_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "models:\n  m:\n    format: safetensors\n"
        "    sources: [{path: '${TEST_WEIGHTS}'}, {hub: a/b}]\n"
    )
    path = yaml_file(tmp_path, text)
    monkeypatch.delenv("TEST_WEIGHTS", raising=False)
    assert [source.hub for source in load_models(path)["m"].sources] == ["a/b"]
    monkeypatch.setenv("TEST_WEIGHTS", str(tmp_path))
    assert load_models(path)["m"].sources[0].path == tmp_path


@pytest.mark.parametrize("load", [load_models, load_endpoints])
def test_an_entry_that_is_no_mapping_is_named(tmp_path: Path, load: object) -> None:
    path = yaml_file(tmp_path, "models: {m: 3}\n")
    assert callable(load)
    with pytest.raises(ConfigError, match=r"models\.m: found int, wanted keys like"):
        load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "datasets: {gsm8k: {hubs: []}}",
            r"datasets\.gsm8k: unknown key 'hubs'; did you mean 'hub'",
        ),
        ("datasets: {gsm8k: [1]}", r"datasets\.gsm8k: found list, wanted the key hub"),
        ("datasets: {gsm8k: {hub: []}}", r"datasets\.gsm8k: hub: found \(\)|at least 1"),
    ],
)
def test_a_wrong_place_of_a_data_set_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "dataset.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_hub_records(tmp_path / "dataset.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{format: gguf, sources: [{packages: {names: [a]}}]}",
            "models.m: sources.0.packages: no key 'version' (found: names); wanted: Version of the packages; add it",
        ),
        (
            "{sources: []}",
            "models.m: no key 'format' (found: name, sources); wanted: safetensors or gguf; add it",
        ),
    ],
)
def test_a_missing_key_of_a_model_is_named_where_it_belongs(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "models.yaml").write_text(f"models: {{m: {text}}}")
    with pytest.raises(ConfigError) as caught:
        load_models(tmp_path / "models.yaml")
    assert str(caught.value) == f"{tmp_path / 'models.yaml'}: {message}"


def test_a_name_of_an_endpoint_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = yaml_file(tmp_path, "models: {4.1: {base_url: http://localhost:1/v1}}")
    with pytest.raises(ConfigError, match=r"models\.4\.1: the name is a float; put it in quotes"):
        load_endpoints(path)


def test_folders_of_the_hub_are_of_one_commit_and_single_files_of_one_digest() -> None:
    for name, entry in load_models(shipped_dir() / "models.yaml").items():
        for source in entry.sources:
            if source.hub is not None and entry.sha256 is None:
                assert re.fullmatch(r"[0-9a-f]{40}", source.revision or ""), name


# -------------------------------------------------------------------------- a folder of one's own
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
