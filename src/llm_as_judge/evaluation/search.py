"""Prompt-only optimization: the best single instruction found on validation rows, as a baseline.

A small reflective search in the manner of GEPA (arXiv:2507.19457): the executor reads what the
best instruction got wrong and proposes another; each is scored on the same validation problems;
the most accurate wins, among equals the one of fewer tokens. No weights change and no test row is
seen. What the search itself spends is counted: a policy's training is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.assembly import Workbench
from llm_as_judge.errors import DataError, EndpointError
from llm_as_judge.evaluation.metrics import is_correct
from llm_as_judge.evaluation.systems import FixedProgram, program_runner
from llm_as_judge.files import write_text
from llm_as_judge.types import ChatRequest, Domain, Group, Message, Problem, Sampling
from llm_as_judge.workflow.program import form_of, parse_program

SEEDS: Mapping[Domain, tuple[str, ...]] = {
    "math": (
        "Give the final answer alone, without a sentence around it.",
        "Solve this in short steps. End with a line 'The answer is: ' and the final answer.",
    ),
    "qa": (
        "Answer in as few words as possible. If the context has no answer, reply: unanswerable",
        "Copy the shortest span of the context that answers the question, and nothing else.",
    ),
    "code": ("", "Handle edge cases. Use the examples to check the function in your head."),
}
"""What the search begins with."""
MAX_INSTRUCTION_CHARACTERS = 400
_SHOWN_MISTAKES = 3
_SHOWN_CHARACTERS = 600
_PROGRAM = '''"""{about}"""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.{name} = operator.{operator}(self.llm)

    async def __call__(self, problem: str{more}):
        reply = await self.{name}({arguments}, instruction={instruction})
        return reply["response"], 0.0
'''


@dataclass(frozen=True, slots=True)
class Candidate:
    """An instruction with what it scored."""

    instruction: str
    correct: int
    problems: int
    tokens: float
    """Executor tokens a problem."""
    origin: str
    """``seed``, or ``proposed`` by the executor."""


@dataclass(frozen=True, slots=True)
class Search:
    """What was found for one domain."""

    domain: Domain
    best: Candidate
    tried: tuple[Candidate, ...]
    tokens_spent: int
    """By runs and proposals together."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A program's runs on validation rows, one of each problem."""

    groups: Sequence[Group]
    correct: int
    tokens: int
    """Of the executor, in all."""


def program_text(domain: Domain, instruction: str) -> str:
    """The workflow that asks once, by ``instruction``; it enters as a literal, whatever it says."""
    code = domain == "code"
    return _PROGRAM.format(
        about="One call by an instruction that was optimized on validation rows.",
        name="custom_code_generate" if code else "custom",
        operator="CustomCodeGenerate" if code else "Custom",
        more=", entry_point: str" if code else "",
        arguments="problem=problem, entry_point=entry_point" if code else "input=problem",
        instruction=ascii(instruction),
    )


async def search(
    bench: Workbench,
    domain: Domain,
    problems: Sequence[Problem],
    rounds: int,
    on_candidate: Callable[[Candidate], None] | None = None,
) -> Search:
    """The best instruction for one domain.

    Args:
        problems: validation rows of the domain; each candidate answers all of them.
        rounds: proposals of the executor after the seeds.
    Raises:
        DataError: no problem.
        EndpointError: the executor gave no proposal, or a run failed by our fault.
    """
    tried: list[tuple[Candidate, Sequence[Group]]] = []
    spent = 0

    async def score(instruction: str, origin: str) -> None:
        nonlocal spent
        scored = await run_on(bench, domain, problems, program_text(domain, instruction))
        found = Candidate(
            instruction, scored.correct, len(problems), scored.tokens / len(problems), origin
        )
        spent += scored.tokens
        tried.append((found, scored.groups))
        if on_candidate is not None:
            on_candidate(found)

    for seed in SEEDS[domain]:
        await score(seed, "seed")
    for number in range(rounds):
        best, groups = max(tried, key=lambda pair: _rank(pair[0]))
        proposal, used = await _propose(bench, best, groups, number)
        spent += used
        if proposal and proposal not in {candidate.instruction for candidate, _ in tried}:
            await score(proposal, "proposed")
    best = max((candidate for candidate, _ in tried), key=_rank)
    return Search(domain, best, tuple(candidate for candidate, _ in tried), spent)


def _rank(candidate: Candidate) -> tuple[int, float]:
    return candidate.correct, -candidate.tokens


async def run_on(
    bench: Workbench, domain: Domain, problems: Sequence[Problem], text: str
) -> Scored:
    """The program ``text`` on validation rows.

    Raises:
        DataError: no problem.
        EndpointError: a run failed by our fault: what it would have scored is not known.
    """
    if not problems:
        raise DataError(f"no validation problem of {domain}; run: llm-as-judge data process")
    assert parse_program(text, domain, form_of(text)).runnable
    runner = program_runner(bench, FixedProgram(text))
    groups = await runner.groups(problems, Sampling(1, 0.0, 1, seed=bench.config.training.seed))
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    failures = [rollout.failure for rollout in rollouts if rollout.failure]
    if failures:
        raise EndpointError(
            f"{len(failures)} of {len(rollouts)} runs on validation rows of {domain} failed by our "
            f"fault, not the program's; the first: {failures[0].message}; the same command tries again"
        )
    tokens = sum(rollout.execution.tokens for rollout in rollouts if rollout.execution)
    return Scored(groups, sum(map(is_correct, rollouts)), tokens)


async def _propose(
    bench: Workbench, best: Candidate, groups: Sequence[Group], number: int
) -> tuple[str, int]:
    """(instruction, tokens used); the instruction is one line, empty where the reply holds none."""
    wrong = [g for g in groups if not is_correct(g.rollouts[0])] or list(groups)
    shown = "\n\n".join(_mistake(group) for group in wrong[:_SHOWN_MISTAKES])
    prompt = (
        "A model answers problems by this instruction:\n"
        f"{best.instruction or '(none)'}\n\nThese answers were wrong:\n\n{shown}\n\n"
        "Write a better instruction for problems of this kind, in one or two sentences. It must "
        "not speak of these problems. Reply with the instruction alone."
    )
    config = bench.config
    reply = await bench.executor.chat(
        ChatRequest(
            (Message("user", prompt),),
            max_tokens=config.executor.max_tokens,
            temperature=config.executor.vote_temperature,
            seed=config.training.seed + number,
            draw=number,
        )
    )
    used = reply.usage.prompt_tokens + reply.usage.completion_tokens
    line = " ".join(reply.text.split()).strip("\"'` ")
    return line[:MAX_INSTRUCTION_CHARACTERS], used


def _mistake(group: Group) -> str:
    """A problem of the validation rows with the answer given and, for text, the right one. Hidden
    tests of code are not shown: they would teach the search to answer them."""
    execution = group.rollouts[0].execution
    problem = group.problem
    right = "" if problem.domain == "code" else f"\nRight: {problem.answers[:1] or 'unanswerable'}"
    given = (execution.answer if execution else "")[:_SHOWN_CHARACTERS]
    return f"Problem: {problem.statement()[-_SHOWN_CHARACTERS:]}\nGiven: {given}{right}"


async def search_domains(
    bench: Workbench,
    problems: Mapping[Domain, Sequence[Problem]],
    rounds: int,
    folder: Path,
    on_candidate: Callable[[Candidate], None] | None = None,
    on_search: Callable[[Search], None] | None = None,
) -> list[Search]:
    """Search every domain and write ``FOLDER/DOMAIN.py``, for ``evaluate --policy FOLDER``.

    Args:
        on_search: called when the program of a domain is written.
    Raises:
        DataError: a domain without validation problems.
        OutputError: the folder cannot be written.
    """
    found = []
    for domain, rows in problems.items():
        result = await search(bench, domain, rows, rounds, on_candidate)
        write_text(folder / f"{domain}.py", program_text(domain, result.best.instruction))
        found.append(result)
        if on_search is not None:
            on_search(result)
    return found
