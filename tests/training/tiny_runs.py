"""The configuration that runs of the tiny policy have in common."""

from __future__ import annotations

from typing import Any


def tiny_settings(executor: str, **training: Any) -> dict[str, Any]:
    """Sections of a configuration; the caller adds data and output."""
    return {
        "policy": {
            "name": "tiny",
            "device": "cpu",
            "dtype": "float32",
            "lora_rank": 4,
            "lora_alpha": 8,
        },
        "sampling": {
            "temperature": 1.0,
            "max_new_tokens": 60,
            "form": "body",
            "prompt_style": "short",
        },
        "executor": {"model": executor},
        "judge": {"model": "none"},
        "training": {"learning_rate": 1e-3, **training},
    }
