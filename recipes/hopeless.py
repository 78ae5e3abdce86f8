"""Early end of hopeless replies: what a stop that reads along would save of kept chains of thought, and lose.

    python recipes/hopeless.py logs/calls data/mixed/train_501.jsonl --config examples/adaptive/run.yaml [--draws 4]

Reads the replies of `answer_generate` to rows of mathematics from a pool, grades them, and stops each in thought: at a
loop (the same words for the third or fourth time), or at a part of the limit. A reply that the limit cuts off gives no
answer. "Saved" is the share of all written tokens, "lost" the share of all right replies that would have been
stopped. Asks nobody; rows without kept replies are left out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_as_judge.assembly.executor_settings import operator_settings
from llm_as_judge.config import Config, load_config
from llm_as_judge.data.selection import problem_file
from llm_as_judge.errors import ConfigError, DataError, NotRecordedError
from llm_as_judge.grading.rules import Rules
from llm_as_judge.llm.pool import POOL, Pool, is_pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.operators import ExecutionContext, OperatorService, load_enhancements, registry
from llm_as_judge.types import ChatReply, ChatRequest, Problem
from recipe import parser_of, run

LOOPS = ((12, 3), (20, 3), (12, 4))
"""(Words, the time that they come for) at which a reply counts as caught in a loop."""
PARTS = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Of the limit, in tokens."""


@dataclass(frozen=True, slots=True)
class Reply:
    words: Sequence[str]
    tokens: int
    limit: int
    cut: bool
    """By the limit."""
    right: bool


Stop = Callable[[Reply], float]
"""Share of a reply that is written until it is stopped; 1: it is not."""


def looped(words: int, times: int) -> Stop:
    """Stops where the last ``words`` words come for the n-th time."""

    def share(reply: Reply) -> float:
        seen: Counter[tuple[str, ...]] = Counter()
        for end in range(words, len(reply.words) + 1):
            piece = tuple(reply.words[end - words : end])
            seen[piece] += 1
            if seen[piece] == times:
                return end / len(reply.words)
        return 1.0

    return share


def longer(part: float) -> Stop:
    """Stops at this part of the limit."""
    return lambda reply: min(1.0, part * reply.limit / max(reply.tokens, 1))


def stops() -> dict[str, Stop]:
    found = {f"{w} words for time {n}": looped(w, n) for w, n in LOOPS}
    return found | {f"at {part:.0%} of the limit": longer(part) for part in PARTS}


class _Listening:
    """ChatModel that keeps the last reply."""

    def __init__(self, chat: RecordedChat) -> None:
        self._chat = chat
        self.asked: ChatRequest | None = None
        self.reply: ChatReply | None = None

    @property
    def name(self) -> str:
        return self._chat.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked, self.reply = request, None
        self.reply = await self._chat.chat(request)
        return self.reply


class _NoSandbox:
    """Nothing here runs code."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"no code is run: {name}")


async def kept_replies(
    config: Config, pool: Pool, problems: Iterable[Problem], draws: int
) -> list[Reply]:
    """Of each problem its first ``draws`` chains, as far as they are kept."""
    chat = _Listening(RecordedChat(None, pool, "replay", name=config.executor.model))
    settings, found = operator_settings(config), list[Reply]()
    rules = Rules(workers=1)
    try:
        for problem in problems:
            context = ExecutionContext(chat, _NoSandbox(), problem, settings, load_enhancements())
            ask = OperatorService(registry(), context)
            try:
                for _ in range(draws):
                    result: Any = await ask("AnswerGenerate", [problem.statement()], {})
                    found.append(await _graded(rules, problem, chat, str(result["answer"])))
            except NotRecordedError:
                continue
    finally:
        await rules.aclose()
    return found


async def _graded(rules: Rules, problem: Problem, chat: _Listening, answer: str) -> Reply:
    assert chat.reply is not None
    assert chat.asked is not None
    cut = chat.reply.finish_reason == "length"
    verdict = await rules.verdict(problem, answer) if answer and not cut else None
    return Reply(
        chat.reply.text.split(),
        chat.reply.usage.completion_tokens,
        chat.asked.max_tokens,
        cut,
        bool(verdict and verdict.correct),
    )


def report(replies: Sequence[Reply]) -> str:
    """Markdown.

    Raises:
        DataError: there is no reply.
    """
    if not replies:
        raise DataError("no kept reply to these rows; name the pool and configuration of their run")
    tokens = sum(one.tokens for one in replies)
    cut, right = [one for one in replies if one.cut], [one for one in replies if one.right]
    share = sum(one.tokens for one in cut) / tokens
    cut_off = f"the limit cuts off {len(cut)}, which hold {share:.1%} of the tokens"
    lines = [
        f"{len(replies)} replies, {len(right)} right; {cut_off}",
        "",
        "| stop | cut-off replies stopped | tokens saved | right replies lost |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, stop in stops().items():
        written = [stop(one) for one in replies]
        stopped = [one for one, part in zip(replies, written, strict=True) if part < 1]
        saved = sum(one.tokens * (1 - part) for one, part in zip(replies, written, strict=True))
        of_cut = sum(one.cut for one in stopped) / max(len(cut), 1)
        lost = sum(one.right for one in stopped) / max(len(right), 1)
        lines.append(f"| {name} | {of_cut:.1%} | {saved / tokens:.1%} | {lost:.1%} |")
    return "\n".join(lines)


def measured(folder: Path, rows: Path, config: Config, draws: int) -> str:
    """
    Raises:
        UserError: no pool, no rows, or no reply.
    """
    if not is_pool(folder):
        raise ConfigError(f"{folder}: no {POOL} in it; run: llm-as-judge pool fill")
    problems = [one for one in problem_file(rows) if one.domain == "math"]
    pool = Pool(folder)
    try:
        return report(asyncio.run(kept_replies(config, pool, problems, draws)))
    finally:
        pool.close()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("pool", type=Path, help="folder of a pool: calls.folder of the runs")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--config", help="of the runs; default as with the verbs")
    parser.add_argument("--draws", type=int, default=4)
    given = parser.parse_args()
    print(measured(given.pool, given.rows, load_config(given.config), given.draws))


if __name__ == "__main__":
    run(main)
