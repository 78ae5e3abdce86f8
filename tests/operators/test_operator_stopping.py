"""The learned stop: what it sees, what it refuses, and when it asks for one more draw."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_fakes import CODE, MATH, FakeSandbox

from llm_as_judge.errors import DataError
from llm_as_judge.grading.equality import answer_classes
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import ExecutionContext, OperatorService, OperatorSettings, registry
from llm_as_judge.operators.base import StopSettings
from llm_as_judge.operators.stopping import (
    FEATURES,
    StopRule,
    StopState,
    StopTable,
    votes,
)
from llm_as_judge.types import Json, Problem, TestReport

WIDE = 1 + len(FEATURES)
ALWAYS = tuple([1.0] + [0.0] * (WIDE - 1))
NEVER = tuple([-1.0] + [0.0] * (WIDE - 1))


def table(*rows: tuple[float, ...], domain: str = "math") -> StopTable:
    rule = StopRule(tuple(rows), ())
    return StopTable({}, {domain: ("cot",)}, {domain: 60}, {domain: {"0.1": rule}})  # type: ignore[dict-item]


async def asked(
    stop: StopTable | None,
    ways: list[Json],
    problem: Problem = MATH,
    most: int = 8,
    at_once: int = 1,
    sandbox: FakeSandbox | None = None,
) -> Json:
    settings = OperatorSettings(stop=StopSettings(stop, 0.1, at_once) if stop is not None else None)
    context = ExecutionContext(
        ScriptedChat(lambda _: "x"),
        sandbox or FakeSandbox(),
        problem,
        settings,
        equality=answer_classes,
    )
    return await OperatorService(registry(), context)("UntilWorth", [ways], {"most": most})


@pytest.mark.parametrize(
    ("rows", "ways", "most", "at_once", "reply"),
    [
        ([ALWAYS, NEVER], [], 8, 1, {"more": 1}),
        ([ALWAYS, NEVER], ["7"], 8, 1, {"more": 1}),
        ([ALWAYS, NEVER], ["7", "7.0"], 8, 1, {"answer": "7", "share": 1.0, "draws": 2}),
        ([ALWAYS] * 3, ["1", "2"], 2, 1, {"answer": "1", "share": 0.5, "draws": 2}),
        ([ALWAYS], ["1", "2"], 8, 1, {"answer": "1", "share": 0.5, "draws": 2}),
        ([ALWAYS] * 7, [], 8, 3, {"more": 3}),
        ([ALWAYS] * 7, ["1", "2", "3"], 4, 3, {"more": 1}),
        ([ALWAYS, NEVER], [""], 8, 1, {"more": 1}),
        ([ALWAYS, NEVER], ["", " "], 8, 1, {"answer": "", "share": 0.0, "draws": 0}),
        ([ALWAYS] * 3 + [NEVER], [*"8778"], 8, 1, {"answer": "8", "share": 0.5, "draws": 4}),
        ([ALWAYS] * 3 + [NEVER], [*"7887"], 8, 1, {"answer": "7", "share": 0.5, "draws": 4}),
    ],
    ids=["first", "again", "enough", "most", "end of the table", "round", "round and most",
         "no answer yet", "no answer", "tie", "the same tie"],
)  # fmt: skip
async def test_it_draws_while_the_rule_says_so_and_then_votes(
    rows: list[tuple[float, ...]], ways: list[Json], most: int, at_once: int, reply: Json
) -> None:
    assert await asked(table(*rows), ways, most=most, at_once=at_once) == reply


async def test_code_that_passes_is_part_of_the_state() -> None:
    passed = tuple([1.0] + [-2.0 if name == "passed" else 0.0 for name in FEATURES])
    source = "def add(a, b):\n    return a + b"
    problem = replace(CODE, visible_tests=("assert add(1, 2) == 3",))
    stop = table(passed, domain="code")
    passes, fails = (FakeSandbox(reports=[TestReport(each, 1)]) for each in (True, False))
    found = await asked(stop, [source], problem, sandbox=passes)
    assert found == {"answer": source, "share": 1.0, "draws": 1}
    assert await asked(stop, [source], problem, sandbox=fails) == {"more": 1}


@pytest.mark.parametrize(
    ("stop", "problem", "names"),
    [
        pytest.param(None, MATH, "stop.table", id="no table"),
        pytest.param(table(ALWAYS), CODE, "no code", id="a domain that was not learned"),
    ],
)
async def test_without_a_rule_the_program_is_wrong_and_is_told(
    stop: StopTable | None, problem: Problem, names: str
) -> None:
    with pytest.raises(TypeError, match=names):
        await asked(stop, ["7"], problem)


# ------------------------------------------------------------------------------------------ states
STATES = st.builds(
    StopState,
    votes=st.lists(st.integers(1, 16), max_size=16).map(lambda v: tuple(sorted(v, reverse=True))),
    empty=st.integers(0, 16),
    spent=st.floats(),
    question_characters=st.integers(0, 10**9),
    dataset=st.text(max_size=5),
    passed=st.booleans(),
)


@settings(max_examples=100, deadline=None)
@given(STATES)
def test_whatever_is_seen_gives_numbers(state: StopState) -> None:
    features = state.features()
    assert len(features) == len(FEATURES)
    assert all(map(math.isfinite, features))
    assert not math.isnan(StopRule((ALWAYS,), ()).gain(state))


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=16), st.randoms())
def test_the_order_of_draws_does_not_matter(
    classes: list[int | None], chance: random.Random
) -> None:
    shuffled = list(classes)
    chance.shuffle(shuffled)
    assert votes(classes) == votes(shuffled)


LEADS = tuple(
    [0.4] + [-0.9 if name == "leader" else 0.2 if name == "distinct" else 0.0 for name in FEATURES]
)
"""Goes on where no answer has more than half of the votes."""


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["7", " 7", "8", "9", "", " "]), min_size=1, max_size=6), st.randoms()
)
def test_in_whatever_order_draws_come_it_goes_on_or_stops_alike(
    drawn: list[str], chance: random.Random
) -> None:
    shuffled = list(drawn)
    chance.shuffle(shuffled)
    one, other = (asyncio.run(asked(table(*[LEADS] * 7), [*ways])) for ways in (drawn, shuffled))
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    assert {k: v for k, v in one.items() if k != "answer"} == {
        k: v for k, v in other.items() if k != "answer"
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.text(), st.none(), st.integers(), st.floats()), max_size=8))
def test_whatever_a_reply_holds_it_is_a_text_or_no_vote(drawn: list[Json]) -> None:
    found = asyncio.run(asked(table(*[NEVER] * 7), drawn))
    assert isinstance(found, dict)
    if "more" in found:
        assert not drawn
        return
    texts = {str(one).strip() for one in drawn if one is not None}
    assert found["answer"] in texts | {""}
    assert found["draws"] in (0, len(drawn))


# ------------------------------------------------------------------------------------------- files
def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "stop.json"
    path.write_text(table(ALWAYS, NEVER).dump())
    assert StopTable.read(path) == table(ALWAYS, NEVER)


def dumped(*row: float, price: str = "0.1") -> str:
    return table(row).dump().replace('"0.1"', f'"{price}"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no stop table"),
        ("[1]", "of format 1"),
        ('{"format": 2}', "of format 1"),
        ('{"format": 1}', "bound"),
        *((dumped(spoiled, *ALWAYS[1:]), "finite") for spoiled in (math.nan, math.inf, -math.inf)),
        (dumped(1e308, *ALWAYS[1:]), "finite and below"),
        (dumped(10**400, *ALWAYS[1:]), "too large"),
        (dumped(*ALWAYS[:-1]), "rows of"),
        (dumped(*ALWAYS, price="cheap"), "finite"),
    ],
    ids=[
        "empty",
        "list",
        "format",
        "fields",
        "nan",
        "inf",
        "-inf",
        "overflow",
        "digits",
        "length",
        "price",
    ],
)
def test_another_file_is_refused_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "stop.json"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as error:
        StopTable.read(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_the_nearest_price_by_ratio_is_taken() -> None:
    low, high = StopRule((ALWAYS,), ()), StopRule((NEVER,), ())
    stop = StopTable({}, {}, {}, {"math": {"0.03": low, "0.3": high}})
    assert stop.rule("math", 0.05) == low
    assert stop.rule("math", 0.2) == high
    assert stop.rule("qa", 0.1) is None
