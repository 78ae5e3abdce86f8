"""Changes to the copy that runs, each with the name under which it is told."""

from __future__ import annotations

import ast
from collections.abc import Callable

from llm_as_judge.operators import Registry
from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.findings import Repair


def innermost_call(node: ast.expr) -> ast.expr:
    """``f()`` of ``f()["a"].b``, also where it is awaited already; ``node`` itself otherwise."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.value if isinstance(node, ast.Await) else node


def await_call(call: ast.Call) -> Repair:
    def apply(tree: ast.Module) -> None:
        class Wrap(ast.NodeTransformer):
            def visit_Await(self, node: ast.Await) -> ast.AST:
                if node.value is call:
                    return node
                self.generic_visit(node)
                # `await f()["key"]` awaits the item: the await belongs to the call inside.
                return node.value if innermost_call(node.value) is call else node

            def visit_Call(self, node: ast.Call) -> ast.AST:
                self.generic_visit(node)
                if node is not call:
                    return node
                return ast.copy_location(ast.Await(value=node), node)

        Wrap().visit(tree)

    return Repair("await", apply)


def import_module(name: str) -> Repair:
    return Repair("import", lambda tree: tree.body.insert(0, ast.Import([ast.alias(name)])))


def add_to_init(line: str, first: bool = False) -> Repair:
    """Adds a statement to ``__init__`` of ``Workflow``, which is made if it is missing."""

    def apply(tree: ast.Module) -> None:
        statement = ast.parse(line).body[0]
        body = init_of(tree).body
        if first:
            body.insert(0, statement)
        elif len(body) == 1 and isinstance(body[0], ast.Pass):
            body[:] = [statement]
        else:
            body.append(statement)

    return Repair("init_line", apply)


def init_of(tree: ast.Module) -> ast.FunctionDef:
    (workflow,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Workflow"]
    for item in workflow.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return item
    made = ast.parse("def __init__(self, name, llm_config, dataset):\n    pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    workflow.body.insert(0, made)
    return made


def give_first_value(
    function: ast.AST, name: str, assigned: Callable[[], v.Value | None], operators: Registry
) -> Repair | None:
    """``name = <empty>`` as the first statement of ``function``, of the type that is assigned
    later; without effect where no plain empty value fits that type."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None

    def apply(tree: ast.Module) -> None:
        source = _empty_source(assigned() or v.Unknown(), operators)
        body = function.body
        after_docstring = int(
            isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        )
        if source:
            body.insert(after_docstring, ast.parse(f"{name} = {source}").body[0])

    return Repair("variable_scope", apply)


def _empty_source(value: v.Value, operators: Registry) -> str:
    match value:
        case v.Result(operators=names):
            empties: dict[str, object] = {}
            for operator in sorted(names):
                empties.update(operators[operator].empty)
            return repr(empties)
        case v.Mapped(mapping=mapping) if mapping:
            parts = {key: _empty_source(item, operators) for key, item in mapping.items()}
            items = ", ".join(f"{key!r}: {source}" for key, source in parts.items())
            return f"{{{items}}}" if all(parts.values()) else ""
        case v.Listed(is_set=is_set):
            return "set()" if is_set else "[]"
        case v.Mapped():
            return "{}"
        case v.Number():
            return "0"
        case v.Nothing():
            return "None"
        case v.Text() | v.Method() | v.Unknown(is_object=False):
            return '""'
    return ""


def give_model(node: ast.Call) -> Repair:
    model = ast.parse("self.llm", mode="eval").body
    return Repair("operator_model", lambda tree: node.args.insert(0, model))


def pair_up(node: ast.Return) -> None:
    """``return answer`` -> ``return (answer, 0.0)``."""
    answer = node.value or ast.Constant(None)
    node.value = ast.copy_location(ast.Tuple([answer, ast.Constant(0.0)], ast.Load()), node)


def return_pair(node: ast.Return) -> Repair:
    return Repair("return_tuple", lambda tree: pair_up(node))
