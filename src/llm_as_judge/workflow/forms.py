"""A program in the form that a policy writes: the class, or the statements of its ``__call__`` alone."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Collection

from llm_as_judge.operators import registry
from llm_as_judge.operators.syntax import UnparsableError, parse_python
from llm_as_judge.types import Domain
from llm_as_judge.workflow.canonical import operator_attributes
from llm_as_judge.workflow.program import (
    DEFAULT_MAX_CALLS,
    ProgramForm,
    extract,
    form_of,
    parse_program,
)


def in_form(
    text: str,
    domain: Domain,
    form: ProgramForm,
    *,
    max_calls: int = DEFAULT_MAX_CALLS,
    executors: Collection[str] = (),
) -> str | None:
    """The same program as a policy would write it in ``form``: valid without a repair, laid out anew
    where its own text is in the other form or needs a repair.

    Args:
        executors: names of those beside the default one.
    Returns:
        None where it cannot run, or cannot be written in that form (a class with more methods, say).
    """
    written = form_of(text)
    known = parse_program(text, domain, written, max_calls=max_calls, executors=executors)
    if not known.runnable:
        return None
    if written == form and known.strictly_valid:
        return extract(text)
    found = known.runnable if form == "class" else _body(known.runnable)
    if found is None:
        return None
    again = parse_program(found, domain, form, max_calls=max_calls, executors=executors)
    return found if again.strictly_valid and again.hash == known.hash else None


def _body(text: str) -> str | None:
    """The statements of ``__call__``, operators by their names; None where more than these matters,
    or where the text is no class."""
    try:
        tree = parse_python(text)
    except UnparsableError:
        return None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    members = [member for one in classes for member in one.body]
    call = next((one for one in members if isinstance(one, ast.AsyncFunctionDef)), None)
    if call is None:
        return None
    attributes, known = operator_attributes(tree), registry()
    names = {
        attribute: known[operator].call_name
        for attribute, operator in attributes.items()
        if operator in known
    }
    said = call.body[1:] if ast.get_docstring(call) is not None else call.body
    statements = [_Plain(names).visit(statement) for statement in said]
    module = ast.fix_missing_locations(ast.Module(statements, []))
    return _double_quoted(ast.unparse(module))


class _Plain(ast.NodeTransformer):
    """``self.NAME`` becomes the operator's own name, and a returned pair its answer."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if (
            isinstance(node.value, ast.Name)
            and node.value.id == "self"
            and node.attr in self._names
        ):
            return ast.Name(self._names[node.attr], ast.Load())
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            node.value = node.value.elts[0]
        return self.generic_visit(node)


def _double_quoted(text: str) -> str:
    """Simple literals in double quotes, as the examples of the prompt have them."""
    found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    lines = text.splitlines()
    for token in reversed(found):
        inner = token.string[1:-1]
        simple = token.type == tokenize.STRING and token.string.startswith("'")
        if simple and token.start[0] == token.end[0] and not {'"', "\\", "'"} & set(inner):
            row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
            lines[row] = f'{lines[row][:start]}"{inner}"{lines[row][end:]}'
    return "\n".join(lines)
