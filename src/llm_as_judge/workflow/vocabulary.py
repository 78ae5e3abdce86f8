"""Names that a program may use: builtins, modules, and what methods of plain values do."""

from __future__ import annotations

import collections
import functools
import importlib


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

BUILTINS = _words(
    """
    abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict
    dir divmod enumerate filter float format frozenset getattr hasattr hash hex id int isinstance
    issubclass iter len list map max min next object oct ord pow print property range repr
    reversed round set slice sorted staticmethod str sum super tuple type zip
    True False None Ellipsis NotImplemented __name__ __debug__
    ArithmeticError AssertionError AttributeError BaseException EOFError Exception
    FloatingPointError GeneratorExit ImportError IndexError KeyError KeyboardInterrupt
    LookupError MemoryError ModuleNotFoundError NameError NotImplementedError OSError
    OverflowError RecursionError RuntimeError StopAsyncIteration StopIteration SyntaxError
    SystemExit TimeoutError TypeError UnboundLocalError UnicodeError ValueError Warning
    ZeroDivisionError ConnectionError IOError EnvironmentError UserWarning
    """
)

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
