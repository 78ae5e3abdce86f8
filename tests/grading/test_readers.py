"""Readers of answers: no text makes one raise, whatever a library says of it; what cannot be read is no reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.grading.choice import grade_choice, read_choice
from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.dates import read_clock, read_dates, read_ratio
from llm_as_judge.grading.extract import clean, declared_answer, guard
from llm_as_judge.grading.final import plain_text, quantity
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.number import count_numbers, has_decimal_comma, parse_number
from llm_as_judge.grading.options import problem_options
from llm_as_judge.grading.rules import extract_code
from llm_as_judge.grading.shape import parse_shape
from llm_as_judge.grading.text import contains_words, normal_text
from llm_as_judge.grading.units import read_unit
from llm_as_judge.grading.values import compare_values, equal_values_in, gold_kind
from llm_as_judge.thoughts import without_thoughts
from llm_as_judge.types import AnswerKind, AnswerSpec, Problem

OPTIONS = ("neon", "argon")
READERS: Mapping[str, Callable[[str], object]] = {
    "unit": read_unit,
    "number": parse_number,
    "decimal comma": lambda text: parse_number(text, decimal_comma=True),
    "has a decimal comma": has_decimal_comma,
    "numbers": count_numbers,
    "date": read_dates,
    "clock": read_clock,
    "ratio": read_ratio,
    "text": normal_text,
    "words": lambda text: contains_words(text, text[:9]),
    "value within": lambda text: list(equal_values_in(text, "5 km", Asked(text, "qa"))),
    "thoughts": without_thoughts,
    "formula": normalize,
    "plain": plain_text,
    "quantity": quantity,
    "shape": lambda text: parse_shape(normalize(text)),
    "clean": clean,
    "guard": lambda text: guard(text, (text[:9],), text),
    "abstention": lambda text: is_abstention(text, text),
    "sentence": lambda text: declared_answer(clean(text), one_sentence=True),
    "declared": lambda text: declared_answer(clean(text), one_sentence=False),
    "choice": lambda text: read_choice(clean(text), (*OPTIONS, text[:5] or "x"), text),
    "graded choice": lambda text: grade_choice(
        Problem("x/1", "x", "qa", text, ("B",), options=OPTIONS), clean(text)
    ),
    "options": lambda text: problem_options(Problem("x/1", "x", "qa", text, ("B",))),
    "code": lambda text: extract_code(text, "f"),
}
WRITTEN = r"""
0 5 31 2024 12:30 1/0 1e9 1e400 10^ 400 x= - + / : . , % $ € ₹5,00,000 Rs ½ ⅔ ² 〇 四 Ⅷ 𝟓 １２ NaN inf
dB dBm km/h ° °C K in m^2 m^-9 per square degrees $/h month a the and or to from between until March
Mar. century B.C. pm noon half past two dozen hundred thousand, third yes no not \frac{1}{0} \text{
\boxed{ } { \sqrt \pi \circ \infty \ge \begin{pmatrix} \end{pmatrix} & \\ \{ \} | (B) B. neon answer
is #### <think> </think> ** ``` def f(): [ ] ( ) " ' _ @ Ctrl+ ~ ≈ ; … İ ǅ ﬁ
"""
PIECES = [*WRITTEN.split(), "\ud800", "\x00", "\u202e", "\u200b", "\n", "9" * 5000]
PIECE = st.sampled_from(PIECES) | st.text(max_size=3)
TEXT = st.lists(st.tuples(PIECE, st.sampled_from(["", " "])).map("".join), max_size=9).map("".join)
FUZZED = settings(max_examples=20, deadline=None)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
@FUZZED
@given(text=TEXT)
def test_no_text_makes_a_reader_raise(read: Callable[[str], object], text: str) -> None:
    read(text)


@pytest.mark.parametrize("kind", [None, *get_args(AnswerKind)])
@FUZZED
@given(gold=TEXT, answer=TEXT, question=TEXT)
def test_no_texts_make_a_comparison_raise(
    kind: AnswerKind | None, gold: str, answer: str, question: str
) -> None:
    spec = AnswerSpec(kind=kind)
    for domain in ("qa", "math"):
        compare_values(gold, answer, Asked(question, domain, spec))
        gold_kind(gold, question, domain, spec)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["a", "1", "1.", "a_", "a+b", "1 ", "(", r"\frac{", "\n", "B) ", "5' ", "~"]
)
def test_a_text_of_thirty_thousand_characters_is_read(piece: str) -> None:
    text = piece * (30_000 // len(piece))
    for read in READERS.values():
        read(text)
