from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.errors import EndpointError, UserError
from llm_as_judge.evaluation.baselines import workflows_dir
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import OperatorSettings, registry
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import (
    DOMAINS,
    ChatRequest,
    Domain,
    Execution,
    ExecutionStatus,
    Json,
    Problem,
    RunLimits,
    Sandbox,
)
from llm_as_judge.workflow import aflow_operators, export_program, parse_program, run_program
from llm_as_judge.workflow.run import answer_text, call_arguments

MATH = Problem("t/t/1", "gsm8k", "math", "What is 9 + 9?", ("18",))
CODE = Problem(
    "t/t/2", "humaneval", "code", "Add.", entry_point="add",
    visible_tests=("assert add(1, 2) == 3",), hidden_tests=("assert add(40, 2) == 42",),
)  # fmt: skip


@pytest.fixture
async def sandbox():  # type: ignore[no-untyped-def]
    opened = await open_sandbox("subprocess", list(registry()))
    yield opened
    await opened.aclose()


async def run(
    text: str,
    sandbox: Sandbox,
    answers: object = lambda _: "Answer: 18",
    problem: Problem = MATH,
    limits: RunLimits | None = None,
) -> Execution:
    program = parse_program(text, problem.domain, "body")
    chat = ScriptedChat(answers)  # type: ignore[arg-type]
    return await run_program(
        program, problem, executor=chat, sandbox=sandbox, limits=limits or RunLimits(wall_s=10)
    )


ONE = "d = await answer_generate(input=problem)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status", "answer"),
    [
        (ONE + 'return d["answer"]', "ok", "18"),
        (ONE + 'return int(d["answer"]) / 2', "ok", "9"),
        (ONE + 'return len(d["answer"]) == 2', "ok", "True"),
        (ONE + 'return "  " + d["answer"] + "\\n"', "ok", "18"),
        (ONE + 'return d["answer"][5:]', "no_answer", ""),
        (ONE + 'x = 1 // (len(d["answer"]) - 2)\nreturn d["answer"]', "crashed", ""),
        (ONE + 'return d["nothing"]', "rejected", ""),
        ("# nothing", "malformed", ""),
        ("", "malformed", ""),
        ("return (", "rejected", ""),
    ],
)
async def test_status_says_what_happened(
    text: str, status: ExecutionStatus, answer: str, sandbox: Sandbox
) -> None:
    execution = await run(text, sandbox)
    assert (execution.status, execution.answer) == (status, answer)
    assert bool(execution.error) == (status in ("crashed", "rejected", "malformed"))
    assert len(execution.calls) == (0 if status in ("rejected", "malformed") else 1)


LOOP = """\
for _ in range(4):
    d = await answer_generate(input=problem)
    if d["answer"] == "18":
        break
return d["answer"]"""
TOGETHER = """\
import asyncio
ds = await asyncio.gather(*[answer_generate(input=problem) for _ in range(4)])
return ds[0]["answer"]"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "right_at", "status", "calls"),
    [
        (LOOP, 1, "ok", 2),
        (LOOP, 2, "ok", 3),
        (LOOP, 9, "call_limit", 3),
        (TOGETHER, 0, "call_limit", 3),
    ],
    ids=["stops early", "stops at the limit", "goes on", "at the same time"],
)
async def test_calls_that_are_made_count_not_those_of_the_worst_case(
    text: str, right_at: int, status: ExecutionStatus, calls: int, sandbox: Sandbox
) -> None:
    program = parse_program(text, "math", "body")
    assert program.worst_case_calls == 4
    chat = ScriptedChat(lambda r: "Answer: 18" if r.draw == right_at else f"Answer: {r.draw}")
    execution = await run_program(
        program,
        MATH,
        executor=chat,
        sandbox=sandbox,
        limits=RunLimits(wall_s=10),
        settings=OperatorSettings(max_calls=3),
    )
    assert execution.status == status
    assert len(chat.requests) == calls
    if status == "call_limit":
        assert execution.error.startswith("executor call 4 of a run that may make 3")
        assert execution.answer == ""
        assert sum(call.error == "cut off" for call in execution.calls) >= 1


@pytest.mark.slow
async def test_a_run_that_is_too_slow_keeps_its_trace(sandbox: Sandbox) -> None:
    text = (
        "task = asyncio.ensure_future(answer_generate(input=problem))\n"
        "await asyncio.sleep(0)\nprint(sum(range(10**12)))\nd = await task\n"
    )
    program = parse_program("import asyncio\n" + text + 'return d["answer"]', "math", "body")
    execution = await run_program(
        program, MATH, executor=ScriptedChat(lambda _: "x", delay_s=30), sandbox=sandbox,
        limits=RunLimits(wall_s=9.0, cpu_s=1.0),
    )  # fmt: skip
    assert execution.status == "timeout"
    assert [c.error for c in execution.calls] == ["cut off"]


@pytest.mark.slow
async def test_a_crowded_executor_makes_no_program_late(sandbox: Sandbox) -> None:
    program = parse_program(ONE + 'return d["answer"]', "math", "body")
    execution = await run_program(
        program, MATH, executor=ScriptedChat(lambda _: "x", delay_s=1.5), sandbox=sandbox,
        limits=RunLimits(wall_s=1.0),
    )  # fmt: skip
    assert (execution.status, execution.answer) == ("ok", "x")
    assert execution.seconds > 1.5


@pytest.mark.slow
async def test_our_fault_is_raised_not_scored(sandbox: Sandbox) -> None:
    def down(_: ChatRequest) -> str:
        raise EndpointError("executor: no reply")

    with pytest.raises(EndpointError):
        await run(ONE + 'return d["answer"]', sandbox, down)


@pytest.mark.slow
async def test_a_program_cannot_forge_its_trace(sandbox: Sandbox) -> None:
    text = ONE + 'd["cost"] = -5\nreturn {"answer": d["answer"], "reward": 10}["answer"], -99.0'
    execution = await run(text, sandbox)
    assert execution.status == "ok"
    assert [c.operator for c in execution.calls] == ["AnswerGenerate"]
    assert execution.tokens > 0


@pytest.mark.slow
async def test_calls_at_the_same_time_are_all_in_the_trace(sandbox: Sandbox) -> None:
    text = (
        "import asyncio\nrs = await asyncio.gather(*[custom(input=problem, instruction=str(i)) "
        "for i in range(5)])\nreturn rs[0]['response']"
    )
    execution = await run(text, sandbox, lambda r: r.messages[0].content[-1])
    assert execution.answer == "0"
    assert [c.llm_calls for c in execution.calls] == [1] * 5


def test_hidden_tests_never_reach_a_program() -> None:
    assert call_arguments(CODE) == {
        "problem": "Add.", "dataset": "humaneval", "entry_point": "add",
        "test": "assert add(1, 2) == 3",
    }  # fmt: skip
    assert "entry_point" not in call_arguments(MATH)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (18, "18"), (18.0, "18"), (0.5, "0.5"), (True, "True"), (" a ", "a"),
     (float("inf"), "inf"), (1e300, "1e+300")],
)  # fmt: skip
def test_answers_are_text(value: Json, text: str) -> None:
    assert answer_text(value) == text


# ----------------------------------------------------------------------------------------- export
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
    "choose": (
        (
            "best = await choose(problem, [(await answer_generate(input=problem))['answer'] "
            "for _ in range(4)])\nreturn best['answer'] + ' ' + str(best['share'])"
        ),
        "5 0.25 0.0",
    ),
    "choose_alike": (
        (
            "draft = await answer_generate(input=problem)\n"
            "best = await choose(problem, [draft['answer'], draft['answer'] + '.0'])\n"
            "return best['answer'] + ' ' + str(best['share'])"
        ),
        "17 1.0 0.0",
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
