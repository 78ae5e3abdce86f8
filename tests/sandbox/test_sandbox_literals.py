from __future__ import annotations

import collections
import contextlib
import datetime as dt
import decimal
import enum
import fractions
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.sandbox.inside.literals import LiteralError, decode, encode

HASHABLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.complex_numbers(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.dates(),
    st.datetimes(),
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.lists(inner).map(collections.deque),
        st.dictionaries(HASHABLE, inner),
        st.dictionaries(HASHABLE, inner).map(collections.OrderedDict),
        st.sets(HASHABLE),
        st.frozensets(HASHABLE),
        st.lists(HASHABLE).map(collections.Counter),
    ),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner),
        st.dictionaries(st.text(), inner),
        st.fixed_dictionaries(
            {"#": st.sampled_from(["int", "set", "date", "type", "x"]), "v": inner}
        ),
    ),
)


def no_foreign(value: Any) -> Any:
    raise AssertionError(f"{value!r} was taken for a foreign object")


def crossed(value: Any) -> Any:
    return decode(encode(value, no_foreign), no_foreign)


@pytest.mark.slow
@settings(max_examples=25)
@given(VALUES)
def test_builtin_values_cross_unchanged(value: Any) -> None:
    back = crossed(value)
    assert back == value
    assert type(back) is type(value)


@settings(max_examples=50)
@given(JSON)
def test_no_message_does_more_than_fail(form: Any) -> None:
    with contextlib.suppress(LiteralError):
        decode(form, lambda _: "foreign")


@pytest.mark.parametrize(
    "value",
    [
        *(math.inf, -math.inf, math.nan, -0.0, 10**4000, -(10**4000), range(2, 9, 3)),
        *(decimal.Decimal("1.10"), fractions.Fraction(10**400, 3), bytearray(b"a")),
        dt.datetime(2020, 1, 2, 3, tzinfo=dt.timezone.utc),
        [int, str, ValueError],
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_every_size_and_kind_cross(value: Any) -> None:
    assert repr(crossed(value)) == repr(value)


def test_views_iterators_and_matches_cross() -> None:
    assert crossed({1: 2}.keys()) == {1}
    assert list(crossed({1: 2}.values())) == [2]
    assert list(crossed(x for x in "ab")) == ["a", "b"]
    assert crossed(re.match("a", "a"))
    assert crossed(re.match("a", "a")) != re.match("a", "a")


def test_subclass_crosses_as_its_builtin_base() -> None:
    class Liar(str):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = str.__hash__

        def __str__(self) -> str:
            return "something else"

    class Number(int):
        def __int__(self) -> int:
            return 99

    class Color(enum.IntEnum):
        RED = 3

    point = collections.namedtuple("point", "x y")
    assert crossed(Liar("a")) != "b"
    assert crossed(Liar("a")) == "a"
    assert (crossed(Number(1)), type(crossed(Number(1)))) == (1, int)
    assert type(crossed(Color.RED)) is int
    assert type(crossed(point(1, 2))) is tuple
    assert crossed(collections.defaultdict(int, a=1)) == {"a": 1}


def test_object_of_another_class_is_foreign() -> None:
    class Thing:
        pass

    assert encode([Thing()], lambda value: {"#": "object", "id": 7}) == [{"#": "object", "id": 7}]
    assert decode([{"#": "object", "id": 7}], lambda form: form["id"]) == [7]
    with pytest.raises(AssertionError):
        encode(Thing, no_foreign)


def test_what_has_no_end_does_not_cross() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(LiteralError):
        encode(endless, no_foreign)
    with pytest.raises(LiteralError):
        encode(iter(map(int, iter(range(10**9)))), no_foreign)
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    with pytest.raises(LiteralError):
        decode(deep, no_foreign)


@pytest.mark.parametrize(
    "form",
    [
        {"#": "no such kind", "v": 1},
        {"v": 1},
        {"#": "int", "v": 3},
        {"#": "set", "v": [[1]]},
        {"#": "dict", "v": [1]},
        {"#": "range", "v": [1, 2, 0]},
        {"#": "Fraction", "v": ["0x1", "0x0"]},
        {"#": "Decimal", "v": "x"},
        {"#": "type", "v": "print"},
        {"#": ["list"], "v": 1},
    ],
)
def test_malformed_message_is_refused(form: Any) -> None:
    with pytest.raises(LiteralError):
        decode(form, no_foreign)
