"""plan: where each figure comes from is said, mistakes are one line, and the document is its output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llm_as_judge.cli import main
from llm_as_judge.errors import DataError
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.monitoring.runlog import RunLog
from llm_as_judge.planning.capacity import as_markdown, capacity
from llm_as_judge.planning.costs import Costs, assumed_workload, measured_workload
from llm_as_judge.planning.speeds import measured_speeds, rollouts_an_hour
from llm_as_judge.training.step_metrics import group_metrics
from llm_as_judge.types import (
    Completion,
    Execution,
    Group,
    OperatorCall,
    Problem,
    Program,
    Rollout,
    Usage,
    Verdict,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """Two rollouts of one problem: 3 program tokens and 5; one call, and two in one operator."""
    calls = [
        (OperatorCall("Custom", 10, 4, llm_calls=1),),
        (OperatorCall("Vote", 30, 8, llm_calls=2),),
    ]
    rollouts = tuple(
        Rollout(
            "gsm8k/train/1",
            n,
            Completion((1,) * 20, (2,) * tokens, (-0.5,) * tokens, "x", "stop"),
            Program("x", "x", hash=str(n)),
            Execution("ok", "4", calls[n]),
            Verdict(True, "exact", "equal"),
        )
        for n, tokens in enumerate((3, 5))
    )
    log = RunLog(tmp_path / "run")
    group = Group(Problem("gsm8k/train/1", "gsm8k", "math", "2 + 2?", ("4",)), rollouts)
    log.groups(1, [group])
    clock = {
        "time/step_s": 9.0,
        "time/sample_s": 2.0,
        "time/update_s": 4.0,
        "update/row_tokens": 60.0,
    }
    log.step(1, {**group_metrics([group]), **clock})
    ledger = Ledger()
    ledger.record_attempt("executor", Attempt(Usage(40, 12), None, 3.0))
    log.bills(ledger.snapshot(), {}, 1)
    return log.folder


def test_a_run_is_measured(run_dir: Path) -> None:
    work = measured_workload(run_dir)
    assert work.mean() == (4.0, 1.5, 20.0, 6.0)
    assert (work.prompt_tokens, work.shared, work.source) == (20.0, 0.0, "measured")


def test_speeds_of_a_run_are_tokens_by_its_seconds(run_dir: Path) -> None:
    found = measured_speeds(run_dir, Costs())
    assert found.sampling_tokens_s == found.sampling_stream_tokens_s == (3 + 5) / 2.0
    assert found.update_tokens_s == 60 / 4.0
    assert found.executor_stream_tokens_s == 12 / 3.0
    assert found.sources["update_tokens_s"] == "measured"
    assert "gpu_usd_h" not in found.sources
    assert rollouts_an_hour(run_dir) == 2 * 3600 / 9.0


def test_speeds_that_a_run_does_not_tell_are_asked_for(run_dir: Path) -> None:
    (run_dir / "timings.jsonl").unlink()
    with pytest.raises(DataError, match=r"do not tell sampling_tokens_s; give --cost"):
        measured_speeds(run_dir, Costs())
    (run_dir / "ledger.json").write_text("[]")
    with pytest.raises(DataError, match=r"ledger.json: no ledger of a run"):
        measured_speeds(run_dir, Costs())


def test_speeds_that_no_machine_has_are_not_planned_with(run_dir: Path) -> None:
    timings = run_dir / "timings.jsonl"
    timings.write_text(timings.read_text().replace("4.0", "4e-300"))
    with pytest.raises(DataError, match=r"make update_tokens_s \S+, wanted a number of 0.01 to"):
        measured_speeds(run_dir, Costs())


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as raised:
        main(["plan", *arguments])
    out, err = capsys.readouterr()
    return int(raised.value.code or 0), out, err


def test_every_figure_says_where_it_comes_from(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = called(
        capsys, str(run_dir), "--gpus", "1,3", "--cost", "gpu_usd_h=1.9", "--json"
    )
    found = json.loads(out)
    sources = {entry["figure"]: entry["source"] for entry in found["assumptions"]}
    assert code == 0
    assert sources["rollouts drawn from"] == sources["20"] == "measured"
    assert sources["gpu_usd_h = 1.9"] == "given"
    assert {source for name, source in sources.items() if name.startswith("executor_")} == {
        "assumed"
    }
    assert [row["gpus"] for row in found["rows"]] == [1, 3]
    assert found["rows"][1]["usd_h"] == pytest.approx(3 * 1.9)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cost", "speed=3"), "no cost 'speed' (known: sampling_tokens_s"),
        (
            ("--cost", "gpu_usd_h=0"),
            "--cost 'gpu_usd_h=0': wanted a number of 0.01 to 1,000 (dollars",
        ),
        (("--cost", "gpu_usd_h"), "wanted a number of 0.01 to 1,000"),
        (("--cost", "gpu_usd_h=nan"), "wanted a number of 0.01 to 1,000"),
        (("--cost", "executor_gpus=0.5"), "wanted a whole number of 1 to 1,024"),
        (("--cost", "sampling_slots=0.5"), "wanted a whole number of 1 to 100,000"),
        (("--cost", "hosted_slots=0.2"), "wanted a whole number of 1 to 100,000"),
        (("--cost", "publish_s=1e308"), "wanted a number of 0 to 3,600"),
        (("--cost", "driver_cpu_s=1e300"), "wanted a number of 0 to 60"),
        (("--cost", "executor_tokens_s=1e-300"), "wanted a number of 0.01 to 10,000,000"),
        (("--problems", "100000000"), "too many for a plan; wanted --problems of 1 to 5,"),
        (
            ("--set", "training.samples_per_problem=10000000"),
            "wanted fewer training.samples_per_problem or a smaller training.max_staleness",
        ),
        (("--gpus", ",".join(["8"] * 17)), "--gpus: 17 numbers, wanted at most 16 at a time"),
        (("--gpus", "0"), "wanted whole numbers of 1 to 4096"),
        (("--gpus", "many"), "wanted whole numbers of 1 to 4096"),
        (("nowhere",), "nowhere/rollouts.jsonl: cannot be read"),
        (("--speeds",), "--speeds: whose?"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = called(capsys, *arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert said in line


def test_the_table_of_the_document_is_what_the_plan_says() -> None:
    rows = capacity(Costs(), assumed_workload(), [1, 8], problems=4, samples=6, staleness=1)
    document = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    for line in as_markdown(rows).splitlines():
        assert line in document, "docs/scaling.md: put in the output of: llm-as-judge plan"
