"""Sanity baselines through the whole path: what must score 0 does, what must score 1 does, and hidden
tests are seen by nobody."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import listed_system
import pytest

from llm_as_judge.assembly import Workbench, open_workbench, program_options
from llm_as_judge.config import Config
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation import systems
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.evaluate import open_evaluation, run_evaluation
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.regrade import plan_regrade, regrade
from llm_as_judge.evaluation.results import results_of
from llm_as_judge.evaluation.systems import FixedProgram, ProgramSystem
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import DOMAINS, ChatRequest, Problem

SETS = {"gsm8k": 2, "math": 2, "squad2": 4, "hotpotqa": 2, "mbpp": 2}
pytestmark = [
    pytest.mark.slow,
    # The reader of upstream files leaves closing them to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


def sample_problems(name: str, count: int) -> list[Problem]:
    """The first rows of the built-in sample."""
    dataset = CATALOG[name]
    root = Path(str(resources.files("llm_as_judge.data") / "sample"))
    rows = list(dataset.rows(dataset.find(root)))[:count]
    return [dataset.convert(row, dataset.split) for row in rows]


def gold(problem: Problem) -> str:
    if problem.domain == "code":
        return f"```python\n{problem.meta['reference']}\n```"
    return problem.answers[0] if problem.answers else "unanswerable"


def wrong(problem: Problem) -> str:
    if problem.domain == "code":
        return f"```python\ndef {problem.entry_point}(*values):\n    return 'zebra'\n```"
    return "-98765.4321" if problem.domain == "math" else "seventeen purple zebras"


def empty(problem: Problem) -> str:
    return ""


def oracle(problems: Sequence[Problem], answer: Callable[[Problem], str]) -> ScriptedChat:
    """Answers by the problem whose question a prompt holds; keeps every request."""

    def reply(request: ChatRequest) -> str:
        asked = request.messages[-1].content
        of = max((p for p in problems if p.question in asked), key=lambda p: len(p.question))
        return answer(of)

    return ScriptedChat(reply, name="oracle")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("oracle")
    for name, count in SETS.items():
        write_problems(folder / "test" / f"{name}_test.jsonl", sample_problems(name, count))
    return folder


@pytest.fixture(scope="module")
def problems(place: Path) -> list[Problem]:
    return [p for name, count in SETS.items() for p in sample_problems(name, count)]


def settings(place: Path, sets: tuple[str, ...] = tuple(SETS)) -> Config:
    data = {"data_dir": place, "sets": sets, "train_file": place / "none"}
    return listed_system.settings(place, data=data)


async def evaluated(config: Config, system: Any, chat: ScriptedChat) -> EvaluationRecord:
    """With real sandbox and judge."""

    @asynccontextmanager
    async def opened(config: Config) -> AsyncIterator[Workbench]:
        async with open_workbench(config) as bench:
            yield replace(bench, executor=chat)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(systems, "open_workbench", opened)
        with open_evaluation(config, system, system.label, fresh=True) as record:
            await run_evaluation(record, system)
    return record


@pytest.mark.parametrize("policy", ["direct", "hand_crafted"])
@pytest.mark.parametrize(
    ("answer", "score"), [(gold, 1.0), (wrong, 0.0), (empty, 0.0)], ids=["gold", "wrong", "empty"]
)
async def test_an_executor_that_knows_scores_1_and_one_that_errs_0_on_every_set(
    place: Path,
    problems: list[Problem],
    policy: str,
    answer: Callable[[Problem], str],
    score: float,
) -> None:
    if (policy, answer) == ("hand_crafted", gold):
        # its Programmer wants code that computes the answer, its drafts a marked one
        def answer_in_all_forms(problem: Problem) -> str:
            text = gold(problem)
            if problem.domain == "math":
                return f"```python\ndef solve():\n    return {text!r}\n```"
            return f"Answer: {text}" if problem.domain == "qa" else text

        chat = oracle(problems, answer_in_all_forms)
    else:
        chat = oracle(problems, answer)
    record = await evaluated(settings(place), find_system(policy, program_options(Config())), chat)
    found = results_of(record).as_json()
    assert {r["dataset"]: r["metrics"]["accuracy"] for r in found["datasets"]} == dict.fromkeys(
        [*SETS, "mixed"], score
    )
    assert found["overall"]["not_graded"] == 0


@pytest.mark.parametrize("text", ["", "I cannot do that.", "```python\nreturn 4\n```"], ids=repr)
async def test_a_policy_that_writes_no_program_scores_0_and_asks_nobody(
    place: Path, problems: list[Problem], text: str
) -> None:
    chat = oracle(problems, gold)
    samplers: Any = {domain: FixedProgram(text) for domain in DOMAINS}
    record = await evaluated(settings(place), ProgramSystem("no", samplers, text), chat)
    found = results_of(record).as_json()
    for row in found["datasets"]:
        metrics = row["metrics"]
        assert (metrics["accuracy"], metrics["executed"], metrics["strictly_valid"]) == (0, 0, 0)
        assert metrics["rejected"] + metrics["malformed"] == 1
        assert metrics.get("em", 0.0) == metrics.get("f1", 0.0) == 0.0
    assert chat.requests == []


async def test_regrading_gives_the_same_figures_without_an_executor(
    place: Path, problems: list[Problem]
) -> None:
    def half(problem: Problem) -> str:
        return gold(problem) if problems.index(problem) % 2 else wrong(problem)

    chat = oracle(problems, half)
    record = await evaluated(
        settings(place), find_system("direct", program_options(Config())), chat
    )
    asked = len(chat.requests)
    new, changes = await regrade(plan_regrade(record, place / "results", "again", "none"))
    assert changes == []
    assert len(chat.requests) == asked
    before, after = results_of(record).as_json(), results_of(new).as_json()
    assert before["overall"]["correct"] == len(problems) / 2
    assert {k: v for k, v in after.items() if k != "run"} == {
        k: v for k, v in before.items() if k != "run"
    }
    assert EvaluationRecord.read(new.folder).missing() == {}


# ----------------------------------------------------------------------------------- hidden tests
def hidden_statements(problem: Problem) -> Iterator[str]:
    """Each assert of the hidden tests that a solver may not see, as it may be written."""
    shown = problem.statement() + "\n".join(problem.visible_tests)
    for source in problem.hidden_tests:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Assert):
                for text in (ast.get_source_segment(source, node) or "", ast.unparse(node)):
                    condition = text.removeprefix("assert").strip()
                    named = condition.replace("candidate(", f"{problem.entry_point}(")
                    yield from (form for form in {condition, named} if form not in shown)


@pytest.mark.parametrize(
    "policy",
    [
        "direct",
        "cot",
        "self_consistency",
        "hand_crafted",
        "vote_of_3",
        "until_two_agree",
        "two_ways_else_third",
        "until_passed",
        "random",
        "policy prompt",
    ],
)
async def test_no_prompt_of_a_run_holds_a_hidden_test(place: Path, policy: str) -> None:
    code = sample_problems("mbpp", SETS["mbpp"])
    secrets = [text for problem in code for text in hidden_statements(problem)]
    assert len(secrets) >= len(code)
    if policy == "policy prompt":
        from llm_as_judge.assembly import policy_prompt

        asked = policy_prompt(settings(place)).write(code)
        messages = [m for prompt in asked for m in prompt.messages]
    else:
        chat = oracle(code, wrong)  # so that Test and Review see failures, too
        await evaluated(
            settings(place, ("mbpp",)), find_system(policy, program_options(Config())), chat
        )
        messages = [m for request in chat.requests for m in request.messages]
    assert messages
    assert [s for s in secrets for m in messages if s in m.content] == []


def test_the_search_for_hidden_tests_finds_them() -> None:
    (problem,) = sample_problems("mbpp", 1)
    told = f"Solve it so that\n{problem.hidden_tests[-1]}"
    assert any(text in told for text in hidden_statements(problem))
