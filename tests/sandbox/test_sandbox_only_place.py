"""Model-written code is executed in the child's side of the sandbox and nowhere else."""

from __future__ import annotations

import ast
import functools
import sys
from pathlib import Path

import llm_as_judge

PACKAGE = Path(llm_as_judge.__file__).parent
CHILD_SIDE = "sandbox/inside/"
EXECUTING = {"exec", "eval", "__import__", "system", "popen", "runpy", "run_path", "run_module"}
SUBPROCESS_ALLOWED = {
    "llm/local.py": "the model server",
    "processes/pool.py": "workers of this package: formulas, data sets",
    "interruptible.py": "children of this package that unpack weights, and pip for wheels.py",
    "wheels.py": "names of pip's failures",
    "sandbox/interpreter.py": "ldd on the interpreter",
    "sandbox/forkserver.py": "bubblewrap and the fork server",
}


@functools.cache
def sources() -> dict[str, ast.Module]:
    """The syntax of each file of the package."""
    files = PACKAGE.rglob("*.py")
    return {p.relative_to(PACKAGE).as_posix(): ast.parse(p.read_text("utf-8")) for p in files}


def executing_calls(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in EXECUTING:
                found.add(function.id)
            owner = function.value if isinstance(function, ast.Attribute) else None
            if isinstance(owner, ast.Name) and owner.id in ("os", "builtins", "runpy"):
                found |= {function.attr} & EXECUTING  # type: ignore[attr-defined]
    return found


def test_search_finds_what_it_looks_for() -> None:
    source = "exec(a)\nos.system(b)\nbuiltins.eval(c)\nmodel.eval()\nre.compile(d)"
    assert executing_calls(ast.parse(source)) == {"exec", "system", "eval"}


def test_nothing_outside_the_child_executes_text() -> None:
    guilty = {
        name: found
        for name, tree in sources().items()
        if not name.startswith(CHILD_SIDE) and (found := executing_calls(tree))
    }
    assert guilty == {}


def test_processes_are_started_only_where_it_is_known_why() -> None:
    starting = set()
    for name, tree in sources().items():
        imports = [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
        names = {alias.name for node in imports for alias in node.names}
        if names & {"subprocess", "multiprocessing", "pty", "ProcessPoolExecutor"}:
            starting.add(name)
    assert starting <= set(SUBPROCESS_ALLOWED)


def test_child_side_imports_the_standard_library_and_itself_alone() -> None:
    inside = {name: tree for name, tree in sources().items() if name.startswith(CHILD_SIDE)}
    assert inside
    for name, tree in inside.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                roots = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                roots = {str(node.module).split(".")[0]}
            else:
                continue
            assert roots <= sys.stdlib_module_names, name
