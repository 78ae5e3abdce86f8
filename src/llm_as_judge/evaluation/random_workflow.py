"""Random valid workflows: what a policy would score that knows the grammar and nothing else.

Drafts by operators of the domain (of questions perhaps over the best passages alone), drawn until some agree or
(code) until the tests pass among them, then perhaps a vote or an ensemble, a review with revision, a test or a format;
every choice is even, that among several executors included.
Each program passes the check as written.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from llm_as_judge.errors import ConfigError
from llm_as_judge.operators import registry
from llm_as_judge.policy.stream import ready
from llm_as_judge.types import Completion, Domain, Prompt, SampleStream, Sampling
from llm_as_judge.workflow.program import parse_program

INSTRUCTIONS = (
    "Solve this step by step and end with the answer.",
    "Answer briefly.",
    "Check every condition, then answer.",
)
DRAFTS: Mapping[Domain, tuple[tuple[str, str], ...]] = {
    "math": (
        ("answer_generate(input=problem)", "answer"),
        ("custom(input=problem, instruction={instruction})", "response"),
        ("programmer(problem=problem)", "output"),
    ),
    "qa": (
        ("answer_generate(input=problem)", "answer"),
        ("custom(input=problem, instruction={instruction})", "response"),
    ),
    "code": (
        (
            "custom_code_generate(problem=problem, entry_point=entry_point, instruction={instruction})",
            "response",
        ),
        ("custom(input=problem, instruction={instruction})", "response"),
    ),
}
"""By domain: operator call and the key of its result."""
_VOTE = ("vote(solutions={solutions})", "answer")
_SC_ENSEMBLE = ("sc_ensemble(solutions={solutions}, problem=problem)", "response")
_MD_ENSEMBLE = ("md_ensemble(solutions={solutions}, problem=problem)", "solution")
_ENSEMBLES: Mapping[Domain, tuple[tuple[str, str], ...]] = {
    "math": (_VOTE, _SC_ENSEMBLE),
    "qa": (_VOTE, _SC_ENSEMBLE, _MD_ENSEMBLE),
    "code": (_VOTE, _SC_ENSEMBLE, _MD_ENSEMBLE),
}
_UNTIL_AGREE = ("until_agree(ways=[{ways}], agree=2, most={most})", "answer")
_UNTIL_PASSED = ("until_passed(problem=problem, entry_point=entry_point, most={most})", "solution")
_MOSTDRAFTS = 3
_MOST_DRAWS = (2, 3, 5)
_TRIES = 1000


def random_body(
    domain: Domain, max_calls: int, chance: random.Random, executors: Sequence[str] = ()
) -> str:
    """A strictly valid program in body form of at most ``max_calls`` executor calls.

    Args:
        executors: names of those beside the default one.
    Raises:
        ConfigError: no program of the grammar is that cheap.
    """
    for _ in range(_TRIES):
        body = _draw(domain, chance)
        if executors:
            body = _with_executors(body, chance, (None, *executors))
        program = parse_program(body, domain, "body", max_calls=max_calls, executors=executors)
        if program.strictly_valid:
            return body
    raise ConfigError(f"workflow.max_calls: no random program makes at most {max_calls} calls")


def _draw(domain: Domain, chance: random.Random) -> str:
    lines, results = [], []
    shortened = domain == "qa" and chance.random() < 0.5
    if shortened:
        lines.append("found = await retrieve(problem=problem, keep=4)")
    for number in range(chance.randint(1, _MOSTDRAFTS)):
        call, key = _draft(domain, chance)
        if shortened:
            call = call.replace("=problem", '=found["problem"]')
        lines.append(f"draft{number} = await {call}")
        results.append(f'draft{number}["{key}"]')
    last = results[-1]
    if len(results) > 1 and chance.random() < 0.5:
        ensemble, key = chance.choice(_ENSEMBLES[domain])
        among = f"[{', '.join(results)}]"
        lines.append(f"best = await {ensemble.format(solutions=among)}")
        last = f'best["{key}"]'
    if chance.random() < 0.5:
        lines.append(f"check = await review(problem=problem, solution={last})")
        lines.append(
            f'better = await revise(problem=problem, solution={last}, feedback=check["feedback"])'
        )
        last = 'better["solution"]'
    if chance.random() < 0.5:
        if domain == "code":
            arguments = f"problem=problem, solution={last}, entry_point=entry_point"
            lines.append(f"final = await test({arguments})")
        else:
            lines.append(f"final = await format(problem=problem, solution={last})")
        last = 'final["solution"]'
    return "\n".join([*lines, f"return {last}"])


def _with_executors(body: str, chance: random.Random, executors: Sequence[str | None]) -> str:
    """Each call that asks gets an executor, all alike probable; None = the default one."""

    def chosen(call: re.Match[str]) -> str:
        name = chance.choice(executors)
        return call[0] if name is None else f'{call[0]}executor="{name}", '

    asking = (re.escape(entry.call_name) for entry in registry().values() if entry.asks)
    return re.sub(rf"\b(?:{'|'.join(asking)})\(", chosen, body)


def _draft(domain: Domain, chance: random.Random) -> tuple[str, str]:
    """A call that solves the problem, and the key of its result."""
    until = _UNTIL_PASSED if domain == "code" else _UNTIL_AGREE
    call, key = chance.choice((*DRAFTS[domain], until))
    ways = [_plain_draft(domain, chance) for _ in range(chance.randint(1, 2))]
    filled = call.format(
        instruction=repr(chance.choice(INSTRUCTIONS)),
        ways=", ".join(f"lambda: {way}" for way in ways),
        most=chance.choice(_MOST_DRAWS),
    )
    return filled, key


def _plain_draft(domain: Domain, chance: random.Random) -> str:
    call, _ = chance.choice(DRAFTS[domain])
    return call.format(instruction=repr(chance.choice(INSTRUCTIONS)))


class RandomPrograms:
    """A policy that writes random valid programs, the same ones for the same prompts and seed."""

    def __init__(self, domain: Domain, max_calls: int, executors: Sequence[str] = ()) -> None:
        self._domain: Domain = domain
        self._max_calls = max_calls
        self._executors = executors

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        """See ``types.PolicySampler``."""
        return ready(
            [
                [self._program(sampling.seed, prompt, k) for k in range(sampling.samples)]
                for prompt in prompts_P
            ]
        )

    def _program(self, seed: int, prompt: Prompt, index: int) -> Completion:
        chance = random.Random(f"random workflow/{seed}/{index}/{prompt.messages[-1].content}")
        body = random_body(self._domain, self._max_calls, chance, self._executors)
        return Completion((), (), (), f"```python\n{body}\n```", "stop")


def grammar() -> str:
    """What decides the programs beside the seed: this file."""
    return Path(__file__).read_text(encoding="utf-8")
