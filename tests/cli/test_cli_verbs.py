"""The verbs, called as a person calls them: exit statuses, JSON, and errors of one line."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.cli import main
from llm_as_judge.config import load_models
from llm_as_judge.monitoring.runlog import RunLog

CLEAN = """class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)

    async def __call__(self, problem: str, entry_point: str = ""):
        answer = await self.custom(input=problem, instruction="Answer.")
        return answer["response"], 0.0
"""
FAULTY = CLEAN.replace("operator.Custom", "operator.Kustom")
TWO_SETS = ["--set", "data.sets=[gsm8k,squad2]"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, away from the person's own environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LLM_AS_JUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    for name in ("LLM_AS_JUDGE_CONFIG", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


class Verbs:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """(exit status, standard output, standard error)"""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(list(arguments))
        captured = self._capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return caught.value.code, captured.out, captured.err

    def refused(self, *arguments: str, status: int = 2) -> str:
        """The one line that the error is."""
        code, out, err = self(*arguments)
        assert code == status, out + err
        lines = [line for line in err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1
        assert "Traceback" not in out + err
        return lines[0]


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str]) -> Verbs:
    return Verbs(capsys)


def written(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


# ----------------------------------------------------------------------------------------- check
def test_check_of_a_clean_program_is_0(verb: Verbs) -> None:
    code, out, _ = verb("check", written("p.py", CLEAN))
    assert code == 0
    assert "p.py: clean; operators Custom; at most 1 executor calls" in out


def test_check_of_findings_is_3_with_file_line_and_code(verb: Verbs) -> None:
    code, out, _ = verb("check", written("p.py", FAULTY))
    assert code == 3
    assert out.startswith("p.py:4: ")
    assert "Kustom" in out


def test_check_as_json_says_the_same(verb: Verbs) -> None:
    code, out, _ = verb("check", written("p.py", CLEAN), "--json")
    clean = json.loads(out)
    assert (code, clean["strictly_valid"], clean["operators"]) == (0, True, ["Custom"])
    code, out, _ = verb("check", written("p.py", FAULTY), "--json")
    faulty = json.loads(out)
    assert (code, faulty["strictly_valid"]) == (3, False)
    assert faulty["diagnostics"][0]["line"] == 4


def test_check_of_a_body_takes_statements(verb: Verbs) -> None:
    body = 'r = await custom(input=problem, instruction="x")\nreturn r["response"]\n'
    assert verb("check", written("b.py", body), "--form", "body")[0] == 0


def test_check_of_a_binary_file_is_findings_and_no_crash(verb: Verbs) -> None:
    Path("b.py").write_bytes(bytes(range(256)))
    assert verb("check", "b.py")[0] == 3


def test_check_of_what_cannot_be_read_is_2(verb: Verbs) -> None:
    assert verb.refused("check", "none.py") == "error: none.py: no such file"
    assert "cannot be read" in verb.refused("check", ".")
    name = written("p.py", CLEAN)
    assert "wanted math, qa or code" in verb.refused("check", name, "--domain", "art")
    assert "wanted class or body" in verb.refused("check", name, "--form", "poem")


# ------------------------------------------------------------------------------------ run, solve
def test_run_as_json_gives_answer_calls_and_tokens(verb: Verbs) -> None:
    name = written("p.py", CLEAN)
    code, out, _ = verb("run", name, "--problem", "2 + 2?", "--executor", "scripted", "--json")
    result = json.loads(out)
    assert (code, result["status"], result["calls"]) == (0, "ok", 1)
    assert result["tokens"] > 0
    assert [call["operator"] for call in result["trace"]] == ["Custom"]


def test_run_for_people_shows_status_and_answer(verb: Verbs) -> None:
    name, problem = written("p.py", CLEAN), written("q.txt", "2 + 2?")
    code, out, _ = verb("run", name, "--problem-file", problem, "--executor", "scripted")
    assert code == 0
    assert "status   ok" in out
    assert "answer   " in out


def test_run_of_an_invalid_program_is_1(verb: Verbs) -> None:
    name = written("p.py", "class Workflow:\n    pass\n")
    code, out, _ = verb("run", name, "--problem", "x", "--executor", "scripted", "--json")
    assert code == 1
    assert json.loads(out)["status"] != "ok"


def test_run_wants_the_problem_once_and_not_empty(verb: Verbs) -> None:
    name = written("p.py", CLEAN)
    assert "give the problem once" in verb.refused("run", name)
    assert "give the problem once" in verb.refused(
        "run", name, "--problem", "x", "--problem-file", name
    )
    assert "problem is empty" in verb.refused("run", name, "--problem", "  ")


def test_an_executor_that_is_nowhere_is_2_with_the_known_ones(verb: Verbs) -> None:
    name = written("p.py", CLEAN)
    line = verb.refused("run", name, "--problem", "x", "--executor", "nosuch")
    assert "no 'nosuch'" in line
    assert "scripted" in line


def test_an_endpoint_that_does_not_answer_is_one_line(verb: Verbs) -> None:
    Path("config").mkdir()
    written(
        "config/aflow_llm.yaml",
        "models: {dead: {base_url: 'http://127.0.0.1:9/v1', api_key: x, no_proxy: true}}\n",
    )
    name = written("p.py", CLEAN)
    code, out, err = verb(
        "run", name, "--problem", "x", "--executor", "dead", "--set", "executor.retries=0"
    )
    assert code in (1, 2)
    assert "127.0.0.1:9" in out + err
    assert "Traceback" not in out + err
    assert sum(line.startswith("error: ") for line in err.splitlines()) == 1


def solve_stages(out: str) -> dict[str, Any]:
    return {row["stage"]: row["value"] for row in map(json.loads, out.splitlines())}


SOLVE = ("solve", "--executor", "scripted", "--set", "judge.model=none", "--problem", "2 + 2?")


def test_solve_with_a_program_shows_program_and_execution(verb: Verbs) -> None:
    code, out, _ = verb(*SOLVE, "--policy", written("p.py", CLEAN), "--json")
    stages = solve_stages(out)
    assert code == 0
    assert list(stages) == ["program", "call", "execution"]
    assert "2 + 2?" in stages["call"]["asked"]
    assert stages["execution"]["status"] == "ok"


def test_solve_with_a_gold_answer_also_gives_a_verdict(verb: Verbs) -> None:
    solve = (*SOLVE, "--policy", written("p.py", CLEAN), "--domain", "qa")
    answer = solve_stages(verb(*solve, "--json")[1])["execution"]["answer"]
    code, out, _ = verb(*solve, "--reference", answer, "--json")
    assert code == 0
    assert solve_stages(out)["verdict"]["correct"] is True
    code, out, _ = verb(*solve, "--reference", "Lisbon")
    assert code == 0
    assert '"correct": false' in out


def test_solve_reads_standard_input_and_prints_each_stage(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2 + \x1b[31m2?"))
    solve = (*SOLVE[:-1], "-", "--policy", written("p.py", CLEAN))
    code, out, _ = verb(*solve)
    assert code == 0
    for part in ("program", "class Workflow", "call", "execution", "status  ok", "answer  "):
        assert part in out
    assert "\x1b" not in out


def test_solve_of_a_program_that_cannot_run_is_1(verb: Verbs) -> None:
    code, out, _ = verb(*SOLVE, "--policy", written("p.py", FAULTY))
    assert code == 1
    assert "status  rejected" in out


def test_serve_refuses_the_network_without_a_key_before_loading_a_model(verb: Verbs) -> None:
    line = verb.refused("serve", "--host", "0.0.0.0", "--policy", "none")
    assert "LLM_AS_JUDGE_API_KEY" in line


def test_solve_with_a_policy_that_is_nothing_is_2(verb: Verbs) -> None:
    assert "wanted untrained, a checkpoint folder" in verb.refused(*SOLVE, "--policy", "none.py")


# ----------------------------------------------------------------------------------------- grade
def test_grade_by_rules_writes_a_verdict_a_row(verb: Verbs) -> None:
    rows = [
        {"id": "a", "domain": "math", "question": "?", "reference": "4", "candidate": "4.0"},
        {"id": "b", "domain": "math", "question": "?", "reference": "4", "candidate": "5"},
    ]
    written("in.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    code, _, _ = verb("grade", "--in", "in.jsonl", "--out", "out.jsonl", "--rules-only")
    verdicts = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert code == 0
    assert [(v["id"], v["correct"]) for v in verdicts] == [("a", True), ("b", False)]


def test_grade_names_the_bad_row_and_the_missing_file(verb: Verbs) -> None:
    written("in.jsonl", '{"id": "a", "domain": "art", "candidate": ""}\n')
    grade = ("grade", "--rules-only", "--out", "out.jsonl", "--in")
    assert "in.jsonl:1" in verb.refused(*grade, "in.jsonl")
    assert "none.jsonl" in verb.refused(*grade, "none.jsonl")


# ------------------------------------------------------------------------------ download, process
def test_the_built_in_sample_becomes_mixes(verb: Verbs, folder: Path) -> None:
    code, out, _ = verb("download", "--offline", *TWO_SETS)
    assert code == 0
    *rows, note = out.splitlines()
    assert [line.split()[0] for line in rows] == ["gsm8k", "squad2"]
    assert note.startswith("built-in sample (--offline)")
    code, out, _ = verb("process", *TWO_SETS, "--json")
    report = json.loads(out)  # standard output is JSON and nothing else
    assert code == 0
    assert [entry["dataset"] for entry in report["sets"]] == ["gsm8k", "squad2"]
    assert (folder / "data/mixed/train_mixed.jsonl").is_file()
    code, out, _ = verb("process", *TWO_SETS)
    assert code == 0
    assert out.startswith("gsm8k ")


def test_process_without_data_is_2(verb: Verbs) -> None:
    assert "gsm8k" in verb.refused("process", *TWO_SETS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_folder_without_write_permission_is_2(verb: Verbs, folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    verb.refused("download", "--offline", "--data-dir", "locked/data", *TWO_SETS)


def test_a_file_in_place_of_the_output_folder_is_2(verb: Verbs) -> None:
    written("taken", "")
    verb.refused("download", "--offline", "--data-dir", "taken/data", *TWO_SETS)


# ------------------------------------------------------------------------------- models, monitor
def test_models_list_as_json_has_every_entry(verb: Verbs) -> None:
    code, out, _ = verb("models", "list", "--json")
    rows = json.loads(out)
    assert code == 0
    assert [row["name"] for row in rows] == list(load_models())
    assert all(row["path"] is None or Path(row["path"]).exists() for row in rows)


def test_models_list_for_people_and_a_model_that_is_none(verb: Verbs) -> None:
    code, out, _ = verb("models", "list")
    assert code == 0
    assert "smollm2-135m" in out
    assert "no model 'nosuch'" in verb.refused("models", "pull", "nosuch")


def run_folder() -> Path:
    log = RunLog(Path("logs/run1"))
    log.step(1, {"reward/mean": 1.5, "time/sample_s": 12.0})
    log.step(2, {"reward/mean": -2.25})
    return log.folder


def test_monitor_once_prints_the_newest_run(verb: Verbs) -> None:
    run_folder()
    code, out, _ = verb("monitor", "--once")
    assert code == 0
    assert "logs/run1" in out
    assert "+1.50" in out
    assert "-2.25" in out


def test_monitor_without_a_run_is_2(verb: Verbs, folder: Path) -> None:
    assert "no run found" in verb.refused("monitor", "--once")
    assert "no run here" in verb.refused("monitor", "--once", str(folder))
    assert "wanted all, math" in verb.refused("monitor", "--once", "--domain", "art")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_verb_with_one_line_and_its_own_status(
    verb: Verbs, number: int, status: int
) -> None:
    run_folder()
    handlers = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    timer.start()
    try:
        code, _, err = verb("monitor", "--every", "20")
        assert signal.getsignal(signal.SIGTERM) == handlers[signal.SIGTERM]
    finally:
        timer.join()
        for each, handler in handlers.items():
            signal.signal(each, handler)
    assert code == status
    assert err.splitlines()[-1] == "stopped; finished rollouts, steps and checkpoints are kept"
    assert "Traceback" not in err


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


def test_a_run_file_that_is_none_is_one_line(verb: Verbs, folder: Path) -> None:
    run = run_folder()
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"reward/mean": 1.0}\n')
    said = verb.refused("report", "--run-dir", str(run))
    assert 'metrics.jsonl:3: no whole number "step" (keys: reward/mean)' in said


def test_report_of_a_run_is_a_table_or_markdown(verb: Verbs) -> None:
    run = str(run_folder())
    code, out, _ = verb("report", "--run-dir", run)
    assert code == 0
    assert "-2.25" in out
    code, out, _ = verb("report", "--run-dir", run, "--markdown")
    assert code == 0
    assert out.startswith("| step |")
    assert len(out.splitlines()) == 4


def test_report_sets_results_side_by_side(verb: Verbs) -> None:
    figures = dict.fromkeys(("strictly_valid", "executed", "calls", "tokens"), 1.0)
    figures |= {"accuracy": 0.5, "accuracy_low": 0.25, "accuracy_high": 0.75}
    data = {"datasets": [{"dataset": "gsm8k", "metrics": figures}], "overall": figures}
    names = [written(f"{n}_results.json", json.dumps(data)) for n in ("before", "after")]
    code, out, _ = verb("report", *names)
    assert code == 0
    assert "before" in out
    assert "after" in out
    assert out.count("50% [25%, 75%]") == 4


def test_report_of_no_or_broken_results_is_2(verb: Verbs) -> None:
    assert "llm-as-judge evaluate" in verb.refused("report")
    assert "cannot be read as JSON" in verb.refused("report", written("a.json", "{"))
    assert 'no "datasets" list' in verb.refused("report", written("a.json", "{}"))


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
    assert said in verb.refused("process", *arguments)
    assert list(folder.iterdir()) == []


def test_evaluate_without_its_files_is_2(verb: Verbs) -> None:
    assert "no checkpoint" in verb.refused("evaluate", "--config", "smoke")
    assert "gsm8k_test.jsonl" in verb.refused("evaluate", "--config", "smoke", "--untrained")


def test_help_is_0_and_a_wrong_option_2(verb: Verbs) -> None:
    code, out, _ = verb("--help")
    assert code == 0
    for name in ("check", "run", "solve", "train", "evaluate", "grade", "download", "process"):
        assert name in out
    assert verb("check", "--nosuch")[0] == 2


def test_data_stats_without_processed_data_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["data", "stats"])
    assert stop.value.code == 2
    assert "process" in capsys.readouterr().err


# ----------------------------------------------------------------------------------------- audit
def test_audit_of_the_rules_passes_once_and_is_not_repeated(verb: Verbs, folder: Path) -> None:
    audit = ("audit", "--rules-only", "--attack-numbers", "1")
    code, out, _ = verb(*audit, "--if-needed")
    assert code == 0
    assert "audit passed" in out
    (report,) = (folder / "results" / "audit").iterdir()
    written_at = report.stat().st_mtime_ns
    code, out, _ = verb(*audit, "--if-needed")
    assert (code, "passed before" in out) == (0, True)
    assert report.stat().st_mtime_ns == written_at


def test_audit_below_the_bar_is_3(verb: Verbs) -> None:
    lax = ("--set", "judge.qa_f1_threshold=0.3")
    code, out, _ = verb("audit", "--rules-only", "--attack-numbers", "1", *lax)
    assert code == 3
    assert "audit failed" in out


def test_train_with_an_unaudited_judge_is_2_with_the_command_to_run(verb: Verbs) -> None:
    problem = {"id": "gsm8k/train/0", "dataset": "gsm8k", "domain": "math", "question": "1+1?"}
    Path("train.jsonl").write_text(json.dumps({**problem, "answers": ["2"]}) + "\n")
    files = ("--set", "data.train_file=train.jsonl", "--set", "judge.model=scripted")
    line = verb.refused("train", "--config", "smoke", *files)
    assert "the judge has no audit report" in line
    assert "run: llm-as-judge audit --set judge.model=scripted" in line


def test_a_run_with_a_forced_judge_is_shown_with_a_warning(verb: Verbs) -> None:
    judge = {"judge": "big", "audit": "missing", "from_step": 1, "reason": "it has no report"}
    folder = run_folder()
    RunLog(folder).write_facts({"judges": [judge]})
    for arguments in (("monitor", "--once"), ("report", "--run-dir", str(folder))):
        code, _, err = verb(*arguments)
        assert code == 0
        assert "warning: unaudited judge: big rewarded from step 1 on" in " ".join(err.split())
    RunLog(folder).write_facts({"judges": [{**judge, "audit": "passed"}]})
    assert "unaudited" not in verb("monitor", "--once")[2]


def test_report_as_a_page_needs_a_run_and_a_place(verb: Verbs, folder: Path) -> None:
    run = str(run_folder())
    code, out, _ = verb("report", "--run-dir", run, "--html", "page.html")
    assert code == 0
    assert out.startswith("page  page.html")
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    assert verb("report", "--html", "newest.html")[0] == 0  # the newest run under logs/
    written("taken", "")
    verb.refused("report", "--html", "taken/page.html")
    assert "no run here" in verb.refused("report", "--run-dir", ".", "--html", "x.html")


def test_report_wants_an_audit_that_is_one(verb: Verbs) -> None:
    run = str(run_folder())
    page = ("report", "--run-dir", run, "--html", "p.html", "--audit")
    assert "cannot be read" in verb.refused(*page, "none.json")
    assert "not JSON" in verb.refused(*page, written("a.json", "{"))
    assert 'no "bars"' in verb.refused(*page, written("a.json", "[]"))
    bars = '{"bars": [{"name": "precision", "passed": true}], "passed": true}'
    assert verb(*page, written("a.json", bars))[0] == 0
