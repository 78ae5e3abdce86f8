"""Findings of the check, each with its code and the hint for mending it."""

from __future__ import annotations

import ast
import builtins
import collections
import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from llm_as_judge.types import Diagnostic


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALLOWED_MODULES = _words(
    "asyncio bisect collections contextlib copy dataclasses datetime decimal difflib enum "
    "fractions functools heapq itertools json logging math numbers random re statistics string "
    "textwrap time typing unicodedata __future__ abc"
)

GIVEN_MODULES = ("workspace", "scripts", "operator", "metagpt")
"""Where AFlow's programs import `operator` and `create_llm_instance` from: these are given."""

FORBIDDEN_NAMES = _words(
    "eval exec compile open input __import__ breakpoint globals locals vars help exit quit "
    "memoryview delattr setattr"
)

BUILTINS = {"__name__", "__debug__"} | {
    name
    for name, held in vars(builtins).items()
    if getattr(held, "__module__", "builtins") == "builtins" and not name.startswith("_")
} - FORBIDDEN_NAMES
"""Of Python itself: consoles and notebooks add more."""

TEXT_METHODS = _words(
    "strip lstrip rstrip lower upper title capitalize replace join format removeprefix "
    "removesuffix casefold zfill ljust rjust center swapcase expandtabs translate"
)

MUTATING_METHODS = _words(
    "append extend add update insert setdefault appendleft extendleft put put_nowait push"
)

RESULT_METHODS = _words("get keys values items copy pop setdefault update")

_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str, int),
    "dict": (dict,),
    "list": (list, tuple, set, frozenset, collections.deque),
    "result": (dict,),
}
"""What the check calls a text (or number), a dict, and a list (or its like)."""

KNOWN_ATTRIBUTES = {
    kind: frozenset().union(*(dir(each) for each in types))
    for kind, types in _TYPES.items()
    if kind != "result"
} | {"method": frozenset(dir("".join))}

METHODS = {
    kind: frozenset(
        name
        for each in types
        for name in dir(each)
        if all(callable(getattr(t, name, len)) for t in types)
    )
    for kind, types in _TYPES.items()
}
"""Attributes that are methods: read without a call, they hold no data."""


@functools.cache
def has_attribute(module: str, name: str) -> bool:
    """Whether an allowed module of the standard library has the attribute, or holds it as a
    submodule; True where it cannot be told."""
    if module.partition(".")[0] not in ALLOWED_MODULES:
        return True
    try:
        loaded = importlib.import_module(module)
    except ImportError:
        return False
    return hasattr(loaded, name) or name == "*"


class Rule(NamedTuple):
    """One kind of finding."""

    title: str
    hint: str


_TABLE = """
W100 | there is no program | write the program in one ```python block
W101 | this is not Python | write complete, plain Python
W102 | class Workflow is missing | define `class Workflow:` at the top level (statements alone are the form `body`)
W103 | async __call__ is missing | define `async def __call__(self, problem)`
W104 | __call__ takes other arguments than a problem gives | use `(self, problem)`, for code tasks `(self, problem, entry_point)`
W105 | __init__ takes other arguments | use `(self, name, llm_config, dataset)`
W106 | this import is not available | use the operators and the allowed modules
W107 | statement outside the class that does work | keep imports, constants, functions and the class at the top level
W108 | `operator` and `create_llm_instance` are given | leave out this import (repaired)
W109 | the program is too complex to be checked | write a shorter program
W110 | this name is not available to a program | use operators and plain Python
W111 | this is not in the language of programs | use the statements that docs/programs.md lists
W201 | there is no such operator | use a documented operator; name the module of one of your own in `plugins`
W202 | the operator is not created | add `self.NAME = operator.CLASS(self.llm)` to __init__
W203 | an operator is created with other arguments | write `operator.CLASS(self.llm)`
W204 | the operator has no such argument | use the documented arguments
W205 | an argument of the operator is missing | give every required argument
W206 | an argument is given twice, or too many are | give each argument once
W207 | the argument has the wrong type | give texts: `result["key"]`, `[a["key"], b["key"]]`
W208 | the result has no such key | read one of the operator's result keys
W209 | no operator is called | call an operator: only they ask the model
W210 | an operator or the model is used in a way that cannot be followed | call operators directly: `await self.NAME(...)`
W211 | a program is not told what it costs | write `return answer, 0.0` (repaired)
W212 | a function of the program is called with other arguments | match its `def`
W213 | there is no such executor | name one of these, leave the argument `executor` out, or add the name to `executors` of the configuration
W301 | the call is not awaited | write `await` before the call (repaired)
W302 | the name is not defined | assign or import it first; of an operator of your own name its file in `plugins`
W303 | the name may have no value here | give it a value before the branch or loop (repaired)
W304 | there is no such attribute | set it in __init__, or correct its name
W305 | await is used where it does not work | await in a plain statement of __call__
W306 | this value has no items, or cannot be a key | read items of lists, dicts and results; use texts and numbers as keys
W401 | the argument holds nothing that an operator produced | give the result of an earlier operator call
W402 | the list holds an item that no operator produced | put only operator results into it
W403 | the returned answer comes from no operator | return an operator's `result["key"]`
W404 | the returned answer does not depend on the problem | give `problem` to the operators
W405 | on some path the program wrote the returned answer itself | return an operator's `result["key"]` on every path, or `""` where there is none
W501 | a path ends without an answer | end every path with `return answer, 0.0`
W502 | the answer is returned alone | write `return answer, 0.0` (repaired)
W503 | a whole result is returned | return its text: `result["key"]`
W601 | the loop has no known bound | write `for _ in range(3):` or slice the list
W602 | the function calls itself | use a loop with a bound
W603 | the program may make too many model calls | use fewer or shorter loops
"""
"""Code, title and hint of each rule; docs/programs.md is made from these."""

RULES = {
    code: Rule(title, hint)
    for code, title, hint in (line.split(" | ") for line in _TABLE.strip().splitlines())
}


@dataclass(frozen=True, slots=True)
class Repair:
    """A deterministic change of the tree that removes a finding."""

    name: str
    """Written into ``Program.repairs``."""
    apply: Callable[[ast.Module], None]
    """Changes the checked tree in place."""


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    line: int
    detail: str
    repair: Repair | None = None
    column: int = 0
    """By which findings of one line are in order."""

    def as_diagnostic(self) -> Diagnostic:
        rule = RULES[self.code]
        message = f"{rule.title}: {self.detail}" if self.detail else rule.title
        return Diagnostic(self.code, self.line, message, rule.hint)
