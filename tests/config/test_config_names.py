"""A model's name is an entry of models.yaml, a hub id or a local path, wherever a name stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_files import config_folder, yaml_file

from llm_as_judge.config import find_model, hub_base, load_config, load_models, published_base
from llm_as_judge.config.names import file_label, resolved_name
from llm_as_judge.errors import ConfigError


def weights_folder(place: Path, name: str = "mine") -> Path:
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


# ---------------------------------------------------------------------------------- what is found
@pytest.mark.parametrize(
    ("name", "resolved", "format_", "hub"),
    [
        ("qwen25-7b", "qwen25-7b", "safetensors", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen25-7b", "safetensors", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen/Qwen3-8B", "qwen3-8b", "safetensors", "Qwen/Qwen3-8B"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B", "safetensors", "Qwen/Qwen3-4B"),
        ("a/b-GGUF/b-q4.gguf", "a/b-GGUF/b-q4.gguf", "gguf", "a/b-GGUF"),
    ],
)
def test_a_hub_id_is_the_entry_that_has_it_else_the_hubs_own_weights(
    monkeypatch: pytest.MonkeyPatch, name: str, resolved: str, format_: str, hub: str
) -> None:
    monkeypatch.delenv("QWEN_MODEL_PATH", raising=False)
    assert resolved_name(name) == resolved
    entry = find_model(resolved)
    assert entry is not None
    assert (entry.format, [source.hub for source in entry.sources]) == (format_, [hub])


def test_a_folder_or_file_of_weights_is_held_whole_and_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = weights_folder(tmp_path)
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "./mine", str(folder)):
        assert resolved_name(name) == str(folder)
    assert resolved_name("small.gguf") == str(tmp_path / "small.gguf")
    monkeypatch.chdir("/")
    entry, file = find_model(str(folder)), find_model(str(tmp_path / "small.gguf"))
    assert entry is not None
    assert (entry.name, entry.format, entry.sources[0].path) == ("mine", "safetensors", folder)
    assert file is not None
    assert (file.name, file.format, file.filename) == ("small", "gguf", "small.gguf")


def test_a_link_to_weights_keeps_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(weights_folder(tmp_path, "a/snapshot"))
    monkeypatch.chdir(tmp_path)
    assert resolved_name("./link") == str(tmp_path / "link")
    monkeypatch.chdir(tmp_path / "link")
    assert resolved_name(".") == str(tmp_path / "a" / "snapshot")


@pytest.mark.parametrize(
    "name",
    [
        "gtp",
        " ",
        "a/b/c",
        "a/b/c/d.gguf",
        "-x/y",
        "../x",
        "/no/such/folder",
        "~nobody_here/x",
        "https://a.b/c",
        "a b/c",
        "a\x00b",
    ],
)
def test_what_is_neither_is_no_model(name: str) -> None:
    assert find_model(name) is None
    assert resolved_name(name) == name
    assert find_model(name * 5000) is None  # longer than a path can be


def test_a_folder_of_something_else_is_no_model_though_it_reads_like_a_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "searched").mkdir(parents=True)
    assert find_model("results/searched") is None
    with pytest.raises(ConfigError, match=r"--model: the folder results has no config\.json"):
        load_config(model="results")


def test_files_of_a_model_never_leave_their_folder() -> None:
    assert file_label("qwen25-7b") == "qwen25-7b"
    assert file_label("Qwen/Qwen3-4B") == "Qwen--Qwen3-4B"
    assert file_label("../../x") == "..--..--x"
    assert file_label("/models/small.gguf") == "small"


# ------------------------------------------------------------------------------- wherever one stands
def test_every_place_of_a_model_takes_hub_ids_and_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    text = (
        'model_name: "Qwen/Qwen2.5-7B-Instruct"\naflow_executor_model: openai/gpt-oss-120b\n'
        "judge: {model: Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF}\n"
        "experience_buffer: {embedder: sentence-transformers/all-MiniLM-L6-v2}\n"
    )
    config = load_config(yaml_file(tmp_path, text))
    assert config.policy.name == "qwen25-7b"
    assert config.executor.model == "gpt-oss-120b"
    assert config.judge.model == "qwen25-coder-0.5b"
    assert config.experience.embedder == "all-minilm-l6-v2"
    flat = load_config(overrides=["strategy_model=Qwen/Qwen3-8B", "executor.model=small.gguf"])
    assert (flat.policy.name, flat.executor.model) == ("qwen3-8b", str(file))
    assert load_config(model="Qwen/Qwen3-8B").policy.name == "qwen3-8b"
    assert load_config(model=str(weights_folder(tmp_path))).policy.label == "mine"
    assert load_config(model="Qwen/Qwen3-4B").policy.label == "Qwen--Qwen3-4B"


def test_a_served_name_is_the_endpoint_that_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoints = "models: {big: {base_url: http://a/v1, model_name: Org/Big-72B}}\n"
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(config_folder(tmp_path, "{}\n", endpoints)))
    config = load_config(overrides=["executor.model=Org/Big-72B", "judge.model=big"])
    assert (config.executor.model, config.judge.model) == ("big", "big")
    assert load_config(overrides=["policy.name=Org/Big-72B"]).policy.name == "Org/Big-72B"


def test_an_entry_found_by_its_hub_id_brings_its_own_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = (
        "models:\n  small:\n    format: safetensors\n    sources: [{hub: a/b}]\n"
        "    overrides: {policy.lora_rank: 2}\n"
    )
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(config_folder(tmp_path, models)))
    assert load_config(model="a/b").policy.lora_rank == 2


def test_an_unknown_model_says_which_forms_there_are() -> None:
    with pytest.raises(ConfigError, match=r"--model: no model 'gtp' .*hub id OWNER/NAME, a folder"):
        load_config(model="gtp")


def test_others_are_told_a_hub_id_or_a_plain_name_and_never_a_path(tmp_path: Path) -> None:
    assert published_base("qwen25-7b") == "Qwen/Qwen2.5-7B-Instruct"
    assert published_base("Qwen/Qwen3-4B") == "Qwen/Qwen3-4B"
    # the GGUF file is on the hub; what loads an adapter wants safetensors
    assert published_base("qwen25-coder-0.5b") == "Qwen/Qwen2.5-Coder-0.5B-Instruct"
    assert hub_base("acme/small-GGUF/small.gguf") is None
    snapshot = weights_folder(tmp_path / "models--acme--tiny" / "snapshots", "c0ffee")
    assert published_base(str(snapshot)) == "acme/tiny"
    mine = weights_folder(tmp_path)
    assert (hub_base(str(mine)), published_base(str(mine))) == (None, "mine")


def test_every_shipped_model_asks_the_hub_before_packages() -> None:
    for name, entry in load_models().items():
        kinds = ["packages" if source.packages else "hub" for source in entry.sources]
        assert kinds == sorted(kinds), name
