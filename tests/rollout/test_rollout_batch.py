"""Rollouts start as their programs are written, end by their deadline, and are never paid twice."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from environments import GoldJudge, Runs, Sampler, environment, groups, runner, sampling, written

from llm_as_judge.errors import EndpointError, OutputError
from llm_as_judge.operators import OperatorSettings
from llm_as_judge.operators.base import StopSettings
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.runs.pending import Kept
from llm_as_judge.types import (
    Budget,
    Execution,
    Failure,
    Program,
    PromptFacts,
    Rollout,
    Verdict,
)
from llm_as_judge.workers import RunSettings
from two_problems import CAPITAL, SUM


async def test_the_deadline_fails_one_rollout_and_its_siblings_go_on(prompt: PolicyPrompt) -> None:
    runs = Runs()
    (group,) = await groups(prompt, "late", "4", "5", run=runs, timeout_s=0.1)
    late, *others = group.rollouts
    assert late.failure is not None
    assert (late.failure.stage, late.failure.kind) == ("execute", "DeadlineError")
    assert "0.1 s after the program was written" in late.failure.message
    assert late.reward is None
    assert runs.cancelled == ["late"]
    assert all(r.reward for r in others)


async def test_a_late_verdict_keeps_the_execution(prompt: PolicyPrompt) -> None:
    judge = GoldJudge(**{"5": None})
    (group,) = await groups(prompt, "5", "4", judge=judge, timeout_s=0.1)
    late = group.rollouts[0]
    assert late.failure is not None
    assert (late.failure.stage, late.failure.kind) == ("grade", "DeadlineError")
    assert late.execution is not None
    assert late.execution.answer == "5"


async def test_an_event_says_that_a_program_is_written_and_that_its_rollout_has_ended(
    prompt: PolicyPrompt,
) -> None:
    kept: list[tuple[int, Rollout]] = []
    run, texts = Runs(down=EndpointError("x")), ("4", "5", "down")
    batch = await runner(prompt, Sampler(*texts), run).start([SUM, CAPITAL], sampling(3))
    async for event in batch:
        assert event.is_new
        kept.append((event.group, event.rollout))
    for p, group in enumerate(await batch.groups()):
        for k, rollout in enumerate(group.rollouts):
            bare, ended = (r for q, r in kept if (q, r.index) == (p, k))
            assert (bare.completion, bare.execution) == (rollout.completion, None)
            assert ended == replace(rollout, reward=None)
    assert len(kept) == 12


async def test_a_program_runs_once_its_event_has_been_handled(prompt: PolicyPrompt) -> None:
    runs, written = Runs(), list[str]()
    batch = await runner(prompt, Sampler("4", "5", "4"), runs).start(
        [SUM, CAPITAL], sampling(3), confirmed=True
    )
    async for event in batch:
        text = event.rollout.completion.text
        if not event.ended:
            assert runs.ran.count(text) <= written.count(text)
            await asyncio.sleep(0.01)  # a slow disk
            assert runs.ran.count(text) <= written.count(text)
            written.append(text)
    assert sorted(written) == ["4", "4", "4", "4", "5", "5"]
    assert sorted(runs.ran) == ["4", "4", "5", "5"]


async def test_what_cannot_be_handled_ends_the_batch(prompt: PolicyPrompt) -> None:
    runs = Runs()
    batch = await runner(prompt, Sampler("4", "5"), runs).start([SUM], sampling(2), confirmed=True)

    async def handled() -> None:
        async with aclosing(batch):
            async for _ in batch:
                raise OutputError("the disk is full")

    with pytest.raises(OutputError, match="the disk is full"):
        await handled()
    assert runs.ran == []


def left(text: str, index: int, **parts: Any) -> Kept:
    program = Program(text, text, hash=text)
    return Kept(Rollout(SUM.id, index, written(text), program, **parts), PromptFacts(examples=7))


async def test_what_an_earlier_run_left_is_gone_on_with_and_not_done_again(
    prompt: PolicyPrompt,
) -> None:
    runs, judge, kept = Runs(), GoldJudge(), list[int]()
    sampler = Sampler("never", "never", "never", "never")
    known = {
        (0, 0): left("twin", 0),  # written; the same program has ended at place 3
        (0, 1): left("ran", 1, execution=Execution("ok", "4")),
        (0, 2): left("only written", 2),
        (0, 3): left(
            "twin",
            3,
            execution=Execution("ok", "paid for"),
            verdict=Verdict(False, "exact", "equal"),
        ),
    }
    batch = await runner(prompt, sampler, runs, judge).start([SUM], sampling(4), known=known)
    async for event in batch:
        if event.is_new:
            kept.append(event.rollout.index)
    (group,) = await batch.groups()
    assert group.prompt == PromptFacts(examples=7)
    assert sampler.seeds == []
    assert runs.ran == ["only written"]
    assert sorted(judge.graded) == ["4", "only written"]
    answers = [r.execution.answer for r in group.rollouts if r.execution]
    assert answers == ["paid for", "4", "only written", "paid for"]
    assert all(r.reward for r in group.rollouts)
    assert sorted(kept) == [0, 1, 2]  # place 3 was complete


async def test_a_half_written_batch_is_sampled_again_around_what_is_known(
    prompt: PolicyPrompt,
) -> None:
    runs, sampler = Runs(), Sampler("4", "5")
    known = {(0, 1): left("as it was", 1, execution=Execution("ok", "4"))}
    batch = await runner(prompt, sampler, runs).start([SUM], sampling(2), known=known)
    (group,) = await batch.groups()
    assert len(sampler.seeds) == 1
    assert runs.ran == ["4"]
    assert [r.completion.text for r in group.rollouts] == ["4", "as it was"]


async def test_a_failure_of_an_equal_program_is_shared(prompt: PolicyPrompt) -> None:
    (group,) = await groups(prompt, "late", "late", timeout_s=0.05)
    assert all(isinstance(r.failure, Failure) for r in group.rollouts)


async def test_what_is_being_written_leaves_the_caller_free(prompt: PolicyPrompt) -> None:
    sampler, runs = Sampler("late", "4", held=True), Runs()
    making = runner(prompt, sampler, runs, timeout_s=0.05)
    batch = await making.start([SUM], sampling(2))
    await runs.late_runs.wait()  # it runs while the other one is not written yet
    assert not batch.written
    sampler.go_on.set()
    (group,) = await batch.groups()
    assert [r.completion.text for r in group.rollouts] == ["late", "4"]
    assert [r.failure is None for r in group.rollouts] == [False, True]


@pytest.mark.parametrize("asked_for", [True, False])
@pytest.mark.parametrize("error", [EndpointError("no replica"), RuntimeError("out of memory")])
async def test_what_cannot_be_written_leaves_nothing_running(
    prompt: PolicyPrompt, error: Exception, asked_for: bool
) -> None:
    sampler, runs = Sampler("late", "4", error=error, held=True), Runs()
    batch = await runner(prompt, sampler, runs).start([SUM], sampling(2))
    await runs.late_runs.wait()
    if asked_for:
        sampler.go_on.set()
        with pytest.raises(type(error), match=str(error)):
            await batch.groups()
    else:  # the run ends while it is still being written
        await batch.aclose()
    assert runs.cancelled == ["late"]


def test_a_learned_stop_has_the_price_of_the_budget_that_the_prompt_named() -> None:
    rule = StopRule(((0.0,) * (1 + len(FEATURES)),), ())
    table = StopTable({}, {}, {}, {"math": {"0.1": rule}})

    def price(budget: Budget | None, *, fixed: bool) -> float:
        stop = StopSettings(table, 0.07, fixed=fixed)
        settings = RunSettings(operators=OperatorSettings(stop=stop))
        env = replace(environment(None, None), settings=settings)  # type: ignore[arg-type]
        found = env.of_group(budget).settings.operators.stop
        assert found is not None
        return found.price

    assert [price(word, fixed=False) for word in ("low", "middle", "high")] == [0.3, 0.1, 0.03]
    assert price(None, fixed=False) == price("low", fixed=True) == 0.07
