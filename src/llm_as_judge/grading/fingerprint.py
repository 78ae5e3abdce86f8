"""What the rules are known by: the audit, kept verdicts and workers hold on to it."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

from llm_as_judge.grading.graders import GRADERS
from llm_as_judge.imported import imported_sources, outside_packages, sources_digest

__all__ = ["grading_sources", "rules_fingerprint"]

_RULES = (
    "llm_as_judge.judge.cascade",
    "llm_as_judge.sandbox.grading",
    "llm_as_judge.types.datasets",  # a problem says by it which metric is its set's own
)
_HIDDEN_TESTS = ("llm_as_judge.sandbox.inside.grading",)
"""What runs them inside the sandbox: all that it imports decides."""
_NOT_RULES = tuple(
    f"llm_as_judge.{name}"
    for name in (
        # the judge model, which has a fingerprint of its own
        *("judge.llm_judge", "judge.records", "judge.rows"),
        # what carries a verdict, and what else a module with a grader may hold
        *("config", "errors", "files", "imported", "llm", "operators", "plugins"),
        *("processes", "reward", "runs", "sandbox", "training", "types"),
    )
)
_ALGEBRA = ("math-verify", "latex2sympy2-extended", "sympy")


def grading_sources() -> dict[str, Path]:
    """Module -> file of all that the rules and one's own graders really import.

    Raises:
        ConfigError: a grader has no source file.
    """
    own = {one.defined.__module__ for one in GRADERS.all().values()}
    rules = imported_sources([*_RULES, *sorted(own)], leaving_out=_NOT_RULES)
    return {**rules, **imported_sources(_HIDDEN_TESTS)}


def rules_fingerprint() -> str:
    """Hash of the grading code and of the packages that it stands on.

    Raises:
        ConfigError: a grader has no source file.
    """
    sources = grading_sources()
    digest = hashlib.sha256(sources_digest(sources).encode())
    for package in sorted({*_ALGEBRA, *_packages_of_graders(sources)}):
        digest.update(f"{package}=={importlib.metadata.version(package)}".encode())
    return digest.hexdigest()


def _packages_of_graders(sources: Mapping[str, Path]) -> set[str]:
    """Distributions that graders of one's own import."""
    own = {name: path for name, path in sources.items() if not name.startswith("llm_as_judge.")}
    if not own:
        return set()
    known = importlib.metadata.packages_distributions()
    return {package for name in outside_packages(own) for package in known.get(name, ())}
