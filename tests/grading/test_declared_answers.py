"""Declared answers: found in their dress, freed of decoration, and counted once."""

from __future__ import annotations

import pytest
from answer_tables import items, table_rows
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.grading.extract import declared_answer, undecorated
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

DRESSED = r"""
5 => \boxed{\boxed{5}} | \boxed{\fbox{5}} | \boxed{\boxed{\boxed{5}}} and again \boxed{5}
5 => \boxed{x = {\boxed{5}}
5 => \boxed{\text{The answer is } 5} | \boxed{\text{The final answer is: }5}
5 => \boxed{\text{The answer is 5}} | <answer>The answer is 5</answer> | #### Answer: 5
x = 5 => \boxed{x = \boxed{5}}
\frac{1}{2} => \boxed{\frac{1}{2}}
x+1 => \boxed{\text{Answer: } x+1}
\text{even} => \boxed{\text{even}}
\$45 a week => **Answer: \$45 a week.**
45 => **Answer:** 45 | **Answer: 45** | **Final Answer**⏎⏎45 | ## Answer⏎45 ✅ | Answer: “45”
45 => The answer is *45*. | The answer is: 45 🎉 | Answer: 45⏎⏎Final answer: **45**
45 => The answer is 45. So the answer is: “45”. | \boxed{45} so \boxed{\text{45}}
45 => Answer: 45 (5 * 9 = 45) | Answer: 45 (since 5 * 9 = 45). | \boxed{45}⏎⏎(5 * 9 = 45)
$45$ => Final Answer: The final answer is $45$.
\$45 => **Answer: \$45.**⏎⏎(5 hours at \$9 each.)
"""
NESTED = r"\boxed{" * 3000 + "5" + "}" * 3000


def test_the_answer_is_found_in_its_dress() -> None:
    for answer, text, _ in [*table_rows(DRESSED), ("5", NESTED, True)]:
        declared = declared_answer(text, one_sentence=True)
        assert (declared.text, declared.fault) == (answer, None), text


@pytest.mark.parametrize(
    "text",
    [
        r"\boxed{5} \boxed{6}",
        r"\boxed{5} and \boxed{\boxed{6}}",
        "Answer: 5\n\nAnswer: *6*",
        "**Final Answer**\n5\n\nThe answer is 6.",
    ],
)
def test_two_that_differ_are_several(text: str) -> None:
    assert declared_answer(text, one_sentence=True).fault == "several"


SAYING = """
>=42 | ~42 | ≈ 42 | -42 | > 42 | 42% | 42 °C | 3 (mod 7) | (1, 2) | x = 3 (y = 4) | 42 (or 43) | 42 ❌
42 👎 | 42 🤔 | ~~42~~ | 5* | f' | *a* and *b* | "a" or "b" | __init__ | 🐶 | C♯ | 10♥
"""


@pytest.mark.parametrize("text", items(SAYING))
def test_what_says_something_is_no_decoration(text: str) -> None:
    assert undecorated(text) == text
    assert declared_answer(f"Answer: {text}", one_sentence=True).text == text.strip("*_ ")


AROUND = (
    *("“{}”", '"{}"', "'{}'", "«{}»", "*{}*", "**{}**", "_{}_", "`{}`", "{} ✓", "✅ {}", "🎉 {}"),
    *("{} 😊", "• {}", "{} ⭐", "{} ✔️", "**“{}”**", "✅ **{}** 🎉", "“{}”."),
)


@given(
    st.integers(-(10**9), 10**9),
    st.sampled_from(AROUND),
    st.sampled_from(["{}", "The answer is {}", "Answer: {}", r"\boxed{{{}}}", "First 2 + 2.\n{}"]),
)
def test_decoration_around_any_number_changes_nothing(value: int, dress: str, frame: str) -> None:
    declared = declared_answer(frame.format(dress.format(value)), one_sentence=True)
    assert declared.text.splitlines()[-1].removeprefix("\\text") == str(value)
    assert declared.fault is None


@pytest.mark.parametrize("dress", AROUND)
@pytest.mark.parametrize("domain", ["math", "qa"])
async def test_a_decorated_number_is_graded_as_the_bare_one(
    rules: Judge, dress: str, domain: str
) -> None:
    problem = Problem(
        "p/1", "p", "math" if domain == "math" else "qa", "How many are there?", ("42",)
    )
    assert (await rules.grade(problem, dress.format("42"))).correct is True
    assert (await rules.grade(problem, dress.format("43"))).correct is not True
