"""Programs exported to AFlow run there, ask and vote as they do here."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.errors import UserError
from llm_as_judge.evaluation.baselines import workflows_dir
from llm_as_judge.types import (
    DOMAINS,
    Domain,
)
from llm_as_judge.workflow import aflow_operators, export_program, parse_program

ONE = "d = await answer_generate(input=problem)\n"

AFLOW = {
    "scripts/__init__.py": "",
    "scripts/evaluator.py": "DatasetType = str\n",
    "scripts/async_llm.py": "def create_llm_instance(config):\n    return ('llm', config)\n",
    "scripts/operators.py": (
        "class AnswerGenerate:\n"
        "    def __init__(self, llm, name='AnswerGenerate'):\n"
        "        assert llm == ('llm', 'config')\n"
        "    async def __call__(self, input):\n"
        "        return {'thought': 't', 'answer': 'to ' + input}\n"
    ),
    "run.py": (
        "import asyncio, importlib\n"
        "graph = importlib.import_module('workspace.GSM8K.workflows.round_1.graph')\n"
        "workflow = graph.Workflow(name='GSM8K', llm_config='config', dataset='GSM8K')\n"
        "answer, cost = asyncio.run(workflow('ask'))\n"
        "print(answer, cost)\n"
    ),
}


@pytest.mark.parametrize("form", ["body", "class"])
def test_an_exported_program_runs_under_aflows_conventions(tmp_path: Path, form: str) -> None:
    text = ONE + 'return d["answer"]'
    program = parse_program(text, "math", "body")
    if form == "class":
        program = parse_program("from __future__ import annotations\n" + program.runnable, "math")
    files = {
        **AFLOW,
        "workspace/GSM8K/workflows/round_1/graph.py": export_program(program),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("to ask 0.0\n", "")


@pytest.mark.parametrize(
    "operators", ["scripts.operators", "workspace.GSM8K.workflows.template.operator", "operator"]
)
@pytest.mark.parametrize("domain", ["math", "code"])
def test_an_exported_program_is_read_again(domain: Domain, operators: str) -> None:
    program = parse_program(ONE + 'return d["answer"]', domain, "body")
    again = parse_program(export_program(program, operators), domain)
    assert again.repairs == ("given_import",)
    assert again.hash == program.hash


def test_a_program_that_cannot_run_is_not_exported() -> None:
    with pytest.raises(UserError, match="cannot be exported"):
        export_program(parse_program("return (", "math", "body"))
    source = parse_program(ONE + 'return d["answer"]', "code", "body").runnable
    wants = parse_program(source.replace("entry_point)", "entry_point, test)"), "code")
    assert wants.runnable
    with pytest.raises(UserError, match="wants `test`"):
        export_program(wants)


AFLOW_OPERATORS = """
class AnswerGenerate:
    draws = iter(["17", "$18", "18.0", "5"])
    def __init__(self, llm, name='AnswerGenerate'):
        assert llm == ('llm', 'config')
    async def __call__(self, input):
        return {'thought': 't', 'answer': next(self.draws)}
class ScEnsemble:
    def __init__(self, llm, name='ScEnsemble'):
        pass
    async def __call__(self, solutions, problem):
        return {'response': solutions[-1]}
class CustomCodeGenerate:
    draws = iter(["one", "two", "three"])
    def __init__(self, llm, name='CustomCodeGenerate'):
        pass
    async def __call__(self, problem, entry_point, instruction):
        return {'response': next(self.draws)}
class Test:
    def __init__(self, llm, name='Test'):
        pass
    def exec_code(self, solution, entry_point):
        assert entry_point == 'add'
        return {"one": {"exec_fail_case": "x"}, "two": [{}], "three": "no error"}[solution]
"""
VOTES_IN_AFLOW = {
    "until_agree": (
        (
            "best = await until_agree(ways=[lambda: answer_generate(input=problem)], most=5)\n"
            "return best['answer'] + ' ' + str(best['agreed'])"
        ),
        "$18 True 0.0",
    ),
    "vote": (
        (
            "best = await vote(solutions=[(await answer_generate(input=problem))['answer'] "
            "for _ in range(4)])\nreturn best['answer'] + ' ' + str(best['share'])"
        ),
        "$18 0.5 0.0",
    ),
    "until_passed": (
        (
            "code = await until_passed(problem, entry_point)\n"
            "return code['solution'] + ' ' + str(code['passed'])"
        ),
        "three True 0.0",
    ),
    "until_passed_in_vain": (
        (
            "code = await until_passed(problem, entry_point, 2)\n"
            "return code['solution'] + ' ' + str(code['passed'])"
        ),
        "two False 0.0",
    ),
}


@pytest.mark.parametrize("name", VOTES_IN_AFLOW)
def test_an_exported_program_votes_in_aflow_with_plain_python(tmp_path: Path, name: str) -> None:
    text, said = VOTES_IN_AFLOW[name]
    domain: Domain = "code" if "passed" in name else "math"
    program = parse_program(text, domain, "body")
    assert program.strictly_valid, program.diagnostics
    exported = export_program(program)
    assert "llm_as_judge" not in exported
    asked = "'ask', 'add'" if domain == "code" else "'ask'"
    files = {
        **AFLOW,
        "scripts/operators.py": AFLOW_OPERATORS,
        "workspace/GSM8K/workflows/round_1/graph.py": exported,
        "run.py": AFLOW["run.py"].replace("'ask'", asked),
    }
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (said + "\n", "")


SEVERAL = """
class AnswerGenerate:
    def __init__(self, llm, name='AnswerGenerate'):
        self.llm = llm
    async def __call__(self, input):
        return {'thought': 't', 'answer': str(self.llm[1])}
class CustomCodeGenerate:
    def __init__(self, llm, name='CustomCodeGenerate'):
        self.llm = llm
    async def __call__(self, problem, entry_point, instruction):
        return {'response': str(self.llm[1])}
class Test:
    def __init__(self, llm, name='Test'):
        pass
    def exec_code(self, solution, entry_point):
        return "no error" if solution == 'config' else [{}]
"""
ASKED_IN_AFLOW = {
    "math": (
        (
            "a = await answer_generate(input=problem, executor='small')\n"
            "b = await answer_generate(input=problem, executor='default')\n"
            "best = await until_agree(ways=[lambda: answer_generate(input=problem, executor='small')])\n"
            "return a['answer'] + ' ' + b['answer'] + ' ' + best['answer']"
        ),
        "little-1b config little-1b 0.0",
    ),
    "code": (
        (
            "code = await until_passed(problem, entry_point, most=2, executor='small')\n"
            "if code['passed']:\n    return code['solution']\n"
            "last = await until_passed(problem, entry_point)\n"
            "return code['solution'] + ' ' + last['solution']"
        ),
        "little-1b config 0.0",
    ),
}


@pytest.mark.parametrize("domain", ASKED_IN_AFLOW)
def test_an_exported_program_asks_in_aflow_the_executors_that_it_names(
    tmp_path: Path, domain: Domain
) -> None:
    text, said = ASKED_IN_AFLOW[domain]
    program = parse_program(text, domain, "body", executors=("small",))
    assert program.strictly_valid, program.diagnostics
    exported = export_program(program, executors={"small": "little-1b"})
    assert "llm_as_judge" not in exported
    asked = "'ask', 'add'" if domain == "code" else "'ask'"
    files = {
        **AFLOW,
        "scripts/operators.py": SEVERAL,
        "workspace/GSM8K/workflows/round_1/graph.py": exported,
        "run.py": AFLOW["run.py"].replace("'ask'", asked),
    }
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (said + "\n", "")


def test_an_export_takes_along_executors_only_where_the_program_names_one() -> None:
    program = parse_program(ONE + 'return d["answer"]', "math", "body")
    assert export_program(program, executors={"small": "m"}) == export_program(program)


@pytest.mark.parametrize("path", sorted(workflows_dir().glob("*/*.py")), ids=lambda p: str(p)[-40:])
def test_every_shipped_workflow_can_be_exported(path: Path) -> None:
    domain: Domain = next((name for name in DOMAINS if name == path.stem), "math")
    program = parse_program(path.read_text(), domain, executors=("small",))
    exported = export_program(program, executors={"small": "little-1b"})
    compile(exported, "graph.py", "exec")
    assert "operator.Vote" not in exported


def test_the_plain_python_holds_equal_what_the_graders_do() -> None:
    async def winner(*solutions: str) -> str:
        found = await aflow_operators.Vote(None)(list(solutions))
        return str(found["answer"])

    for same in (["18", "18.0"], ["$18", "18."], ["\\boxed{1/2}", "\\frac{1}{2}"], ["The X", "x."]):
        assert asyncio.run(winner("other", *same)) == same[0]
    assert asyncio.run(winner()) == ""
    assert asyncio.run(winner("", "7")) == "7"


CODE_OF_A = "def add(a, b):\n    return a + b"


@pytest.mark.parametrize(
    "apart",
    [
        (CODE_OF_A, CODE_OF_A.replace("+", "-"), CODE_OF_A.replace("a + b", "A + b")),
        ("```python\nasync def f():\n    x[0]\n```", "```python\nasync def f():\n    x(0)\n```"),
        ("x - 1", "x + 1", "x / 1", "x"),
        ("(1,2)", "12", "[1,2]", "1.2"),
        ("-7", "7", "7%"),
        ("2^3", "2*3", "23"),
        ("A", "B", "C", "D"),
        ("1e999999999", "1e999999998", "1"),
    ],
    ids=["code", "fenced code", "signs", "pairs", "minus", "powers", "letters", "exponents"],
)
def test_the_plain_python_tells_apart_what_the_graders_do(apart: tuple[str, ...]) -> None:
    found = asyncio.run(aflow_operators.Vote(None)([apart[0], *apart, apart[-1], apart[-1]]))
    assert found == {"answer": apart[-1], "share": 3 / (len(apart) + 3)}


@pytest.mark.parametrize(
    "text",
    ["\\boxed{" * 30_000, "9" * 200_000, "1,000" * 40_000, "9e999999999", "1/0", "\x00\ud800", "def " * 50_000,
     "x" + " \n" * 100_000 + "y"],
    ids=["braces", "digits", "commas", "exponent", "nothing below", "no text", "defs", "lines"],
)  # fmt: skip
def test_a_hostile_answer_is_a_class_of_its_own_in_the_plain_python(text: str) -> None:
    found = asyncio.run(aflow_operators.Vote(None)(["18", text, "18.0"]))
    assert found == {"answer": "18", "share": 2 / 3}
