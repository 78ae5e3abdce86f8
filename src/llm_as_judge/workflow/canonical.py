"""The canonical form of a program: equal for programs that differ in names, layout, comments,
annotations, or the order of keyword arguments."""

from __future__ import annotations

import ast
import copy
import hashlib

from llm_as_judge.operators import Registry

__all__ = ["canonical_hash", "text_hash"]


def text_hash(text: str) -> str:
    """Hash of a text that is no program: white space aside, as it is written."""
    return _digest("text:" + " ".join(text.split()))


def canonical_hash(tree: ast.Module, operators: Registry) -> str:
    """16 hexadecimal digits; the tree is a program in class form and stays as it is."""
    tree = copy.deepcopy(tree)
    by_attribute = _operator_attributes(tree)
    form = _Normalise(by_attribute, operators)
    parts = []
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Workflow":
            parts += [form.function(item) for item in statement.body if not _is_wiring(item)]
        elif not _does_nothing(statement):
            parts.append(form.function(statement))
    return _digest("program:" + "\n".join(parts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _does_nothing(statement: ast.stmt) -> bool:
    """Imports, and the stand-in for AFlow's annotation: what is used of them shows elsewhere."""
    if isinstance(statement, ast.Import | ast.ImportFrom) or _is_text(statement):
        return True
    return isinstance(statement, ast.Assign) and ast.unparse(statement) == "DatasetType = str"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _operator_attributes(tree: ast.Module) -> dict[str, str]:
    """``self.NAME = operator.CLASS(...)``: NAME -> CLASS."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (operator := _created(node.value)):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    found[target.attr] = operator
    return found


def _created(value: ast.expr) -> str:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        owner = value.func.value
        if isinstance(owner, ast.Name) and owner.id == "operator":
            return value.func.attr
    return ""


def _is_wiring(item: ast.stmt) -> bool:
    """A docstring, or an ``__init__`` that only creates the model and operators."""
    if _is_text(item):
        return True
    if not (isinstance(item, ast.FunctionDef) and item.name == "__init__"):
        return False
    return all(_is_text(s) or _is_plain_wiring(s) for s in item.body)


def _is_plain_wiring(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    if _created(statement.value):
        return True
    source = ast.unparse(statement.value)
    return source in ("name", "dataset", "llm_config") or source.startswith("create_llm_instance")


class _Normalise(ast.NodeTransformer):
    def __init__(self, attributes: dict[str, str], operators: Registry) -> None:
        self._attributes = attributes
        self._operators = operators
        self._names: dict[str, str] = {}
        self._bound: set[str] = set()

    def function(self, statement: ast.stmt) -> str:
        self._bound = _bound_names(statement)
        self._names = {}
        return ast.dump(self.visit(statement))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._renamed(node.id)
        node.ctx = ast.Load()
        return node

    def _renamed(self, name: str) -> str:
        if name not in self._bound or name in ("self", "problem", "entry_point", "test"):
            return name
        return self._names.setdefault(name, f"v{len(self._names)}")

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        node.arg = self._renamed(node.arg)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            node.attr = self._attributes.get(node.attr, node.attr)
        node.ctx = ast.Load()
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        entry = (
            self._operators.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
        )
        if entry is not None and not any(isinstance(a, ast.Starred) for a in node.args):
            names = [argument.name for argument in entry.arguments]
            if len(node.args) <= len(names):
                given = zip(names, node.args, strict=False)
                node.keywords = [ast.keyword(n, a) for n, a in given] + node.keywords
                node.args = []
        node.keywords.sort(key=lambda keyword: keyword.arg or "")
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.Assign(targets=[node.target], value=node.value))  # type: ignore[no-any-return]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            second = node.value.elts[1]
            if isinstance(second, ast.Constant):
                node.value = node.value.elts[0]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        if node.name in self._bound:
            node.name = self._renamed(node.name)
        node.body = [s for s in node.body if not _is_text(s)] or [ast.Pass()]
        self.generic_visit(node)
        return node


def _bound_names(statement: ast.stmt) -> set[str]:
    bound: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not statement:
            bound.add(node.name)
    return bound
