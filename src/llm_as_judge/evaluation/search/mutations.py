"""Programs that differ from a given one in one place: an operator, a number, an instruction."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from llm_as_judge.evaluation.program_runs import bank_program
from llm_as_judge.evaluation.random_workflow import DRAFTS, INSTRUCTIONS
from llm_as_judge.operators import registry
from llm_as_judge.runs.table import BankProgram
from llm_as_judge.types import Domain
from llm_as_judge.workflow.program import ProgramOptions

SEEDS: Mapping[Domain, tuple[str, ...]] = {
    "math": (
        "Give the final answer alone, without a sentence around it.",
        "Solve this in short steps. End with a line 'The answer is: ' and the final answer.",
    ),
    "qa": (
        "Answer in as few words as possible. If the context has no answer, reply: unanswerable",
        "Copy the shortest span of the context that answers the question, and nothing else.",
    ),
    "code": ("", "Handle edge cases. Use the examples to check the function in your head."),
}
"""Instructions that every search knows."""
DRAWS = (2, 3, 4, 5, 7)
"""How many draws a program may take at most: ``most`` of an operator, a range, a constant."""
KEPT = (2, 3, 4, 6)
"""Passages that ``retrieve`` keeps."""
AGREEING = (2, 3)
"""How many of them must agree."""


def mutated(program: BankProgram, options: ProgramOptions) -> list[BankProgram]:
    """Every program that is one change away and passes the check; equal ones once, never itself."""
    text = options.parse(program.text, program.domain).runnable
    found: dict[str, BankProgram] = {}
    for other in _texts(text, program.domain):
        made = bank_program(program.domain, other, "", "mutated", options)
        if made is not None and made.hash != program.hash:
            named = replace(made, name=f"{program.name}~{made.hash[:6]}")
            found.setdefault(made.hash, named)
    return list(found.values())


def _texts(text: str, domain: Domain) -> Iterator[str]:
    tree = ast.parse(text)
    if ast.get_docstring(tree) is not None:  # it speaks of the program as it was
        del tree.body[0]
    for place, node in enumerate(ast.walk(tree)):
        for changed in _changes(node, domain):
            other = copy.deepcopy(tree)
            at = _nth(other, place)
            if isinstance(changed, _Swap):
                changed.apply(other, at)
            else:
                _put(at, changed)
            yield ast.unparse(ast.fix_missing_locations(other))


def _nth(tree: ast.Module, place: int) -> ast.AST:
    for number, node in enumerate(ast.walk(tree)):
        if number == place:
            return node
    raise ValueError(f"no node {place}")


def _put(node: ast.AST, value: int | str) -> None:
    """A new constant in the place of the old one, at the node that holds it."""
    if isinstance(node, ast.keyword):
        node.value = ast.Constant(value)
    elif isinstance(node, ast.Call):
        node.args[0] = ast.Constant(value)
    elif isinstance(node, ast.Assign):
        node.value = ast.Constant(value)


def _changes(node: ast.AST, domain: Domain) -> Iterator[int | str | _Swap]:
    """The other values of a constant, or operators that could stand in a draft's place."""
    match node:
        case ast.keyword(arg="most", value=ast.Constant(value=int(now))):
            yield from _others(now, DRAWS)
        case ast.keyword(arg="keep", value=ast.Constant(value=int(now))):
            yield from _others(now, KEPT)
        case ast.keyword(arg="agree", value=ast.Constant(value=int(now))):
            yield from _others(now, AGREEING)
        case ast.keyword(arg="instruction", value=ast.Constant(value=str(now))):
            yield from _others(now, (*SEEDS[domain], *INSTRUCTIONS))
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(now))]):
            yield from _others(now, DRAWS)
        case ast.Assign(targets=[ast.Name()], value=ast.Constant(value=int(now))) if now > 1:
            yield from _others(now, DRAWS)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            yield from _swaps(name, domain)


def _others(now: int | str, values: Sequence[int | str]) -> list[int | str]:
    return [value for value in values if value != now]


class _Swap:
    """Another drafting operator in the place of a call."""

    def __init__(self, key: str, call: str, new_key: str) -> None:
        self._key, self._call, self._new_key = key, call, new_key

    def apply(self, tree: ast.Module, node: ast.AST) -> None:
        """Changes the call, what is read of its result, and the operators that are created."""
        assert isinstance(node, ast.Call)
        made = ast.parse(self._call, mode="eval").body
        assert isinstance(made, ast.Call)
        assert isinstance(made.func, ast.Name)
        name = made.func.id
        node.func = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())
        node.args, node.keywords = made.args, made.keywords
        variable = _assigned(tree, node)
        if variable is not None:
            _read_another_key(tree, variable, self._key, self._new_key)
        _create(tree, name)


def _swaps(name: str, domain: Domain) -> Iterator[_Swap]:
    drafts = {call.partition("(")[0]: (call, key) for call, key in DRAFTS[domain]}
    if name not in drafts:
        return
    for other, (call, key) in drafts.items():
        if other != name:
            instruction = repr(SEEDS[domain][0])
            yield _Swap(drafts[name][1], call.format(instruction=instruction), key)


def _assigned(tree: ast.Module, call: ast.Call) -> str | None:
    """The variable that the call's result gets."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Await(value=value)):
                if value is call:
                    return name
    return None


def _read_another_key(tree: ast.Module, variable: str, old: str, new: str) -> None:
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=key)):
                if name == variable and key == old:
                    node.slice = ast.Constant(new)


def _create(tree: ast.Module, name: str) -> None:
    """``self.NAME = operator.CLASS(self.llm)``, where it is not there."""
    entry = next(e for e in registry().values() if e.call_name == name)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            line = f"self.{name} = operator.{entry.name}(self.llm)"
            if line not in {ast.unparse(statement) for statement in node.body}:
                node.body.append(ast.parse(line).body[0])
