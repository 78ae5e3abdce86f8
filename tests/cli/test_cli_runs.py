"""train, monitor, report, audit and the configuration they begin with."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import typer
from called_verbs import Verbs, written

from llm_as_judge.audit.audit import AuditReport, run_audit
from llm_as_judge.cli import app
from llm_as_judge.cli.auditing import what_now
from llm_as_judge.cli.stopping import KEPT, stopped_line
from llm_as_judge.config import load_models
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.training.judge.rows import read_training_rows
from llm_as_judge.types import Problem, Verdict


# ------------------------------------------------------------------------------- models, monitor
def test_models_list_has_every_entry_for_scripts_and_people(verb: Verbs) -> None:
    code, out, _ = verb("models", "list", "--json")
    rows = json.loads(out)
    assert code == 0
    assert [row["name"] for row in rows] == list(load_models())
    assert all(row["path"] is None or Path(row["path"]).exists() for row in rows)
    unknown = [row["name"] for row in rows if row["megabytes"] is None]
    assert unknown == ["gpt-oss-120b"]
    assert all(row["megabytes"] > 0 for row in rows if row["name"] not in unknown)
    code, out, _ = verb("models", "list")
    assert (code, "smollm2-135m" in out) == (0, True)
    assert "no model 'nosuch'" in verb.refused("models", "pull", "nosuch")


def run_folder() -> Path:
    log = RunLog(Path("logs/run1"))
    log.step(1, {"reward/mean": 1.5, "time/sample_s": 12.0})
    log.step(2, {"reward/mean": -2.25})
    return log.folder


def test_monitor_once_prints_the_newest_run_if_there_is_one(verb: Verbs, folder: Path) -> None:
    assert "no run found" in verb.refused("monitor", "--once")
    assert "no run here" in verb.refused("monitor", "--once", str(folder))
    assert "wanted all, math" in verb.refused("monitor", "--once", "--domain", "art")
    run_folder()
    out, _ = verb.done("monitor", "--once")
    assert all(text in out for text in ("logs/run1", "+1.50", "-2.25"))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_verb_with_one_line_and_its_own_status(
    verb: Verbs, number: int, status: int
) -> None:
    run_folder()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    timer.start()
    code, _, err = verb("monitor", "--every", "20")
    timer.join()
    assert signal.getsignal(number) is signal.SIG_IGN  # its last words are not broken into
    assert code == status
    assert err.splitlines()[-1] == "stopped"
    assert "Traceback" not in err


def test_only_verbs_that_keep_something_say_so_when_stopped() -> None:
    top = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    verbs = {*top} | {
        f"{name} {verb}"
        for name in top.keys() - KEPT
        for verb in getattr(top[name], "commands", ())
    }
    said = {name: stopped_line([*name.split(), "--json"]) for name in verbs}
    assert {name for name in verbs if said[name] != "stopped"} == set(KEPT)
    assert said["train"] == "stopped; finished rollouts, steps and checkpoints are kept"
    assert said["evaluate"] == "stopped; finished rollouts are kept"
    assert stopped_line([]) == "stopped"


def test_train_without_data_or_in_a_used_folder_is_2_before_anything_is_drawn(
    verb: Verbs, folder: Path
) -> None:
    train = ("train", "--config", "smoke")
    code, out, err = verb(*train)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "train_mixed.jsonl: no such file" in err
    (folder / "data" / "mixed").mkdir(parents=True)
    (folder / "data" / "mixed" / "train_mixed.jsonl").write_text("")
    said = verb.refused(*train, "--run-dir", str(run_folder()))
    assert "logs/run1: holds a run already" in said
    assert "--resume" in said
    assert "no checkpoint to resume from" in verb.refused(*train, "--resume")
    assert "no model 'nosuch'" in verb.refused(*train, "--set", "policy.name=nosuch")


def test_train_asks_the_endpoint_before_anything_else_and_leaves_nothing(
    verb: Verbs, folder: Path
) -> None:
    (folder / "data" / "mixed").mkdir(parents=True)
    (folder / "data" / "mixed" / "train_mixed.jsonl").write_text("")
    (folder / "config").mkdir()
    endpoint = "{base_url: 'http://127.0.0.1:9/v1', api_key: x, no_proxy: true}"
    written("config/aflow_llm.yaml", f"models: {{dead: {endpoint}}}\n")
    line = verb.refused("train", "--config", "smoke", "--executor", "dead")
    assert "executor dead at http://127.0.0.1:9/v1: not reachable" in line
    assert not [*folder.rglob("*.lock"), *folder.rglob("results/*"), *folder.rglob("step_*")]


@pytest.mark.parametrize("command", ["report", "evaluate"])
def test_a_full_size_model_that_nobody_asked_for_is_told_with_the_small_profile(
    verb: Verbs, command: str
) -> None:
    assert verb.refused(command).endswith("add --config embedded)")
    assert "full-size" not in verb.refused(command, "--config", "embedded")


def test_a_run_file_that_is_none_is_one_line(verb: Verbs, folder: Path) -> None:
    run = run_folder()
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"reward/mean": 1.0}\n')
    said = verb.refused("report", "--run-dir", str(run))
    assert 'metrics.jsonl:3: no whole number "step" (keys: reward/mean)' in said


def test_report_sets_results_side_by_side_and_names_what_is_missing(verb: Verbs) -> None:
    figures = dict.fromkeys(("strictly_valid", "executed", "calls", "tokens"), 1.0)
    figures |= {"accuracy": 0.5, "accuracy_low": 0.25, "accuracy_high": 0.75}
    data = {"datasets": [{"dataset": "gsm8k", "metrics": figures}], "overall": figures}
    place = Path("results/evaluation")
    place.mkdir(parents=True)
    files = [
        written(str(place / f"{name}_results.json"), json.dumps(data)) for name in ("direct", "cot")
    ]
    shown = verb("report", *files), verb("report")
    for code, out, _ in shown:
        assert code == 0
        assert all(name in out for name in ("direct", "cot"))
        assert out.count("50% [25%, 75%]") == 4
    err = shown[1][2]
    assert "no results of qwen25-7b before training; run: llm-as-judge evaluate --untrained" in err
    assert "no results of qwen25-7b after training; run: llm-as-judge evaluate" in err
    assert "no results of" not in shown[0][2]


def test_report_of_no_or_broken_results_is_2(verb: Verbs) -> None:
    assert "run: llm-as-judge evaluate --untrained" in verb.refused("report")
    assert "a.json: not JSON; wanted a results file" in verb.refused(
        "report", written("a.json", "{")
    )
    assert "no key 'datasets' (found: no keys)" in verb.refused("report", written("a.json", "{}"))


# --------------------------------------------------------------------------------- configuration
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "training.stepz=3"), "did you mean 'training.steps'?"),
        (("--set", "training.steps"), "wanted key=value"),
        (("--set", "data.sets=["), "cannot be read as YAML"),
        (("--config", "nosuch"), "no profile 'nosuch'"),
        (("--config", "nosuch.yaml"), "no such file"),
    ],
)
def test_a_wrong_configuration_is_2_before_anything_starts(
    verb: Verbs, folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    assert said in verb.refused("data", "process", *arguments)
    assert list(folder.iterdir()) == []


# ----------------------------------------------------------------------------------------- audit
@pytest.mark.slow
def test_an_audit_of_a_sample_gives_no_permission_and_keeps_the_report_of_another(
    verb: Verbs, folder: Path
) -> None:
    command = ("judge", "audit", "--rules-only", "--attack-numbers", "1", "--sample")
    for share in ("0.05", "0.05", "0.01"):
        _, out, _ = verb(*command, share)
    reports = [json.loads(p.read_text()) for p in (folder / "results/audit").glob("*.sample.json")]
    assert sorted(report["sample"] for report in reports) == [0.01, 0.05]
    assert "next    a sample gives no permission to train" in out  # of so few attacks alone
    said = " ".join(out.split())
    assert "sample, no bar surely missed" in said
    assert "the same command without --sample" in said


class Believing:
    """Accepts every answer, by a rule or as a judge that was asked."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        return Verdict(True, self._stage, f"{self._stage}.right", "", score=1.0)


async def failed_audit(stage: str) -> AuditReport:
    report = await run_audit(Believing(stage), "f", "model", attack_numbers=1, sample=0.1)
    assert not report.passed
    return report


async def test_a_failed_audit_says_what_its_bars_mean_of_a_sample_too() -> None:
    report = await failed_audit("llm")
    (sampled,), (whole,) = what_now(report), what_now(replace(report, sample=None))
    assert "below a bar: precision, attacks accepted" in sampled
    assert "To train, the whole audit would have to pass" in sampled
    assert "Label more rows, or take another judge: docs/judge.md" in sampled
    assert "without --sample" not in sampled
    assert "Leave such answers ungraded (judge.kind: rules)" in whole


def test_labels_are_no_remedy_for_replies_that_cannot_be_read() -> None:
    report = SimpleNamespace(
        sample=SimpleNamespace(), passed=False, wrong_by_rule={}, failures=("parse failure rate",)
    )
    told = " ".join(what_now(cast(AuditReport, report)))
    assert "take one that follows a JSON schema" in told
    assert "Label more" not in told


async def test_a_failed_audit_says_which_wrong_answers_rules_accepted() -> None:
    """No other judge changes these."""
    by_rules = what_now(await failed_audit("qa"))[-1]
    found = re.search(
        r"rules accepted (\d+) of the (\d+) wrong answers .*\(qa.right (\d+)\)", by_rules
    )
    assert found is not None
    assert len(set(found.groups())) == 1
    assert "docs/extending.md#a-grader" in by_rules


@pytest.mark.slow
def test_rules_are_audited_once_and_again_beside_rows_of_ones_own(
    verb: Verbs, folder: Path
) -> None:
    row = {"domain": "math", "question": "6*7?", "reference": "42", "source": "mine"}
    right = json.dumps({**row, "id": "1", "candidate": "42", "correct": True})
    wrong = json.dumps({**row, "id": "2", "candidate": "24", "correct": False})
    own = written("mine.jsonl", f"{right}\n{wrong}\n")
    audit = ("judge", "audit", "--rules-only", "--attack-numbers", "1", "--if-needed")
    sources = []
    for options in ((), ("--labeled", own)):  # the first report does not rest on these rows
        out, err = verb.done(*audit, *options)
        assert re.search(r"^[\d,]+ answers to grade$", err, re.MULTILINE)
        assert "audit passed, 6 of 6 bars held, 0 of " in out
        assert len(out.splitlines()) == 2  # a step of a pipeline; no tables with --if-needed
        (report,) = (folder / "results" / "audit").iterdir()
        sources.append(set(json.loads(report.read_text())["sources"]))
        written_at = report.stat().st_mtime_ns
        code, out, _ = verb(*audit, *options)
        assert (code, "passed before" in out) == (0, True)
        assert report.stat().st_mtime_ns == written_at
    assert sources[1] - sources[0] == {"mine"}
    assert "shipped open questions" in sources[0]
    bad = written("bad.jsonl", f"{right}\n{wrong.replace('false', '0')}\n")
    assert ":2: 'correct'" in verb.refused("judge", "audit", "--labeled", bad)


@pytest.mark.slow
def test_audit_below_the_bar_is_3(verb: Verbs) -> None:
    lax = ("--set", "judge.qa_f1_threshold=0.3")
    code, out, _ = verb("judge", "audit", "--rules-only", "--attack-numbers", "1", *lax)
    assert code == 3
    assert "audit failed" in out
    assert "search: accepted" in out
    assert '\ncheapest  "' in out
    (finds,) = Path("results/audit").glob("*.finds.jsonl")
    labeled, _ = read_training_rows([finds])
    assert labeled
    assert not any(case.correct for case in labeled)


def test_train_with_an_unaudited_judge_is_2_with_the_command_to_run(verb: Verbs) -> None:
    problem = {"id": "gsm8k/train/0", "dataset": "gsm8k", "domain": "math", "question": "1+1?"}
    Path("train.jsonl").write_text(json.dumps({**problem, "answers": ["2"]}) + "\n")
    files = ("--set", "data.train_file=train.jsonl", "--set", "judge.model=scripted")
    line = verb.refused("train", "--config", "smoke", *files)
    assert "the judge has no audit report" in line
    assert "run: llm-as-judge judge audit --set judge.model=scripted" in line


def test_a_run_with_a_forced_judge_is_shown_with_a_warning(verb: Verbs) -> None:
    judge = {"judge": "big", "audit": "missing", "from_step": 1, "reason": "it has no report"}
    folder = run_folder()
    RunLog(folder).write_facts({"judges": [judge]})
    for arguments in (("monitor", "--once"), ("report", "--run-dir", str(folder))):
        _, err = verb.done(*arguments)
        assert "warning: unaudited judge: big rewarded from step 1 on" in " ".join(err.split())
    RunLog(folder).write_facts({"judges": [{**judge, "audit": "passed"}]})
    assert "unaudited" not in verb("monitor", "--once")[2]


def test_report_of_a_run_is_a_table_or_a_page_and_needs_a_run_and_a_place(
    verb: Verbs, folder: Path
) -> None:
    run = str(run_folder())
    code, out, _ = verb("report", "--run-dir", run)
    assert (code, "-2.25" in out) == (0, True)
    out, _ = verb.done("report", "--run-dir", run, "--html", "page.html")
    assert out.startswith("page  page.html")
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    assert verb("report", "--html", "newest.html")[0] == 0  # the newest run under logs/
    written("taken", "")
    verb.refused("report", "--html", "taken/page.html")
    assert "no run here" in verb.refused("report", "--run-dir", ".", "--html", "x.html")
