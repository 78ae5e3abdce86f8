"""Fingerprint of the rules: the audit, kept verdicts and workers hold on to it."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from llm_as_judge.grading.graders import GRADERS
from llm_as_judge.imported import imported_sources, outside_packages, sources_digest
from llm_as_judge.types import DATASET_INFO, is_shipped

_RULES = (
    "llm_as_judge.judge.cascade",
    "llm_as_judge.sandbox.grading",
    "llm_as_judge.types.datasets",  # a problem says by it which metric is its set's own
)
_HIDDEN_TESTS = ("llm_as_judge.sandbox.inside.grading",)
"""What runs them inside the sandbox: all that it imports decides."""
NOT_JUDGING = tuple(
    f"llm_as_judge.{name}"
    for name in (
        *("judge.kinds", "judge.records", "judge.rows", "config", "data", "errors", "files"),
        *("imported", "llm", "operators", "plugins", "policy", "processes", "reward", "runs"),
        *("sandbox", "training", "types"),
    )
)
"""What carries a verdict, and what else a module of one's own may hold."""
_NOT_RULES = (*NOT_JUDGING, "llm_as_judge.judge.llm_judge")  # it has a fingerprint of its own
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
    own_sets = (info for info in DATASET_INFO.values() if not is_shipped(info.name))
    return _fingerprint(grading_sources(), _ALGEBRA, map(repr, own_sets))


def code_fingerprint(modules: Sequence[str], leaving_out: Collection[str]) -> str:
    """Hash of these modules, of what they import, and of the packages that they stand on.

    Raises:
        ConfigError: one has no source file.
    """
    return _fingerprint(imported_sources(modules, leaving_out=leaving_out))


def _fingerprint(
    sources: Mapping[str, Path], packages: Sequence[str] = (), also: Iterable[str] = ()
) -> str:
    digest = hashlib.sha256(sources_digest(sources).encode())
    for package in sorted({*packages, *_packages_of_own(sources)}):
        digest.update(f"{package}=={importlib.metadata.version(package)}".encode())
    for text in also:
        digest.update(text.encode())
    return digest.hexdigest()


def _packages_of_own(sources: Mapping[str, Path]) -> set[str]:
    """Distributions that modules outside this package import."""
    own = {name: path for name, path in sources.items() if not name.startswith("llm_as_judge.")}
    if not own:
        return set()
    known = importlib.metadata.packages_distributions()
    return {package for name in outside_packages(own) for package in known.get(name, ())}
