"""A policy that always writes the same programs: runs whose only model is the executor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm_as_judge.assembly import open_workbench, policy_prompt, rollout_runner
from llm_as_judge.config import Config
from llm_as_judge.policy.stream import ready
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.training.step_metrics import group_metrics
from llm_as_judge.types import Completion, Group, Problem, Prompt, SampleStream, Sampling

ONE_CALL = """class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)

    async def __call__(self, problem: str, entry_point: str = ""):
        answer = await self.custom(input=problem, instruction="Answer.")
        return answer["response"], 0.0
"""
THREE_CALLS = ONE_CALL.replace(
    '        return answer["response"], 0.0\n',
    '        again = await self.custom(input=answer["response"] + problem, instruction="Check.")\n'
    '        last = await self.custom(input=again["response"] + problem, instruction="End.")\n'
    '        return last["response"], 0.0\n',
)
VOTE = """\
a = await answer_generate(input=problem)
b = await answer_generate(input=problem)
c = await answer_generate(input=problem)
v = await sc_ensemble(solutions=[a["answer"], b["answer"], c["answer"]], problem=problem)
return v["response"]"""
FORMATTED = """\
a = await answer_generate(input=problem)
f = await format(problem=problem, solution=a["thought"] + a["answer"])
return f["solution"]"""
SHORT = (
    'r = await custom(input=problem, instruction="Answer with one number.")\nreturn r["response"]'
)
PLAIN = 'r = await answer_generate(input=problem)\nreturn r["answer"]'
WRONG_KEY = 'r = await answer_generate(input=problem)\nreturn r["result"]'
PROGRAMS = (PLAIN, SHORT, VOTE, FORMATTED, WRONG_KEY)


class WrittenPrograms:
    """PolicySampler: the k-th sample of every prompt is the k-th of ``PROGRAMS``."""

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        texts = PROGRAMS[: sampling.samples]
        one = [Completion((1,), (2,), (-0.5,), f"```python\n{text}\n```", "stop") for text in texts]
        return ready([one for _ in prompts_P])


async def written_run(
    config: Config, steps: Sequence[Sequence[Problem]], folder: Path | None = None
) -> tuple[list[Group], dict[str, Any]]:
    """All groups of the run, and its ledger; the run's files are in ``folder``."""
    everything: list[Group] = []
    async with open_workbench(config) as bench:
        form = config.sampling.form
        runner = rollout_runner(bench, policy_prompt(config), WrittenPrograms(), form)
        log = RunLog(folder) if folder else None
        for step, problems in enumerate(steps, start=1):
            groups = await runner.groups(problems, Sampling(len(PROGRAMS), 1.0, 64, seed=step))
            if log:
                log.groups(step, groups)
                log.step(step, group_metrics(groups))
            everything += groups
        return everything, bench.ledger.snapshot()
