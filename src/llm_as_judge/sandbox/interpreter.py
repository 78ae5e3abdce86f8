"""Host files that a jail shows: what the interpreter needs, packages beside it, and nothing more."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from llm_as_judge.errors import SandboxError

LDD_S = 120.0
"""It starts a process for each of some eighty files: half a second, minutes on a starved machine."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The interpreter under the virtual environment, if there is one."""

    executable: Path
    library: Path
    """The standard library's folder."""
    extensions: Path
    """The folder of its compiled modules; mostly inside ``library``."""
    shared_objects: tuple[Path, ...] = ()
    """What the loader opens for them, under the names by which it asks."""

    @property
    def folders(self) -> tuple[Path, ...]:
        inside = self.extensions.is_relative_to(self.library)
        return (self.library,) if inside else (self.library, self.extensions)


@cache
def host_interpreter() -> Interpreter:
    """The interpreter that runs this code.

    Raises:
        SandboxError: ``ldd`` is missing or cannot read it.
    """
    executable = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib")).resolve()
    extensions = Path(sysconfig.get_config_var("DESTSHARED") or library / "lib-dynload").resolve()
    compiled = sorted(extensions.glob("*.so")) if extensions.is_dir() else []
    return Interpreter(executable, library, extensions, _linked([executable, *compiled]))


def _linked(objects: list[Path]) -> tuple[Path, ...]:
    command = ["ldd", *map(str, objects)]
    try:
        listing = subprocess.run(
            command, capture_output=True, text=True, timeout=LDD_S, check=False
        )
    except OSError as error:
        raise SandboxError(
            f"sandbox: cannot list the interpreter's libraries: ldd: {error.strerror}"
        ) from error
    except subprocess.TimeoutExpired:  # its own text holds every file's path
        raise SandboxError(
            f"sandbox: cannot list the interpreter's libraries: ldd took more than {LDD_S:g} s for "
            f"{len(objects)} files; the machine has no processor time to spare: try again"
        ) from None
    found = set()
    for line in listing.stdout.splitlines():
        # "libz.so.1 => /lib/libz.so.1 (0x7f...)" or "/lib64/ld-linux-x86-64.so.2 (0x7f...)"
        target = line.split("=>")[-1].split("(")[0].strip()
        if target.startswith("/") and not target.endswith(":"):
            found.add(Path(target))
    return tuple(sorted(found))


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
