"""check, run, solve, serve: programs from outside."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from called_verbs import Verbs, written

from documented import ROOT, blocks

CLEAN = """class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)

    async def __call__(self, problem: str, entry_point: str = ""):
        answer = await self.custom(input=problem, instruction="Answer.")
        return answer["response"], 0.0
"""
FAULTY = CLEAN.replace("operator.Custom", "operator.Kustom")


# ----------------------------------------------------------------------------------------- check
@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (CLEAN.encode(), 0, "p.py: clean; operators Custom; at most 1 executor call ("),
        (CLEAN.encode("utf-8-sig"), 0, "p.py: clean"),
        (b'r = await custom(input=problem, instruction="x")\nreturn r["response"]\n', 0, "clean"),
        (FAULTY.encode(), 3, "p.py:4: "),
        (bytes(range(256)), 3, "p.py:"),
    ],
    ids=["clean", "byte order mark", "statements", "findings", "binary"],
)
def test_check_is_0_of_a_clean_program_and_3_with_file_and_line_of_findings(
    verb: Verbs, content: bytes, code: int, said: str
) -> None:
    Path("p.py").write_bytes(content)
    found, out, _ = verb("check", "p.py")
    assert (found, said in out) == (code, True), out


def test_check_as_json_says_the_same(verb: Verbs) -> None:
    code, out, _ = verb("check", written("p.py", CLEAN), "--json")
    clean = json.loads(out)
    assert (code, clean["strictly_valid"], clean["operators"]) == (0, True, ["Custom"])
    assert (clean["worst_case_calls"], clean["worst_case_tokens"]) == (1, 2048)
    assert clean["expected_calls"] == 1
    few = ("--set", "executor.max_tokens=50", "--set", "workflow.max_worst_case_calls=1")
    assert json.loads(verb("check", "p.py", "--json", *few)[1])["worst_case_tokens"] == 50
    code, out, _ = verb("check", written("p.py", FAULTY), "--json")
    faulty = json.loads(out)
    assert (code, faulty["strictly_valid"]) == (3, False)
    assert faulty["diagnostics"][0]["line"] == 4


SMALL = CLEAN.replace('"Answer.")', '"Answer.", executor="small")')
EXECUTORS = ("--set", "executors.small={model: scripted, price: 0.5}")


def test_check_knows_the_executors_of_the_configuration(verb: Verbs) -> None:
    path = written("p.py", SMALL)
    assert verb("check", path, *EXECUTORS)[0] == 0
    code, out, _ = verb("check", path)
    assert code == 3
    assert "p.py:7: W213 there is no such executor: 'small' (known: default)" in out


def test_run_shows_which_executor_was_asked_and_what_it_cost(verb: Verbs) -> None:
    asked = ("--problem", "2 + 2?", "--executor", "scripted", *EXECUTORS)
    out, _ = verb.done("run", written("p.py", SMALL), *asked)
    assert "Custom (small) " in out
    small = json.loads(verb("run", "p.py", *asked, "--json")[1])
    (call,) = small["trace"]
    tokens = call["completion_tokens"] + call["prompt_tokens"] / 4
    assert (call["executor"], small["cost"]) == ("small", tokens / 2)
    refused = verb.refused("run", "p.py", *asked[:-1], "executors.small={model: gone, price: 1}")
    assert refused.startswith("error: executors.small.model: no 'gone' (known: ")


def test_the_readmes_program_is_checked_and_run_by_the_readmes_commands(
    verb: Verbs,
) -> None:
    (shown,) = (block for block in blocks(ROOT / "README.md") if block.words == "body")
    file = written("FILE.py", shown.text)
    assert verb("check", file)[0] == 0
    out, _ = verb.done("run", file, "--problem", "2 + 2?", "--executor", "scripted", "--json")
    assert json.loads(out)["calls"] == 3


def test_check_of_what_cannot_be_read_is_2(verb: Verbs) -> None:
    assert verb.refused("check", "none.py") == "error: none.py: cannot be read: no such file"
    assert "cannot be read" in verb.refused("check", ".")
    name = written("p.py", CLEAN)
    assert "wanted math, qa or code" in verb.refused("check", name, "--domain", "art")


# ------------------------------------------------------------------------------------ run, solve
def test_run_gives_answer_calls_and_tokens_for_people_and_scripts(verb: Verbs) -> None:
    name, problem = written("p.py", CLEAN), written("q.txt", "2 + 2?")
    out, _ = verb.done("run", name, "--problem-file", problem, "--executor", "scripted")
    assert "Custom               1 call " in out
    assert "status   ok" in out
    assert "answer   " in out
    code, out, _ = verb("run", name, "--problem", "2 + 2?", "--executor", "scripted", "--json")
    result = json.loads(out)
    assert (code, result["status"], result["calls"]) == (0, "ok", 1)
    assert result["tokens"] > 0
    assert [call["operator"] for call in result["trace"]] == ["Custom"]
    assert {"tokens", "cost", "seconds", "status"} <= result.keys()
    assert result["isolation"]["holds"]["memory_limit"]


def test_run_without_the_sandbox_that_was_asked_for_is_2_and_says_what_to_install(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    asked = ("run", written("p.py", CLEAN), "--problem", "2 + 2?", "--executor", "scripted")
    line = verb.refused(*asked, "--set", "workflow.sandbox=landlock")
    assert "Install the Python package pyseccomp" in line


def test_run_wants_the_problem_once_and_not_empty(verb: Verbs) -> None:
    name = written("p.py", CLEAN)
    assert "give the problem once" in verb.refused("run", name)
    assert "give the problem once" in verb.refused(
        "run", name, "--problem", "x", "--problem-file", name
    )
    assert "problem is empty" in verb.refused("run", name, "--problem", "  ")


def solve_stages(out: str) -> dict[str, Any]:
    return {row["stage"]: row["value"] for row in map(json.loads, out.splitlines())}


SOLVE = ("solve", "--executor", "scripted", "--problem", "2 + 2?")


def test_solve_with_a_program_shows_program_and_execution(verb: Verbs) -> None:
    code, out, _ = verb(*SOLVE, "--policy", written("p.py", CLEAN), "--json")
    stages = solve_stages(out)
    assert code == 0
    assert list(stages) == ["program", "call", "execution"]
    assert "2 + 2?" in stages["call"]["asked"]
    assert stages["execution"]["status"] == "ok"


@pytest.mark.slow
def test_solve_with_a_gold_answer_also_gives_a_verdict(verb: Verbs) -> None:
    solve = (*SOLVE, "--policy", written("p.py", CLEAN), "--domain", "qa")
    rules = ("--set", "judge.model=none")
    answer = solve_stages(verb(*solve, "--json")[1])["execution"]["answer"]
    out, _ = verb.done(*solve, *rules, "--reference", answer, "--json")
    assert solve_stages(out)["verdict"]["correct"] is True
    out, _ = verb.done(*solve, *rules, "--reference", "Lisbon")
    assert '"correct": false' in out


def test_solve_reads_standard_input_and_prints_each_stage(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2 + \x1b[31m2?"))
    solve = (*SOLVE[:-1], "-", "--policy", written("p.py", CLEAN))
    out, _ = verb.done(*solve)
    for part in ("program", "class Workflow", "call", "execution", "status  ok", "answer  "):
        assert part in out
    assert "\x1b" not in out


def test_a_program_that_cannot_run_is_1(verb: Verbs) -> None:
    code, out, _ = verb(*SOLVE, "--policy", written("p.py", FAULTY))
    assert (code, "status  rejected" in out) == (1, True)
    asked = ("--problem", "x", "--executor", "scripted", "--json")
    code, out, _ = verb("run", written("p.py", "class Workflow:\n    pass\n"), *asked)
    assert (code, json.loads(out)["status"]) == (1, "rejected")


def test_a_finding_of_a_rejected_program_is_printed_once(verb: Verbs) -> None:
    asked = ("--problem", "2 + 2?", "--executor", "scripted")
    code, out, _ = verb("run", written("p.py", "reply = await custom(input=problem)\n"), *asked)
    assert code == 1
    (line,) = [line for line in out.splitlines() if "W501" in line or "without an answer" in line]
    assert line.startswith("W501 line 1: ")
    assert "status   rejected\n" in out


@pytest.mark.parametrize("verb_asked", [("solve", "--problem", "2 + 2?"), ("serve",)])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("--budget", "low", "--policy", "p.py"),
            "--budget low: only a policy is told it, and p.py is",
        ),
        (
            ("--budget", "low", "--set", "reward.scheme=weighted"),
            "under reward.scheme weighted a policy is told none; add --set reward.sch",
        ),
        (("--budget", "none"), "reward.budget: found 'none'"),
    ],
)
def test_a_budget_that_nobody_would_be_told_is_one_line(
    verb: Verbs, verb_asked: tuple[str, ...], given: tuple[str, ...], said: str
) -> None:
    assert said in verb.refused(*verb_asked, "--executor", "scripted", *given)


@pytest.mark.parametrize("asked", [("serve", "--executor", "scripted", "--port", "0"), SOLVE])
def test_without_a_policy_and_a_checkpoint_both_are_named(
    verb: Verbs, asked: tuple[str, ...]
) -> None:
    line = verb.refused(*asked)
    assert f"grpo_mixed: no checkpoint; train first, or {asked[0]} --policy untrained" in line


def test_serve_refuses_the_network_without_a_sound_key_before_loading_a_model(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_AS_JUDGE_API_KEY", "k")
    line = verb.refused("serve", "--host", "0.0.0.0", "--policy", "none")
    assert "shorter than 16" in line
    assert "secrets.token_urlsafe(32)" in line


def test_solve_with_a_policy_that_is_nothing_is_2(verb: Verbs) -> None:
    said = verb.refused(*SOLVE, "--policy", "none.py")
    assert "none.py: no such file or folder; wanted untrained, a checkpoint folder" in said
