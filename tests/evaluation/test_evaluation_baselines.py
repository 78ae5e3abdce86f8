"""Baselines: every shipped workflow is valid, random ones are too, wrong names are one line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.assembly import program_options
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.evaluation.baselines import baseline_names, find_system, workflows_dir
from llm_as_judge.evaluation.random_workflow import RandomPrograms, random_body
from llm_as_judge.evaluation.systems import PolicySystem, check_base_model
from llm_as_judge.types import DOMAINS, Domain, Message, Sampling
from llm_as_judge.workflow.program import parse_program
from streams import sampled

CONFIG = Config.model_validate(
    {
        "executor": {"model": "scripted"},
        "executors": {"small": {"model": "scripted", "price": 0.25}},
    }
)
WORKFLOWS = sorted(workflows_dir().glob("*/*.py"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_shipped_workflow_passes_the_check_as_written(path: Path) -> None:
    domain: Any = path.stem
    program = parse_program(path.read_text(), domain, "class", max_calls=12, executors=("small",))
    assert program.strictly_valid, program.diagnostics


def test_the_documented_baselines_are_there() -> None:
    assert baseline_names() == [
        "cot",
        "direct",
        "free_cot",
        "hand_crafted",
        "program_of_thought",
        "self_consistency",
        "small_first",
        "two_ways_else_third",
        "until_passed",
        "until_two_agree",
        "vote_of_3",
        "vote_of_5",
        "random",
    ]
    of_some: dict[str, set[Domain]] = {
        "program_of_thought": {"math"},
        "free_cot": {"math"},
        "until_passed": {"code"},
    }
    for name in baseline_names():
        assert find_system(name, program_options(CONFIG)).domains == of_some.get(name, set(DOMAINS))


def test_small_first_without_a_small_executor_is_one_line() -> None:
    for named, known in (
        ({}, "default"),
        ({"tiny": {"model": "scripted", "price": 1}}, "default, tiny"),
    ):
        with pytest.raises(ConfigError) as caught:
            find_system("small_first", program_options(Config.model_validate({"executors": named})))
        said = str(caught.value)
        assert f"W213 there is no such executor: 'small' (known: {known})" in said
        assert "small_first" in said
        assert "\n" not in said


def test_any_is_the_program_of_domains_without_their_own_file(tmp_path: Path) -> None:
    program = (workflows_dir() / "cot" / "math.py").read_text()
    (tmp_path / "any.py").write_text(program)
    alone = find_system(str(tmp_path), program_options(CONFIG))
    assert alone.domains == set(DOMAINS)
    (tmp_path / "code.py").write_text((workflows_dir() / "direct" / "code.py").read_text())
    assert find_system(str(tmp_path), program_options(CONFIG)).identity() != alone.identity()
    (tmp_path / "any.py").write_text("class Workflow:\n    pass\n")
    with pytest.raises(ConfigError, match=r"any\.py:1: W103 .*check .*any\.py --domain math"):
        find_system(str(tmp_path), program_options(CONFIG))


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from(DOMAINS), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_random_workflow_is_valid_and_within_its_calls(
    seed: int, domain: Domain, most: int
) -> None:
    body = random_body(domain, most, random.Random(seed))
    program = parse_program(body, domain, "body", max_calls=most)
    assert program.strictly_valid
    assert program.worst_case_calls <= most


async def test_random_workflows_vary_and_are_repeatable() -> None:
    sampler = RandomPrograms("math", 12)

    async def texts(seed: int) -> list[str]:
        asked = [[Message("user", f"problem {n}")] for n in range(20)]
        written = await sampled(sampler, asked, Sampling(1, 0.0, 1, seed=seed))
        return [completion.text for (completion,) in written]

    assert await texts(0) == await texts(0)
    assert await texts(0) != await texts(1)
    assert len(set(await texts(0))) > 10


def test_random_workflows_ask_every_executor_and_with_one_are_as_they_were() -> None:
    for domain in DOMAINS:
        bodies = [random_body(domain, 32, random.Random(s), ("small", "tiny")) for s in range(60)]
        for body in bodies:
            known = parse_program(body, domain, "body", executors=("small", "tiny"))
            assert known.strictly_valid
        written = "\n".join(bodies)
        assert 'executor="small"' in written
        assert 'executor="tiny"' in written
    assert random_body("math", 12, random.Random(7)) == (
        "draft0 = await custom(input=problem, instruction='Solve this step by step and end with the answer.')\n"
        "draft1 = await answer_generate(input=problem)\n"
        'best = await vote(solutions=[draft0["response"], draft1["answer"]])\n'
        'final = await format(problem=problem, solution=best["answer"])\n'
        'return final["solution"]'
    )


@pytest.mark.slow
def test_random_workflows_know_every_operator_that_solves() -> None:
    for domain in DOMAINS:
        bodies = "\n".join(random_body(domain, 32, random.Random(seed)) for seed in range(200))
        assert "await vote(" in bodies
        assert ("await until_passed(" if domain == "code" else "await until_agree(") in bodies


@pytest.mark.slow
def test_no_calls_are_too_few() -> None:
    with pytest.raises(ConfigError, match="no random program makes at most 0 calls"):
        random_body("math", 0, random.Random(0))


# ------------------------------------------------------------------------------------------ names
def test_files_folders_and_checkpoints_are_told_apart(tmp_path: Path) -> None:
    program = (workflows_dir() / "cot" / "math.py").read_text()
    (tmp_path / "own.py").write_text(program)
    assert find_system(str(tmp_path / "own.py"), program_options(CONFIG)).domains == set(DOMAINS)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "qa.py").write_text(program)
    assert find_system(str(tmp_path / "set"), program_options(CONFIG)).domains == {"qa"}
    (tmp_path / "step_3").mkdir()
    (tmp_path / "step_3" / "state.json").write_text("{}")
    found = find_system(str(tmp_path / "step_3"), program_options(CONFIG))
    assert isinstance(found, PolicySystem)
    assert found.adapter == tmp_path / "step_3"
    assert find_system("untrained", program_options(CONFIG)).adapter is None


def test_who_is_nobody_is_one_line_that_lists_who_there_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--policy 'cott': wanted untrained, cot, direct"):
        find_system("cott", program_options(CONFIG))
    with pytest.raises(ConfigError, match="neither a checkpoint nor programs in it; wanted"):
        find_system(str(tmp_path), program_options(CONFIG))
    with pytest.raises(DataError, match=r"none\.py: cannot be read: no such file"):
        find_system("none.py", program_options(CONFIG))


BODY = 'draft = await custom(input=problem, instruction="Answer.")\nreturn draft["response"]\n'


def test_a_program_is_taken_in_the_form_it_is_written_in(tmp_path: Path) -> None:
    """Alone, and in a folder where the domains differ in form."""
    (tmp_path / "body.py").write_text(BODY)
    assert find_system(str(tmp_path / "body.py"), program_options(CONFIG)).domains == set(DOMAINS)
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "qa.py").write_text(BODY)
    (mixed / "math.py").write_text((workflows_dir() / "cot" / "math.py").read_text())
    assert find_system(str(mixed), program_options(CONFIG)).domains == {"math", "qa"}
    (tmp_path / "bad.py").write_text("return 4\n")
    with pytest.raises(ConfigError, match=r"bad\.py:1: W40\d .* --domain math$"):
        find_system(str(tmp_path / "bad.py"), program_options(CONFIG))


# ------------------------------------------------------------------------------------ checkpoints
def test_a_checkpoint_of_another_base_model_is_one_line(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with pytest.raises(ModelError, match=r"no state\.json; wanted a checkpoint folder"):
        check_base_model(tmp_path, "qwen25-7b")
    state.write_text("{")
    with pytest.raises(ModelError, match=r"state\.json: cannot be read"):
        check_base_model(tmp_path, "qwen25-7b")
    state.write_text(json.dumps({"base_model": "qwen3-8b"}))
    with pytest.raises(ModelError, match="an adapter of qwen3-8b, and the policy is qwen25-7b"):
        check_base_model(tmp_path, "qwen25-7b")
    check_base_model(tmp_path, "qwen3-8b")
    with pytest.raises(ModelError, match=r"adapter_model\.safetensors: cannot be read"):
        PolicySystem("x", tmp_path).identity()


@pytest.mark.parametrize(
    "system", [PolicySystem("x", None), find_system("cot", program_options(CONFIG))]
)
def test_samples_and_draws_that_would_all_be_the_same_are_refused(system: Any) -> None:
    system.check(CONFIG)
    for several in ({"evaluation": {"samples": 3}}, {"workflow": {"draws": 3}}):
        with pytest.raises(ConfigError, match="all the same; set "):
            system.check(Config.model_validate(several))
    varied = {"workflow": {"draws": 3}, "executor": {"temperature": 0.5}}
    system.check(Config.model_validate(varied))
