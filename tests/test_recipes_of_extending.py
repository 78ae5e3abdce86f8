"""Each recipe of docs/extending.md and CONTRIBUTING.md is walked with the code of the page itself.

The recipe of an operator is walked by tests/operators/test_own_operators.py.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from documented import ROOT, blocks
from llm_as_judge import plugins
from llm_as_judge.assembly import open_judge
from llm_as_judge.config import load_config
from llm_as_judge.config.policy import SamplingConfig
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.process import process
from llm_as_judge.data.selection import problem_file
from llm_as_judge.grading.graders import GRADERS, own_verdict
from llm_as_judge.judge.kinds import JUDGES, JudgePlace, judge_kind
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.backends import SAMPLERS, SamplerPlace, sampler_backend
from llm_as_judge.policy.model import load_policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.reward import REWARD_PARTS, RewardOptions, reward_group
from llm_as_judge.types import (
    Completion,
    Execution,
    Message,
    Problem,
    Program,
    Prompt,
    Rollout,
    Sampling,
    Verdict,
)
from restored import restored

PAGE = ROOT / "docs" / "extending.md"
CONTRIBUTING = ROOT / "docs" / "CONTRIBUTING.md"
REGISTRIES = (REWARD_PARTS, GRADERS, CATALOG, SAMPLERS, JUDGES)
PLUGIN = "plugins=[my_module]"


@pytest.fixture(autouse=True)
def my_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_new_sets: None
) -> Iterator[ModuleType]:
    """All blocks of the page, as the plugin that they say they are."""
    code = [block.text for block in blocks(PAGE) if block.kind == "python" and not block.words]
    (tmp_path / "my_module.py").write_text("\n".join(code))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", {})
    sys.modules.pop("my_module", None)  # the name that other pages' commands load, too
    with ExitStack() as stack:
        for registry in REGISTRIES:
            stack.enter_context(restored(registry))
        load_config(overrides=[PLUGIN])
        yield importlib.import_module("my_module")
    del sys.modules["my_module"]


def test_the_page_adds_one_of_each_kind(my_module: ModuleType) -> None:
    added = [
        [name for name in registry if registry[name].defined.__module__ == "my_module"]
        for registry in REGISTRIES
    ]
    assert added == [["brevity"], ["shades"], ["colors"], ["cool"], ["one_word"]]


@pytest.mark.parametrize(
    ("scheme", "source", "score"),
    [
        ("weighted", "x" * 9, 10.0),
        ("weighted", "x" * 10, -10.0),
        ("priced", "x" * 9, 1.0),
        ("priced", "x" * 10, -1.0),
    ],
)
def test_the_reward_part_scores_a_rollout(scheme: str, source: str, score: float) -> None:
    keys = [
        "reward.weights.brevity=0.1",
        "reward.options.brevity.most=9",
        f"reward.scheme={scheme}",
    ]
    options = RewardOptions(**load_config(overrides=[PLUGIN, *keys]).reward.model_dump())
    program = Program(source, source, worst_case_calls=1)
    written = Completion((), (), (), source, "stop")
    right = Verdict(True, "exact", "exact")
    (done,) = reward_group([Rollout("p", 0, written, program, Execution("ok"), right)], options)
    assert done.reward is not None
    assert (done.reward.parts["brevity"].score, done.reward.parts["brevity"].weight) == (score, 0.1)


def test_the_reward_part_pays_no_empty_program() -> None:
    options = RewardOptions(**load_config(overrides=[PLUGIN]).reward.model_dump())
    written = Completion((), (), (), "", "stop")
    wrong = Verdict(False, "exact", "exact")
    nothing = Rollout("p", 0, written, Program("", ""), Execution("ok"), wrong)
    (done,) = reward_group([nothing], options)
    assert done.reward is not None
    assert done.reward.parts["brevity"].score < 0


async def test_the_grader_decides_for_its_set_alone() -> None:
    problem = Problem("colors/all/1", "colors", "qa", "Which color is the sky?", ("blue",))
    verdict = await own_verdict(problem, "Azure")
    assert verdict is not None
    assert (verdict.correct, verdict.rule) == (True, "shades.right")
    assert await own_verdict(problem, "teal") is None


def test_the_data_set_is_processed_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "colors"
    folder.mkdir(parents=True)
    rows = ({"thing": f"thing {n}", "color": f"color {n}"} for n in range(12))
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chosen = load_config(overrides=[PLUGIN, "data.sets=[colors]"]).data.sets
    report = process(tmp_path / "raw", tmp_path / "data", sets=chosen)
    assert [(one.dataset, one.rows) for one in report.sets] == [("colors", 12)]
    (first, *_) = problem_file(tmp_path / "data" / "processed" / "colors_train.jsonl")
    number = first.id.removeprefix("colors/all/")
    assert first.question == f"Which color is the thing {number}?"
    assert first.answers == (f"color {number}",)


async def test_the_sampler_writes_programs(tmp_path: Path, tiny_weights: Path) -> None:
    policy = load_policy(
        tiny_weights, adapter=AdapterSpec(4, 8), device="cpu", dtype="float32", seed=1
    )
    chosen = SamplingConfig(backend="cool", options={"factor": 0.0})
    place = SamplerPlace(policy, asyncio.to_thread, chosen, tmp_path)
    prompts = [Prompt((Message("user", "What is 2 + 2?"),))]
    async with sampler_backend(chosen).open(place) as cool:
        stream = await cool.sample(prompts, Sampling(1, 1.0, 12))
        written = [completion async for _, _, completion in stream]
    assert [written] == HFSampler(policy).complete(prompts, Sampling(1, 0.0, 12))  # greedy


@pytest.mark.parametrize(
    ("reply", "correct"), [("Yes", True), ("no", False), ("Well, it depends.", None)]
)
async def test_the_judge_decides_what_the_rules_leave_open(
    reply: str, correct: bool | None
) -> None:
    keys = ["judge.kind=one_word", "judge.model=scripted"]
    config = load_config(overrides=[PLUGIN, *keys]).judge
    opened = judge_kind(config).open(JudgePlace(config, ScriptedChat(lambda asked: reply)))
    problem = Problem("c/1", "c", "qa", "Which color is the sky?", ("sky blue",))
    verdict = await opened.judge(problem, "azure blue", 0.5)
    assert (verdict.correct, verdict.stage, verdict.score) == (correct, "llm", 0.5)


async def test_a_configuration_opens_that_judge(tmp_path: Path) -> None:
    keys = ["judge.kind=one_word", "judge.model=scripted", f"output.results={tmp_path}"]
    async with open_judge(load_config(overrides=[PLUGIN, *keys])) as opened:
        by_rule = await opened.grade(Problem("c/1", "c", "qa", "Which?", ("blue",)), "blue")
    assert by_rule.stage == "qa"


# ------------------------------------------------------------------------ an advantage estimator
USED = """
from llm_as_judge.config import load_config
from llm_as_judge.training.grpo import LossOptions, step_advantages
training = load_config(overrides=["training.baseline=median", "training.advantage_norm=none"]).training
options = LossOptions(baseline=training.baseline, advantage_norm=training.advantage_norm)
print(step_advantages([[1.0, 2.0, 9.0]], options))
"""


def replaced(source: str, block: str) -> str:
    """``source`` with the functions and names that ``block`` defines in the place of its own."""
    lines = source.splitlines()
    old = {_name(node): node for node in ast.parse(source).body}
    for new in ast.parse(block).body:
        node = old[_name(new)]
        assert node.end_lineno is not None
        text = ast.get_source_segment(block, new) or ""
        lines[node.lineno - 1 : node.end_lineno] = [text] + [""] * (node.end_lineno - node.lineno)
    return "\n".join(lines)


def _name(node: ast.stmt) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    return getattr(target, "id", "") or getattr(target, "name", "")


@pytest.mark.slow
def test_the_advantage_estimator_is_chosen_by_its_name(tmp_path: Path) -> None:
    package = tmp_path / "copy" / "llm_as_judge"
    shutil.copytree(ROOT / "src" / "llm_as_judge", package)
    shutil.copytree(ROOT / "config", package / "_config")  # where a wheel has it
    walked = {b.words.removeprefix("in "): b.text for b in blocks(CONTRIBUTING) if b.words}
    assert list(walked) == ["config/training.py", "training/grpo.py"]
    for name, text in walked.items():
        file = package / name
        file.write_text(replaced(file.read_text(), text))
    done = subprocess.run(
        [sys.executable, "-c", USED],
        env={
            "PYTHONPATH": str(package.parent),
            "PATH": "/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[[-1.0, 0.0, 7.0]]\n", done.stderr
