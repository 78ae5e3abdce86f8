"""Follows loops: how often they run, what holds after them, and what their calls cost."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from llm_as_judge.workflow.frames import Frame, Loop, State, join_states
from llm_as_judge.workflow.plain_calls import PlainCalls
from llm_as_judge.workflow.values import NO_CONSTANT

__all__ = ["Loops"]


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often a loop runs: at least once?, at most (None = unknown)."""

    once: bool
    most: int | None


class Loops(PlainCalls):
    """``for`` and ``while``."""

    @abstractmethod
    def follow(self, body: Sequence[ast.stmt], frame: Frame) -> None: ...

    def for_loop(self, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
        source = self.plain(self.value(node.iter, frame))
        rounds = Rounds(source.shortest > 0, source.longest)
        self.iterable(source, node)
        if source.endless or _grows_what_it_iterates(node):
            self.report("W601", node)

        def enter() -> None:
            self.bind_target(node.target, self.item_of(source), frame)

        self._loop(node, rounds, frame, enter)

    def while_loop(self, node: ast.While, frame: Frame) -> None:
        test = self.plain(self.value(node.test, frame), " in a condition")
        always = test.constant is not NO_CONSTANT and bool(test.constant)
        if test.constant is not NO_CONSTANT and not test.constant:
            self.follow(node.orelse, frame)
            return
        most = self._while_rounds(node, frame)
        if most is None:
            self.report("W601", node)

        def enter() -> None:
            self.plain(self.value(node.test, frame))

        self._loop(
            node, Rounds(always or self._starts_true(node, frame), most), frame, enter, always
        )

    def broken(self, node: ast.Break, frame: Frame) -> None:
        if frame.loops and frame.state is not None:
            frame.loops[-1].breaks.append(frame.state)
        frame.state = None

    def continued(self, node: ast.Continue, frame: Frame) -> None:
        if frame.loops and frame.state is not None:
            frame.loops[-1].continues.append(frame.state)
        frame.state = None

    # ------------------------------------------------------------------------------ the general
    def _loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        rounds: Rounds,
        frame: Frame,
        enter: Callable[[], None],
        forever: bool = False,
    ) -> None:
        """Follows the body from the state before it, then from what the first round left."""
        before = frame.state
        if before is None:
            return
        first_return = len(frame.returns)
        end, breaks = self._round(node, frame, before.copy(), enter)
        growth = _growth(before, [end, *breaks])
        if end is not None and rounds.most != 1:
            again = end.copy()
            _stretch(again, before, growth, rounds.most)
            again.cost = before.cost
            end_again, breaks_again = self._round(node, frame, again, enter)
            end = join_states([end, end_again])
            breaks += breaks_again
        self._count(
            node,
            before,
            [end, *breaks, *(r.state for r in frame.returns[first_return:])],
            rounds.most,
        )
        for state in (end, *breaks):
            if state is not None:
                _stretch(state, before, growth, rounds.most)
        # A loop that always goes on is left by break alone.
        normal = None if forever else join_states([end, None if rounds.once else before])
        frame.state = normal
        self.follow(node.orelse, frame)
        frame.state = join_states([frame.state, *breaks])

    def _round(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        frame: Frame,
        start: State,
        enter: Callable[[], None],
    ) -> tuple[State | None, list[State]]:
        """(state at the end of one round, states at its breaks)."""
        loop = Loop()
        frame.loops.append(loop)
        frame.state = start
        enter()
        self.follow(node.body, frame)
        frame.loops.pop()
        return join_states([frame.state, *loop.continues]), loop.breaks

    def _count(
        self, node: ast.AST, before: State, leaving: Sequence[State | None], most: int | None
    ) -> None:
        """Every way out of the loop costs at most all rounds of its costliest one."""
        states = {id(state): state for state in leaving if state is not None}.values()
        per_round = max((state.cost - before.cost for state in states), default=0)
        if per_round > 0 and most is None:
            self.report("W601", node, "" if isinstance(node, ast.While) else "it calls operators")
        for state in states:
            if state.cost > before.cost or per_round:
                state.cost = before.cost + per_round * (1 if most is None else most)

    # ---------------------------------------------------------------------------------- while
    def _starts_true(self, node: ast.While, frame: Frame) -> bool:
        """A counting test that holds at the start: ``i = 0; while i < 3``."""
        counted = _counted(node.test)
        if counted is None or isinstance(node.test, ast.BoolOp):
            return False
        variable, operation, limit = counted
        start = self._start(variable, frame)
        bound = self.value(limit, frame).constant
        if not (type(start) is int and type(bound) is int):
            return False
        return _holds(operation, start, bound)

    def _start(self, variable: ast.expr, frame: Frame) -> object:
        if isinstance(variable, ast.Call):
            stored = self.stored(variable.args[0], frame)
            return stored.longest if stored is not None and stored.kind == "list" else None
        stored = self.stored(variable, frame)
        return stored.constant if stored is not None else None

    def _while_rounds(self, node: ast.While, frame: Frame) -> int | None:
        """Rounds of a loop that counts: ``while i < 3: ... i += 1``, ``while len(xs) < 3: ...
        xs.append(...)``; None for any other."""
        counted = _counted(node.test) or _counted_exit(node)
        if counted is None:
            return None
        variable, operation, limit = counted
        bound, start = self.value(limit, frame).constant, self._start(variable, frame)
        step = _step(node.body, variable)
        if not (type(bound) is int and type(start) is int) or not step:
            return None
        if (step > 0) != isinstance(operation, ast.Lt | ast.LtE):
            return None
        inclusive = isinstance(operation, ast.LtE | ast.GtE)
        distance = (bound - start) * (1 if step > 0 else -1) + int(inclusive)
        return max(0, -(-distance // abs(step)))


def _holds(operation: ast.cmpop, start: int, bound: int) -> bool:
    if isinstance(operation, ast.Lt):
        return start < bound
    if isinstance(operation, ast.LtE):
        return start <= bound
    return start > bound if isinstance(operation, ast.Gt) else start >= bound


def _counted(test: ast.expr) -> tuple[ast.expr, ast.cmpop, ast.expr] | None:
    """(variable or ``len(list)``, comparison, limit) of a counting test, also inside ``and``."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next((found for part in test.values if (found := _counted(part))), None)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, operation, right = test.left, test.ops[0], test.comparators[0]
    is_length = isinstance(left, ast.Call) and isinstance(left.func, ast.Name)
    if is_length and left.func.id == "len" and len(left.args) == 1:  # type: ignore[attr-defined]
        return left, operation, right
    ordered = isinstance(operation, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    return (left, operation, right) if ordered and isinstance(left, ast.Name) else None


_OPPOSITE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.GtE: ast.Lt(),
    ast.Gt: ast.LtE(),
    ast.LtE: ast.Gt(),
    ast.Lt: ast.GtE(),
}


def _counted_exit(node: ast.While) -> tuple[ast.expr, ast.cmpop, ast.expr] | None:
    """``while True: ... if i >= 3: break``: it goes on while the opposite holds. One round more
    than a test at the top gives is allowed for by the inclusive comparison."""
    if any(isinstance(part, ast.Continue) for part in ast.walk(node)):
        return None
    for statement in node.body:
        if not isinstance(statement, ast.If) or not statement.body:
            continue
        test, last = statement.test, statement.body[-1]
        leaves = isinstance(last, ast.Break | ast.Return | ast.Raise)
        if leaves and isinstance(test, ast.Compare) and len(test.ops) == 1:
            opposite = _OPPOSITE.get(type(test.ops[0]))
            if isinstance(test.left, ast.Name) and opposite is not None:
                inclusive = {ast.Lt: ast.LtE(), ast.Gt: ast.GtE()}.get(type(opposite), opposite)
                return test.left, inclusive, test.comparators[0]
    return None


def _step(body: Sequence[ast.stmt], variable: ast.expr) -> int:
    """By how much each round changes the variable; 0 if some round may leave it as it is."""
    for statement in body:
        if any(isinstance(part, ast.Continue) for part in ast.walk(statement)):
            return 0
        if isinstance(variable, ast.Name):
            step = _increment(statement, variable.id)
        else:
            step = _appends(statement, variable)
        if step:
            return step
    return 0


def _increment(statement: ast.stmt, name: str) -> int:
    if not isinstance(statement, ast.AugAssign | ast.Assign):
        return 0
    target: ast.expr
    if isinstance(statement, ast.AugAssign):
        target, operation, amount = statement.target, statement.op, statement.value
    else:
        target, value = statement.targets[0], statement.value
        if not (
            isinstance(value, ast.BinOp)
            and isinstance(value.left, ast.Name)
            and value.left.id == name
        ):
            return 0
        operation, amount = value.op, value.right
    if not (isinstance(target, ast.Name) and target.id == name):
        return 0
    if not (isinstance(amount, ast.Constant) and type(amount.value) is int):
        return 0
    if isinstance(operation, ast.Add):
        return amount.value
    return -amount.value if isinstance(operation, ast.Sub) else 0


def _appends(statement: ast.stmt, length: ast.expr) -> int:
    container = ast.dump(length.args[0]) if isinstance(length, ast.Call) else ""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return int(call.func.attr == "append" and ast.dump(call.func.value) == container)
    return 0


def _grows_what_it_iterates(node: ast.For | ast.AsyncFor) -> bool:
    if not isinstance(node.iter, ast.Name | ast.Attribute):
        return False
    iterated = ast.dump(node.iter)
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr in ("append", "extend", "insert")
            and ast.dump(part.func.value) == iterated
        ):
            return True
    return False


def _growth(before: State, ends: Sequence[State | None]) -> dict[str, int | None]:
    """Lists that one round makes longer, and by how much."""
    growth: dict[str, int | None] = {}
    for end in ends:
        for name, value in (end.variables if end is not None else {}).items():
            old = before.variables.get(name)
            if old is None or old.kind != "list" or value.kind != "list" or old.longest is None:
                continue
            if value.longest is None:
                growth[name] = None
            elif value.longest > old.longest:
                step = value.longest - old.longest
                known = growth.get(name, 0)
                growth[name] = None if known is None else max(known, step)
    return growth


def _stretch(state: State, before: State, growth: dict[str, int | None], most: int | None) -> None:
    for name, step in growth.items():
        value = state.variables.get(name)
        if value is None:
            continue
        start = before.variables[name].longest
        longest = None
        if step is not None and most is not None and start is not None:
            longest = start + step * most
        state.variables[name] = replace(value, longest=longest, items=None)
