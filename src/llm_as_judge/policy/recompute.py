"""Activations that the backward pass computes again: less memory, more time.

Transformers 5.23 calls ``activation_checkpointing_*`` what was ``gradient_checkpointing_*`` before, and version
6 ends the older names.
"""

from __future__ import annotations

from typing import Any


def recompute_activations(base: Any) -> None:
    """From now on a transformers model in training mode keeps the inputs of its layers alone."""
    _method(base, "checkpointing_enable")({"use_reentrant": False})


def keep_activations(base: Any) -> None:
    """The inverse of :func:`recompute_activations`."""
    _method(base, "checkpointing_disable")()
    base.disable_input_require_grads()


def recomputes_activations(base: Any) -> bool:
    return any(getattr(module, "gradient_checkpointing", False) for module in base.modules())


def _method(base: Any, name: str) -> Any:
    newer = getattr(base, f"activation_{name}", None)
    return newer or getattr(base, f"gradient_{name}")
