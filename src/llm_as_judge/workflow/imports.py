"""Normalization of a given program: AFlow's own imports are known and dropped, the body form is wrapped."""

from __future__ import annotations

import ast
from collections.abc import Callable

from llm_as_judge.operators import Registry
from llm_as_judge.types import Domain
from llm_as_judge.workflow.findings import GIVEN_MODULES

_GIVEN_NAMES = frozenset({"operator", "create_llm_instance", "DatasetType"})


def given_imports(tree: ast.Module) -> list[ast.stmt]:
    """Imports of what is given, as AFlow's programs write them."""
    return [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom) and _is_given(s)]


def _is_given(statement: ast.Import | ast.ImportFrom) -> bool:
    bound = {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        modules = ["." * statement.level + (statement.module or "")]
    else:
        modules = [alias.name for alias in statement.names]
    known = all(m.lstrip(".").partition(".")[0] in (*GIVEN_MODULES, "") for m in modules)
    return known and bound <= _GIVEN_NAMES


def drop_given_import(statement: ast.stmt) -> Callable[[ast.Module], None]:
    """Removes the import; ``DatasetType``, which only annotates, becomes ``str``."""

    def apply(tree: ast.Module) -> None:
        names = {a.asname or a.name for a in getattr(statement, "names", [])}
        index = tree.body.index(statement)
        instead = ast.parse("DatasetType = str").body if "DatasetType" in names else []
        tree.body[index : index + 1] = instead

    return apply


def wrap_body(body: ast.Module, operators: Registry, domain: Domain) -> ast.Module:
    """The class around the statements of ``__call__``.

    Operators are names there: each becomes ``self.NAME``, but for one that the body itself
    assigns, which gets its first value in a statement before the body. Only operators that are
    named are created.
    """
    by_name = {entry.call_name: entry.name for entry in operators.values()}
    named = {n.id for n in ast.walk(body) if isinstance(n, ast.Name)} & by_name.keys()
    assigned = {
        n.id for n in ast.walk(body) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    arguments = "problem, entry_point" if domain == "code" else "problem"
    lines = ["class Workflow:", "    def __init__(self, name, llm_config, dataset):"]
    lines.append("        self.llm = create_llm_instance(llm_config)")
    lines += [f"        self.{n} = operator.{by_name[n]}(self.llm)" for n in sorted(named)]
    lines.append(f"    async def __call__(self, {arguments}):")
    lines += [f"        {n} = self.{n}" for n in sorted(named & assigned)] or ["        pass"]
    tree = ast.parse("\n".join(lines))
    (workflow,) = tree.body
    assert isinstance(workflow, ast.ClassDef)
    call = workflow.body[1]
    assert isinstance(call, ast.AsyncFunctionDef)
    replaced = _Qualify(named - assigned)
    statements = [replaced.visit(statement) for statement in body.body]
    last = body.body[-1] if body.body else None
    line, column = (last.end_lineno or 1, last.end_col_offset or 0) if last else (1, 0)
    for node in ast.walk(tree):  # a finding on the whole stands behind what was written
        if isinstance(node, ast.stmt):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = column
    prelude = [] if isinstance(call.body[0], ast.Pass) else call.body
    call.body = [*prelude, *statements] or call.body
    return tree


class _Qualify(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names:
            return node
        owner = ast.copy_location(ast.Name("self", ast.Load()), node)
        return ast.copy_location(ast.Attribute(owner, node.id, ast.Load()), node)
