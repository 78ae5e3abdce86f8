"""Memory of weights and an adapter is told from shapes alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from llm_as_judge.config import find_model
from llm_as_judge.training.memory import listed_line, memory_line, tensor_shapes

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def test_shapes_are_read_without_loading_and_a_broken_file_has_none(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    name = "model.layers.0.self_attn.q_proj.weight"
    save_file({name: torch.zeros(8, 4)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    entry = find_model(str(tmp_path))
    assert entry is not None
    assert tensor_shapes(entry, tmp_path) == {name: (8, 4)}
    (tmp_path / "model.safetensors").write_bytes(b"short")
    assert tensor_shapes(entry, tmp_path) == {}


def test_weights_on_the_hub_that_cannot_be_reached_have_no_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    entry = find_model("nobody/nothing")
    assert entry is not None
    assert tensor_shapes(entry, tmp_path) == {}


def test_of_weights_that_cannot_be_reached_the_listed_size_is_told() -> None:
    listed, unknown = find_model("qwen25-7b"), find_model("nobody/nothing")
    assert listed is not None
    assert unknown is not None
    assert listed_line(listed).startswith("weights about 15.2 GB in bfloat16, 30.5 GB in float32, ")
    assert listed_line(unknown) == ""


def test_the_memory_of_a_7b_is_what_the_page_of_answers_says() -> None:
    """Shapes of Qwen2.5-7B: 28 layers, 3,584 wide, 18,944 inside, 4 of 28 heads for keys and values."""
    wide, inside, keys = 3584, 18944, 512
    layer = {
        "self_attn.q_proj": (wide, wide),
        "self_attn.k_proj": (keys, wide),
        "self_attn.v_proj": (keys, wide),
        "self_attn.o_proj": (wide, wide),
        "mlp.gate_proj": (inside, wide),
        "mlp.up_proj": (inside, wide),
        "mlp.down_proj": (wide, inside),
    }
    shapes: dict[str, tuple[int, ...]] = {
        f"model.layers.{n}.{name}.weight": shape for n in range(28) for name, shape in layer.items()
    }
    shapes |= {"model.embed_tokens.weight": (152064, wide), "lm_head.weight": (152064, wide)}
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")
    for rank, said in ((8, "0.3"), (64, "2.6"), (128, "5.2")):
        line = memory_line(shapes, rank, TARGETS)
        assert line.startswith("weights 15.2 GB in bfloat16, 30.5 GB in float32; adapter of rank ")
        assert f"rank {rank} with its Adam state {said} GB" in line
        assert any(
            row.startswith(f"| {rank} |") and f"| {said} GB |" in row for row in page.splitlines()
        )
