"""The free test of every data set: its gold answers grade as correct, empty and foreign ones not."""

import asyncio
from pathlib import Path

import pytest

import llm_as_judge.data
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.rows import RawRow, read_rows
from llm_as_judge.errors import DataError
from llm_as_judge.grading.wordlists import tokens
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLE = Path(llm_as_judge.data.__file__).parent / "sample"
UPSTREAM = Path(__file__).parents[3] / "shared" / "data"
TEXT_SETS = ("gsm8k", "math", "squad2", "hotpotqa", "commonsenseqa", "mmlu")


def problems(name: str, root: Path) -> list[Problem]:
    dataset = CATALOG[name]
    found: list[Problem] = []
    for path in dataset.find(root):
        for row in dataset.flatten(read_rows(path)):
            try:
                found.append(dataset.convert(row, dataset.split))
            except DataError:
                continue
    return found


def gold(problem: Problem) -> str:
    return problem.answers[0] if problem.answers else "unanswerable"


async def verdicts(judge: Judge, pairs: list[tuple[Problem, str]]) -> list[bool | None]:
    limit = asyncio.Semaphore(16)

    async def one(problem: Problem, answer: str) -> bool | None:
        async with limit:
            return (await judge.grade(problem, answer)).correct

    return await asyncio.gather(*(one(problem, answer) for problem, answer in pairs))


async def check(judge: Judge, name: str, root: Path) -> None:
    rows = problems(name, root)
    if not rows:
        pytest.skip(f"no rows of {name} under {root.name}")
    right = await verdicts(judge, [(row, gold(row)) for row in rows])
    wrong = [row.id for row, correct in zip(rows, right, strict=True) if not correct]
    assert wrong == []
    empty = await verdicts(judge, [(row, "") for row in rows])
    assert not any(empty)
    # The gold answer of another problem is wrong wherever it is another answer.
    shifted = zip(rows, rows[7:] + rows[:7], strict=True)
    foreign = [(one, gold(two)) for one, two in shifted if not same(one, two)]
    accepted = [
        (one.id, gold(one), answer)
        for (one, answer), correct in zip(foreign, await verdicts(judge, foreign), strict=True)
        if correct
    ]
    assert len(accepted) <= len(rows) // 1000, accepted


def same(one: Problem, two: Problem) -> bool:
    """May the gold of ``two`` be right for ``one``: equal, or one within the other?"""
    words = set(tokens(gold(two)))
    return any(words <= set(tokens(a)) or words >= set(tokens(a)) for a in one.answers or ("",))


@pytest.mark.parametrize("name", TEXT_SETS)
async def test_gold_of_the_built_in_sample(rules: Judge, name: str) -> None:
    await check(rules, name, SAMPLE)


@pytest.mark.chaos
@pytest.mark.parametrize("name", TEXT_SETS)
async def test_gold_of_the_upstream_files(rules: Judge, name: str) -> None:
    await check(rules, name, UPSTREAM)


OTHER_FILES = [
    ("gsm8k", "gsm8k/test.jsonl"),
    ("math", "math/test.jsonl"),
    ("squad2", "squad_v2/dev-v2.0.json"),
    ("squad2", "squad_v1.1/train-v1.1.json.gz"),
    ("squad2", "squad_v1.1/dev-v1.1.json.gz"),
    ("hotpotqa", "hotpotqa/hotpot_dev_distractor_v1.json"),
    ("hotpotqa", "hotpotqa/hotpot_dev_fullwiki_v1.json"),
    ("hotpotqa", "hotpotqa/hotpot_dev_v1_simplified.json"),
    ("commonsenseqa", "commonsense_qa/dev_rand_split.jsonl"),
]


@pytest.mark.chaos
@pytest.mark.parametrize(("name", "file"), OTHER_FILES)
async def test_gold_of_the_files_that_are_not_trained_on(
    rules: Judge, name: str, file: str
) -> None:
    if not (UPSTREAM / file).is_file():
        pytest.skip(f"no {file} under {UPSTREAM.name}")
    dataset = CATALOG[name]
    rows = [dataset.convert(row, dataset.split) for row in dataset.rows([UPSTREAM / file])]
    right = await verdicts(rules, [(row, gold(row)) for row in rows])
    assert [row.id for row, correct in zip(rows, right, strict=True) if not correct] == []


async def test_a_gold_answer_without_a_letter_is_an_answer(rules: Judge) -> None:
    band = Problem("h/t/1", "hotpotqa", "qa", "Which band, !!! or Puddle of Mudd?", ("!!!",))
    assert await verdicts(rules, [(band, "!!!"), (band, "???"), (band, "")]) == [True, False, False]


@pytest.mark.chaos
async def test_all_references_of_the_full_mbpp_but_two_pass(judge: Judge) -> None:
    rows = problems("mbpp_full", UPSTREAM)
    if not rows:
        pytest.skip(f"no rows of mbpp_full under {UPSTREAM.name}")
    right = await verdicts(judge, [(row, row.meta["reference"]) for row in rows])
    wrong = {row.id for row, correct in zip(rows, right, strict=True) if not correct}
    assert wrong == {"mbpp/full/367", "mbpp/full/927"}  # they fail their own tests


ADD = {
    "mbpp": {
        "task_id": 7,
        "prompt": "Add.",
        "code": "def add(a, b):\n    return a + b",
        "test_list": [f"assert add({n}, 0) == {n}" for n in range(3)],
    },
    "humaneval": {
        "task_id": "HumanEval/7",
        "prompt": 'def add(a, b):\n    """Adds.\n\n    >>> add(0, 0)\n    0\n    """\n',
        "canonical_solution": "    return a + b\n",
        "test": "def check(candidate):\n"
        + "".join(f"    assert candidate({n}, 0) == {n}\n" for n in range(3)),
        "entry_point": "add",
    },
}
"""Records with three asserts, of which the solver is shown the first."""


@pytest.mark.parametrize("name", ADD)
async def test_every_assert_decides_also_the_one_that_is_shown(judge: Judge, name: str) -> None:
    dataset = CATALOG[name]
    problem = dataset.convert(RawRow("here:1", 0, ADD[name]), dataset.split)
    assert problem.visible_tests == ("assert add(0, 0) == 0",)
    wrong_at = "def add(a, b):\n    return -1 if a == {} else a + b"
    answers = [wrong_at.format(n) for n in range(3)] + [problem.meta["reference"]]
    right = await verdicts(judge, [(problem, answer) for answer in answers])
    assert right == [False, False, False, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("mbpp", SAMPLE),
        pytest.param("humaneval", UPSTREAM, marks=pytest.mark.chaos),
        pytest.param("mbpp", UPSTREAM, marks=pytest.mark.chaos),
    ],
)
async def test_reference_solutions_pass_and_stubs_fail(judge: Judge, name: str, root: Path) -> None:
    rows = problems(name, root)
    if not rows:
        pytest.skip(f"no rows of {name} under {root.name}")
    right = await verdicts(judge, [(row, row.meta["reference"]) for row in rows])
    assert [row.id for row, correct in zip(rows, right, strict=True) if not correct] == []
    stubs = [(row, f"def {row.entry_point}(*args, **kwargs):\n    return None") for row in rows]
    fooled = [row.id for row, ok in zip(rows, await verdicts(judge, stubs), strict=True) if ok]
    assert fooled == []
    assert not any(await verdicts(judge, [(row, "") for row in rows]))
