"""Multiple choice: one reader of options, of golds and of answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from answer_tables import items, table_rows
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.grading.choice import (
    choose,
    gold_options,
    grade_choice,
    read_choice,
)
from llm_as_judge.grading.equality import answer_classes
from llm_as_judge.grading.options import options_in
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.llm_judge import LlmJudge
from llm_as_judge.judge.parts import CHOICE, part_of
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import AnswerSpec, Domain, Problem

GASES = ("argon", "neon", "helium", "radon")
NUMBERS = ("3", "5", "7", "9")
SIGNED = ("-5", "5", "5%", "0.5")
FORMULAS = (r"\frac{1}{2}", r"\frac{1}{3}", "x^2+1", "x+1")
PRINTED = ("Error", "abc", "cba", "c")
NESTED = ("Both A and B", "All of the above", "None of the above", "A only")
VITAMINS = ("vitamin A", "vitamin B", "vitamin C", "vitamin D")
SENTENCES = (
    "Heat makes the molecules move faster",
    "The molecules grow",
    "Air pressure falls",
    "A chemical reaction starts",
)
QUESTION = "Which gas is in the lamp?"

NAMES_B = r"""
B | b | (b) | b) | b. | B: | [B] | {B} | **B** | **(B)** | `B` | $B$ | \(B\) | Ｂ | "B" | B ✅ | ✓ B
$\boxed{B}$ | \boxed{B. neon} | \boxed{(B)} | \boxed{\text{B}} | \mathrm{B} | \textbf{(B)}\ \text{neon}
Option B | option b | Option (B) is the right one. | choice b | choice (b): neon | letter B | B is correct.
Answer: b | Answer: B. | Answer - B | ANSWER: B | The answer is b. | The answer is option B. | answer B
The correct option is (B). | Correct answer: B) neon | B is the answer. | I choose B | I'd pick b)
I would go with B. | I would pick B — a safe choice. | We select option B. | I think it's B. | Thus B
So the answer must be B. | Therefore, (B). | It is B. | It must be neon. | The gas in the lamp is neon.
Neon. | NEON | neon! | "neon" | “neon” | the neon | neon ✓ | 🎉 neon | *neon* | **neon** | The gas is neon.
neon (option B) | neon, B | neon - B | neon (B) | b) neon | B neon | B, neon | B = neon | B)neon | (B)neon
Neon is the answer. | Neon is the right choice. | Neon is the gas in the lamp. | neon because argon is blue
B since argon is blue | B because A is blue | B, because argon glows blue | B - it glows | B. It glows.
The answer is (B) neon, because it glows. | The answer is B because a lamp glows. | B, since A glows blue.
The answer is B, not A. | B, not A | B rather than A | neon, not argon | It is not A, it is B.
Not argon but neon | A is wrong, so it is B. | Argon is blue, so it is neon. | Neon glows red, so B
<answer>B</answer> | #### B | {"answer": "B"} | {"answer": "neon"} | The answer is **(B) neon**.
The answer is $\mathbf{B}$. | Answer: **B. neon** | The correct choice is B, i.e. neon. | My final answer is B
"""
SEVERAL = r"""
A or B | B or C | A and B | A, B | A/B | A & B | argon, neon | argon or neon | neon/argon | Both A and B
B. argon | (B) argon | b) helium | B argon | B (argon) | argon (B) | neon (C) | B and argon | B: argon
Either B or C | A, B, C, D | The answer is A. The answer is B. | \boxed{A} \boxed{B} | B? No, C.
The answer is B? No, C | B. Wait, C | B, actually C | The answer is B or C. | maybe A, maybe B
\textbf{(B)}\ \text{argon} | Option B: helium | options B and C
"""
DENIES_B = """
not B | B is wrong | B is not correct | It is not neon. | not neon | neon is wrong | B is incorrect.
The answer is not B. | It isn't B | anything other than B | B can be ruled out | Not (B) | all but neon
"""
NONE = "Z | The | an | the answer | xenon | E | 5 | ? | ok | zinc lamp oil"
UNCLEAR = """
Perhaps B | maybe neon | The second one of the list | Neon glows while argon is blue | B, argon is blue
B. xenon gas of that | The opposite of neon | It glows in a red that one sees at night in shop windows.
"""


@pytest.mark.parametrize("answer", items(NAMES_B))
def test_an_option_is_named_by_letter_by_text_or_by_both(answer: str) -> None:
    assert choose(answer, GASES, QUESTION) == 1


LINES_OF_B = (
    "B\n\nNeon glows.",
    "B\nArgon glows blue.",
    "B. neon\n\nExplanation: argon is blue.",
    "Some thought about gases.\nB",
    "Argon is blue.\nThe answer is B.",
    "**Final Answer**\n\nB",
    "### Answer\nB",
    "So $\\boxed{\\langle H\\rangle \\ll \\Delta E}$ holds.\n\n**Answer: B**",
    "The calculated answer is 11.\n\nAnswer seems to be B.\n\nAnswer: B",
    "A. argon\nB. neon\nC. helium\nD. radon\n\nB",
)


@pytest.mark.parametrize("answer", LINES_OF_B)
def test_of_several_lines_the_one_that_answers_is_read(answer: str) -> None:
    assert choose(answer, GASES, QUESTION) == 1


@pytest.mark.parametrize("answer", [*items(SEVERAL), "B\nC", "A\nB", "Answer: B\nC", "argon\nneon"])
def test_two_options_are_no_choice(answer: str) -> None:
    assert read_choice(answer, GASES, QUESTION).fault == "several"


@pytest.mark.parametrize("answer", items(DENIES_B))
def test_a_denied_option_is_not_chosen(answer: str) -> None:
    assert read_choice(answer, GASES, QUESTION).fault == "denied"
    assert grade(answer, "B") is False
    assert grade(answer, "C") is None


@pytest.mark.parametrize("answer", items(NONE))
def test_a_short_text_that_names_none_is_wrong(answer: str) -> None:
    assert grade(answer, "B") is False


@pytest.mark.parametrize("answer", items(UNCLEAR))
def test_what_is_unclear_is_open(answer: str) -> None:
    assert grade(answer, "B") is None


def grade(answer: str, gold: str, options: tuple[str, ...] = GASES) -> bool | None:
    problem = Problem("q/1", "q", "qa", QUESTION, (gold,), options=options)
    verdict = grade_choice(problem, answer)
    assert verdict.kind == "choice"
    assert verdict.explanation
    return verdict.correct


OF_OPTIONS = [
    (NUMBERS, r"""
C => 7 | 7 (C) | \textbf{(C)}\ 7
none => C) 5 | 17 | 7.5 | 7%
"""),
    (SIGNED, "A => -5 | \u22125\nB => 5\nC => 5%\nD => 0.5\nnone => B) -5"),
    (FORMULAS, r"""
A => $\frac{1}{2}$
B => \dfrac{1}{3}
C => $x^2 + 1$
D => (D) x+1
"""),
    (NESTED, "A => Both A and B | (A) Both A and B\nB => All of the above\nD => A only"),
    (("True", "False"), "A => It is true.\nnone => A) False"),
    (VITAMINS, "A => Vitamin A\nD => It is vitamin D.\nnone => B. vitamin C"),
    (SENTENCES, """
A => Heat makes the molecules move faster.
D => A chemical reaction starts
none => The molecules move faster | A chemical reaction
"""),
    # "c) cba": a small letter in front of a text is the letter, with its own text beside it
    (PRINTED, "B => abc | b\nC => C. | c) cba\nD => c\nnone => B. cba"),
    (tuple("abcdefghij"), "B => I choose B.\nI => (I)\nJ => I think it is J"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "table"), OF_OPTIONS)
def test_texts_that_are_numbers_formulas_letters_and_sentences(
    options: tuple[str, ...], table: str
) -> None:
    for letter, answer, _ in table_rows(table):
        index = choose(answer, options)
        assert ("none" if index is None else chr(ord("A") + index)) == letter, answer


def test_a_question_that_denies_leaves_a_statement_of_its_words_open() -> None:
    asked = "Which gas is not in the lamp?"
    assert choose("The gas in the lamp is neon", GASES, asked) is None
    assert choose("neon", GASES, asked) == 1


# ------------------------------------------------------------------------ values changed at random
DRESSES = items(r"""
{L} | ({l}) | {l}) | {L}. {text} | Option {L} | \boxed{{\text{{{L}}}}} | \textbf{{({L})}}\ {text} | **{L}**
The answer is ({L}) {text}. | I choose {L}. | {text} ({L}) | Answer: {L} | It is {text}. | {text}
{L} because it is so.
""")
WORDS = st.text("bcdefghjklmnopqrstuvwxyz", min_size=3, max_size=8)
OPTIONS = st.lists(WORDS, min_size=3, max_size=6, unique=True).map(
    lambda words: tuple(f"x{word}" for word in words)
)


@given(OPTIONS, st.data(), st.sampled_from(DRESSES))
def test_any_option_in_any_dress_is_right_and_every_other_is_wrong(
    options: tuple[str, ...], data: st.DataObject, dress: str
) -> None:
    index, gold = (data.draw(st.integers(0, len(options) - 1)) for _ in range(2))
    letter = chr(ord("A") + index)
    answer = dress.format(L=letter, l=letter.lower(), text=options[index])
    assert grade(answer, chr(ord("A") + gold), options) is (index == gold)
    assert grade(answer, options[gold], options) is (index == gold)


@given(OPTIONS, st.data(), st.sampled_from(["{L}. {text}", "({l}) {text}", "{text} ({L})"]))
def test_a_letter_with_the_text_of_another_option_is_never_right(
    options: tuple[str, ...], data: st.DataObject, dress: str
) -> None:
    pair = data.draw(st.permutations(range(len(options))))[:2]
    letter = chr(ord("A") + pair[0])
    answer = dress.format(L=letter, l=letter.lower(), text=options[pair[1]])
    assert {grade(answer, chr(ord("A") + gold), options) for gold in pair} == {False}


@given(st.text("ABCD ()abcd.,\nor neon argon is not", max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    choose(text, GASES, QUESTION)


# -------------------------------------------------------------------- options inside the question
AMC = r"$\textbf{(A)}\ 3\qquad\textbf{(B)}\ 5\qquad\textbf{(C)}\ 7\qquad\textbf{(D)}\ 9$"


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which?\nA. argon\nB. neon\nC. helium\nD. radon\nAnswer with the letter.", GASES),
        ("Which?\na) argon\nb) neon\nc) helium\nd) radon", GASES),
        ("Which?\n\n(a) argon\n\n(b) neon\n\n(c) helium\n\n(d) radon\n\nChoose one.", GASES),
        ("Which?\n- A: argon\n- B: neon\n- C: helium\n- D: radon", GASES),
        ("Which?\n**A.** argon\n**B.** neon\n**C.** helium\n**D.** radon", GASES),
        ("Which? A) argon B) neon C) helium D) radon", GASES),
        ("Which? (A) argon, (B) neon, (C) helium, or (D) radon. Give the letter.", GASES),
        ("Pick: [A] argon [B] neon [C] helium [D] radon", GASES),
        ("Which? (A) 3 (B) 5 (C) 7 (D) 9", NUMBERS),
        ("Which? (A)3 (B)5 (C)7 (D)9", NUMBERS),
        (f"Which? {AMC}", NUMBERS),
        (r"Which?\text{(A) }3\text{(B) }5\text{(C) }7\text{(D) }9", NUMBERS),
        ("Which gas?\nA. argon\nB. neon", GASES[:2]),
        ("Choose.\nA. a long\ntext\nB. other\ntext", ("a long\ntext", "other\ntext")),
        ("Mr. A. Smith met B. Jones. Who?", ()),
        ("What is P(A) + P(B)?", ()),
        ("Let A and B be sets.", ()),
        ("", ()),
    ],
)
def test_options_are_found_in_a_question(question: str, options: tuple[str, ...]) -> None:
    assert options_in(question) == options


@pytest.mark.parametrize(
    "gold", ["C", "(C)", r"\textbf{(C)}\ 7", r"\text{(C)}\; 7", r"\textbf{(C)}7", "7", "C. 7"]
)
@pytest.mark.parametrize("domain", ["math", "qa"])
async def test_golds_may_be_letters_texts_or_both(rules: Judge, domain: str, gold: str) -> None:
    problem = Problem("m/1", "m", "math" if domain == "math" else "qa", f"Which? {AMC}", (gold,))
    for answer in ("C", "7", r"\boxed{\textbf{(C)}\ 7}", "The answer is (C).", "c) 7"):
        verdict = await rules.grade(problem, answer)
        assert (verdict.correct, verdict.kind) == (True, "choice"), answer
    for answer in ("B", "5", r"\textbf{(B)}\ 5", "C) 5", "8", "B or C"):
        verdict = await rules.grade(problem, answer)
        assert (verdict.correct, verdict.kind) == (False, "choice"), answer


async def test_in_mathematics_another_form_of_the_right_value_is_the_option(rules: Judge) -> None:
    problem = Problem("m/1", "m", "math", "Which? (A) 0.25 (B) 0.5 (C) 0.75", ("B",))
    assert (await rules.grade(problem, r"\frac{1}{2}")).correct is True
    assert (await rules.grade(problem, r"\frac{3}{4}")).correct is not True


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        ("(a) Find x with x + 1 = 4. (b) Find y with y + 1 = 6.", "3"),
        ("Who wrote it? See (a) the cover, (b) the index.", "Marie Curie"),
    ],
)
async def test_parts_of_a_question_are_no_options(rules: Judge, question: str, gold: str) -> None:
    problem = Problem("q/1", "q", "math" if gold == "3" else "qa", question, (gold,))
    assert not gold_options(problem, options_in(question))
    verdict = await rules.grade(problem, gold)
    assert (verdict.correct, verdict.kind == "choice") == (True, False)


async def test_votes_hold_the_letter_and_the_text_of_an_option_equal() -> None:
    asked = "Which gas?\nA. argon\nB. neon\nC. helium"
    problem = Problem("q/1", "q", "qa", asked, ("B",))
    answers = ["B", "neon", "b) neon", "A", "It is argon.", "B", "xenon"]
    assert await answer_classes(problem, answers) == [0, 0, 0, 1, 1, 0, 2]


@pytest.mark.parametrize("domain", ["qa", "math"])
async def test_the_value_of_an_option_is_the_option(rules: Judge, domain: Domain) -> None:
    problem = Problem("q/1", "q", domain, "When is it?", ("B",), options=("9:30", "14:00", "1/2"))
    for answer, correct in (("2 pm", True), ("half past nine", False), ("0.5", False)):
        assert (await rules.grade(problem, answer)).correct is correct
    assert await answer_classes(problem, ["B", "2 pm", "0.5", "C", "9:30"]) == [0, 0, 1, 1, 2]


async def test_a_choice_that_the_owner_wants_typed_is_never_open(rules: Judge) -> None:
    problem = Problem("q/1", "q", "qa", QUESTION, ("B",), options=GASES)
    unclear = "maybe neon"
    assert (await rules.grade(problem, unclear)).correct is None
    typed = replace(problem, spec=AnswerSpec(grader="typed"))
    verdict = await rules.grade(typed, unclear)
    assert (verdict.correct, verdict.rule) == (False, "exact_match")


async def test_a_judge_model_sees_the_options_and_a_trained_judge_is_not_asked() -> None:
    problem = Problem("q/1", "q", "qa", QUESTION, ("B",), options=GASES)
    chat = ScriptedChat({})
    judge = Judge(last=LlmJudge(chat, backoff_s=0.0))
    await judge.grade(problem, "It glows in a red that one sees at night in shop windows.")
    await judge.aclose()
    assert "B. neon" in chat.requests[0].messages[-1].content
    assert part_of(problem, "maybe neon") == "qa" + CHOICE


@pytest.mark.parametrize("answer", ["D = D, so A remain.", "B, hence A holds"])
def test_a_capital_a_within_a_sentence_is_a_letter(answer: str) -> None:
    assert read_choice(answer, ("4", "6", "8", "7"), "Which number is prime?").index is None


def test_an_article_that_begins_a_sentence_is_none() -> None:
    assert read_choice("D. A number above it is 8.", ("4", "6", "9", "7"), "Which?").index == 3


NEAR_LETTERS = [
    letter
    for letter in map(chr, range(128, 0x11000))
    if letter.isalpha() and (len(letter.upper()) > 1 or (letter.upper() + letter.lower()).isascii())
]


@pytest.mark.parametrize("dress", ["{}", "({})", "{}.", "The answer is {}."])
def test_only_the_letters_a_to_z_are_letters_of_options(dress: str) -> None:
    assert len(NEAR_LETTERS) > 90  # among them the ligature fi, the sharp s, the Kelvin sign
    for letter in NEAR_LETTERS:
        assert read_choice(dress.format(letter), GASES * 7, QUESTION).index is None, ascii(letter)
