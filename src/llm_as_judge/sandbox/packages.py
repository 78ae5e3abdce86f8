"""The packages that code of the executor may import beside the standard library.

They are pure Python and come with this project's grading of mathematics. Only a run of a function
whose source names one of them sees them: workflows and graders never do.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from llm_as_judge.errors import SandboxError

PACKAGES = ("mpmath", "sympy")

_NAMED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})\b")


def names_a_package(source: str) -> bool:
    """True if one of them could be imported by ``source``; a comment that names one counts too."""
    return _NAMED.search(source) is not None


@cache
def package_folders() -> dict[str, Path]:
    """Where they are installed, found without running them.

    Raises:
        SandboxError: one is missing, or holds compiled modules, which a jail cannot load.
    """
    return {name: _folder(name) for name in PACKAGES}


def _folder(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SandboxError(f"sandbox: the package {name} is not installed: pip install {name}")
    folder = Path(spec.origin).resolve().parent
    if compiled := next(folder.rglob("*.so"), None):
        raise SandboxError(f"sandbox: {compiled} is compiled, wanted {name} in pure Python")
    return folder
