"""Source files of a module: its own, and those that it imports, read from their source.

Nothing is imported for this. An import that runs only for type checkers is none.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from llm_as_judge.errors import ConfigError

OURS = "llm_as_judge"
_Source = Callable[[str], Path | None]
"""The source file of a module."""


def imported_sources(
    modules: Iterable[str], *, leaving_out: Collection[str] = ()
) -> dict[str, Path]:
    """Module name -> file, of these modules and of all that they import, however far away.

    Followed are modules of this package, modules of the package of whoever imports them, and
    modules beside a plugin that is one file.

    Args:
        leaving_out: modules and packages that are not followed.
    Raises:
        ConfigError: one of ``modules`` has no source file.
    """
    source = functools.cache(_source)  # hundreds of imports name the same few modules
    waiting = list(modules)
    for name in waiting:
        if source(name) is None:
            raise ConfigError(
                f"module {name!r} has no source file to record; put what you add into a .py file "
                "and import it"
            )
    found: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        path = source(name)
        if name in found or path is None:
            continue
        found[name] = path
        waiting += [
            imported
            for imported in _imports(name, path, source)
            if _is_followed(imported, name, source) and not _is_in(imported, leaving_out)
        ]
    return dict(sorted(found.items()))


def outside_packages(sources: Mapping[str, Path]) -> list[str]:
    """Top-level names of what these modules import and :func:`imported_sources` does not follow,
    without Python's own library."""
    source = functools.cache(_source)
    names = {
        imported.partition(".")[0]
        for name, path in sources.items()
        for imported in _imports(name, path, source)
        if not _is_followed(imported, name, source)
    }
    return sorted(names - sys.stdlib_module_names)


def sources_digest(sources: Mapping[str, Path]) -> str:
    """SHA-256 of modules: their source, and the files beside them that they name, as word lists."""
    digest = hashlib.sha256()
    for name, path in sorted(sources.items()):
        for file in (path, *_named_files(path)):
            digest.update(f"\0{name}/{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _named_files(path: Path) -> list[Path]:
    """Files in a module's folder whose whole name stands in it as a text; modules are none."""
    texts = _texts(path.read_bytes())
    return [
        file
        for file in sorted(path.parent.iterdir())
        if file.name in texts and file.suffix != ".py" and file.is_file()
    ]


@functools.lru_cache(maxsize=1024)
def _texts(source: bytes) -> frozenset[str]:
    nodes = ast.walk(ast.parse(source))
    return frozenset(
        n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )


def _is_in(module: str, packages: Collection[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _is_followed(imported: str, importer: str, source: _Source) -> bool:
    top, own = imported.partition(".")[0], importer.partition(".")[0]
    if top in (OURS, own):
        return True
    folder, beside = _folder(source(top)), _folder(source(own))
    return folder is not None and folder == beside and not folder.name.endswith("-packages")


def _folder(path: Path | None) -> Path | None:
    """Where a top-level module lies."""
    if path is None:
        return None
    return path.parent.parent if path.name == "__init__.py" else path.parent


def _source(module: str) -> Path | None:
    """The source file of a module, found without importing it."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is not None:
        return Path(loaded) if Path(loaded).suffix == ".py" else None
    top, _, rest = module.partition(".")
    if rest:
        parent = _source(top)
        if parent is None or parent.name != "__init__.py":
            return None
        inner = parent.parent.joinpath(*rest.split("."))
        files = (inner / "__init__.py", inner.with_name(f"{inner.name}.py"))
        return next((path for path in files if path.is_file()), None)
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # a module without a specification, as __main__
        return None
    origin = spec.origin if spec else None
    return Path(origin) if origin and Path(origin).suffix == ".py" else None


def _imports(module: str, path: Path, source: _Source) -> list[str]:
    """The modules that a file imports."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = []
    for base, name in _statements(path.read_bytes(), package):
        inner = f"{base}.{name}"
        found.append(inner if name and source(inner) is not None else base)
    return found


@functools.lru_cache(maxsize=1024)
def _statements(source: bytes, package: str) -> tuple[tuple[str, str], ...]:
    """(module, name taken from it or "") of each import that runs."""
    found: list[tuple[str, str]] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*parents, node.module or ""]).strip(".") if node.level else node.module
            found += [(base or "", alias.name) for alias in node.names]
        waiting += ast.iter_child_nodes(node)
    return tuple(sorted(set(found)))
