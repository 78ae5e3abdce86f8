"""Programs that are written already and want the policy to read: open only for them, kept, replayed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly import calls_reader, open_workbench_for
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.evaluate import open_evaluation, run_evaluation
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.results import results_of
from llm_as_judge.evaluation.search.programs import given, shipped
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import load_policy
from llm_as_judge.types import Problem
from own_config import with_only_model

ROWS = [
    Problem(f"gsm8k/test/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(6)
]


@pytest.fixture
def place(tmp_path: Path, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(with_only_model(tmp_path, tiny_weights)))
    write_problems(tmp_path / "test" / "gsm8k_test.jsonl", ROWS)
    return tmp_path


def settings(place: Path, calls: str = "off", **policy: Any) -> Config:
    return Config.model_validate(
        {
            "policy": {"name": "tiny", "device": "cpu", "dtype": "float32", **policy},
            "executor": {"model": "scripted", "temperature": 0.7},
            "judge": {"model": "none"},
            "calls": {"mode": calls, "folder": place / f"calls_{calls}"},
            "data": {"data_dir": place, "sets": ["gsm8k"], "train_file": place / "none"},
            "output": {"results": place / f"results_{calls}", "cache": place / "cache"},
        }
    )


async def evaluated(config: Config, name: str = "choose_of_3") -> EvaluationRecord:
    system = find_system(name, config)
    with open_evaluation(config, system, name) as record:
        await run_evaluation(record, system)
    return record


def answers(record: EvaluationRecord) -> list[str]:
    return [r.execution.answer for group in record.groups() for r in group.rollouts if r.execution]


def readings(record: EvaluationRecord) -> int:
    return sum(
        call.executor == "policy"
        for group in record.groups()
        for r in group.rollouts
        if r.execution
        for call in r.execution.calls
    )


async def test_the_policy_reads_and_its_cost_is_shown_apart(place: Path) -> None:
    record = await evaluated(settings(place, price=2.0))
    assert readings(record) > 0
    overall = results_of(record).as_json()["overall"]
    assert overall["calls_of_policy"] == pytest.approx(readings(record) / len(ROWS))
    assert 0 < overall["cost_of_policy"] < overall["cost"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["record", "cache"])
async def test_what_it_chose_is_replayed_without_its_weights(
    place: Path, tiny_weights: Path, mode: str
) -> None:
    first = await evaluated(settings(place, mode))
    assert readings(first) > 0
    moved = tiny_weights.rename(tiny_weights.with_name("elsewhere"))
    try:
        config = settings(place, mode)
        calls = config.calls.model_copy(update={"mode": "replay"})
        output = config.output.model_copy(update={"results": place / "again"})
        again = await evaluated(config.model_copy(update={"calls": calls, "output": output}))
    finally:
        moved.rename(tiny_weights)
    assert answers(again) == answers(first)


async def test_only_programs_that_want_it_load_a_policy(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_as_judge.assembly.reading.load_policy_of", None)
    config = settings(place)
    assert not calls_reader(["best = await vote(solutions=[a])", "# one may choose another"])
    async with open_workbench_for(config, ["return await vote(solutions=x)"]) as bench:
        assert bench.operators is not None
        assert bench.operators.reader is None
    with pytest.raises(TypeError):
        async with open_workbench_for(config, ["await choose(problem=problem, solutions=x)"]):
            pass


async def test_the_reader_of_a_written_program_may_be_a_checkpoint(
    place: Path, tiny_weights: Path
) -> None:
    folder = place / "step_1"
    load_policy(tiny_weights, adapter=AdapterSpec(4, 8, ("q_proj",)), device="cpu").save_adapter(
        folder
    )
    with_adapter = settings(place, reader=folder)
    record = await evaluated(with_adapter)
    assert readings(record) > 0
    both = [find_system("choose_of_3", c).identity() for c in (settings(place), with_adapter)]
    assert both[0] != both[1]
    with pytest.raises(ConfigError, match=r"^policy\.reader: .*no such file; wanted a checkpoint"):
        find_system("choose_of_3", settings(place, reader=place / "none"))


def test_a_bank_is_of_the_executor_alone(place: Path) -> None:
    config = settings(place)
    assert "choose_of_3" not in {p.name for p in shipped(config, ("math",))["math"]}
    folder = place / "mine"
    folder.mkdir()
    (folder / "math.py").write_text(
        "a = await answer_generate(input=problem)\nb = await answer_generate(input=problem)\n"
        'c = await choose(problem=problem, solutions=[a["answer"], b["answer"]])\nreturn c["answer"]\n'
    )
    with pytest.raises(ConfigError, match=r"math\.py: calls an operator that the policy answers"):
        given(folder, config, ("math",))


async def test_where_no_policy_is_open_the_command_ends(place: Path) -> None:
    config = settings(place)
    async with open_workbench_for(config, []) as bench:
        environment = bench.environment()
        system = find_system("choose_of_3", config)
        text = system.samplers["math"].text  # type: ignore[attr-defined]
        runs = [environment.run(environment.parse(text, row), row) for row in ROWS]
        with pytest.raises(ModelError, match="choose is answered by the policy"):
            await asyncio.gather(*runs)
