"""LLM-as-Judge: trains a language model, by GRPO with LoRA, to write agent workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_as_judge.assembly.trainer import GRPOTrainer

__all__ = ["GRPOTrainer", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Imported on use: `llm-as-judge --help` and the checker must not load torch.
    if name == "GRPOTrainer":
        from llm_as_judge.assembly.trainer import GRPOTrainer

        return GRPOTrainer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
