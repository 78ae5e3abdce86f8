"""Problems of our own that attacks and controls are made from. Nothing here is from a data set.

``wrong``: answers of the same kind that are wrong. ``sentence``: a full sentence giving the gold.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from llm_as_judge.types import Problem

__all__ = ["Seed", "seeds"]


@dataclass(frozen=True, slots=True)
class Seed:
    """A problem with what is needed to write right and wrong answers to it."""

    problem: Problem
    kind: str
    """number, math, span, yes_no, unanswerable, choice, near_zero or last_digits."""
    wrong: tuple[str, ...]
    right: tuple[str, ...] = ()
    """Other notations of the gold that must be accepted."""
    unit: str = ""
    expression: str = ""
    """The question's own expression: worth the gold, but not worked out."""

    @property
    def gold(self) -> str:
        return self.problem.answers[0] if self.problem.answers else ""


_STORIES = (
    ("A shelf holds {a} boxes with {b} jars each. How many jars are on the shelf?", "jars", "*"),
    ("Mira had {a} stamps and bought {b} more. How many stamps has she now?", "stamps", "+"),
    ("A hall has {a} seats and {b} of them are taken. How many seats are free?", "seats", "-"),
    ("A ticket costs ${b}. How many dollars do {a} tickets cost?", "dollars", "*"),
    ("A train runs {a} hours at {b} km per hour. How many km does it go?", "km", "*"),
    ("A tank holds {a} litres and {b} litres leak out. How many litres are left?", "litres", "-"),
    ("Each of {a} hikers carries {b} kg. How many kg do they carry together?", "kg", "*"),
    ("Omar read {a} pages on Monday and {b} on Tuesday. How many pages is that?", "pages", "+"),
    ("A job takes {b} hours for each of {a} rooms. How many hours is that?", "hours", "*"),
    ("Of {a} eggs {b} broke. How many eggs are whole?", "eggs", "-"),
)
_SWAPPED = {"dollars": "cents", "km": "miles", "hours": "minutes", "kg": "grams", "litres": "ml"}


def _number_seeds(rng: random.Random, count: int) -> list[Seed]:
    found = []
    for index in range(count):
        story, unit, operation = _STORIES[index % len(_STORIES)]
        b = rng.randint(3, 19)
        a = rng.randint(b + 4, 60)
        gold = {"*": a * b, "+": a + b, "-": a - b}[operation]
        wrong = (gold + 1, gold * 10, -gold, gold + 7, a, int(f"1{gold}"))
        found.append(
            Seed(
                Problem(
                    f"seed/number/{index}", "gsm8k", "math", story.format(a=a, b=b), (str(gold),)
                ),
                "number",
                tuple(str(value) for value in wrong if value != gold),
                (f"{gold}.0", f"{gold} {unit}", f"${gold}$", f"{gold:,}"),
                unit,
                f"{a} {operation} {b}",
            )
        )
    return found


_MATH: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], str], ...] = (
    (
        r"Compute $\frac{1}{2}+\frac{1}{4}$.",
        r"\frac{3}{4}",
        (r"\frac{4}{3}", r"\frac{1}{6}", "0.34", "3", r"\frac{2}{6}"),
        ("3/4", "0.75", r"\dfrac34", r"$\frac{3}{4}$"),
        r"\frac{1}{2}+\frac{1}{4}",
    ),
    (
        r"Evaluate $\int_0^3 2x\,dx$.",
        "9",
        ("6", "3", "18", "-9", "90"),
        ("9.0", "nine", r"\boxed{9}"),
        r"\int_0^3 2x\,dx",
    ),
    (
        r"Evaluate $\sum_{k=1}^{4} k^2$.",
        "30",
        ("10", "16", "300", "29"),
        ("30.", "$30$"),
        r"\sum_{k=1}^{4} k^2",
    ),
    (
        r"Find $\lim_{x\to 0}\frac{\sin 5x}{x}$.",
        "5",
        ("0", "1", "50", r"\infty"),
        ("5.0", "five"),
        r"\lim_{x\to 0}\frac{\sin 5x}{x}",
    ),
    (
        "Expand $(x+3)(x-2)$.",
        "x^2+x-6",
        ("x^2-x-6", "x^2+x+6", "x^2+5x-6", "x^2-6"),
        ("x^2 + x - 6", "-6 + x + x^{2}", "x**2+x-6"),
        "(x+3)(x-2)",
    ),
    (
        r"Simplify $\sqrt{72}$.",
        r"6\sqrt{2}",
        (r"2\sqrt{6}", r"6\sqrt{3}", "36", "8.5"),
        (r"6 \sqrt2", "6*sqrt(2)", r"6\cdot\sqrt{2}"),
        r"\sqrt{72}",
    ),
    (
        "Solve $x^2=16$ for all real $x$.",
        "-4, 4",
        ("4", "-4", "4, 5", "16", "(-4, 4]"),
        ("4, -4", r"\{-4, 4\}", "4 and -4", r"\pm 4"),
        "x^2=16",
    ),
    (
        r"Solve $-1<2x+1\le 5$.",
        "(-1,2]",
        ("[-1,2]", "(-1,2)", "(-2,1]", "(-1,3]"),
        (r"-1<x\le 2", r"\left(-1, 2\right]", r"x\in(-1,2]"),
        r"-1<2x+1\le 5",
    ),
    (
        "At which point do $y=2x$ and $y=x+3$ meet?",
        "(3,6)",
        ("(6,3)", "(3,5)", "3", "(3,6,0)"),
        (r"\left(3, 6\right)", "(3.0, 6)"),
        "y=2x",
    ),
    (
        "Write the decimal number 92 in base 5.",
        "332_5",
        ("332_6", "233_5", "92", "3320_5"),
        ("332_{5}", "$332_5$"),
        "92",
    ),
    (
        "A square has the side 5 cm. What is its diagonal?",
        r"5\sqrt{2}\text{ cm}",
        (r"2\sqrt{5}\text{ cm}", r"5\sqrt{3}\text{ cm}", "10", "25"),
        (r"5\sqrt2", r"5\sqrt{2}\text{cm}"),
        r"\sqrt{5^2+5^2}",
    ),
    (
        r"Write $0.\overline{6}$ as a fraction.",
        r"\frac{2}{3}",
        ("0.66", "0.6", r"\frac{3}{5}", "0", r"\frac{3}{2}"),
        ("2/3", r"\tfrac{2}{3}", r"\frac{4}{6}"),
        r"0.6+0.06",
    ),
    (
        "What percentage of 40 is 6?",
        r"15\%",
        (r"1.5\%", r"6\%", r"0.15\%", "150"),
        ("15%", "15 percent", r"$15\%$"),
        r"\frac{6}{40}",
    ),
    (
        r"Find the inverse of $\begin{pmatrix} 2 & 0 \\ 0 & 4 \end{pmatrix}$.",
        r"\begin{pmatrix} 1/2 & 0 \\ 0 & 1/4 \end{pmatrix}",
        (
            r"\begin{pmatrix} 1/4 & 0 \\ 0 & 1/2 \end{pmatrix}",
            r"\begin{pmatrix} 2 & 0 \\ 0 & 4 \end{pmatrix}",
            r"\begin{pmatrix} 1/2 & 0 & 0 & 1/4 \end{pmatrix}",
        ),
        (r"\begin{pmatrix} \frac12 & 0 \\ 0 & \frac14 \end{pmatrix}",),
        r"\begin{pmatrix} 2 & 0 \\ 0 & 4 \end{pmatrix}^{-1}",
    ),
    (
        "Is $f(x)=x^3$ even, odd or neither?",
        r"\text{odd}",
        ("even", "neither", "3", "x^3"),
        ("odd", "Odd."),
        "x^3",
    ),
    (
        r"Write 20\% as a fraction.",
        r"\frac{1}{5}",
        (r"0.2\%", r"\frac{1}{5}\%", "20", "0.02", r"\frac{1}{20}"),
        ("1/5", "0.2"),
        "",
    ),
)


def _math_seeds() -> list[Seed]:
    return [
        Seed(
            Problem(f"seed/math/{index}", "math", "math", question, (gold,)),
            "math",
            wrong,
            right,
            expression=expression,
        )
        for index, (question, gold, wrong, right, expression) in enumerate(_MATH)
    ]


_PASSAGE = (
    "The lighthouse of Varn was built in 1874 by Ilse Hartog, an engineer from Delft. Its lamp "
    "burned whale oil until 1911, when the town council paid 2,300 crowns for an electric light. "
    "The keeper, Tomas Reuel, kept a diary for thirty-one years. In March 1923 a storm broke the "
    "northern wall, and the harbour was closed for six weeks. Today the tower houses a museum of "
    "sea charts with about 40,000 visitors a year."
)
_SPANS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Who built the lighthouse of Varn?",
        "Ilse Hartog",
        ("Tomas Reuel", "Ilse Reuel", "the town council", "Ilse Hartman"),
        ("Ilse Hartog.", "Ilse Hartog built the lighthouse of Varn."),
    ),
    (
        "When was the lighthouse of Varn built?",
        "1874",
        ("1911", "1847", "1875", "March 1923"),
        ("in 1874", "The lighthouse of Varn was built in 1874."),
    ),
    (
        "What did the lamp burn at first?",
        "whale oil",
        ("olive oil", "electric light", "whale bone", "coal"),
        ("Whale oil.", "The lamp burned whale oil at first."),
    ),
    (
        "How much did the council pay for the electric light?",
        "2,300 crowns",
        ("2,300 dollars", "23,000 crowns", "1911 crowns", "230 crowns"),
        ("2300 crowns",),
    ),
    (
        "How long did the keeper write his diary?",
        "thirty-one years",
        ("six weeks", "thirteen years", "thirty-one weeks", "31 months"),
        ("31 years", "for thirty-one years"),
    ),
    (
        "Which wall did the storm break?",
        "the northern wall",
        ("the southern wall", "the northern tower", "the harbour"),
        ("northern wall", "the northern"),
    ),
    (
        "In which month was the storm?",
        "March 1923",
        ("May 1923", "March 1932", "March 1911"),
        ("in March 1923",),
    ),
    (
        "What does the tower house today?",
        "a museum of sea charts",
        ("a museum of sea birds", "a school of navigation", "an archive"),
        ("museum of sea charts",),
    ),
)
_OPEN: tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    ("What is the capital of Portugal?", ("Lisbon",), ("Porto", "Madrid"), ("It is Lisbon.",)),
    (
        "Who wrote the play Hamlet?",
        ("William Shakespeare", "Shakespeare"),
        ("Christopher Marlowe", "William Wordsworth", "Ben Jonson"),
        ("Shakespeare", "Hamlet was written by William Shakespeare."),
    ),
    (
        "Which planet is the largest of the solar system?",
        ("Jupiter",),
        ("Saturn", "Neptune", "the Sun"),
        ("jupiter", "The largest planet of the solar system is Jupiter."),
    ),
    (
        "How many strings has a violin?",
        ("four",),
        ("five", "14", "6"),
        ("4", "A violin has four strings."),
    ),
    (
        "In which year did the Berlin Wall fall?",
        ("1989",),
        ("1990", "1961", "1998"),
        ("in 1989", "The Berlin Wall fell in 1989"),
    ),
    (
        "What is the chemical symbol of gold?",
        ("Au",),
        ("Ag", "Go", "Gd"),
        ("au", "The chemical symbol of gold is Au."),
    ),
)
_YES_NO = (
    ("Are both the violin and the cello string instruments?", "yes"),
    ("Is the river Varn longer than the river Delm?", "no"),
    ("Were Ilse Hartog and Tomas Reuel both keepers?", "no"),
    ("Do the two museums stand in one town?", "yes"),
)
_UNANSWERABLE = (
    ("Who painted the lighthouse of Varn?", ("Ilse Hartog", "Tomas Reuel", "the council")),
    ("When was the southern wall built?", ("1874", "1923", "March 1923")),
    ("How much did the museum cost?", ("2,300 crowns", "40,000", "six weeks")),
    ("Which language did the keeper write in?", ("Dutch", "a diary", "thirty-one years")),
)
_CHOICES = (
    ("Which of these is a metal?", ("sulphur", "copper", "carbon", "iodine"), "B"),
    ("What does a thermometer measure?", ("heat flow", "mass", "temperature", "time"), "C"),
    ("Which number is prime?", ("21", "27", "33", "31"), "D"),
    ("Which is a root?", ("carrot", "apple", "grape", "plum"), "A"),
)


def _text_seeds() -> list[Seed]:
    found = []
    for index, (question, gold, wrong, right) in enumerate(_SPANS):
        problem = Problem(f"seed/span/{index}", "squad2", "qa", question, (gold,), context=_PASSAGE)
        found.append(Seed(problem, "span", wrong, right))
    for index, (question, golds, wrong, right) in enumerate(_OPEN):
        problem = Problem(f"seed/open/{index}", "open", "qa", question, golds)
        found.append(Seed(problem, "span", wrong, right))
    for index, (question, gold) in enumerate(_YES_NO):
        problem = Problem(f"seed/yes_no/{index}", "hotpotqa", "qa", question, (gold,))
        other = "no" if gold == "yes" else "yes"
        right = (gold.title() + ".", f"The answer is {gold}.", f"{gold.title()}, that is so.")
        found.append(Seed(problem, "yes_no", (other, f"{other.title()}."), right))
    for index, (question, wrong) in enumerate(_UNANSWERABLE):
        problem = Problem(f"seed/silent/{index}", "squad2", "qa", question, (), context=_PASSAGE)
        found.append(Seed(problem, "unanswerable", wrong))
    for index, (question, options, letter) in enumerate(_CHOICES):
        problem = Problem(
            f"seed/choice/{index}", "mmlu", "qa", question, (letter,), options=options
        )
        others = tuple(chr(65 + i) for i in range(4) if chr(65 + i) != letter)
        text = options[ord(letter) - 65]
        right = (f"({letter})", f"{letter}.", f"The answer is {letter}.", text, f"{letter}. {text}")
        found.append(Seed(problem, "choice", others, right))
    return found


def seeds(seed: int = 0, numbers: int = 40) -> list[Seed]:
    """All seeds; the numbers of the word problems depend on ``seed``."""
    return [*_number_seeds(random.Random(seed), numbers), *_math_seeds(), *_text_seeds()]
