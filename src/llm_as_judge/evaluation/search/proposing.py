"""Programs that a model proposes: tree search over programs, and search for one instruction.

Both look at rows that the choice is not made on, so that what a proposal has read of them flatters no
figure. They stop after so many proposals, or when their part of the budget is spent.

Tree search: AFlow, arXiv:2410.10762: a parent is drawn by its score, the model changes it, the child is
scored. Instructions: a small reflective search in the manner of GEPA, arXiv:2507.19457. The executor
proposes; no hidden test of a code problem is shown to it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llm_as_judge.assembly import Workbench
from llm_as_judge.data.mix import named_rng
from llm_as_judge.evaluation.search.cells import BankRunner, all_cells, bank_program
from llm_as_judge.evaluation.search.mutations import SEEDS, mutated
from llm_as_judge.executor_settings import operator_settings
from llm_as_judge.operators import operator_docs
from llm_as_judge.runs.bank import BankProgram
from llm_as_judge.types import ChatRequest, Domain, Message, Problem
from llm_as_judge.workflow.program import extract

EXPLORED = 0.2
"""Weight of an even draw of the parent beside one by score (AFlow)."""
SHARPNESS = 0.4
"""Of the draw by score, in per cent (AFlow)."""
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
class Proposing:
    """How programs of one domain are proposed."""

    bench: Workbench
    runner: BankRunner
    problems: Sequence[Problem]
    """Rows that the choice is not made on."""
    rounds: int
    """Proposals at most."""
    budget: float | None
    """In written tokens; None = all rounds."""
    seed: int
    on_program: Callable[[BankProgram, float], None] | None = None
    """Called with each program and the share of rows that it had right."""

    async def score(self, program: BankProgram) -> float:
        """Share of right rows at the first draw; an open answer is not right."""
        await self.runner.fill(all_cells([program], self.problems, 1))
        cells = [self.runner.bank.cells[program.key, p.id, 0] for p in self.problems]
        share = sum(cell.right or 0.0 for cell in cells) / len(cells) if cells else 0.0
        if self.on_program is not None:
            self.on_program(program, share)
        return share

    def open(self, number: int) -> bool:
        """Whether proposal ``number`` may be made."""
        spent = self.budget is not None and self.runner.cost >= self.budget
        return number < self.rounds and not spent

    async def ask(self, prompt: str, number: int) -> str:
        """The model's reply; its cost counts.

        Raises:
            BudgetError, EndpointError: there is none.
        """
        executor = self.bench.config.executor
        seed = self.bench.config.training.seed if executor.seed is None else executor.seed
        request = ChatRequest(
            (Message("user", prompt),),
            max_tokens=executor.max_tokens,
            temperature=executor.vote_temperature,
            seed=seed,
            draw=number,
        )
        reply = await self.bench.executor.chat(request)
        self.runner.cost += reply.usage.cost(operator_settings(self.bench.config).prompt_price)
        return reply.text

    def wrong(self, program: BankProgram) -> list[Problem]:
        """Problems that the program did not solve; if it solved all, all."""
        cells = self.runner.bank.cells
        found = [p for p in self.problems if not cells[program.key, p.id, 0].right]
        return found or list(self.problems)


# ---------------------------------------------------------------------------------------- programs
async def grow_tree(
    place: Proposing, domain: Domain, roots: Sequence[BankProgram]
) -> list[BankProgram]:
    """The roots and what was made of them, each scored. Where the model's reply is no program that
    passes the check, a mutation of the parent drawn by lot takes its place."""
    nodes = [(program, await place.score(program)) for program in roots]
    chance = named_rng(place.seed, "tree", domain)
    config = place.bench.config
    most, executors = config.workflow.max_worst_case_calls, tuple(config.executors)
    known, number = {program.hash for program in roots}, 0
    while place.open(number):
        parent, score = _parent(nodes, chance)
        reply = await place.ask(_change_prompt(place, domain, parent, score), number)
        name = f"{parent.name}>{number}"
        text = extract(reply)
        child = bank_program(domain, text, name, "proposed", max_calls=most, executors=executors)
        number += 1
        if child is None or child.hash in known:
            others = [m for m in mutated(parent, most, executors) if m.hash not in known]
            if not others:
                continue
            child = chance.choice(others)
        known.add(child.hash)
        nodes.append((child, await place.score(child)))
    return [program for program, _ in nodes]


def _parent(
    nodes: Sequence[tuple[BankProgram, float]], chance: random.Random
) -> tuple[BankProgram, float]:
    best = max(score for _, score in nodes)
    weights = [math.exp(SHARPNESS * 100 * (score - best)) for _, score in nodes]
    total = sum(weights)
    mixed = [EXPLORED / len(nodes) + (1 - EXPLORED) * weight / total for weight in weights]
    return chance.choices(list(nodes), weights=mixed)[0]


def _change_prompt(place: Proposing, domain: Domain, parent: BankProgram, score: float) -> str:
    shown = "\n\n".join(map(_problem, place.wrong(parent)[:_SHOWN_MISTAKES]))
    return (
        "A Python program solves problems by calling a language model through operators.\n\n"
        f"Operators:\n{operator_docs(domain, 'short')}\n\n"
        f"The program, which solves {score:.0%} of its problems:\n```python\n{parent.text}\n```\n\n"
        f"Problems that it does not solve:\n\n{shown}\n\n"
        "Change the program in one place so that it solves more problems of this kind. Reply with "
        "the whole program in one ```python block and nothing else."
    )


# ------------------------------------------------------------------------------------ instructions
def instructed(domain: Domain, instruction: str, name: str, origin: str) -> BankProgram:
    """The program that asks once, by ``instruction``; it enters as a literal, whatever it says."""
    code = domain == "code"
    text = _PROGRAM.format(
        about="One call by an instruction that was searched on validation rows.",
        name="custom_code_generate" if code else "custom",
        operator="CustomCodeGenerate" if code else "Custom",
        more=", entry_point: str" if code else "",
        arguments="problem=problem, entry_point=entry_point" if code else "input=problem",
        instruction=ascii(instruction),
    )
    program = bank_program(domain, text, name, origin)
    assert program is not None
    return program


async def improve_instruction(place: Proposing, domain: Domain) -> list[BankProgram]:
    """Programs of one call each, by the instructions that were tried."""
    tried: list[tuple[BankProgram, float]] = []
    texts: dict[str, str] = {}

    async def take(instruction: str, origin: str) -> None:
        program = instructed(domain, instruction, f"{origin} instruction {len(tried)}", origin)
        texts[program.key] = instruction
        tried.append((program, await place.score(program)))

    for seed in SEEDS[domain]:
        await take(seed, "given")
    number = 0
    while place.open(number):
        best, _ = max(tried, key=lambda pair: pair[1])
        shown = "\n\n".join(map(_problem, place.wrong(best)[:_SHOWN_MISTAKES]))
        prompt = (
            "A model answers problems by this instruction:\n"
            f"{texts[best.key] or '(none)'}\n\nIt answers these wrongly:\n\n{shown}\n\n"
            "Write a better instruction for problems of this kind, in one or two sentences. It must "
            "not speak of these problems. Reply with the instruction alone."
        )
        line = " ".join((await place.ask(prompt, number)).split()).strip("\"'` ")
        number += 1
        if line and line[:MAX_INSTRUCTION_CHARACTERS] not in texts.values():
            await take(line[:MAX_INSTRUCTION_CHARACTERS], "proposed")
    return [program for program, _ in tried]


def _problem(problem: Problem) -> str:
    """A problem with, for text, the right answer. Hidden tests of code are not shown: they would teach
    the search to answer them."""
    right = "" if problem.domain == "code" else f"\nRight: {problem.answers[:1] or 'unanswerable'}"
    return f"Problem: {problem.statement()[-_SHOWN_CHARACTERS:]}{right}"
