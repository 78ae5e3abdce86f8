from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from operator_fakes import MATH, service

from llm_as_judge.assembly import open_workbench
from llm_as_judge.config import Config, shipped_dir
from llm_as_judge.errors import ConfigError
from llm_as_judge.operators import (
    Operator,
    load_enhancements,
    load_registry,
    operator_docs,
    registry,
)
from llm_as_judge.operators.base import Result, snake_case
from llm_as_judge.operators.prompts import Enhancement, fill
from llm_as_judge.operators.syntax import UnparsableError, parse_python
from llm_as_judge.operators.text import Custom

CUSTOM = shipped_dir() / "operator_descriptions" / "Custom.yaml"


def described(folder: Path, **changes: object) -> Path:
    description = yaml.safe_load(CUSTOM.read_text())
    description.update(changes)
    kept = {key: value for key, value in description.items() if value is not None}
    (folder / "Custom.yaml").write_text(yaml.safe_dump(kept, sort_keys=False))
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Other"}, "name: found 'Other'"),
        ({"call": "custom(input)"}, "call: found 'custom(input)'"),
        ({"arguments": {"input": "x"}}, "arguments: found ['input']"),
        ({"arguments": {"instruction": "x", "input": "x"}}, "arguments"),
        ({"returns": {"answer": "x"}}, "returns: found ['answer'], the class says ['response']"),
        ({"worst_case_calls": 2}, "worst_case_calls: found 2, the class says 1"),
        ({"prompts": {"other": "x"}}, "prompts"),
        ({"prompts": {"answer": "{nothing}"}}, "unknown placeholder {nothing}"),
        ({"domains": ["history"]}, "domains.0"),
        ({"summary": None}, "file: no key 'summary' (found: name, call"),
        ({"color": "red"}, "color: Extra inputs are not permitted"),
    ],
)
def test_a_description_that_contradicts_its_class_is_one_clear_line(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load_registry([Custom], described(tmp_path, **changes))
    assert message in str(error.value)
    assert "Custom.yaml" in str(error.value)


def test_a_class_without_description_and_the_other_way_round(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no description"):
        load_registry([Custom], tmp_path)
    shutil.copy(CUSTOM, tmp_path / "Stray.yaml")
    shutil.copy(CUSTOM, tmp_path)
    with pytest.raises(ConfigError, match="no operator class Stray"):
        load_registry([Custom], tmp_path)


def test_a_description_that_is_no_yaml(tmp_path: Path) -> None:
    (tmp_path / "Custom.yaml").write_text("a: [")
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        load_registry([Custom], tmp_path)
    assert "\n" not in str(caught.value)


def test_an_argument_of_another_type_is_refused(tmp_path: Path) -> None:
    class Counting(Operator):
        empty = {"response": ""}  # noqa: RUF012

        async def run(self, number: float) -> Result:
            return {"response": str(number)}

    shutil.copy(CUSTOM, tmp_path / "Counting.yaml")
    with pytest.raises(ConfigError, match="'number' must be annotated str"):
        load_registry([Counting], tmp_path)


def test_call_names() -> None:
    assert [snake_case(name) for name in ("ScEnsemble", "CustomCodeGenerate", "Test")] == [
        "sc_ensemble",
        "custom_code_generate",
        "test",
    ]


# --------------------------------------------------------------------------------------- prompts
def test_a_template_is_filled_once_and_values_keep_their_braces() -> None:
    values = {"problem": "{solution} \\frac{1}{2} {problem}", "solution": "{'a': 1}"}
    assert fill("{problem}|{solution}|{other}", values) == (
        "{solution} \\frac{1}{2} {problem}|{'a': 1}|{other}"
    )


async def test_layer_two_changes_the_prompt_and_says_so_in_the_trace() -> None:
    rules = (
        Enhancement(name="bare", add="Bare numbers.", operators=("Answer*",), domains=("math",)),
        Enhancement(name="brief", add="Be brief.", executors=("*0.5B*",)),
        Enhancement(name="code", add="No.", domains=("code",)),
    )
    serve, chat = service(
        lambda _: "Answer: 1", problem=MATH, enhancements=rules, name="qwen-0.5b-q4"
    )
    await serve("AnswerGenerate", ["What?"], {})
    await serve("Custom", ["What?", "Say."], {})
    first, second = (r.messages[0].content for r in chat.requests)
    assert "Bare numbers.\nBe brief.\nLet's think" in first
    assert second == "What?\n\nBe brief.\nSay."
    assert [c.notes for c in serve.calls] == [
        ("enhanced: bare", "enhanced: brief"),
        ("enhanced: brief",),
    ]


async def test_the_problem_comes_first_so_that_prefixes_are_shared() -> None:
    serve, chat = service(lambda _: "Answer: 1")
    arguments = {"AnswerGenerate": ["PROBLEM"], "Review": ["PROBLEM", "s"]}
    for operator, values in arguments.items():
        await serve(operator, list(values), {})
    assert all(r.messages[0].content.startswith("PROBLEM\n") for r in chat.requests)


def test_shipped_enhancements_load_and_a_broken_file_is_one_line(tmp_path: Path) -> None:
    assert len(load_enhancements()) >= 3
    broken = tmp_path / "e.yaml"
    broken.write_text("- {name: x, add: y, operator: [Custom]}\n")
    with pytest.raises(ConfigError, match="operator"):
        load_enhancements(broken)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_enhancements(tmp_path / "none.yaml")


HINTS_OF_GPT_OSS = {
    "AnswerGenerate": {"gpt_oss_thought_once", "gpt_oss_plain_text"},
    "Custom": set(),
    "CustomCodeGenerate": {"gpt_oss_no_tools"},
    "Format": {"gpt_oss_plain_text"},
    "MdEnsemble": {"gpt_oss_bare_letter"},
    "Programmer": {"gpt_oss_no_tools"},
    "Review": {"gpt_oss_plain_text"},
    "Retrieve": set(),
    "Revise": set(),
    "ScEnsemble": {"gpt_oss_bare_letter"},
    "Test": {"gpt_oss_no_tools"},
    "UntilAgree": set(),
    "UntilPassed": {"gpt_oss_no_tools"},
    "UntilWorth": set(),
    "Vote": set(),
}


@pytest.mark.parametrize("operator", sorted(registry()))
def test_gpt_oss_gets_hints_of_its_own_and_no_other_executor_does(operator: str) -> None:
    def hints(executor: str) -> set[str]:
        return {
            e.name
            for e in load_enhancements()
            if e.applies(operator, "math", executor, "What is it?")
        }

    own = HINTS_OF_GPT_OSS[operator]
    assert hints("gpt-oss-120b") - hints("gpt-4o-mini") == own
    assert hints("openai/GPT-OSS-20B") == hints("gpt-oss-120b")


async def test_the_hints_of_gpt_oss_stand_before_what_the_operator_asks_for() -> None:
    serve, chat = service(
        lambda _: "Answer: 1", problem=MATH, enhancements=load_enhancements(), name="gpt-oss-120b"
    )
    await serve("AnswerGenerate", ["What?"], {})
    (asked,) = (request.messages[0].content for request in chat.requests)
    assert asked.index("no Markdown") < asked.index("Answer: <the final answer alone>")
    assert "enhanced: gpt_oss_plain_text" in serve.calls[0].notes


# ------------------------------------------------------------------------------------------ docs
def test_docs_name_each_operator_of_the_domain_with_its_keys() -> None:
    math, code = operator_docs("math", "short"), operator_docs("code", "full")
    assert 'programmer(problem, analysis="None") -> {"code", "output"}' in math
    assert "custom_code_generate" not in math
    assert "CustomCodeGenerate" in code
    assert '"result" (bool)' in code
    assert "until_agree(ways, agree=2, most=5)" in math
    assert "until_passed(problem, entry_point, most=3)" in code
    assert len(math) < 1600
    assert len(math.splitlines()) == 9


def test_docs_of_style_calls_are_statements_that_can_be_copied() -> None:
    text = operator_docs("math", "calls")
    assert (
        'draft = await answer_generate(input=problem)  # -> draft["thought"], draft["answer"]. '
        in text
    )
    for line in text.splitlines():
        compile(f"async def f():\n    {line}", "docs", "exec")


def test_every_operator_is_shown_in_some_domain_with_its_own_call_in_the_example() -> None:
    for entry in registry().values():
        assert entry.description.domains
        assert f"await {entry.call_name}(" in entry.description.example


# ---------------------------------------------------------------------------------------- syntax
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x" * 20_001, "at most 20000"),
        ("x = 1\n\x00", "control character"),
        ("(" * 100, "brackets"),
        ("a" + ".b" * 5000, "nested"),
        ("-" * 9000 + "1", "nested"),
        ("def", "syntax"),
        ("x = '\ud800'", "surrogates"),
    ],
)
def test_unreadable_source_is_refused_with_a_reason(source: str, message: str) -> None:
    with pytest.raises(UnparsableError, match=message):
        parse_python(source)


def test_a_question_that_asks_for_rounding_is_not_told_to_leave_values_exact() -> None:
    exact = next(hint for hint in load_enhancements() if hint.name == "math_exact")
    assert exact.applies("Programmer", "math", "any", "What is the total?")
    assert exact.applies("Programmer", "math", "any", "How many rounds did she box?")
    for question in (
        "What is the total, rounded to cents?",
        "Round to two decimal places.",
        "To the nearest dollar?",
    ):
        assert not exact.applies("Programmer", "math", "any", question)


@pytest.mark.slow
@pytest.mark.parametrize("enhance", [True, False])
async def test_the_switch_decides_whether_prompts_are_enhanced(enhance: bool) -> None:
    config = Config.model_validate(
        {
            "executor": {"model": "scripted", "enhance": enhance},
            "judge": {"model": "none"},
            "workflow": {"sandbox": "subprocess"},
            "sampling": {"form": "body"},
        }
    )
    async with open_workbench(config) as bench:
        program = bench.parse(
            '```python\nd = await answer_generate(input=problem)\nreturn d["answer"]\n```', MATH
        )
        execution = await bench.run(program, MATH, bench.executor)
    assert execution.status == "ok"
    assert execution.calls[0].notes == (("enhanced: math_bare_number",) if enhance else ())
