"""Rollouts: one failure stays one, equal programs run once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from environments import GoldJudge, Runs, Sampler, environment, groups, runner, sampling, written

from llm_as_judge.errors import (
    BudgetError,
    ContextError,
    EndpointError,
    GraderError,
    SandboxError,
)
from llm_as_judge.llm.billing import BilledAs, metered
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.policy.stream import Stream
from llm_as_judge.reward import PRICES, RewardOptions
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.runs.pending import Kept
from llm_as_judge.types import (
    DOMAINS,
    Budget,
    ChatModel,
    ChatRequest,
    Execution,
    Failure,
    Group,
    Message,
    OperatorCall,
    Problem,
    Program,
    Prompt,
    Sample,
    Sampling,
    Verdict,
)
from two_problems import CAPITAL, SUM


async def test_groups_keep_the_order_of_problems_and_of_samples(prompt: PolicyPrompt) -> None:
    sampler = Sampler("4", "Oslo")
    found = await runner(prompt, sampler).groups([CAPITAL, SUM], Sampling(2, 1.0, 8, seed=77))
    assert [group.problem for group in found] == [CAPITAL, SUM]
    assert [[r.index for r in group.rollouts] for group in found] == [[0, 1], [0, 1]]
    assert [[r.verdict.correct for r in g.rollouts if r.verdict] for g in found] == [
        [False, True],
        [True, False],
    ]
    assert sampler.seeds == [77]


async def test_an_endpoint_error_fails_one_rollout_and_its_siblings_go_on(
    prompt: PolicyPrompt,
) -> None:
    run = Runs(down=EndpointError("executor: no reply after 3 retries"))
    (group,) = await groups(prompt, "4", "down", "5", run=run)
    right, failed, wrong = group.rollouts
    assert failed.failure == Failure(
        "execute", "EndpointError", "executor: no reply after 3 retries"
    )
    assert failed.execution is None
    assert failed.verdict is None
    assert failed.reward is None
    assert right.verdict is not None
    assert right.verdict.correct
    assert wrong.verdict is not None
    assert not wrong.verdict.correct
    assert len(group.scored) == 2


@pytest.mark.parametrize(
    "error", [SandboxError("the sandbox broke"), GraderError("grader 'x': m/1: KeyError: 'y'")]
)
async def test_an_error_while_grading_keeps_the_execution(
    prompt: PolicyPrompt, error: Exception
) -> None:
    (group,) = await groups(prompt, "4", "5", judge=GoldJudge(**{"5": error}))
    assert group.rollouts[1].failure == Failure("grade", type(error).__name__, str(error))
    assert group.rollouts[1].execution is not None
    assert group.rollouts[1].reward is None
    assert group.rollouts[0].reward is not None


async def test_a_text_too_long_for_the_executor_is_the_programs_doing(
    prompt: PolicyPrompt,
) -> None:
    run = Runs(long=ContextError("9000 tokens do not fit 4096"))
    (group,) = await groups(prompt, "4", "long", run=run)
    found = group.rollouts[1]
    assert found.failure is None
    assert found.execution == Execution("crashed", error="9000 tokens do not fit 4096")
    assert found.verdict == Verdict(False, "execution", "crashed", "9000 tokens do not fit 4096")
    assert found.reward is not None


async def test_what_gave_no_answer_is_wrong_without_asking_the_judge(
    prompt: PolicyPrompt,
) -> None:
    judge = GoldJudge()
    (group,) = await groups(prompt, "broken", "4", judge=judge)
    assert judge.graded == ["4"]
    assert group.rollouts[0].verdict == Verdict(False, "execution", "rejected", "no program")


async def test_equal_programs_of_a_group_run_once_and_of_two_groups_twice(
    prompt: PolicyPrompt,
) -> None:
    run, judge = Runs(), GoldJudge()
    other = Problem("gsm8k/train/2", "gsm8k", "math", "1 + 3?", ("4",))
    texts, problems = ("4 a", "5", "4 b"), (SUM, other)
    found = await groups(prompt, *texts, problems=problems, run=run, judge=judge)
    assert sorted(run.ran) == ["4", "4", "5", "5"]
    assert len(judge.graded) == 4
    for group in found:
        first, _, again = group.rollouts
        assert first.execution == again.execution
        assert first.verdict == again.verdict
        assert (first.index, again.index) == (0, 2)
        assert (first.completion.text, again.completion.text) == ("4 a", "4 b")


async def test_programs_that_cannot_run_are_never_taken_for_equal(prompt: PolicyPrompt) -> None:
    run = Runs()
    await groups(prompt, "broken", "broken", run=run)
    assert len(run.ran) == 2


async def test_equal_calls_of_a_group_share_one_reply(prompt: PolicyPrompt) -> None:
    executor = ScriptedChat()

    async def run(program: Program, problem: Problem, chat: ChatModel) -> Execution:
        text = Message("user", f"the same for all of {problem.id}")
        asked = ChatRequest((text,), 8, temperature=0.7, seed=7)
        return Execution("ok", (await chat.chat(asked)).text)

    await groups(prompt, "4", "5", problems=(SUM, CAPITAL), run=run, executor=executor)
    asked = [(request.messages[0].content, request.seed) for request in executor.requests]
    assert len(set(asked)) == len(asked) == 2


async def test_a_program_of_several_runs_sees_the_next_draws_and_has_the_mean_of_their_verdicts(
    prompt: PolicyPrompt,
) -> None:
    executor = ScriptedChat(lambda r: "4" if r.draw < 2 else "5")

    async def run(program: Program, problem: Problem, chat: ChatModel) -> Execution:
        asked = ChatRequest((Message("user", program.source),), 8, temperature=0.7, seed=7)
        call = OperatorCall("Custom", 8, 1, cost=3.0, llm_calls=1)
        return Execution("ok", (await chat.chat(asked)).text, (call,))

    (group,) = await groups(prompt, "a", run=run, executor=executor, runs=3)
    (one,) = group.rollouts
    assert sorted((r.draw, r.seed) for r in executor.requests) == [(0, 7), (1, 8), (2, 9)]
    assert one.execution is not None
    assert one.verdict is not None
    assert [one.execution.answer, *(e.answer for e in one.execution.again)] == ["4", "4", "5"]
    assert one.verdict.correct is True
    assert one.verdict.right == pytest.approx(2 / 3)


async def test_one_run_that_fails_by_our_fault_fails_the_rollout_and_ends_the_others(
    prompt: PolicyPrompt,
) -> None:
    ended: list[str] = []

    async def run(program: Program, problem: Problem, chat: ChatModel) -> Execution:
        asked = ChatRequest((Message("user", program.source),), 8, temperature=0.7, seed=7)
        await chat.chat(asked)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(program.source)
        raise AssertionError

    def answer(request: ChatRequest) -> str:
        if request.draw == 2:
            raise EndpointError("down")
        return "4"

    executor = ScriptedChat(answer)
    (group,) = await groups(prompt, "a", run=run, executor=executor, runs=3)
    (one,) = group.rollouts
    assert one.failure == Failure("execute", "EndpointError", "down")
    assert ended == ["a", "a"]


async def test_calls_are_billed_to_problem_rollout_and_role_whoever_shares_them(
    prompt: PolicyPrompt,
) -> None:
    ledger = Ledger()
    executor = ScriptedChat(ledger=ledger, delay_s=0.001)

    async def run(program: Program, problem: Problem, chat: ChatModel) -> Execution:
        await chat.chat(ChatRequest((Message("user", "the same for all"),), 8))
        await chat.chat(ChatRequest((Message("user", program.source),), 8))
        return Execution("ok", program.source)

    class AskingJudge:
        async def grade(self, problem: Problem, answer: str) -> Verdict:
            chat = BilledAs(executor, "judge")
            await chat.chat(ChatRequest((Message("user", f"is {answer} right?"),), 8))
            return Verdict(True, "llm", "r")

    both, judge = (SUM, CAPITAL), AskingJudge()
    options = {"run": run, "judge": judge, "executor": executor, "ledger": ledger}
    await groups(prompt, "4", "5", "4", problems=both, **options)
    bills = ledger.take_rollouts()
    for problem in (SUM, CAPITAL):
        of_rollouts = [bills[f"{problem.id}#{i}"] for i in (0, 1)]
        assert sum(sums.calls for sums in of_rollouts) == 3 + 2
        assert sum(sums.cached_calls for sums in of_rollouts) == 1
    assert sorted(bills) == sorted(f"{p.id}#{i}" for p in (SUM, CAPITAL) for i in (0, 1))
    assert sum(sums.tokens for sums in bills.values()) == ledger.total.tokens
    assert ledger.by_role["executor"].calls == 6
    assert ledger.by_role["judge"].calls == 4


async def test_a_spent_budget_ends_all_others_before_the_run_ends(prompt: PolicyPrompt) -> None:
    ended: list[str] = []

    async def run(program: Program, problem: Problem, executor: ChatModel) -> Execution:
        if program.source == "dear":
            await asyncio.sleep(0.001)
            raise BudgetError("budget: spent")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(f"{problem.id} {program.source}")
        raise AssertionError("not reached")

    with pytest.raises(BudgetError):
        await groups(prompt, "dear", "slow", problems=(SUM, CAPITAL), run=run)
    assert f"{SUM.id} slow" in ended
    assert f"{CAPITAL.id} slow" in ended


async def test_what_runs_is_billed_to_the_caller_whatever_thread_wrote_the_program(
    prompt: PolicyPrompt,
) -> None:
    class Threaded(Sampler):
        """Writes in a thread that knows nothing of who asked."""

        async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
            loop, stream = asyncio.get_running_loop(), Stream()

            def write() -> None:
                for k, text in enumerate(self.texts):
                    loop.call_soon_threadsafe(stream.put, Sample(0, k, written(text)))

            stream.follow(loop.run_in_executor(None, write))
            return stream

    ledger = Ledger()

    async def run(program: Program, problem: Problem, executor: ChatModel) -> Execution:
        await executor.chat(ChatRequest((Message("user", program.source),), 8))
        return Execution("ok", program.source)

    asking = runner(
        prompt, Threaded("4", "5"), run, executor=ScriptedChat(ledger=ledger, role="executor")
    )
    with metered() as attempts:
        await asking.groups([SUM], sampling(2))
    assert len(attempts) == ledger.total.attempts == 2


async def test_a_bug_of_ours_is_not_hidden_as_a_failure(prompt: PolicyPrompt) -> None:
    run = Runs(bug=KeyError("ours"))
    with pytest.raises(KeyError, match="ours"):
        await groups(prompt, "bug", "4", run=run)


async def test_a_group_says_what_its_prompt_showed(prompt: PolicyPrompt, tmp_path: Path) -> None:
    cutting = PolicyPrompt(tmp_path, "body", dict.fromkeys(DOMAINS, ""), problem_chars=3)
    found = await groups(cutting, "4", problems=(SUM, CAPITAL))
    assert [g.prompt.cut_characters for g in found] == [len("2 + 2?") - 3, len("Capital?") - 3]


async def test_the_price_of_a_group_is_that_of_the_word_in_its_prompt(prompt: PolicyPrompt) -> None:
    def priced(text: str) -> RolloutRunner:
        env = environment(Runs(), GoldJudge())
        return RolloutRunner(env, Sampler(text), prompt, RewardOptions("priced", "high"))

    def totals(groups: Sequence[Group]) -> list[float]:
        return [one.reward.total for g in groups for one in g.rollouts if one.reward]

    words: list[Budget] = ["low", "middle"]
    batch = await priced("4").start([SUM, SUM], sampling(1), budgets_P=words)
    found = await batch.groups()
    assert [group.prompt.budget for group in found] == words
    cost = found[0].rollouts[0].execution
    assert cost is not None
    wanted = [1 - PRICES[word] * cost.cost / 1000 for word in words]
    assert totals(found) == wanted
    # a later process that finds everything finished rewards by the words that were told then
    again = await priced("5").start(
        [SUM, SUM],
        sampling(1),
        known={
            (p, 0): Kept(replace(group.rollouts[0], reward=None), group.prompt)
            for p, group in enumerate(found)
        },
    )
    assert totals(await again.groups()) == wanted
