"""Typed values: the same kind and an equal value is right, the same kind and another value is wrong."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from answer_tables import table_rows
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


PAIRS: dict[AnswerKind, str] = {
    "number": r"""
1234.5 => 1,234.50
1000000 => 1 000 000 | 1'000'000
0.5 => half
1.5 => one and a half
2/3 => two thirds | ⅔
1234567 => 1.234.567 | 1_234_567
1234 => one thousand, two hundred and thirty-four !> 1.234
630 kg => six hundred and thirty kilos
56.28 => 56,28
1/3 => 0.3333333333333333 !> 0.333
0.3 => 0.30000000000000004
-3 !> 3
3.14 !> 314
10 !> 1.0
1974 !> -1974
2:3 => 2 to 3 ?> 4:6 !> 3:2
1:2 !> 12
"""
    "12345 => 12\u202f345\n-5 => \uff0d5",
    "quantity": r"""
90 km/h => 25 m/s !> 90 m/s
25 m^2 !> 25 cm^2
25 m² => 25 square metres
50 miles per hour !> 50 miles
0.5 mile => half a mile | half of a mile !> half a kilometre
50 mph => 50 miles per hour
24 cubic inches !> 24 square inches
70 inches => 5 feet 10 inches
1.5 km => 1500 m
32 °F => 0 °C
-5 °C => minus 5 degrees Celsius !> 5 °C
3 kg/m^3 !> 3 g/m^3
4 in !> 4 cm
25 °C => 298.15 K
5'10" => 5 feet 10 inches !> 5'11"
12 kWh !> 12 kW
60 dB => 60 decibels !> 50 dB
""",
    "money": r"""
12 EUR => €12 !> 24 EUR | $12
$4.50 => 4 dollars and 50 cents | 450 cents
$3.5 million => 3.5 million dollars | $3,500,000 !> $35 million
₹5,00,000 => 500000 rupees !> ₹50,000
15 francs => CHF 15 !> 15 euros
£20 => 20 pounds !> 20 pence
131.28 euros => 131,28 EUR
131,28 € => 131.28 euros
""",
    "percentage": r"""
50% => fifty percent | 0.5 | 1/2
6.67% => 1/15 !> 1/16
5.0% !> 50%
-12% !> 12%
10.5% !> 105%
7 % => 7 per cent
5% !> -5%
25% => 25.0 percent !> 24%
""",
    "date": r"""
15 March 1985 => 1985-03-15 | March 15, 1985 | 15th of March, 1985 | 15.03.1985 | 3/15/1985 | 15 Mar 85
15 March 1985 => 1985-03-15T00:00:00Z !> 16 March 1985 | March 1985
March => in Mar. !> May ?> March 1985
4 May => May the 4th !> 4 March
4 March 2020 => 03/04/2020
3 April 2020 ?> 03/04/2020
19th century => nineteenth century !> 18th century
the 1980s !> the 1990s
44 BC !> AD 44
March 1985 ?> 15 March 1985
August 5, 1937 => 5 August 1937 !> August 6, 1937
""",
    "time": r"""
14:00 => 2 pm !> 16:00 | 14 days
3:45 !> 1:15
9:15 !> 3:5
1:20 !> 3:60
noon => 12:00
half past two => 2:30
21:30 => 9:30 p.m.
9 pm !> 9 am
15:45 ?> 3:45
""",
    "duration": r"""
90 minutes => 1 hour 30 minutes | 1 h 30 min | 1.5 hours | an hour and a half
135 minutes => 2 hours 15 minutes
30 days !> 14 days ?> 1 month
six weeks => 6 weeks | 42 days !> three weeks
one year => 12 months
half an hour => 30 minutes
2 hours and a half => 150 minutes
24 hours !> 48 hours
""",
    "bound": r"""
above 10,000 EUR => over 10000 euros !> above 1,000 EUR | below 10,000 EUR
within 24 hours => within one day !> within 48 hours
at least 14 => >= 14 | 14 or more !> at most 14
up to 28 euros => no more than €28
more than four hours => over 4 hours ?> 4 hours
3-5 days => 3 to 5 days | between three and five days | 72-120 hours !> 3-5 weeks | 3-6 days | 4 days
3-5 days !> up to 5 days
9:00 to 17:00 => 9 am to 5 pm !> 9:00-16:00
$5 to $10 !> €5 to €10
-5 to 40 °C !> 5 to 40 °C
1939 to 1945 => 1939-1945
""",
    "set": r"""
red, white and blue => red, white & blue | blue, red, white
1, 2, 3 => 3, 2, 1 !> 1, 2, 4 | 1, 2
5 May; 6 June => 6 June and 5 May
Ann and Bob => Bob and Ann
10 m, 20 m => 20 m and 1000 cm
2 kg and 3 kg !> 2 kg and 4 kg
one, two => 2, 1
""",
    "yes_no": r"""
yes => Yes. | Yes, they are. !> no | yes and no ?> Yes, one of them is. | Yes, it is not.
no => **No** | So no. | No, it can't. !> Yes, both are. ?> No, only the first one is. | No, they do.
true => True | Sure. | Of course! !> Certainly not. ?> ok so it may be
false => No | Of course not. | Absolutely not! !> true | Definitely.
yes !> False
""",
}


@pytest.mark.parametrize("kind", PAIRS)
def test_values_of_one_kind(kind: AnswerKind) -> None:
    rows = table_rows(PAIRS[kind])
    assert [(gold, answer, verdict(gold, answer)) for gold, answer, _ in rows] == rows
    if kind != "number":
        assert {gold_kind(gold, "What is it?", "qa") for gold, *_ in rows} == {kind}


ASKED = {
    "What is the total, rounded to cents?": "131.28 => 131.27999999999997 !> 131.27",
    "What is the total, rounded to two places?": "58.07 => 58.0702 !> 58.1\n58.0702 => 58.07",
    "Round it to the nearest whole number.": "42 => 41.7",
    "What is 2^-30 exactly?": "1/1073741824 !> 0.000000001",
    "How many minutes does it take?": "90 => 1.5 hours !> 90 hours",
    "How fast is it in km/h?": "90 => 25 m/s",
    "How much is it in dollars?": "4.50 => 450 cents",
    "How many dollars has she after 2 years?": "1080 => $1,080",
    "How many dollars has she?": "18 !> 18 euros",
    "How many probes landed?": "4 ?> 4 crashes",
    "How many clips has she?": "72 => 72 clips",
    "How many characters must it have at least?": "14 => at least 14",
    "What is the ratio of boys to girls?": "2:1 !> 1:2 | 3 to 1\n2 to 4 => 1:2 | 1 to 2",
    "Which years?": "1 to 2 !> 2 to 4",
    "What is the result as a ratio?": "2:1 => 4:2",
    "What was the final score?": "2:1 => 2-1 ?> 4:2 !> 1:2\n2–1 => 2 to 1\n2-15 => 2:15",
    "Which chapter and verse?": "4:12 !> 1:3",
    "Name them in order of size.": "a, b, c !> c, b, a",
    "What happened?": """
Three crates were lost. ?> Three crates arrived safely.
Five units were returned ?> Five units were never returned
""",
    "What does it say?": "One crate was missing from the delivery. ?> 1",
    "How many crates were missing?": "One crate was missing. => 1",
    "How long is it?": "2 years from purchase ?> 2 years from delivery",
    "Where is it?": "12 Mill Street !> 13 Mill Street ?> 12",
    "Which drink?": "7 Up ?> 7",
    "Which account?": "0042 => It is 0042. ?> 42",
    "How many?": "72 clips => 72",
    "How old is she?": "12 => 12 years old !> 12 months",
    "How many dollars in total?": "18 => $18 | 1800 cents !> 18 cents",
    "How many rupees in total?": "1250000 => ₹12,50,000 !> ₹1,25,000",
    "At which temperature?": "230 °C => 230 C !> 230 °F | 230 K",
    "What torque?": "12 N·m => 12 Nm !> 12 nm | 12 N/m",
    "What is the room temperature?": "3.10 => 3.1",
    "What does it cost a month?": """
$45 => $45 a month | $45/month | $45 per month | $45 !> $45 a year
$45 per month => $45 a month | $45/month | $45 per month | $45
""",
    "How many pages a minute?": "30 => 30 pages per minute ?> 30 pages per hour",
    "How many miles per hour?": "50 miles per hour !> 50 miles",
}
"""Units, digits and what a price is per are as the question says; equal numbers are right only if they
are all that is said."""


@pytest.mark.parametrize("question", ASKED)
def test_what_the_question_says_counts(question: str) -> None:
    rows = table_rows(ASKED[question])
    assert [(gold, answer, verdict(gold, answer, question)) for gold, answer, _ in rows] == rows


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


def test_a_difference_and_a_score_are_no_range() -> None:
    assert gold_kind("7-9", "What is it?", "math") != "bound"
    assert gold_kind("5-3", "What was the score?", "qa") == "number"
    assert verdict("3-2", "3-1") is WRONG


def test_a_label_that_looks_like_a_number_keeps_its_zeros() -> None:
    assert compare_values("3.10", "3.1", Asked("Which version is it?", "qa")) is None
    assert compare_values("4.10", "4.1", Asked("Which section says so?", "qa")) is None
    assert compare_values("2.10", "2.1", Asked("Which versions are hit?", "qa")) is None


@pytest.mark.parametrize("answer", ["8 pears and 12 apples", "12 apples, 8 pears"])
def test_things_counted_are_compared_by_name(answer: str) -> None:
    gold = "12 apples and 8 pears"
    assert verdict(gold, answer, "How many of each?", "math") is RIGHT
    assert verdict(gold, "8 apples and 12 pears", "How many of each?", "math") is WRONG
