"""The canonical form of a program: equal for programs that differ in names, layout, comments,
annotations, or the order of keyword arguments."""

from __future__ import annotations

import ast
import hashlib

from llm_as_judge.operators import Registry
from llm_as_judge.operators.syntax import children, outside_expressions


def text_hash(text: str) -> str:
    """Hash of a text that is no program: white space aside, as it is written."""
    return _digest("text:" + " ".join(text.split()))


def canonical_hash(tree: ast.Module, operators: Registry) -> str:
    """16 hexadecimal digits for a program in class form."""
    by_attribute = operator_attributes(tree)
    form = _Normalize(by_attribute, operators)
    parts = []
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Workflow":
            parts += [form.written(item) for item in statement.body if not _is_wiring(item)]
        elif not _does_nothing(statement):
            parts.append(form.written(statement))
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


def operator_attributes(tree: ast.Module) -> dict[str, str]:
    """``self.NAME = operator.CLASS(...)``: NAME -> CLASS."""
    return {
        target.attr: _created(node.value)
        for node in outside_expressions(tree)
        if isinstance(node, ast.Assign) and _created(node.value)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }


def _created(value: ast.expr) -> str:
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="operator"), attr=name)):
            return name
    return ""


def _is_wiring(item: ast.stmt) -> bool:
    """A docstring, or an ``__init__`` that only creates the model and operators."""
    if isinstance(item, ast.FunctionDef) and item.name == "__init__":
        return all(map(_is_plain_wiring, item.body))
    return _is_text(item)


def _is_plain_wiring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass():
            return True
        case ast.Assign(targets=[ast.Attribute(attr=kept), *_], value=ast.Name(id=name)):
            return kept == name
        case ast.Assign(value=ast.Call(func=ast.Name(id="create_llm_instance"))):
            return True
        case ast.Assign(value=value):
            return bool(_created(value))
    return _is_text(statement)


class _Normalize:
    """Writes a statement without what does not matter, names numbered as they first appear."""

    def __init__(self, attributes: dict[str, str], operators: Registry) -> None:
        self._attributes = attributes
        self._operators = operators
        self._names: dict[str, str] = {}
        self._bound: set[str] = set()
        self._parts: list[str] = []

    def written(self, statement: ast.stmt) -> str:
        # Names of constants and classes are seen by other statements: they stay.
        is_function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        self._bound = _bound_names(statement) if is_function else set()
        self._names, self._parts = {}, []
        self._write(statement)
        return " ".join(self._parts)

    def _write(self, node: object) -> None:
        match node:
            case ast.Name(id=name):
                self._parts.append(f"(Name {self._renamed(name)})")
            case ast.Attribute(value=owner, attr=name):
                of_self = isinstance(owner, ast.Name) and owner.id == "self"
                self._node(
                    f"Attribute {self._attributes.get(name, name) if of_self else name}", owner
                )
            case ast.Call():
                self._call(node)
            case ast.Return(value=ast.Tuple(elts=[answer, cost])) if _is_cost(cost):
                self._node("Return", answer)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._node("Assign", [target], value, None)
            case ast.arg(arg=name):
                self._parts.append(f"(arg {self._renamed(name)})")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                body = [statement for statement in node.body if not _is_text(statement)]
                kind = f"{type(node).__name__} {self._renamed(node.name)}"
                self._node(kind, node.args, node.decorator_list, body)
            case ast.AST():
                fields = (getattr(node, name, None) for name in node._fields if name != "ctx")
                self._node(type(node).__name__, *fields)
            case list():
                self._parts.append("[")
                for item in node:
                    self._write(item)
                self._parts.append("]")
            case _:
                self._parts.append(repr(node))

    def _node(self, head: str, *fields: object) -> None:
        self._parts.append(f"({head}")
        for value in fields:
            self._write(value)
        self._parts.append(")")

    def _renamed(self, name: str) -> str:
        if name not in self._bound or name in ("self", "problem", "entry_point", "test"):
            return name
        return self._names.setdefault(name, f"%{len(self._names)}")

    def _call(self, node: ast.Call) -> None:
        positional, named = list(node.args), [(k.arg or "", k.value) for k in node.keywords]
        names = self._argument_names(node.func)
        starred = any(isinstance(argument, ast.Starred) for argument in positional)
        if len(positional) <= len(names) and not starred:
            named = [*zip(names, positional, strict=False), *named]
            positional = []
        self._parts.append("(Call")
        self._write(node.func)
        self._write(positional)
        for name, value in sorted(named, key=lambda item: item[0]):
            self._parts.append(f"{name}=")
            self._write(value)
        self._parts.append(")")

    def _argument_names(self, function: ast.expr) -> list[str]:
        """Names of an operator's arguments; empty for any other function."""
        if not isinstance(function, ast.Attribute):
            return []
        entry = self._operators.get(self._attributes.get(function.attr, ""))
        return [argument.name for argument in entry.arguments] if entry is not None else []


def _is_cost(node: ast.expr) -> bool:
    """A number, or what AFlow's programs return: ``self.llm.get_usage_summary()["total_cost"]``."""
    return isinstance(node, ast.Constant) or ast.unparse(node).startswith("self.llm.")


def _bound_names(statement: ast.stmt) -> set[str]:
    bound: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        todo.extend(children(node))
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not statement:
            bound.add(node.name)
    return bound
