"""Programs that draw, agree and stop, over what `pool fill` has asked: a folder for `search --programs`.

    python recipes/agreement_programs.py programs [--most 5]
    llm-as-judge search --split train --programs programs --count 0 --set calls.mode=cache

Every one of them asks nothing but the shipped ways (direct, chain of thought, program of thought), and none of these more
often than --most, so a pool filled with so many draws answers it: single calls, votes, agreement of one way or of
several in turn, a second way where the first gives no answer, and code until its visible tests pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import cycle, islice, product
from pathlib import Path

from llm_as_judge.errors import OutputError
from llm_as_judge.files import write_text
from llm_as_judge.types import Domain
from recipe import parser_of, run

DIRECT_QA = (
    "Answer in as few words as possible, without a sentence around it. "
    "If the context does not answer the question, reply: unanswerable"
)
WAYS: Mapping[Domain, Mapping[str, tuple[str, str]]] = {
    "math": {
        "cot": ("answer_generate(input=problem)", "answer"),
        "pot": ("programmer(problem=problem)", "output"),
    },
    "qa": {
        "cot": ("answer_generate(input=problem)", "answer"),
        "direct": (f'custom(input=problem, instruction="{DIRECT_QA}")', "response"),
    },
    "code": {
        "direct": (
            'custom_code_generate(problem=problem, entry_point=entry_point, instruction="")',
            "response",
        ),
    },
}
"""By domain: a way's call and the key of its result, as in ``workflows/``."""
TURNS = (1, 2, 3)
"""Ways in turn."""
AGREE = (2, 3, 4)
"""Answers that must be equal."""


def programs(domain: Domain, most: int) -> Iterator[tuple[str, str]]:
    """(name, text in body form) of each program, none that draws one way more than ``most`` times."""
    ways = WAYS[domain]
    for name, (call, key) in ways.items():
        yield name, f'reply = await {call}\nreturn reply["{key}"]\n'
    for name, count in product(ways, range(3, most + 1)):
        yield f"{name}_vote_{count}", _vote([name] * count, ways)
    for turn in _turns(list(ways)):
        named = "_".join(turn)
        if len(set(turn)) > 1 and 2 < len(turn) <= most:
            yield f"{named}_vote", _vote(turn, ways)
        for agree in AGREE:
            for draws in _draws(turn, max(agree + 1, len(turn)), most):
                yield f"{named}_until_{agree}_of_{draws}", _until(turn, agree, draws, ways)
    for first, second in product(ways, repeat=2):
        if first != second:
            yield f"{first}_else_{second}", _else(ways[first], ways[second])
    if domain == "code":
        for draws in range(2, most + 1):
            asked = f"problem=problem, entry_point=entry_point, most={draws}"
            yield (
                f"until_passed_{draws}",
                f'code = await until_passed({asked})\nreturn code["solution"]\n',
            )


def _turns(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Sequences of ways; one way again and again is there once."""
    for length in TURNS:
        for turn in product(names, repeat=length):
            if length == 1 or len(set(turn)) > 1:
                yield turn


def _draws(turn: tuple[str, ...], least: int, most: int) -> Iterator[int]:
    """How often ways in turn are drawn: up to ``most`` times all together, and evenly beyond, while none is drawn
    more often than that."""
    for draws in range(least, most * len(set(turn)) + 1):
        times = Counter(islice(cycle(turn), draws))
        if draws <= most or (draws % 2 == 0 and max(times.values()) <= most):
            yield draws


def _vote(names: list[str] | tuple[str, ...], ways: Mapping[str, tuple[str, str]]) -> str:
    if len(set(names)) == 1:
        call, key = ways[names[0]]
        return (
            f"drafts = []\nfor _ in range({len(names)}):\n    reply = await {call}\n"
            f'    drafts.append(reply["{key}"])\nbest = await vote(solutions=drafts)\nreturn best["answer"]\n'
        )
    lines = [f"draft{n} = await {ways[name][0]}" for n, name in enumerate(names)]
    drafts = ", ".join(f'draft{n}["{ways[name][1]}"]' for n, name in enumerate(names))
    return "\n".join(
        [*lines, f"best = await vote(solutions=[{drafts}])", 'return best["answer"]\n']
    )


def _until(
    turn: tuple[str, ...], agree: int, most: int, ways: Mapping[str, tuple[str, str]]
) -> str:
    drawn = ", ".join(f"lambda: {ways[name][0]}" for name in turn)
    return (
        f"best = await until_agree(ways=[{drawn}], agree={agree}, most={most})\n"
        'return best["answer"]\n'
    )


def _else(first: tuple[str, str], second: tuple[str, str]) -> str:
    (call, key), (other, other_key) = first, second
    return (
        f'draft = await {call}\nif draft["{key}"].strip():\n    return draft["{key}"]\n'
        f'other = await {other}\nreturn other["{other_key}"]\n'
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, default=5, help="Draws of a way at most.")
    arguments = parser.parse_args()
    if arguments.out.exists():
        raise OutputError(f"{arguments.out}: there already; name another folder")
    for domain in WAYS:
        found = dict(programs(domain, arguments.most))
        for name, text in found.items():
            write_text(arguments.out / domain / f"{name}.py", text)
        print(f"{domain}: {len(found)} programs in {arguments.out / domain}")


if __name__ == "__main__":
    run(main)
