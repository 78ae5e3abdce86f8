"""Checkpoints: complete or absent, newest first, never read by executing them."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors import SafetensorError

from llm_as_judge.errors import ModelError, OutputError
from llm_as_judge.policy.checkpoint import (
    LATEST,
    MANIFEST,
    checkpoints,
    latest_checkpoint,
    load_state,
    newest_first,
    require_whole,
    save_checkpoint,
    set_aside,
)
from llm_as_judge.policy.model import Policy
from tiny_models import tiny_policy

TENSORS = {"moment": torch.arange(6.0).reshape(2, 3)}


@pytest.fixture(scope="module")
def policy(tiny_weights: Path) -> Policy:
    return tiny_policy(tiny_weights)


def save(root: Path, step: int, policy: Policy, keep: int = 3, **given: Any) -> Path:
    state = {"step": step, "nested": {"a": [1, 2]}}
    config = {"policy": {"name": "tiny"}}
    usual = {"state": state, "tensors": TENSORS, "config": config, "keep": keep}
    return save_checkpoint(root, step, policy, **{**usual, **given})


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_what_is_saved_is_read_back(tmp_path: Path, policy: Policy) -> None:
    folder = save(tmp_path / "new", 12, policy)
    saved = load_state(folder)
    assert folder == tmp_path / "new" / "step_12"
    assert saved.state == {"step": 12, "nested": {"a": [1, 2]}}
    assert torch.equal(saved.tensors["moment"], TENSORS["moment"])
    assert yaml.safe_load((folder / "config.yaml").read_text()) == {"policy": {"name": "tiny"}}
    suffixes = {path.suffix for path in folder.iterdir()}
    assert suffixes <= {".json", ".safetensors", ".yaml", ".md"}  # no pickle


def test_the_adapter_comes_back_bit_for_bit(tmp_path: Path, tiny_weights: Path) -> None:
    trained = tiny_policy(tiny_weights, moved=1, seed=2)
    folder = save(tmp_path, 1, trained)
    loaded = tiny_policy(tiny_weights, folder, seed=3)
    wanted, found = trained.adapter_state(), loaded.adapter_state()
    assert wanted.keys() == found.keys()
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)


def test_latest_names_the_newest_and_only_keep_remain(tmp_path: Path, policy: Policy) -> None:
    for root in (tmp_path, tmp_path / "missing"):
        assert latest_checkpoint(root) is None
    for step in (8, 9, 10, 11):
        save(tmp_path, step, policy, keep=2)
    assert [path.name for path in checkpoints(tmp_path)] == ["step_10", "step_11"]
    assert names(tmp_path) == [LATEST, "step_10", "step_11"]
    assert (tmp_path / LATEST).read_text() == "step_11\n"
    assert latest_checkpoint(tmp_path) == tmp_path / "step_11"


def test_what_is_written_last_is_kept_though_its_step_is_lower(
    tmp_path: Path, policy: Policy
) -> None:
    for step in (50, 100):
        save(tmp_path, step, policy, keep=2)
    fresh = save(tmp_path, 10, policy, keep=2)
    assert fresh.is_dir()
    assert latest_checkpoint(tmp_path) == fresh


def test_the_checkpoints_of_earlier_runs_are_set_aside_whole(
    tmp_path: Path, policy: Policy
) -> None:
    assert set_aside(tmp_path / "none") is None
    assert set_aside(tmp_path) is None
    save(tmp_path, 1, policy)
    weights = save(tmp_path, 3, policy) / "adapter_model.safetensors"
    wanted = weights.read_bytes()
    (tmp_path / ".earlier").mkdir()  # killed while it moved the first
    (tmp_path / "step_1").replace(tmp_path / ".earlier" / "step_1")
    assert set_aside(tmp_path) == tmp_path / "earlier_1"
    assert names(tmp_path) == ["earlier_1"]
    assert latest_checkpoint(tmp_path) is None
    save(tmp_path, 3, policy)
    assert set_aside(tmp_path) == tmp_path / "earlier_2"
    assert names(tmp_path / "earlier_1") == [LATEST, "step_1", "step_3"]
    kept = latest_checkpoint(tmp_path / "earlier_1")
    assert kept is not None
    require_whole(kept)
    assert (kept / "adapter_model.safetensors").read_bytes() == wanted


def test_the_same_step_again_replaces_it(tmp_path: Path, policy: Policy) -> None:
    folder = save(tmp_path, 3, policy)
    (folder / "left_over").write_text("x")
    assert save(tmp_path, 3, policy) == folder
    assert not (folder / "left_over").exists()


@pytest.mark.parametrize(
    "pointer", [b"step_99\n", b"", b"\n", b"\xb2\xff", b"../x", b"a\0b", b"a" * 9999], ids=repr
)
def test_a_stale_latest_falls_back_to_the_highest_step(
    tmp_path: Path, policy: Policy, pointer: bytes
) -> None:
    for step in (9, 10, 100):  # as numbers, not as texts
        save(tmp_path, step, policy)
    (tmp_path / LATEST).write_bytes(pointer)
    assert [path.name for path in checkpoints(tmp_path)] == ["step_9", "step_10", "step_100"]
    assert latest_checkpoint(tmp_path) == tmp_path / "step_100"


def test_folders_that_are_no_checkpoints_are_passed_over(tmp_path: Path, policy: Policy) -> None:
    save(tmp_path, 2, policy)
    (tmp_path / "step_7").mkdir()  # no state.json
    (tmp_path / "step_best").mkdir()
    (tmp_path / "step_best" / "state.json").write_text("{}")
    (tmp_path / LATEST).unlink()
    assert latest_checkpoint(tmp_path) == tmp_path / "step_2"


@pytest.mark.parametrize("name", ["state.json", "optimizer.safetensors"])
@pytest.mark.parametrize("broken", [None, b"", b'{"step": ', b"\xff\xfe\x00"], ids=repr)
def test_a_broken_checkpoint_is_a_model_error_that_names_the_folder(
    tmp_path: Path, policy: Policy, name: str, broken: bytes | None
) -> None:
    folder = save(tmp_path, 4, policy)
    (folder / name).unlink()
    if broken is not None:
        (folder / name).write_bytes(broken)
    with pytest.raises(ModelError, match=r"step_4: not a complete checkpoint"):
        load_state(folder)


def test_a_failed_save_leaves_the_one_before_in_place(tmp_path: Path, policy: Policy) -> None:
    good = save(tmp_path, 4, policy)
    with pytest.raises(TypeError):
        save(tmp_path, 5, policy, state={"bad": object()})
    assert names(tmp_path) == [LATEST, "step_4"]
    assert load_state(good).state == json.loads((good / "state.json").read_text())


def test_a_root_that_is_a_file_is_an_output_error(tmp_path: Path, policy: Policy) -> None:
    (tmp_path / "root").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        save(tmp_path / "root", 1, policy)


def test_the_experience_buffer_lies_in_the_checkpoint(tmp_path: Path, policy: Policy) -> None:
    target = save(tmp_path, 1, policy, experience={"math.jsonl": "{}\n"})
    assert [p.name for p in (target / "experience").iterdir()] == ["math.jsonl"]
    assert (target / "experience" / "math.jsonl").read_text() == "{}\n"
    assert not (save(tmp_path, 2, policy) / "experience").exists()


def test_one_changed_byte_of_any_file_is_found_and_named(tmp_path: Path, policy: Policy) -> None:
    folder = save(tmp_path, 4, policy)
    assert load_state(folder).state["step"] == 4
    files = [path for path in folder.iterdir() if path.name != MANIFEST]
    assert len(files) >= 5
    for path in files:
        sound = path.read_bytes()
        middle = len(sound) // 2
        path.write_bytes(sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :])
        with pytest.raises(ModelError, match=rf"step_4: .*{path.name} has changed since"):
            load_state(folder)
        path.write_bytes(sound)
    assert load_state(folder).state["step"] == 4


@pytest.mark.parametrize("text", ["", "[]", '{"order": "1", "files": {}}', '{"order": 1}'])
def test_a_broken_manifest_is_a_model_error(tmp_path: Path, policy: Policy, text: str) -> None:
    folder = save(tmp_path, 4, policy)
    (folder / MANIFEST).write_text(text)
    with pytest.raises(ModelError, match=r"manifest\.json: not a manifest"):
        load_state(folder)


def test_a_checkpoint_of_before_there_were_manifests_is_read(
    tmp_path: Path, policy: Policy
) -> None:
    folder = save(tmp_path, 4, policy)
    (folder / MANIFEST).unlink()
    assert load_state(folder).state["step"] == 4
    weights = folder / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    with pytest.raises(ModelError, match=r"step_4: not a complete checkpoint"):
        load_state(folder)


def test_a_clock_that_was_set_back_does_not_cost_the_newest_checkpoint(
    tmp_path: Path, policy: Policy
) -> None:
    far = 4_000_000_000  # the year 2096
    for step in (1, 2):
        folder = save(tmp_path, step, policy, keep=2)
        os.utime(folder / "state.json", (far + step, far + step))
    newest = save(tmp_path, 3, policy, keep=2)
    assert [path.name for path in newest_first(tmp_path)] == ["step_3", "step_2"]
    assert latest_checkpoint(tmp_path) == newest
    assert names(tmp_path) == [LATEST, "step_2", "step_3"]


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.write_text, (self.marker, "executed"))


@pytest.mark.parametrize("manifest", ["kept", "removed"])
@pytest.mark.parametrize("name", ["optimizer.safetensors", "adapter_model.safetensors"])
def test_a_pickle_in_place_of_tensors_is_refused_and_not_opened(
    tmp_path: Path, policy: Policy, name: str, manifest: str
) -> None:
    folder = save(tmp_path / "root", 4, policy)
    planted = pickle.dumps(Planted(tmp_path / "marker"))
    (folder / name).write_bytes(planted)
    for other in ("optimizer.pt", "adapter_model.bin", "rng_state.pth", "training_args.bin"):
        (folder / other).write_bytes(planted)
    if manifest == "removed":
        (folder / MANIFEST).unlink()
    with pytest.raises(ModelError, match="not a complete checkpoint"):
        load_state(folder)
    assert not (tmp_path / "marker").exists()
    pickle.loads(planted)  # noqa: S301 -- it would have
    assert (tmp_path / "marker").read_text() == "executed"


def test_a_full_disk_under_the_weights_is_one_line(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left (os error 28)")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(OutputError, match=r"step_1: cannot be written: the disk is full; free"):
        save(tmp_path, 1, policy)
