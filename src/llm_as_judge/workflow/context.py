"""State of one check: what it has gathered, and the variables of each function at one point."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from llm_as_judge.operators import Registry
from llm_as_judge.operators.syntax import children
from llm_as_judge.types import Domain
from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import calls_of, excused, join
from llm_as_judge.workflow.findings import Finding, Repair
from llm_as_judge.workflow.repairs import await_call

STEPS = 30_000
"""Expressions followed at most: nested loops and functions are followed again for each use."""


class TooComplexError(Exception):
    """The bound on steps was reached."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    operators: Registry
    domain: Domain
    max_calls: int
    wants_tuple: bool
    """Class form: ``return answer, 0.0``; in the body form the scaffold adds the second part."""
    executors: tuple[str, ...] = ()
    """Names of those beside the default one."""


@dataclass(slots=True, eq=False)
class State:
    """What holds at one point of a function."""

    variables: dict[str, v.Value] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    """Variables that are unset on some way here."""
    cost: v.Calls = v.Calls()  # noqa: RUF009 - frozen
    """Model calls that the costliest way here has made."""

    def copy(self) -> State:
        return State(dict(self.variables), set(self.unsure), self.cost)


def meet(states: Iterable[State | None]) -> State | None:
    """The point where these ways meet; None when none of them gets here."""
    result: State | None = None
    for state in states:
        if state is not None:
            result = state.copy() if result is None else _meet(result, state)
    return result


def _meet(a: State, b: State) -> State:
    variables = dict(a.variables)
    unsure = a.unsure | b.unsure | (a.variables.keys() ^ b.variables.keys())
    for name, value in b.variables.items():
        mine = variables.setdefault(name, value)
        if mine is not value:  # most variables are as they were before the branch
            variables[name] = join(mine, value)
    return State(variables, unsure, a.cost | b.cost)


@dataclass(slots=True, eq=False)
class Loop:
    """Ways that leave a loop's body early."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Return:
    node: ast.Return
    value: v.Value
    state: State
    in_handler: bool


@dataclass(slots=True, eq=False)
class Check:
    """One check of one program."""

    options: CheckOptions
    findings: dict[tuple[str, int, str], Finding] = field(default_factory=dict)
    operators: dict[str, None] = field(default_factory=dict)
    """Operator classes called, in order of first appearance."""
    created: dict[int, tuple[ast.Call, str]] = field(default_factory=dict)
    """Id of a call that must be awaited -> the call, and the name to tell it by."""
    awaited: set[int] = field(default_factory=set)
    unawaited: set[int] = field(default_factory=set)
    """Calls found to be read before any ``await``: one finding each."""
    assigned: dict[tuple[int, str], v.Value] = field(default_factory=dict)
    """(id of function, variable) -> everything assigned to it, for the scope repair."""
    attributes: dict[str, v.Value] = field(default_factory=dict)
    """``self.x``, methods among them."""
    following: list[ast.AST] = field(default_factory=list)
    """Functions that are being followed, the outermost first."""
    known_locals: dict[int, frozenset[str]] = field(default_factory=dict)
    steps: int = 0

    def locals_of(self, node: ast.AST) -> frozenset[str]:
        if (found := self.known_locals.get(id(node))) is None:
            found = self.known_locals[id(node)] = local_names(node)
        return found

    def step(self) -> None:
        self.steps += 1
        if self.steps > STEPS:
            raise TooComplexError

    def report(
        self, code: str, node: ast.AST | None, detail: str = "", repair: Repair | None = None
    ) -> None:
        line = getattr(node, "lineno", 0)
        found = Finding(code, line, detail, repair, getattr(node, "col_offset", 0))
        self.findings.setdefault((code, line, detail), found)


@dataclass(slots=True, eq=False)
class Frame:
    """One function being followed. ``state`` is None where no way leads."""

    check: Check
    function: ast.AST
    parent: Frame | None = None
    locals: frozenset[str] = frozenset()
    state: State | None = field(default_factory=State)
    loops: list[Loop] = field(default_factory=list)
    snapshots: list[list[State]] = field(default_factory=list)
    """For each ``try`` body being followed: the points from which a handler may be entered."""
    returns: list[Return] = field(default_factory=list)
    yields: list[v.Value] = field(default_factory=list)
    handlers: int = 0
    """Depth of ``except`` bodies."""
    aliases: dict[str, set[str]] = field(default_factory=dict)
    """Variable -> others that may be the same list or dict."""

    def __post_init__(self) -> None:
        self.locals = self.locals or self.check.locals_of(self.function)

    def owner(self, name: str) -> Frame | None:
        """The frame whose variable ``name`` is, as Python resolves it."""
        frame: Frame | None = self
        while frame is not None and name not in frame.locals:
            frame = frame.parent
        return frame

    @property
    def module(self) -> Frame:
        return self if self.parent is None else self.parent.module

    def assign(self, name: str, value: v.Value) -> None:
        owner = self.owner(name) or self.module
        if owner.state is None:
            return
        value = excused(value) if self.handlers else value
        owner.state.variables[name] = value
        owner.state.unsure.discard(name)
        known, key = self.check.assigned, (id(owner.function), name)
        known[key] = join(known[key], value) if key in known else value

    def spend(self, calls: v.Calls) -> None:
        if self.state is not None:
            self.state.cost += calls

    @property
    def calls(self) -> v.Calls:
        """Model calls made on the costliest way here."""
        return self.state.cost if self.state is not None else v.Calls()


# -------------------------------------------------------------------------------------- awaiting
def plain(value: v.Value, at: Frame, where: str = "") -> v.Value:
    """``value`` used as data: a call that was not awaited is found here, and then taken as if it
    were."""
    match value:
        case v.Pending(outcome=outcome):
            report_unawaited(value, at.check, where)
            return outcome
        case v.Operator(names=names, node=node):
            at.check.report("W210", node, "/".join(sorted(names)) + where)
            return v.RECOVERED
    return value


def report_unawaited(value: v.Value, check: Check, where: str = "") -> None:
    for call in calls_of(value) - check.awaited - check.unawaited:
        node, name = check.created[call]
        check.report("W301", node, name + where, await_call(node))
        check.unawaited.add(call)


def nearest(name: str, known: Iterable[str], written: Mapping[str, str] | None = None) -> str:
    """``, did you mean X?`` or nothing.

    Args:
        written: how a known name has to be written, where that is not the name alone.
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f", did you mean {(written or {}).get(close[0], close[0])}?" if close else ""


# ----------------------------------------------------------------------------------- names bound
_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_SCOPES = _DEFINITIONS | _COMPREHENSIONS | {ast.Lambda}
_BINDING = _DEFINITIONS | {
    ast.Name, ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping,
    ast.Global, ast.Nonlocal,
}  # fmt: skip


def local_names(node: ast.AST) -> frozenset[str]:
    """Names that a function, class body or module binds: anywhere in it, and not declared global
    or nonlocal. Of a comprehension, its targets."""
    if hasattr(node, "generators"):
        parts = [part for g in node.generators for part in ast.walk(g.target)]
        return frozenset(part.id for part in parts if isinstance(part, ast.Name))
    bound, elsewhere = set[str](), set[str]()
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        bound.update(parameter_names(arguments))
    body = getattr(node, "body", [])
    todo: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is ast.Constant:
            continue
        if kind in _BINDING:
            _note(item, bound, elsewhere)
        if kind not in _SCOPES:
            todo.extend(children(item))
        elif kind in _COMPREHENSIONS:  # `:=` in a comprehension binds in the function around it
            todo.extend(n.target for n in ast.walk(item) if isinstance(n, ast.NamedExpr))
    return frozenset(bound - elsewhere)


def _note(item: ast.AST, bound: set[str], elsewhere: set[str]) -> None:
    match item:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            bound.add(name)
        case ast.alias():
            bound.add((item.asname or item.name).partition(".")[0])
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            bound.add(name)
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            bound.add(name)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            elsewhere.update(names)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            bound.add(item.name)


def parameter_names(arguments: ast.arguments) -> list[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [a.arg for a in every]
