"""An adapter from a foreign folder is data: plain LoRA that fits, or one line; nothing is executed."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_checkpoint import Planted

from llm_as_judge.errors import ModelError
from llm_as_judge.policy.adapter import CONFIG, WEIGHTS, AdapterSpec, read_spec
from tiny_models import tiny_policy

SPEC = AdapterSpec(4, 8, ("q_proj", "v_proj"))


@pytest.fixture
def folder(tmp_path: Path, tiny_weights: Path) -> Path:
    tiny_policy(tiny_weights, SPEC, moved=1).save_adapter(tmp_path / "adapter")
    return tmp_path / "adapter"


def configured(folder: Path, **changes: Any) -> None:
    data = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**data, **changes}))


def test_its_modules_are_written_in_one_order(folder: Path) -> None:
    assert json.loads((folder / CONFIG).read_text())["target_modules"] == ["q_proj", "v_proj"]


def test_an_adapter_that_peft_wrote_is_read_whole(folder: Path, tiny_weights: Path) -> None:
    configured(folder, lora_dropout=0.1, base_model_name_or_path="elsewhere", later_key=None)
    assert read_spec(folder) == SPEC
    found = tiny_policy(tiny_weights, folder).adapter_state()
    saved = load_file(folder / WEIGHTS)
    assert {name.replace(".default", "") for name in found} == set(saved)
    assert all(torch.equal(found[n], saved[n.replace(".default", "")]) for n in found)


@pytest.mark.parametrize(
    "changes",
    [
        {"peft_type": "XLORA"},
        {"use_dora": True},
        {"use_rslora": True},
        {"modules_to_save": ["lm_head"]},
        {"init_lora_weights": "pissa"},
        {"task_type": "SEQ_CLS"},
        {"auto_mapping": {"parent_library": "antigravity", "base_model_class": "x"}},
        {"r": 0},
        {"r": 2**40},
        {"r": "4"},
        {"target_modules": "(a+)+$"},
        {"target_modules": []},
        {"target_modules": ["no_such_layer"]},
        {"lora_alpha": None},
    ],
    ids=str,
)
def test_what_is_not_plain_lora_is_one_line(
    folder: Path, tiny_weights: Path, changes: dict[str, Any]
) -> None:
    configured(folder, **changes)
    with pytest.raises(ModelError) as raised:
        tiny_policy(tiny_weights, folder)
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "[" * 100_000])
def test_a_broken_configuration_is_one_line(folder: Path, tiny_weights: Path, text: str) -> None:
    (folder / CONFIG).write_text(text)
    with pytest.raises(ModelError, match=r"adapter_config\.json: "):
        tiny_policy(tiny_weights, folder)


def test_a_weight_too_few_too_many_or_of_other_size_is_refused(
    folder: Path, tiny_weights: Path
) -> None:
    sound = load_file(folder / WEIGHTS)
    name = next(iter(sound))
    for weights, said in (
        ({k: v for k, v in sound.items() if k != name}, f"it has no {name}"),
        ({**sound, "extra": sound[name].clone()}, "extra is of no layer there"),
        ({**sound, name: sound[name][:1].clone()}, f"size of {name} is"),
    ):
        save_file(weights, folder / WEIGHTS)
        with pytest.raises(ModelError, match="does not fit the base model: " + said):
            tiny_policy(tiny_weights, folder)


def test_a_pickle_is_not_taken_where_there_is_no_safetensors(
    folder: Path, tiny_weights: Path, tmp_path: Path
) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "adapter_model.bin").write_bytes(pickle.dumps(Planted(tmp_path / "marker")))
    with pytest.raises(ModelError, match="cannot be read as safetensors"):
        tiny_policy(tiny_weights, folder)
    assert not (tmp_path / "marker").exists()


def test_no_module_is_imported_that_a_configuration_names(
    folder: Path, tiny_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted_module.py").write_text("raise SystemExit('executed')")
    monkeypatch.syspath_prepend(tmp_path)
    configured(folder, megatron_config={"a": 1}, megatron_core="planted_module")
    with pytest.raises(ModelError, match="megatron_co"):
        tiny_policy(tiny_weights, folder)
    assert "planted_module" not in sys.modules


def test_a_folder_of_a_hub_name_asks_nobody(tmp_path: Path, tiny_weights: Path) -> None:
    (tmp_path / "owner").mkdir()
    shutil.copytree(tmp_path / "owner", tmp_path / "owner" / "adapter")
    with pytest.raises(ModelError, match=r"no adapter_config\.json; wanted a checkpoint folder"):
        tiny_policy(tiny_weights, tmp_path / "owner" / "adapter")


@pytest.mark.parametrize(
    ("kind", "said"),
    [("vit", "Unrecognized configuration class"), ("unheard_of", "does not recognize")],
)
def test_weights_that_are_no_causal_language_model_are_one_line(
    tmp_path: Path, tiny_weights: Path, kind: str, said: str
) -> None:
    place = Path(shutil.copytree(tiny_weights, tmp_path / "other"))
    data = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**data, "model_type": kind}))
    with pytest.raises(ModelError, match=said) as raised:
        tiny_policy(place)
    assert "wanted a causal language model" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_weights_that_are_cut_off_are_one_line(tmp_path: Path, tiny_weights: Path) -> None:
    """Of GGUF: ``test_unpacking.py``."""
    place = Path(shutil.copytree(tiny_weights, tmp_path / "other"))
    (place / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(ModelError, match="cannot be loaded as a policy: "):
        tiny_policy(place)
