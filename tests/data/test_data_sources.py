import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.data import custom, mathematics, questions
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.types import Problem


def row(record: Any, number: int = 0, member: str = "f") -> RawRow:
    return RawRow("f:1", number, record, member)


def test_gsm8k_takes_the_number_after_the_marker_without_commas() -> None:
    answer = "He has <<600*2=1200>>1200 in 2 bags.\n#### 1,200"
    problem = mathematics.gsm8k(row({"question": "How many?", "answer": answer}, 42), "train")
    assert problem.id == "gsm8k/train/42"
    assert problem.answers == ("1200",)
    assert problem.domain == "math"
    assert problem.meta["solution"] == answer


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"so $x=\boxed{7}$.", "7"),
        (r"$\boxed{\frac{1}{2}}$", r"\frac{1}{2}"),
        (r"\boxed{a^{b^{c^{d}}}}", "a^{b^{c^{d}}}"),
        (r"first \boxed{1}, then \boxed{ 2 }", "2"),
        (r"\fbox{3}", "3"),
        (r"$\boxed 9$.", "9"),
        (r"\boxed\frac", r"\frac"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed {5}", "5"),
        (r"\boxed{\left\{\frac{1}{2}\right\}}", r"\left\{\frac{1}{2}\right\}"),
        (r"\boxed{never closed", ""),
        (r"\boxed{}", ""),
        (r"\boxedx{1}", ""),
        ("no box", ""),
    ],
)
def test_boxed_answer(solution: str, answer: str) -> None:
    assert mathematics.boxed_answer(solution) == answer


@given(
    st.recursive(
        st.sampled_from(["x", r"\frac", " 1", r"\}", r"\{"]),
        lambda t: st.builds("{{{}{}}}".format, t, t),
    )
)
def test_boxed_answer_returns_any_balanced_content(content: str) -> None:
    assert mathematics.boxed_answer(rf"so \boxed{{{content}}} it is {{") == content.strip()


@given(st.text(alphabet="\\boxed{} 1$f"))
def test_boxed_answer_never_raises(text: str) -> None:
    mathematics.boxed_answer(text)


def test_math_keeps_level_and_subject() -> None:
    record = {"problem": "p", "level": "Level ?", "type": "Geometry", "solution": r"\boxed{2}"}
    problem = mathematics.math(row(record, 3), "train")
    assert (problem.id, problem.answers) == ("math/train/3", ("2",))
    assert problem.meta == {"level": "Level ?", "subject": "Geometry", "solution": r"\boxed{2}"}


def squad_record(**changes: Any) -> dict[str, Any]:
    record = {
        "id": "a1",
        "title": "T",
        "context": "The fox is red.",
        "question": "What is red?",
        "answers": [
            {"text": "The fox", "answer_start": 0},
            {"text": "fox", "answer_start": 4},
            {"text": "The fox", "answer_start": 0},
        ],
        "is_impossible": False,
    }
    return record | changes


def test_squad_keeps_all_aliases_in_order_once() -> None:
    problem = questions.squad2(row(squad_record()), "train")
    assert problem.answers == ("The fox", "fox")
    assert json.loads(problem.meta["answers"]) == ["The fox", "fox", "The fox"]
    assert json.loads(problem.meta["answer_starts"]) == [0, 4, 0]
    assert problem.id == "squad2/train/a1"


def test_unanswerable_squad_rows_have_no_answers() -> None:
    plausible = [{"text": "fox", "answer_start": 4}]
    upstream = squad_record(answers=[], is_impossible=True, plausible_answers=plausible)
    problem = questions.squad2(row(upstream), "train")
    assert problem.answers == ()
    assert json.loads(problem.meta["plausible_answers"]) == plausible
    hub = squad_record(answers={"text": [], "answer_start": []})
    del hub["is_impossible"]
    assert questions.squad2(row(hub), "train").answers == ()


def test_squad_upstream_and_hub_rows_give_the_same_problem() -> None:
    hub = squad_record(answers={"text": ["The fox", "fox", "The fox"], "answer_start": [0, 4, 0]})
    del hub["is_impossible"]
    assert questions.squad2(row(hub), "train") == questions.squad2(row(squad_record()), "train")


def test_squad_articles_become_one_row_a_question() -> None:
    question = {"id": "q1", "question": "Q?", "answers": [], "is_impossible": True}
    good = {"context": "C", "qas": [question, {**question, "id": "q2"}]}
    article = {"title": "T", "paragraphs": [good, {"qas": []}, {"context": "D", "qas": ["text"]}]}
    found = list(
        questions.flatten_squad([row(article), row({"paragraphs": 3}), row(squad_record())])
    )
    assert [r.where for r in found] == [
        "f:1 paragraphs[0].qas[0]",
        "f:1 paragraphs[0].qas[1]",
        "f:1 paragraphs[1]",
        "f:1 paragraphs[2].qas[0]",
        "f:1 paragraphs",
        "f:1",
    ]
    assert [r.number for r in found] == list(range(6))
    assert questions.squad2(found[0], "train").context == "C"
    assert found[2].fault.startswith("no 'context'")
    assert found[4].fault == "'paragraphs' is not a list"


def hotpot_record(**changes: Any) -> dict[str, Any]:
    record = {
        "_id": "h1",
        "question": "Q?",
        "answer": "yes",
        "type": "comparison",
        "level": "hard",
        "supporting_facts": [["A", 1], ["B: c", 0]],
        "context": [["A", ["One.", " Two."]], ["B: c", ["Three."]]],
    }
    return record | changes


def test_hotpot_context_can_be_taken_apart_again() -> None:
    problem = questions.hotpotqa(row(hotpot_record()), "train")
    assert problem.context == "A: One. Two.\n\nB: c: Three."
    assert problem.answers == ("yes",)
    assert json.loads(problem.meta["paragraphs"]) == [["A", [4, 5]], ["B: c", [6]]]
    assert json.loads(problem.meta["supporting_facts"]) == [["A", 1], ["B: c", 0]]
    assert (problem.meta["type"], problem.meta["level"]) == ("comparison", "hard")


def test_hotpot_upstream_and_hub_rows_give_the_same_problem() -> None:
    hub = hotpot_record(
        id="h1",
        supporting_facts={"title": ["A", "B: c"], "sent_id": [1, 0]},
        context={"title": ["A", "B: c"], "sentences": [["One.", " Two."], ["Three."]]},
    )
    del hub["_id"]
    assert questions.hotpotqa(row(hub), "t") == questions.hotpotqa(row(hotpot_record()), "t")


def test_hotpot_without_context_or_id() -> None:
    problem = questions.hotpotqa(row({"question": "Q?", "answer": "A"}, 5), "dev")
    assert (problem.id, problem.context) == ("hotpotqa/dev/5", "")


STEM = {"question_concept": "c", "stem": "Which?"}


def choice_record(**changes: Any) -> dict[str, Any]:
    choices = [{"label": label, "text": f"t{label}"} for label in "ABCDE"]
    return {"id": "x", "answerKey": "D", "question": {**STEM, "choices": choices}} | changes


def test_commonsense_upstream_and_hub_rows_give_the_same_problem() -> None:
    problem = questions.commonsenseqa(row(choice_record()), "train")
    assert problem.options == ("tA", "tB", "tC", "tD", "tE")
    assert problem.answers == ("D",)
    hub = {
        "id": "x",
        "answerKey": "D",
        "question": "Which?",
        "question_concept": "c",
        "choices": {"label": list("ABCDE"), "text": [f"t{label}" for label in "ABCDE"]},
    }
    assert questions.commonsenseqa(row(hub), "train") == problem


MMLU = {"question": "Q?", "subject": "algebra", "choices": list("abcd"), "answer": 2}


def test_mmlu_csv_and_hub_rows() -> None:
    problem = questions.mmlu(
        row(["Q?", "a", "b", "c", "d", "C"], 4, "data/dev/algebra_dev.csv"), "x"
    )
    assert (problem.id, problem.answers) == ("mmlu/dev/algebra/4", ("C",))
    assert problem.options == ("a", "b", "c", "d")
    assert questions.mmlu(row(MMLU), "all").answers == ("C",)


@pytest.mark.parametrize(
    ("record", "answers"),
    [
        ({"problem": "p", "answer": 42, "type": "math"}, ("42",)),
        ({"problem": "p", "answer": " x ", "type": "qa"}, ("x",)),
        ({"problem": "p", "answer": ["a", "b", "a"], "type": "qa"}, ("a", "b")),
        ({"problem": "p", "answer": [], "type": "qa"}, ()),
    ],
)
def test_custom_rows(record: dict[str, Any], answers: tuple[str, ...]) -> None:
    problem = custom.custom(row(record, 2), "custom", dataset="mine")
    assert (problem.id, problem.dataset, problem.answers) == ("mine/custom/2", "mine", answers)


def code_row(answer: Any, **changes: Any) -> dict[str, Any]:
    return {"problem": "p", "type": "code", "answer": answer} | changes


def test_custom_code_rows_are_graded_by_their_asserts() -> None:
    record = code_row(["assert f(1) == 2"], entry_point="f")
    problem = custom.custom(row(record), "custom")
    assert problem.hidden_tests == ("assert f(1) == 2",)
    assert problem.answers == ()


@pytest.mark.parametrize(
    ("tests", "entry_point"),
    [
        ("assert f(1) == 2", "f"),
        (["assert sorted(f(1)) == [2]", "assert g(f(0)) == 1"], "f"),
        ("def check(candidate):\n    assert candidate(1) == 2\n\nf(0)\ncheck(f)", "f"),
    ],
    ids=["one call", "the call that all share", "a check of one's own"],
)
def test_the_function_to_write_is_the_one_that_all_asserts_call(
    tests: str | list[str], entry_point: str
) -> None:
    said = "Do what sorted(x) does. Write it with math.sqrt(x)."  # names that are not asked for
    problem = custom.custom(row({"problem": said, "answer": tests, "type": "code"}), "custom")
    assert problem.entry_point == entry_point


@pytest.mark.parametrize("type_", ["math", "qa"])
@pytest.mark.parametrize(
    ("answer", "point", "listed"),
    [
        ("1.234,50", "1234.50", "1.234, 50"),
        ("131,28", "131.28", "131, 28"),
        ("56,28 EUR", "56.28 EUR", "56, 28 EUR"),
        ("EUR 56,28", "EUR 56.28", "EUR 56, 28"),
    ],
)
def test_a_decimal_comma_is_refused_with_what_to_write(
    answer: str, point: str, listed: str, type_: str
) -> None:
    record = {"problem": "p", "type": type_, "answer": answer}
    with pytest.raises(RowError) as refused:
        custom.custom(row(record), "custom")
    assert str(refused.value) == (
        f"'answer' {answer!r} has a decimal comma; write {point!r}, or {listed!r} if it is a list, or "
        '"kind": "short_text" if it is a text'
    )
    text = row({**record, "kind": "short_text"})
    assert custom.custom(text, "custom").answers == (answer,)


@pytest.mark.parametrize("answer", ["John 3,16", "Nr. 3,5", "2,4-D", "1,2,3", "1,234", "3, 5"])
def test_a_text_with_a_comma_between_figures_is_an_answer_of_qa(answer: str) -> None:
    record = {"problem": "p", "type": "qa", "answer": answer}
    assert custom.custom(row(record), "custom").answers == (answer,)


@pytest.mark.parametrize(
    "answer", ["1,234", "1,234.50", "131, 28", "(1,2)", "f(1,2)", "56.28", "x=1,2,3"]
)
def test_thousands_and_lists_have_no_decimal_comma(answer: str) -> None:
    record = {"problem": "p", "type": "math", "answer": answer}
    assert custom.custom(row(record), "custom").answers == (answer,)


REFUSED: dict[Callable[[RawRow, str], Problem], list[tuple[Any, str]]] = {
    mathematics.gsm8k: [
        ({"question": "q", "answer": "no marker"}, "no number after '####'"),
        ({"question": "q", "answer": "x #### "}, "no number after '####'"),
        ({"question": " ", "answer": "#### 1"}, "'question' is empty"),
        ({"answer": "#### 1"}, r"no 'question' \(keys: answer\)"),
        ({"question": 7, "answer": "#### 1"}, "'question' is int, wanted str"),
        (["question"], "found list, wanted an object"),
    ],
    mathematics.math: [
        ({"problem": "p", "level": "", "type": "", "solution": r"\boxed{}"}, r"no \\boxed"),
    ],
    questions.squad2: [
        (squad_record(answers=[]), "'is_impossible' is False but there are 0 answers"),
        (squad_record(is_impossible=True), "'is_impossible' is True but there are 3 answers"),
        (squad_record(is_impossible="no"), "'is_impossible' is str"),
        (squad_record(answers=None), "no 'answers' list"),
        (squad_record(answers=[{"text": "", "answer_start": 0}]), "'text' is empty"),
        (squad_record(answers={"text": [" "], "answer_start": [0]}), "an answer text is empty"),
        (squad_record(answers=[{"text": "x", "answer_start": "0"}]), "start' is not a number"),
        (squad_record(answers={"text": "x", "answer_start": [0]}), "text' is not a list of texts"),
        (squad_record(context=""), "'context' is empty"),
    ],
    questions.hotpotqa: [
        *((hotpot_record(context=bad), "context") for bad in ("text", [["A"]], [["A", "text"]])),
        (hotpot_record(context={"title": ["A"], "sentences": []}), "'context'"),
        (hotpot_record(supporting_facts="A"), "'supporting_facts'"),
        (hotpot_record(supporting_facts=[["A", "1"]]), "'supporting_facts'"),
        (hotpot_record(answer=""), "'answer'"),
        (hotpot_record(level=3), "'level'"),
    ],
    questions.commonsenseqa: [
        (choice_record(answerKey=""), "'answerKey'"),
        (choice_record(answerKey="F"), "'answerKey'"),
        (choice_record(question={"stem": "s", "question_concept": "c"}), "'choices'"),
        (
            choice_record(question={**STEM, "choices": [{"label": "1", "text": "t"}]}),
            "choices are labeled",
        ),
    ],
    questions.mmlu: [
        (["Q?", "a"], "2 columns, wanted 6"),
        ({**MMLU, "answer": 4}, "'answer' is 4, wanted 0..3"),
        ({**MMLU, "answer": True}, "'answer' is bool, wanted int"),
        ({**MMLU, "choices": "ab"}, "'choices' is not a list of texts"),
    ],
    custom.custom: [
        ({"problem": "p", "answer": "1"}, "'type'"),
        ({"problem": "p", "answer": "1", "type": "physics"}, "'type'"),
        ({"problem": "p", "type": "qa"}, "'answer'"),
        ({"problem": "p", "answer": "", "type": "math"}, "'answer'"),
        ({"problem": "p", "answer": True, "type": "math"}, "'answer'"),
        ({"problem": "p", "answer": {"a": 1}, "type": "qa"}, "'answer'"),
        (code_row("assert True"), r"no 'entry_point'.*\(called: none\)"),
        (code_row("assert f(1) == g(2)"), r"no 'entry_point'.*\(called: f, g\)"),
        (code_row(["assert f(1)", "assert g(1)"]), r"no 'entry_point'"),
        (code_row("def f(a): return a"), "has no assert.*wanted tests such as"),
        (code_row("the sum of a and b"), "'answer' is not Python"),
        (code_row("assert f(1)", entry_point="g"), "no assert of 'answer' uses .* 'g'"),
        (code_row([]), "'answer' is empty"),
        (
            code_row("assert dedup([1]) == [1]", problem="Write dedupe(items)."),
            "'problem' names 'dedupe', the tests call 'dedup'; use one name",
        ),
        (
            code_row("assert limited(1, 2) == 2", problem="Write the function clamp(x, low)."),
            "'problem' names 'clamp', the tests call 'limited'; use one name",
        ),
    ],
}


@pytest.mark.parametrize(
    ("convert", "record", "reason"),
    [(convert, *refused) for convert, rows in REFUSED.items() for refused in rows],
)
def test_a_row_that_cannot_be_used_is_refused_with_the_reason(
    convert: Callable[[RawRow, str], Problem], record: Any, reason: str
) -> None:
    with pytest.raises(RowError, match=reason):
        convert(row(record), "train")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = """
question answer problem solution level type id _id title context kind tolerance unit aliases grader options
answers is_impossible supporting_facts choices answerKey subject stem
"""


@given(
    record=json_values
    | st.dictionaries(st.sampled_from(NAMES.split()), json_values | st.just("x"), max_size=9),
    convert=st.sampled_from([*REFUSED]),
)
def test_any_json_is_converted_or_refused(record: Any, convert: Any) -> None:
    try:
        problem = convert(row(record), "train")
    except RowError:
        return
    assert problem.question.strip()
