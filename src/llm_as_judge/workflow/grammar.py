"""A grammar of programs that are valid by construction, for constrained decoding of form ``body``.

GBNF, the notation of llama.cpp and of engines that read it. A state is how often each operator has
been called; what a state allows is the calls whose arguments can be filled from it. So whatever the
grammar accepts passes the check: operators, arguments, keys and the flow of data. The price: plain
sequences of at most ``MAX_STEPS`` calls, each result in a variable that its operator's description
names, and one kind of branch, an early return of what a review or test found right. Operators that
take functions are left out, and those that the policy answers.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llm_as_judge.operators import registry
from llm_as_judge.operators.base import Argument, Operator
from llm_as_judge.operators.registry import OperatorEntry
from llm_as_judge.types import Domain

__all__ = ["MAX_STEPS", "program_grammar"]

MAX_STEPS = 4
"""Operator calls of a program."""
MOST_DRAWS = 3
"""Calls of one operator that works on the problem alone; of others one."""
INSTRUCTION_CHARACTERS = 80
_GIVEN = {"problem": "problem", "input": "problem", "entry_point": "entry_point"}
_FIXED = f"""
text ::= "\\"" [^"\\\\\\n]{{1,{INSTRUCTION_CHARACTERS}}} "\\""
"""

State = tuple[int, ...]
"""Calls made so far, in the order of the domain's operators."""


def program_grammar(domain: Domain, max_calls: int = 12, executors: tuple[str, ...] = ()) -> str:
    """The programs of ``domain`` as GBNF text; the rule ``root`` is one program and the fence that
    closes its block.

    Args:
        max_calls: executor calls that a program may make in the worst case.
        executors: names of those beside the default one.
    """
    operators = tuple(entry.operator for entry in registry().values())
    return _program_grammar(domain, max_calls, operators, executors)


@functools.cache
def _program_grammar(
    domain: Domain,
    max_calls: int,
    operators: tuple[type[Operator], ...],
    executors: tuple[str, ...],
) -> str:
    """Kept for the operators that there are."""
    known = (e for e in registry().values() if e.operator in operators and not e.reads)
    entries = [entry for entry in known if domain in entry.description.domains and _is_flat(entry)]
    return _Grammar(entries, max_calls, _variables(entries), executors).text()


@dataclass(frozen=True, slots=True)
class _Grammar:
    entries: list[OperatorEntry]
    max_calls: int
    variables: list[str]
    executors: tuple[str, ...]

    def text(self) -> str:
        start: State = (0,) * len(self.entries)
        rules, waiting = {}, [start]
        while waiting:
            state = waiting.pop()
            name = _rule(state)
            if name in rules:
                continue
            steps = list(self._steps(state))
            rules[name] = " | ".join(_step(*step) for step in steps)
            if state != start:
                values = " | ".join(map(_quoted, self._texts(state)))
                rules[_values(state)] = values
                ending = f'"return " {_values(state)} "\\n"'
                rules[name] = " | ".join(filter(None, (rules[name], ending)))
            waiting += [after for _, after, _ in steps]
        lines = [
            f'root ::= {_rule(start)} "```"',
            *(f"{n} ::= {body}" for n, body in rules.items()),
        ]
        return "\n".join(lines) + _FIXED

    def _steps(self, state: State) -> Iterator[tuple[str, State, str]]:
        """(pieces of the call, state after it, pieces of the branch that may follow)."""
        if sum(state) == MAX_STEPS:
            return
        for i, entry in enumerate(self.entries):
            after = (*state[:i], state[i] + 1, *state[i + 1 :])
            most = 1 if entry.results_wanted or _draws_itself(entry) else MOST_DRAWS
            if after[i] > most or self._worst_case(after) > self.max_calls:
                continue
            arguments = self._arguments(entry, state)
            if arguments is None:
                continue
            name = _numbered(self.variables[i], after[i])
            call = f'"{name} = await {entry.call_name}(" {arguments} ")\\n"'
            yield call, after, self._branch(entry, name, after)

    def _worst_case(self, state: State) -> int:
        return sum(n * e.worst_case_calls for n, e in zip(state, self.entries, strict=True))

    def _arguments(self, entry: OperatorEntry, state: State) -> str | None:
        """Pieces of the arguments; None: they want results that there are not yet."""
        wanted = {"texts": 2, "text": 1}
        if any(
            sum(state) < wanted[a.type] for a in entry.arguments if a.name in entry.results_wanted
        ):
            return None
        pieces = ""
        for argument in entry.arguments:
            if argument.type == "number":  # all have defaults
                continue
            comma = '", " ' if pieces else ""
            piece = f'{comma}"{argument.name}=" {self._value(argument, entry, state)}'
            pieces += f" {piece}" if argument.required else f" ({piece})?"
        if self.executors and entry.asks:
            names = " | ".join(_quoted(f'"{name}"') for name in self.executors)
            pieces += f' (", executor=" ({names}))?'
        return pieces.strip()

    def _value(self, argument: Argument, entry: OperatorEntry, state: State) -> str:
        value = _values(state)
        if argument.type == "texts":
            return f'"[" {value} (", " {value}){{1,3}} "]"'
        if argument.name in entry.results_wanted:
            return value
        if argument.name in _GIVEN:
            return f'"{_GIVEN[argument.name]}"'
        return f"(text | {value})" if entry.results_wanted else "text"

    def _branch(self, entry: OperatorEntry, name: str, after: State) -> str:
        verdicts = [key for key, value in entry.empty.items() if isinstance(value, bool)]
        return "".join(
            f'("if {name}[\\"{key}\\"]:\\n    return " {_values(after)} "\\n")? '
            for key in verdicts
        )

    def _texts(self, state: State) -> Iterator[str]:
        """Expressions whose value is a text that an operator made."""
        for entry, variable, calls in zip(self.entries, self.variables, state, strict=True):
            keys = [key for key, value in entry.empty.items() if isinstance(value, str)]
            for call in range(1, calls + 1):
                yield from (f'{_numbered(variable, call)}["{key}"]' for key in keys)


def _is_flat(entry: OperatorEntry) -> bool:
    """Whether it takes texts alone: functions are left out, and numbers where they may be."""
    return not any(
        argument.type == "ways" or (argument.type == "number" and argument.required)
        for argument in entry.arguments
    )


def _draws_itself(entry: OperatorEntry) -> bool:
    return any(argument.type == "number" for argument in entry.arguments)


def _variables(entries: Sequence[OperatorEntry]) -> list[str]:
    """As the operators' examples call them, each name once."""
    names: list[str] = []
    for entry in entries:
        name = entry.description.example.partition(" = ")[0]
        names.append(f"{entry.call_name}_result" if name in names else name)
    return names


def _numbered(name: str, call: int) -> str:
    return name if call == 1 else f"{name}{call}"


def _rule(state: State) -> str:
    return "after-" + "".join(map(str, state))


def _values(state: State) -> str:
    return "value-" + "".join(map(str, state))


def _step(call: str, after: State, branch: str) -> str:
    return f"{call} {branch}{_rule(after)}"


def _quoted(text: str) -> str:
    return json.dumps(text)
