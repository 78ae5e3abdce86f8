"""Packages beside the standard library, each from a folder of its own and nothing beside it."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

LOADED = ("mpmath", "sympy", "sympy.abc", "sympy.parsing.sympy_parser", "sympy.physics.units")
WHOLE = (
    *("calculus", "combinatorics", "concrete", "core", "discrete", "functions", "geometry"),
    *("integrals", "logic", "matrices", "ntheory", "polys", "series", "sets", "simplify"),
    *("solvers", "stats", "strategies", "tensor"),
)
"""Parts of sympy of which every module is loaded: its functions import many when they are called,
and where a program can name no path, only what is loaded before can be imported."""


class _Finder:
    """Finds the packages themselves; they find their own modules."""

    def __init__(self, folders: dict[str, str]) -> None:
        self._folders = folders

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if (folder := self._folders.get(name)) is None:
            return None
        return importlib.util.spec_from_file_location(
            name, f"{folder}/__init__.py", submodule_search_locations=[folder]
        )


def show(folders: dict[str, str]) -> None:
    """Lets these packages be imported: names with their folders."""
    if folders:
        sys.meta_path.append(_Finder(folders))


def load() -> None:  # pragma: no cover - in the jail
    """Imports what programs may want."""
    for name in LOADED:
        importlib.import_module(name)
    for name in WHOLE:
        part = importlib.import_module(f"sympy.{name}")
        for module in pkgutil.walk_packages(part.__path__, f"{part.__name__}."):
            if not {"tests", "benchmarks"} & set(module.name.split(".")):
                importlib.import_module(module.name)
