"""evaluate, regrade and search as a person calls them; the executor is scripted."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from called_verbs import OPTIONS, ROWS, Verbs, written

from documented import ROOT
from llm_as_judge.cli.evaluating import (
    _complain_of_cut_replies,
    _complain_of_failures,
    _say_valid,
    sums,
)
from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.files import exclusive
from llm_as_judge.grading.graders import GRADERS, GraderFunction
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.runs.table import RUNS
from llm_as_judge.types import Diagnostic, Failure, Problem, Usage

pytestmark = pytest.mark.usefixtures("held_out_rows")
DIRECT = ("evaluate", *OPTIONS, "--policy", "direct")


@pytest.mark.slow
def test_two_executors_are_evaluated_recorded_and_replayed(verb: Verbs) -> None:
    small = ("--set", "executors.small={model: scripted, price: 0.25}", "--policy", "small_first")
    out, _ = verb.done("evaluate", *OPTIONS, *small, "--record", "calls", "--json")
    again = verb("evaluate", *OPTIONS, *small, "--replay", "calls", "--name", "again", "--json")[1]
    first, second = (json.loads(text)["overall"] for text in (out, again))
    assert first["calls_of_small"] > 0
    assert first["calls"] > first["calls_of_small"]
    assert 0 < first["cost_of_small"] < first["cost"]
    timed = [(one.pop("seconds"), one.pop("not_timed")) for one in (first, second)]
    assert first == second
    assert timed[0][0] > 0
    assert timed[1] == (None, first["graded"]), "no reply of a replay took its time"
    refused = verb.refused("evaluate", *OPTIONS, "--policy", "small_first")
    assert "W213 there is no such executor: 'small' (known: default)" in refused


@pytest.mark.slow
def test_a_baseline_is_evaluated_told_and_regraded(verb: Verbs, folder: Path) -> None:
    out, err = verb.done(*DIRECT)
    assert "3 of 4 rows: a seeded sample" in err
    assert "at most 3 rows of each set (evaluation.limit_per_set); every row: --limit all" in err
    assert "seen in training: not known, no training mix (" in err
    assert "overall" in out
    results = folder / "results" / "evaluation" / "direct_results.json"
    data = json.loads(results.read_text())
    names = [(row["dataset"], row["metrics"]["graded"]) for row in data["datasets"]]
    assert names == [("gsm8k", 3.0), ("hotpotqa", 2.0), ("mixed", 5.0)]

    code, out, err = verb(*DIRECT, "--json")
    assert (code, json.loads(out)) == (0, data)
    assert "5 of 5 rollouts are on disk" in err

    out, err = verb.done("grade", str(results), "--rules-only", "--json")
    assert json.loads(out)["overall"] == data["overall"]
    assert "0 of 5 verdicts changed" in err
    assert "asked of the judge" not in err  # rules ask nobody
    assert "0/0" not in verb("grade", str(results), "--rules-only")[2]  # nothing is left to grade
    (kept,) = (folder / "results" / "evaluation" / "direct_regraded").iterdir()
    EvaluationRecord.read(kept).bill([Attempt(Usage(7, 1), None, 0.1)])  # as a judge model does
    err = verb("grade", str(results), "--rules-only")[2]
    bill = "requests 1, 8 tokens, cost 3 written tokens, price unknown"
    assert f"asked of the judge for these verdicts: {bill}" in err
    regraded = results.with_name("direct_regraded_results.json")
    code, out, _ = verb("compare", str(results), str(regraded), "--json")
    assert (code, json.loads(out)["remarks"]) == (0, [])  # graded by the same judge


def test_a_dry_run_warns_of_the_budget_and_refuses_a_model_that_is_not_there(
    verb: Verbs, folder: Path
) -> None:
    dry = (*DIRECT, "--dry-run")
    _, err = verb.done(*dry, "--set", "budget.calls=1")
    assert "budget.calls = 1 will probably not suffice: the run will stop" in err
    said = verb.refused(*dry, "--set", "judge.model=nope")
    assert "judge.model: no 'nope'" in said
    assert "estimate" not in said


def test_what_was_asked_before_counts_for_the_budget(verb: Verbs, folder: Path) -> None:
    def asked() -> int:
        (bill,) = (folder / "results" / "evaluation" / "direct").glob("*/ledger.json")
        return int(json.loads(bill.read_text())["total"]["attempts"])

    limited = (*DIRECT, "--set", "budget.calls=2")
    for _ in range(2):  # the second time it asks nothing more
        code, _, err = verb(*limited)
        assert (code, asked()) == (2, 2), err
        assert "2 of 2 calls used" in err
    verb.done(*DIRECT, "--set", "budget.calls=5")
    assert asked() == 5


def test_a_dry_run_names_the_checkpoint_that_it_would_take(verb: Verbs) -> None:
    step = Path("checkpoints/qwen25-coder-0.5b/grpo_mixed/step_3")
    shutil.copytree(ROOT / "examples" / "adaptive" / "adapter", step)
    for named in ((), ("--checkpoint", str(step))):
        _, _, err = verb("evaluate", *OPTIONS, *named, "--dry-run")
        assert f"checkpoint     {step}" in err.splitlines()
    assert "checkpoint  " not in verb.done(*DIRECT, "--dry-run")[1]


def test_a_refused_regrade_leaves_everything_and_names_no_option_it_has_not(
    verb: Verbs, direct: Path
) -> None:
    results = str(direct)
    assert verb("grade", results)[0] == 0
    tree = {p: p.read_bytes() for p in direct.parent.rglob("*") if p.is_file()}
    for name in ((), ("--name", "direct_regraded"), ("--name", "new")):
        said = verb.refused("grade", results, "--judge", "zzz", *name)
        assert "judge.model: no 'zzz'" in said
        assert "--config" not in said
    assert "give another one" in verb.refused("grade", results, "--name", "direct")
    assert "wanted a plain name" in verb.refused("grade", results, "--name", "")
    assert tree == {p: p.read_bytes() for p in direct.parent.rglob("*") if p.is_file()}
    assert "0 of 5 verdicts changed" in verb("grade", results, "--name", "new")[2]


@pytest.mark.slow
def test_the_bill_tells_what_was_asked_now_from_what_was_asked_before(verb: Verbs) -> None:
    err = verb(*DIRECT, "--record", "calls")[2]
    bill = err.splitlines()[-1]
    assert bill.startswith("requests 5, ")
    err = verb(*DIRECT)[2]
    assert err.splitlines()[-1] == f"nothing was asked now; before: {bill}"
    replay = ("--policy", "direct", "--replay", "calls", "--name", "again")
    err = verb("evaluate", *OPTIONS, *replay)[2]
    assert err.splitlines()[-1] == f"nothing was asked now; the recording: {bill}"
    assert verb("evaluate", *OPTIONS, *replay)[2].splitlines()[-1] == "nothing was asked now"


@pytest.mark.slow
def test_results_that_give_up_their_name_are_said_to_and_can_be_compared(
    verb: Verbs, folder: Path
) -> None:
    named = ("--policy", "direct", "--name", "a b[red]")
    code, out, err = verb("evaluate", *OPTIONS, *named)
    assert (code, "its results stay in" in err) == (0, False)
    assert "results  results/evaluation/a b[red]_results.json" in out
    assert " a b[red] ┃" in out
    _, err = verb.done("evaluate", *OPTIONS, *named, "--limit", "1")
    (line,) = [line for line in err.splitlines() if "its results stay in" in line]
    earlier = line.partition(" stay in ")[2]
    out, _ = verb.done("compare", earlier, "results/evaluation/a b[red]_results.json", "--json")
    assert len(json.loads(out)["systems"]) == 2


def test_a_second_evaluation_in_a_folder_is_one_line(verb: Verbs, record: EvaluationRecord) -> None:
    with exclusive(record.folder, ""):
        said = verb.refused(*DIRECT, "--fresh")
    assert "is evaluating here; wait for its end, or give another --name" in said
    assert not list(record.folder.glob("*.old1.*"))


def test_free_chain_of_thought_under_other_settings_than_its_own_is_warned_of(verb: Verbs) -> None:
    math = (*OPTIONS, "--set", "data.sets=[gsm8k]", "--policy", "free_cot")
    assert "warning: free_cot with executor.enhance true and executor.max_tokens" in verb(
        "evaluate", *math
    )[2].replace("\n", "")
    own = ("--set", "executor.enhance=false", "--set", "executor.max_tokens=512")
    assert "warning" not in verb("evaluate", *math, *own)[2]


def test_every_row_is_taken_where_a_profile_has_a_limit(verb: Verbs) -> None:
    out, err = verb.done("evaluate", *OPTIONS[:-1], "all", "--policy", "direct", "--json")
    samples = {row["dataset"]: row["sample"] for row in json.loads(out)["datasets"]}
    assert samples["gsm8k"] == samples["hotpotqa"] == "all rows"
    assert samples["mixed"].startswith("5 of 6 rows: those of the sets above, mixed")
    assert "--limit all" not in err


@pytest.mark.slow
def test_programs_that_give_no_answer_are_counted_by_how_they_ended(verb: Verbs) -> None:
    asks = "result = await custom(input=problem, instruction='Answer.')\n"
    falls = "part = 6 // (len(problem) - len(problem))\nreturn result['response'][part:]\n"
    _, err = verb.done("evaluate", *OPTIONS, "--policy", written("falls.py", asks + falls))
    said = " ".join(err.split())
    assert "5 of 5 runs of programs gave no answer (crashed 5); the first, " in said
    assert "ZeroDivisionError" in said


@pytest.mark.slow
def test_own_programs_and_random_ones_are_evaluated(verb: Verbs, folder: Path) -> None:
    body = 'r = await custom(input=problem, instruction="Go.")\nreturn r["response"]\n'
    written("body.py", body)
    written(
        "mine.py",
        "class Workflow:\n"
        "    def __init__(self, name, llm_config, dataset):\n"
        "        self.llm = create_llm_instance(llm_config)\n"
        "        self.custom = operator.Custom(self.llm)\n\n"
        "    async def __call__(self, problem):\n"
        '        r = await self.custom(input=problem, instruction="Answer.")\n'
        '        return r["response"], 0.0\n',
    )
    for policy in ("mine.py", "body.py", "random"):
        out, _ = verb.done("evaluate", *OPTIONS, "--policy", policy, "--json")
        name = policy.removesuffix(".py")
        assert (folder / "results" / "evaluation" / f"{name}_results.json").is_file()
        assert policy == "random" or json.loads(out)["overall"]["executed"] == 1.0
    varied = ("--policy", "mine.py", "--set", "executor.temperature=0.5")
    line = verb.refused("evaluate", *OPTIONS, *varied, "--samples", "2")
    assert "are all the same; set workflow.draws=2 to run it so often" in line
    code, out, _ = verb("evaluate", *OPTIONS, *varied, "--draws", "2", "--json")
    assert (code, json.loads(out)["overall"]["graded"]) == (0, 10.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--policy cott", "--policy 'cott': wanted untrained"),
        ("--policy cot --untrained", "give one policy, not cot and untrained"),
        ("--checkpoint nowhere", "nowhere: no such checkpoint folder"),
        ("", "no checkpoint; train first, or evaluate --untrained"),
        ("--policy cot --draws 3 --set executor.temperature=0", "set executor.temperature above 0"),
        ("--policy cot --budget low", "--budget low: only a policy is told it, and cot is"),
        ("--untrained --budget low", "under reward.scheme weighted a policy is told none; add"),
        ("--untrained --budget lower", "reward.budget: found 'lower'"),
        ("--untrained --samples 3", "set evaluation.temperature above 0"),
        ("--policy cot --set evaluation.sets=[mbpp]", "no set 'mbpp'"),
        ("--policy cot --name a/b", "wanted a plain name"),
        ("--policy cot --name ''", "wanted a plain name"),
        ("--policy cot --data-dir elsewhere", "gsm8k_test.jsonl: no such file"),
        ("--policy cot --replay nodir", "--replay nodir: no such folder"),
        ("--policy cot --split dev", "'train', 'val' or 'test'"),
        ("--policy cot --limit some", "wanted how many rows of each set, at least 1, or `all`"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line_and_starts_nothing(
    verb: Verbs, folder: Path, arguments: str, said: str
) -> None:
    assert said in verb.refused("evaluate", *OPTIONS, *shlex.split(arguments))
    assert not (folder / "results").exists()


def test_an_evaluation_that_could_not_begin_leaves_no_accuracy_of_zero(verb: Verbs) -> None:
    assert "not reachable" in verb.refused(*DIRECT, "--executor", "gpt-oss-120b")
    assert not [*Path("results").rglob("*_results.json"), *Path("results").rglob("full.json")]


def test_results_that_are_not_there_are_one_line(verb: Verbs) -> None:
    assert "no such file" in verb.refused("grade", "none_results.json")
    assert "no such file" in verb.refused("compare", "none_results.json")
    assert "not both" in verb.refused("grade", "x", "--rules-only", "--judge", "m")
    assert "takes no --out, --set" in verb.refused("grade", "x", "--out", "y", "--set", "a=b")
    in_and_out = ("grade", "--in", "a.jsonl", "--out", "v.jsonl")
    assert "--set judge.kind=scoring" in verb.refused(*in_and_out, "--judge", "shipped")
    assert "a.jsonl: no --out; name a file" in verb.refused("grade", "--in", "a.jsonl")
    assert "v.jsonl: no --in; name the file" in verb.refused("grade", "--out", "v.jsonl")


def cut_off(record: EvaluationRecord) -> None:
    """As it was after two rollouts."""
    path = record.folder / RUNS
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))


def test_an_interrupted_evaluation_is_regraded_as_far_as_it_went(
    verb: Verbs, direct: Path, record: EvaluationRecord
) -> None:
    cut_off(record)
    out, err = verb.done("grade", str(direct), "--rules-only", "--json")
    data = json.loads(out)
    assert (data["complete"], data["overall"]["graded"]) == (False, 2.0)
    assert "0 of 2 verdicts changed" in err
    assert EvaluationRecord.read(direct.with_name("direct_regraded_results.json")).missing() == {}


@pytest.mark.slow
@pytest.mark.usefixtures("direct")
def test_a_recording_of_what_is_on_disk_is_not_promised(verb: Verbs) -> None:
    said = verb.refused(*DIRECT, "--record", "calls")
    assert "nothing would be recorded, all rollouts are on disk; add --fresh" in said
    assert not Path("calls").exists()
    assert verb(*DIRECT, "--record", "calls", "--fresh")[0] == 0
    assert verb(*DIRECT, "--record", "calls")[0] == 0  # the same again: it is there
    _, err = verb.done(*DIRECT, "--replay", "calls")
    assert "nothing is replayed: it is on disk; --fresh puts it aside" in err


def test_what_a_recording_lacks_or_holds_already_is_said(
    verb: Verbs, record: EvaluationRecord
) -> None:
    cut_off(record)
    _, _, err = verb(*DIRECT, "--record", "calls")
    assert "2 rollouts are on disk, and calls will not hold them; --fresh puts them aside" in err
    _, _, err = verb(*DIRECT, "--record", "calls", "--fresh")
    assert "calls holds replies already: these are given again, only others are asked for" in err


def test_rollouts_lost_by_our_fault_end_with_1_and_replace_nothing(
    verb: Verbs, record: EvaluationRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    _complain_of_failures(record)
    down = Failure("execute", "EndpointError", "the endpoint is down")
    for group in record.groups()[:2]:
        record.add(replace(group.rollouts[0], execution=None, verdict=None, failure=down))
    with pytest.raises(typer.Exit) as caught:
        _complain_of_failures(record)
    assert caught.value.exit_code == 1
    said = capsys.readouterr().err
    assert "2 answers failed outside of programs (executor, judge or sandbox)" in said
    assert "the first: the endpoint is down" in said
    code, out, _ = verb(*DIRECT, "--json")
    assert (code, json.loads(out)["overall"]["failed"]) == (0, 0.0)  # run again, and well


def test_an_answer_whose_grader_raised_is_kept_and_graded_by_the_door_that_is_named(
    verb: Verbs, folder: Path
) -> None:
    def breaks(problem: Problem, answer: str) -> bool:
        raise KeyError(problem.id)

    first = GraderFunction("mine", breaks, when=lambda problem: problem.id.endswith("/1"))
    with GRADERS.with_also([first]):
        code, out, err = verb(*DIRECT, "--json")
    found = json.loads(out)
    assert (code, found["overall"]["failed"], found["complete"]) == (0, 1.0, True)
    run = folder / "results" / "evaluation" / found["run"]
    assert "answers that a grader failed on: 1; the first: grader 'mine': " in err
    assert (
        f"The answers are kept. Once it is mended: llm-as-judge grade {run.relative_to(folder)}"
        in err
    )
    code, out, _ = verb("grade", str(run), "--json")
    assert (code, json.loads(out)["overall"]["failed"]) == (0, 0.0)


def test_programs_that_are_not_valid_are_counted_with_their_findings(
    verb: Verbs, record: EvaluationRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "programs 5 written" not in verb(*DIRECT)[2], "a fixed program was written by nobody"
    rollouts = [rollout for group in record.groups() for rollout in group.rollouts]
    _say_valid(record)
    said = f"programs {len(rollouts)} written, {len(rollouts)} valid, 0 repaired\n"
    assert capsys.readouterr().err == said
    broken = replace(rollouts[0].program, runnable="", diagnostics=(Diagnostic("W202", 1, "m"),))
    record.add(replace(rollouts[0], program=broken))
    _say_valid(record)
    said = capsys.readouterr().err
    assert f"{len(rollouts) - 1} valid, 0 repaired; found: W202 1 (docs/programs.md)" in said
    assert "A warm start teaches them (docs/TRAINING.md#warm-start)" in said


def test_replies_that_end_at_the_limit_are_said(
    record: EvaluationRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    _complain_of_cut_replies(record)
    assert capsys.readouterr().err == ""
    rollout = record.groups()[0].rollouts[0]
    assert rollout.execution is not None
    limit = record.config.executor.max_tokens
    calls = tuple(replace(c, completion_tokens=limit) for c in rollout.execution.calls)
    record.add(replace(rollout, execution=replace(rollout.execution, calls=calls)))
    _complain_of_cut_replies(record)
    said = " ".join(capsys.readouterr().err.split())
    assert "1 of" in said
    assert f"cut at executor.max_tokens ({limit})" in said


def test_verdicts_that_change_are_listed(
    verb: Verbs, direct: Path, record: EvaluationRecord
) -> None:
    path = record.folder / RUNS
    row = json.loads(path.read_text().splitlines()[0])
    problems = map(json.loads, path.with_name("problems.jsonl").read_text().splitlines())
    (gold,) = next(one["answers"] for one in problems if one["id"] == row["problem"])
    row["rollout"]["execution"] = {**row["rollout"]["execution"], "answer": gold}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    _, err = verb.done("grade", str(direct), "--name", "mended")
    assert "1 of 5 verdicts changed" in err
    assert f"{row['problem']}  False -> True" in err


def test_other_splits_are_said_to_be_such_and_one_without_rows_says_what_to_do(
    verb: Verbs, folder: Path
) -> None:
    for name, rows in ROWS.items():
        train = [replace(row, id=row.id.replace("/test/", "/train/")) for row in rows]
        write_problems(folder / "data" / "processed" / f"{name}_train.jsonl", train)
        val = rows if name == "gsm8k" else []
        write_problems(folder / "data" / "processed" / f"{name}_val.jsonl", val)
    out, err = verb.done(*DIRECT, "--split", "train")
    assert "direct (train rows)" in out
    assert "gsm8k (train)  3 of 4 rows: a seeded sample" in err
    said = verb.refused(*DIRECT, "--split", "val")
    assert "hotpotqa_val.jsonl: no problems in it: data.val_fraction leaves none" in said
    assert verb(*DIRECT, "--split", "val", "--set", "evaluation.sets=[gsm8k]")[0] == 0


def test_a_bill_says_how_much_of_it_is_estimated() -> None:
    ledger = Ledger()
    ledger.book(Attempt(Usage(7, 1), 0.5, 0.1))
    assert sums(ledger) == "requests 1, 8 tokens, cost 3 written tokens, $0.50"
    ledger.book(Attempt(None, 0.25, 0.1, "timeout", bound=Usage(40, 10)))
    assert sums(ledger) == (
        "requests 2, 1 failed (timeout: 1), 58 tokens, cost 23 written tokens, $0.75 "
        "(at most: 50 tokens and $0.25 of these are estimated; of 1 requests the endpoint told no usage, and each "
        "counts at its greatest, here but not in the figures of a problem)"
    )
