"""Every shipped program, and what is made of it, can be written in the form that a policy writes."""

from __future__ import annotations

import pytest

from llm_as_judge.assembly import program_options
from llm_as_judge.config import load_config
from llm_as_judge.evaluation.baselines import program_files, program_of, workflows_dir
from llm_as_judge.evaluation.program_runs import bank_program
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.forms import in_form
from llm_as_judge.workflow.program import ProgramForm, form_of, parse_program

FOLDERS = sorted(path.name for path in workflows_dir().iterdir() if path.is_dir())
EXECUTORS = ("small",)
CONSTANT = "self_consistency"
"""Has a constant beside its class, for which a body has no place."""


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("form", ["body", "class"])
def test_a_shipped_program_stays_the_same_in_either_form(folder: str, form: ProgramForm) -> None:
    config = load_config(None).model_copy(update={"executors": dict.fromkeys(EXECUTORS)})
    for domain, path in program_files(workflows_dir() / folder).items():
        options = program_options(config)
        one = bank_program(domain, program_of(path, domain, options), folder, "shipped", options)
        found = in_form(one.text, domain, form, executors=EXECUTORS)
        if folder == CONSTANT and form == "body":
            assert found is None
            continue
        assert found is not None, one.text
        assert form_of(found) == form
        again = parse_program(found, domain, form, executors=EXECUTORS)
        assert again.hash == one.hash
        assert again.strictly_valid


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_body_that_is_valid_stays_as_it_was_written(domain: Domain) -> None:
    text = "a = await custom(input=problem, instruction='x')  # once\nreturn a['response']"
    assert in_form(text, domain, "body") == text


def test_a_body_is_laid_out_as_the_examples_of_the_prompt_are() -> None:
    text = (workflows_dir() / "cot" / "math.py").read_text(encoding="utf-8")
    assert in_form(text, "math", "body") == (
        'reply = await answer_generate(input=problem)\nreturn reply["answer"]'
    )
    quoted = "a = await custom(input=problem, instruction='say \"x\"')\nreturn a['response']"
    whole = parse_program(quoted, "math", "body").runnable
    assert in_form(whole, "math", "body") == quoted.replace("a['response']", 'a["response"]')


@pytest.mark.parametrize(
    "text", ["the answer is 4", "return problem.nothing()", "class Workflow:\n    pass"]
)
def test_what_cannot_run_has_no_form(text: str) -> None:
    assert in_form(text, "math", "body") is None
    assert in_form(text, "math", "class") is None
