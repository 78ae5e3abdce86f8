"""Typed values: the same kind and an equal value is right, the same kind and another value is wrong."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.units import read_unit, same_dimensions
from llm_as_judge.grading.values import compare_values, gold_kind
from llm_as_judge.grading.wordlists import MEASURES, PREFIXED
from llm_as_judge.types import AnswerKind, AnswerSpec, Domain

RIGHT, WRONG, OPEN = True, False, None
FEW = settings(max_examples=25, deadline=None)


def verdict(
    gold: str,
    answer: str,
    question: str = "What is it?",
    domain: Domain = "qa",
    spec: AnswerSpec = AnswerSpec(),  # noqa: B008 - frozen
) -> bool | None:
    compared = compare_values(gold, answer, Asked(question, domain, spec))
    assert compared is not None, (gold, answer)
    return compared.correct


PAIRS: list[tuple[AnswerKind, str, str, bool | None]] = [
    *(
        ("number", gold, answer, correct)
        for gold, answer, correct in [
            ("1234.5", "1,234.50", RIGHT),
            ("1000000", "1 000 000", RIGHT),
            ("1000000", "1'000'000", RIGHT),
            ("12345", "12\u202f345", RIGHT),
            ("0.5", "half", RIGHT),
            ("1.5", "one and a half", RIGHT),
            ("2/3", "two thirds", RIGHT),
            ("2/3", "⅔", RIGHT),
            ("-5", "－5", RIGHT),
            ("1234567", "1.234.567", RIGHT),
            ("1234567", "1_234_567", RIGHT),
            ("1234", "1.234", WRONG),
            ("1234", "one thousand, two hundred and thirty-four", RIGHT),
            ("630 kg", "six hundred and thirty kilos", RIGHT),
            ("56.28", "56,28", RIGHT),
            ("1/3", "0.3333333333333333", RIGHT),
            ("0.3", "0.30000000000000004", RIGHT),
            ("-3", "3", WRONG),
            ("3.14", "314", WRONG),
            ("1/3", "0.333", WRONG),
            ("10", "1.0", WRONG),
            ("1974", "-1974", WRONG),
            ("2:3", "2 to 3", RIGHT),
            ("2:3", "4:6", RIGHT),
            ("1:2", "12", WRONG),
        ]
    ),
    *(
        ("quantity", gold, answer, correct)
        for gold, answer, correct in [
            ("90 km/h", "90 m/s", WRONG),
            ("90 km/h", "25 m/s", RIGHT),
            ("25 m^2", "25 cm^2", WRONG),
            ("25 m²", "25 square metres", RIGHT),
            ("50 miles per hour", "50 miles", WRONG),
            ("50 mph", "50 miles per hour", RIGHT),
            ("24 cubic inches", "24 square inches", WRONG),
            ("70 inches", "5 feet 10 inches", RIGHT),
            ("1.5 km", "1500 m", RIGHT),
            ("32 °F", "0 °C", RIGHT),
            ("-5 °C", "5 °C", WRONG),
            ("-5 °C", "minus 5 degrees Celsius", RIGHT),
            ("3 kg/m^3", "3 g/m^3", WRONG),
            ("4 in", "4 cm", WRONG),
            ("25 °C", "298.15 K", RIGHT),
            ("5'10\"", "5 feet 10 inches", RIGHT),
            ("5'10\"", "5'11\"", WRONG),
            ("12 kWh", "12 kW", WRONG),
        ]
    ),
    *(
        ("money", gold, answer, correct)
        for gold, answer, correct in [
            ("12 EUR", "€12", RIGHT),
            ("12 EUR", "24 EUR", WRONG),
            ("12 EUR", "$12", WRONG),
            ("$4.50", "4 dollars and 50 cents", RIGHT),
            ("$4.50", "450 cents", RIGHT),
            ("$3.5 million", "3.5 million dollars", RIGHT),
            ("$3.5 million", "$3,500,000", RIGHT),
            ("$3.5 million", "$35 million", WRONG),
            ("₹5,00,000", "500000 rupees", RIGHT),
            ("₹5,00,000", "₹50,000", WRONG),
            ("15 francs", "CHF 15", RIGHT),
            ("15 francs", "15 euros", WRONG),
            ("£20", "20 pounds", RIGHT),
            ("£20", "20 pence", WRONG),
            ("131.28 euros", "131,28 EUR", RIGHT),
            ("131,28 €", "131.28 euros", RIGHT),
        ]
    ),
    *(
        ("percentage", gold, answer, correct)
        for gold, answer, correct in [
            ("50%", "fifty percent", RIGHT),
            ("50%", "0.5", RIGHT),
            ("50%", "1/2", RIGHT),
            ("6.67%", "1/15", RIGHT),
            ("6.67%", "1/16", WRONG),
            ("5.0%", "50%", WRONG),
            ("-12%", "12%", WRONG),
            ("10.5%", "105%", WRONG),
            ("7 %", "7 per cent", RIGHT),
            ("5%", "-5%", WRONG),
            ("25%", "25.0 percent", RIGHT),
            ("25%", "24%", WRONG),
        ]
    ),
    *(
        ("date", gold, answer, correct)
        for gold, answer, correct in [
            ("15 March 1985", "1985-03-15", RIGHT),
            ("15 March 1985", "March 15, 1985", RIGHT),
            ("15 March 1985", "15th of March, 1985", RIGHT),
            ("15 March 1985", "15.03.1985", RIGHT),
            ("15 March 1985", "3/15/1985", RIGHT),
            ("15 March 1985", "16 March 1985", WRONG),
            ("15 March 1985", "March 1985", WRONG),
            ("15 March 1985", "15 Mar 85", RIGHT),
            ("15 March 1985", "1985-03-15T00:00:00Z", RIGHT),
            ("March", "in Mar.", RIGHT),
            ("March", "May", WRONG),
            ("4 May", "4 March", WRONG),
            ("4 May", "May the 4th", RIGHT),
            ("March", "March 1985", OPEN),
            ("4 March 2020", "03/04/2020", RIGHT),
            ("3 April 2020", "03/04/2020", OPEN),
            ("19th century", "nineteenth century", RIGHT),
            ("19th century", "18th century", WRONG),
            ("the 1980s", "the 1990s", WRONG),
            ("44 BC", "AD 44", WRONG),
            ("March 1985", "15 March 1985", OPEN),
            ("August 5, 1937", "5 August 1937", RIGHT),
            ("August 5, 1937", "August 6, 1937", WRONG),
        ]
    ),
    *(
        ("time", gold, answer, correct)
        for gold, answer, correct in [
            ("14:00", "2 pm", RIGHT),
            ("14:00", "16:00", WRONG),
            ("3:45", "1:15", WRONG),
            ("9:15", "3:5", WRONG),
            ("1:20", "3:60", WRONG),
            ("noon", "12:00", RIGHT),
            ("half past two", "2:30", RIGHT),
            ("21:30", "9:30 p.m.", RIGHT),
            ("9 pm", "9 am", WRONG),
            ("15:45", "3:45", OPEN),
            ("14:00", "14 days", WRONG),
        ]
    ),
    *(
        ("duration", gold, answer, correct)
        for gold, answer, correct in [
            ("90 minutes", "1 hour 30 minutes", RIGHT),
            ("90 minutes", "1 h 30 min", RIGHT),
            ("90 minutes", "1.5 hours", RIGHT),
            ("135 minutes", "2 hours 15 minutes", RIGHT),
            ("30 days", "14 days", WRONG),
            ("six weeks", "6 weeks", RIGHT),
            ("six weeks", "42 days", RIGHT),
            ("six weeks", "three weeks", WRONG),
            ("one year", "12 months", RIGHT),
            ("30 days", "1 month", OPEN),
            ("half an hour", "30 minutes", RIGHT),
            ("90 minutes", "an hour and a half", RIGHT),
            ("2 hours and a half", "150 minutes", RIGHT),
            ("24 hours", "48 hours", WRONG),
        ]
    ),
    *(
        ("bound", gold, answer, correct)
        for gold, answer, correct in [
            ("above 10,000 EUR", "over 10000 euros", RIGHT),
            ("above 10,000 EUR", "above 1,000 EUR", WRONG),
            ("above 10,000 EUR", "below 10,000 EUR", WRONG),
            ("within 24 hours", "within 48 hours", WRONG),
            ("within 24 hours", "within one day", RIGHT),
            ("at least 14", ">= 14", RIGHT),
            ("at least 14", "14 or more", RIGHT),
            ("at least 14", "at most 14", WRONG),
            ("up to 28 euros", "no more than €28", RIGHT),
            ("more than four hours", "over 4 hours", RIGHT),
            ("more than four hours", "4 hours", OPEN),
        ]
    ),
    *(
        ("set", gold, answer, correct)
        for gold, answer, correct in [
            ("red, white and blue", "red, white & blue", RIGHT),
            ("red, white and blue", "blue, red, white", RIGHT),
            ("1, 2, 3", "3, 2, 1", RIGHT),
            ("1, 2, 3", "1, 2, 4", WRONG),
            ("1, 2, 3", "1, 2", WRONG),
            ("5 May; 6 June", "6 June and 5 May", RIGHT),
            ("Ann and Bob", "Bob and Ann", RIGHT),
            ("10 m, 20 m", "20 m and 1000 cm", RIGHT),
            ("2 kg and 3 kg", "2 kg and 4 kg", WRONG),
            ("one, two", "2, 1", RIGHT),
        ]
    ),
    *(
        ("yes_no", gold, answer, correct)
        for gold, answer, correct in [
            ("yes", "Yes.", RIGHT),
            ("no", "**No**", RIGHT),
            ("no", "So no.", RIGHT),
            ("true", "True", RIGHT),
            ("yes", "no", WRONG),
            ("no", "Yes, both are.", WRONG),
            ("yes", "yes and no", WRONG),
            ("yes", "Yes, one of them is.", OPEN),
            ("no", "No, only the first one is.", OPEN),
            ("yes", "Yes, they are.", RIGHT),
            ("no", "No, it can't.", RIGHT),
            ("no", "No, they do.", OPEN),
            ("yes", "Yes, it is not.", OPEN),
            ("false", "true", WRONG),
        ]
    ),
]


@pytest.mark.parametrize(
    ("kind", "gold", "answer", "correct"), PAIRS, ids=lambda value: str(value)[:30]
)
def test_values_of_one_kind(kind: AnswerKind, gold: str, answer: str, correct: bool | None) -> None:
    assert verdict(gold, answer) is correct
    if kind not in ("number", "sequence"):
        assert gold_kind(gold, "What is it?", "qa") == kind


@pytest.mark.parametrize(
    ("gold", "answer", "question", "correct"),
    [
        ("131.28", "131.27999999999997", "What is the total, rounded to cents?", RIGHT),
        ("58.07", "58.0702", "What is the total, rounded to two places?", RIGHT),
        ("58.0702", "58.07", "What is the total, rounded to two places?", RIGHT),
        ("131.28", "131.27", "What is the total, rounded to cents?", WRONG),
        ("58.07", "58.1", "What is the total, rounded to two places?", WRONG),
        ("42", "41.7", "Round it to the nearest whole number.", RIGHT),
        ("1/1073741824", "0.000000001", "What is 2^-30 exactly?", WRONG),
        ("90", "1.5 hours", "How many minutes does it take?", RIGHT),
        ("90", "90 hours", "How many minutes does it take?", WRONG),
        ("90", "25 m/s", "How fast is it in km/h?", RIGHT),
        ("4.50", "450 cents", "How much is it in dollars?", RIGHT),
        ("1080", "$1,080", "How many dollars has she after 2 years?", RIGHT),
        ("18", "18 euros", "How many dollars has she?", WRONG),
        ("4", "4 crashes", "How many probes landed?", OPEN),
        ("72", "72 clips", "How many clips has she?", RIGHT),
        ("14", "at least 14", "How many characters must it have at least?", RIGHT),
        ("2:1", "1:2", "What is the ratio of boys to girls?", WRONG),
        ("a, b, c", "c, b, a", "Name them in order of size.", WRONG),
    ],
)
def test_the_question_says_in_which_unit_and_to_which_digits(
    gold: str, answer: str, question: str, correct: bool | None
) -> None:
    assert verdict(gold, answer, question) is correct


@pytest.mark.parametrize(
    ("gold", "answer", "question", "correct"),
    [
        ("Three crates were lost.", "Three crates arrived safely.", "What happened?", OPEN),
        ("Five units were returned", "Five units were never returned", "What happened?", OPEN),
        ("One crate was missing from the delivery.", "1", "What does it say?", OPEN),
        ("One crate was missing.", "1", "How many crates were missing?", RIGHT),
        ("2 years from purchase", "2 years from delivery", "How long is it?", OPEN),
        ("12 Mill Street", "12", "Where is it?", OPEN),
        ("12 Mill Street", "13 Mill Street", "Where is it?", WRONG),
        ("7 Up", "7", "Which drink?", OPEN),
        ("0042", "42", "Which account?", OPEN),
        ("0042", "It is 0042.", "Which account?", RIGHT),
        ("72 clips", "72", "How many?", RIGHT),
        ("12", "12 years old", "How old is she?", RIGHT),
    ],
)
def test_equal_numbers_are_right_only_if_they_are_all_that_is_said(
    gold: str, answer: str, question: str, correct: bool | None
) -> None:
    assert verdict(gold, answer, question) is correct


def test_the_owner_of_a_row_decides_tolerance_unit_and_kind() -> None:
    near = AnswerSpec(tolerance=0.5)
    assert verdict("20", "20.4", spec=near) is RIGHT
    assert verdict("20", "20.6", spec=near) is WRONG
    assert verdict("20", "20000 m", spec=AnswerSpec(unit="km")) is RIGHT
    assert verdict("20", "20 m", spec=AnswerSpec(unit="km")) is WRONG
    assert verdict("a, b", "b, a", spec=AnswerSpec(kind="sequence")) is WRONG
    assert verdict("a, b", "b, a", spec=AnswerSpec(kind="set")) is RIGHT
    assert verdict("14.30", "2:30 pm", spec=AnswerSpec(kind="time")) is RIGHT
    asked = Asked("What is it?", "qa", AnswerSpec(kind="short_text"))
    assert compare_values("14:00", "2 pm", asked) is None


# --------------------------------------------------------------------------- values drawn at random
WHOLE = st.integers(1, 10**6)
UNITS = st.sampled_from(["km", "kg", "m^2", "litres", "miles per hour", "EUR", "kWh", "°C", "GB"])


@FEW
@given(WHOLE, WHOLE, UNITS)
def test_another_number_with_the_same_unit_is_wrong(one: int, other: int, unit: str) -> None:
    assume(one != other)
    assert verdict(f"{one} {unit}", f"{one:,} {unit}") is RIGHT
    assert verdict(f"{one} {unit}", f"{other} {unit}") is WRONG


@FEW
@given(WHOLE, UNITS, UNITS)
def test_the_same_number_with_a_unit_of_another_kind_is_wrong(
    number: int, unit: str, other: str
) -> None:
    assume(not any(same_dimensions(a, b) for a in read_unit(unit) for b in read_unit(other)))
    assert verdict(f"{number} {unit}", f"{number} {other}") is WRONG


@FEW
@given(st.integers(0, 10**7), st.integers(1, 5))
def test_noise_of_a_float_is_forgiven_and_a_cent_is_not(cents: int, times: int) -> None:
    gold = Fraction(cents * times, 100)
    noisy = sum([cents / 100] * times)
    assert verdict(f"{float(gold):.2f}", repr(noisy)) is RIGHT
    assert verdict(f"{float(gold):.2f}", f"{float(gold) + 0.01:.2f}") is WRONG


@FEW
@given(st.dates())
def test_a_date_is_one_in_every_notation(day: dt.date) -> None:
    assume(day.year >= 1000)
    gold = f"{day.day} {day:%B} {day.year}"
    for answer in (day.isoformat(), f"{day:%B} {day.day}, {day.year}", f"{day:%d.%m.%Y}"):
        assert verdict(gold, answer) is RIGHT
    later = day.replace(day=day.day % 27 + 1)
    assert verdict(gold, later.isoformat()) is (RIGHT if later == day else WRONG)


@FEW
@given(st.integers(0, 23), st.integers(0, 59), st.integers(1, 719))
def test_a_time_is_one_in_every_notation(hour: int, minute: int, later: int) -> None:
    gold = f"{hour:02}:{minute:02}"
    half = "am" if hour < 12 else "pm"
    assert verdict(gold, f"{(hour - 1) % 12 + 1}:{minute:02} {half}") is RIGHT
    at = (60 * hour + minute + later) % 1440
    assert verdict(gold, f"{at // 60:02}:{at % 60:02}") is WRONG


@FEW
@given(st.integers(1, 50), st.integers(1, 59))
def test_mixed_units_are_their_sum(hours: int, minutes: int) -> None:
    gold = f"{60 * hours + minutes} minutes"
    assert verdict(gold, f"{hours} hours and {minutes} minutes") is RIGHT
    assert verdict(gold, f"{hours} hours and {minutes + 1} minutes") is not RIGHT


@pytest.mark.parametrize(
    "answer", ["It ended on April 7, 2016.", "April 7, in the evening", "Ann, Bob and the others"]
)
def test_a_sentence_is_no_list(answer: str) -> None:
    assert compare_values("April 7, 2016", answer, Asked("When?", "qa")) is None


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_every_unit_in_the_list_can_be_read(name: str) -> None:
    for text in (name, *([f"kilo{name}"] if name in PREFIXED else [])):
        read_unit(text)


def test_what_a_price_is_per_may_stand_in_the_question() -> None:
    question = "What does it cost a month?"
    for answer in ("$45 a month", "$45/month", "$45 per month", "$45"):
        assert verdict("$45", answer, question) is RIGHT
        assert verdict("$45 per month", answer, question) is RIGHT
    assert verdict("$45", "$45 a year", question) is WRONG
    assert verdict("30", "30 pages per minute", "How many pages a minute?") is RIGHT
    assert verdict("30", "30 pages per hour", "How many pages a minute?") is OPEN
    assert verdict("50 miles per hour", "50 miles", "How many miles per hour?") is WRONG


@pytest.mark.parametrize(
    ("gold", "answer", "correct"),
    [
        ("3-5 days", "3 to 5 days", RIGHT),
        ("3-5 days", "between three and five days", RIGHT),
        ("3-5 days", "72-120 hours", RIGHT),
        ("3-5 days", "3-5 weeks", WRONG),
        ("3-5 days", "3-6 days", WRONG),
        ("3-5 days", "4 days", WRONG),
        ("3-5 days", "up to 5 days", WRONG),
        ("9:00 to 17:00", "9 am to 5 pm", RIGHT),
        ("9:00 to 17:00", "9:00-16:00", WRONG),
        ("$5 to $10", "€5 to €10", WRONG),
        ("-5 to 40 °C", "5 to 40 °C", WRONG),
        ("1939 to 1945", "1939-1945", RIGHT),
    ],
)
def test_of_a_range_both_ends_are_compared(gold: str, answer: str, correct: bool) -> None:
    assert verdict(gold, answer) is correct
    assert gold_kind(gold, "What is it?", "qa") == "bound"


def test_a_difference_and_a_score_are_no_range() -> None:
    assert gold_kind("7-9", "What is it?", "math") != "bound"
    assert compare_values("2-3", "2-4", Asked("What was the score?", "qa")) is None


def test_a_label_that_looks_like_a_number_keeps_its_zeros() -> None:
    assert compare_values("3.10", "3.1", Asked("Which version is it?", "qa")) is None
    assert compare_values("4.10", "4.1", Asked("Which section says so?", "qa")) is None
    assert verdict("3.10", "3.1", "What is the room temperature?") is RIGHT


@pytest.mark.parametrize("answer", ["8 pears and 12 apples", "12 apples, 8 pears"])
def test_things_counted_are_compared_by_name(answer: str) -> None:
    gold = "12 apples and 8 pears"
    assert verdict(gold, answer, "How many of each?", "math") is RIGHT
    assert verdict(gold, "8 apples and 12 pears", "How many of each?", "math") is WRONG


def test_decibels_are_compared_as_they_are() -> None:
    assert verdict("60 dB", "60 decibels") is RIGHT
    assert verdict("60 dB", "50 dB") is WRONG
