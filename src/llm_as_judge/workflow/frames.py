"""Variables of one function at one point of the program, for the check."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from llm_as_judge.operators.syntax import children
from llm_as_judge.workflow.values import Value, either

__all__ = ["Frame", "State", "join_states", "local_names"]


@dataclass(slots=True, eq=False)
class State:
    """What holds at one point: the variables, which of them may be unset, and the model calls
    that the costliest way here has made."""

    variables: dict[str, Value] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    """Variables that are unset on some way here."""
    cost: int = 0

    def copy(self) -> State:
        return State(dict(self.variables), set(self.unsure), self.cost)


def join_states(states: Iterable[State | None]) -> State | None:
    """The point where these ways meet; None when none of them gets here."""
    result: State | None = None
    for state in states:
        if state is None:
            continue
        result = state.copy() if result is None else _join(result, state)
    return result


def _join(a: State, b: State) -> State:
    variables = dict(a.variables)
    unsure = a.unsure | b.unsure
    for name, value in b.variables.items():
        mine = variables.get(name)
        if mine is None:
            variables[name] = value
            unsure.add(name)
        elif mine is not value:  # most variables are as they were before the branch
            variables[name] = either(mine, value)
    unsure.update(name for name in a.variables if name not in b.variables)
    return State(variables, unsure, max(a.cost, b.cost))


@dataclass(slots=True, eq=False)
class Loop:
    """Ways that leave a loop's body early."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Return:
    node: ast.AST
    value: Value
    state: State
    in_handler: bool


@dataclass(slots=True, eq=False)
class Frame:
    """One function being followed. ``state`` is None where no way leads."""

    function: ast.AST
    locals: frozenset[str]
    parent: Frame | None
    state: State | None = field(default_factory=State)
    loops: list[Loop] = field(default_factory=list)
    snapshots: list[list[State]] = field(default_factory=list)
    """For each ``try`` body being followed: the points from which a handler may be entered."""
    returns: list[Return] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    handlers: int = 0
    """Depth of ``except`` bodies."""

    def owner(self, name: str) -> Frame | None:
        """The frame whose variable ``name`` is, as Python resolves it."""
        frame: Frame | None = self
        while frame is not None and name not in frame.locals:
            frame = frame.parent
        return frame


_SCOPES = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef,
     ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
)  # fmt: skip


_BINDING = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.ExceptHandler,
     ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.Global, ast.Nonlocal}
)  # fmt: skip


def local_names(node: ast.AST) -> frozenset[str]:
    """Names that a function, a module, or a class body binds, by Python's rule: bound anywhere in
    it, not declared global or nonlocal."""
    bound: set[str] = set()
    elsewhere: set[str] = set()
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        bound.update(parameter_names(arguments))
    body = getattr(node, "body", [])
    todo: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is ast.Name:
            if type(item.ctx) is not ast.Load:  # type: ignore[attr-defined]
                bound.add(item.id)  # type: ignore[attr-defined]
            continue
        if kind in _BINDING:
            _note_binding(item, bound, elsewhere)
        if kind in _SCOPES:
            todo.extend(_walrus_scopes(item))
        elif kind is not ast.Constant:
            todo.extend(children(item))
    return frozenset(bound - elsewhere)


def _note_binding(item: ast.AST, bound: set[str], elsewhere: set[str]) -> None:
    if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        bound.add(item.name)
    elif isinstance(item, ast.alias):
        bound.add((item.asname or item.name).partition(".")[0])
    elif (isinstance(item, ast.ExceptHandler) and item.name) or (
        isinstance(item, ast.MatchAs | ast.MatchStar) and item.name
    ):
        bound.add(item.name)
    elif isinstance(item, ast.MatchMapping) and item.rest:
        bound.add(item.rest)
    elif isinstance(item, ast.Global | ast.Nonlocal):
        elsewhere.update(item.names)


def _walrus_scopes(item: ast.AST) -> list[ast.AST]:
    """``:=`` in a comprehension binds in the function around it."""
    if isinstance(item, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return [node.target for node in ast.walk(item) if isinstance(node, ast.NamedExpr)]
    return []


def parameter_names(arguments: ast.arguments) -> list[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [a.arg for a in every]
