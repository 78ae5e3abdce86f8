"""The live view: figures by hand, alarms with advice, and nothing that a terminal would obey."""

from __future__ import annotations

import io
import json
import os
import pty
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from llm_as_judge.cli.monitoring import Keys
from llm_as_judge.runs.rundir import RunDir, read_run
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.types import Reward, RewardPart
from llm_as_judge.views.advice import duration, warnings
from llm_as_judge.views.screen import look, plain, read_tail, sparkline
from run_folders import HOSTILE, group, rollout, write_run


def seen(
    run: RunDir,
    domain: str = "all",
    now: float | None = None,
    size: tuple[int, int] | None = None,
) -> str:
    out = Console(file=io.StringIO(), width=80)
    moment = (run.written_at or 0.0) + 1 if now is None else now
    out.print(look(run, read_tail(run, domain), domain=domain, now=moment, size=size))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def alarms(*steps: dict[str, float], now: float = 1e9, **more: object) -> list[str]:
    rows = [{"step": float(i + 1), **row} for i, row in enumerate(steps)]
    run = RunDir(Path("x"), rows, **more)  # type: ignore[arg-type]
    return [alarm.found for alarm in warnings(run, now)]


def test_the_view_fits_80_columns_and_shows_its_parts(tmp_path: Path) -> None:
    text = seen(read_run(write_run(tmp_path / "run")))
    assert max(map(len, text.splitlines())) <= 80
    for part in ("step 3 of 9", "written 1 s ago", "reward", "right", "newest"):
        assert part in text
    # 3 steps of right, wrong (write_run alternates); the qa rollout is open
    assert "all 25% to 75% [" in text
    assert "math 50%" in text


def test_the_first_screen_fits_80_columns_and_24_lines_with_all_warnings(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / ("long_name_" * 9), steps=40))
    losing = {"rollout/failed": 0.2, "rollout/not_graded": 0.3, "rollout/strictly_valid": 0.2}
    run = replace(run, steps=[{**row, **losing} for row in run.steps])
    for domain in ("all", "math"):
        text = seen(run, domain, size=(80, 23))  # the keys have the last line
        lines = text.splitlines()
        assert len(lines) <= 23
        assert max(map(len, lines)) <= 80
        told = " ".join(text.split())
        for part in (
            "step 40 of 9",
            "right",
            "newest",
            "endpoint or sandbox",
            "lower sampling.temperature",
        ):
            assert part in told


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ({"kind": "llm", "model": "none"}, "judge.kind: scoring, judge.model: none"),
        ({"kind": "scoring", "model": "none"}, "ask for the answer alone"),
        ({"kind": "llm", "model": "some"}, "ask for the answer alone"),
    ],
)
def test_open_answers_are_for_the_shipped_judge_where_there_is_none(
    judge: dict[str, str], said: str
) -> None:
    run = RunDir(Path("x"), [{"step": 1.0, "rollout/not_graded": 0.19}], {"judge": judge})
    (alarm,) = warnings(run, 1e9)
    assert alarm.found == "19% of rollouts were left open"
    assert said in alarm.advice


def test_a_domain_shows_its_own_rollouts_alone(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.groups(
        1, [group(1, rollout(0)), group(1, rollout(0, correct=False, total=-3.0), domain="qa")]
    )
    log.step(1, {"reward/mean": 1.0, "time/step_s": 10.0})
    text = seen(read_run(tmp_path), "qa")
    assert "(all domains)" in next(line for line in text.splitlines() if line.startswith("time"))
    assert "domain qa" in text
    assert "qa 0%" in text
    assert "-3.00" in text
    assert "math" not in text.replace("right math", "")


def test_the_reward_is_the_sum_of_what_its_parts_add(tmp_path: Path) -> None:
    """Of two rollouts right +10 and wrong -10, at a weight of 0.65, and cost -2 and -4 at 0.15."""
    log = RunLog(tmp_path)
    rewards = [
        Reward(
            {"correctness": RewardPart(r, 0.65), "cost": RewardPart(c, 0.15)}, 0.65 * r + 0.15 * c
        )
        for r, c in ((10.0, -2.0), (-10.0, -4.0), (-10.0, -4.0))
    ]
    log.groups(1, [group(1, *(replace(rollout(i), reward=one) for i, one in enumerate(rewards)))])
    log.step(1, {"reward/mean": -2.67, "reward/correctness": -3.3})
    assert "-2.67 = correctness -2.17 cost -0.50" in seen(read_run(tmp_path))


def test_time_is_split_and_waiting_named(tmp_path: Path) -> None:
    times = {"time/step_s": 100.0, "time/sample_s": 20.0, "time/update_s": 30.0}
    RunLog(tmp_path).step(1, {**times, "time/execute_and_grade_s": 50.0})
    assert "policy idle 50%" in seen(read_run(tmp_path))


def test_the_bill_is_shown_and_an_unknown_price_is_not_zero(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.step(1, {"a": 1.0})
    total = {"calls": 12, "prompt_tokens": 900, "completion_tokens": 334, "priced_usd": 0.5}
    log.bills({"total": total}, {}, 1)
    assert "12 calls · 1,234 tokens · $0.50" in seen(read_run(tmp_path))
    log.bills({"total": {**total, "unpriced_tokens": 3}}, {}, 1)
    assert "price unknown" in seen(read_run(tmp_path))
    log.bills({"total": {**total, "priced_usd": 0.0}}, {}, 1)
    assert "$" not in seen(read_run(tmp_path)), "nothing was paid, or nobody knows"


def test_steps_without_a_program_that_runs_say_nothing_of_distinct_ones(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.step(1, {"rollout/strictly_valid": 0.0, "rollout/distinct_programs": 0.0})
    assert "distinct" not in seen(read_run(tmp_path))
    log.step(2, {"rollout/strictly_valid": 0.0, "rollout/distinct_programs": 0.5})
    assert "distinct 50%" in seen(read_run(tmp_path))


@pytest.mark.parametrize("domain", ["all", "math"])
def test_hostile_text_cannot_steer_the_terminal(tmp_path: Path, domain: str) -> None:
    text = seen(read_run(write_run(tmp_path / "run", texts=HOSTILE)), domain)
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_plain_is_one_short_line() -> None:
    assert plain("a\x1b[31m\n\tb\u202ec\x9b", 80) == "a [31m b c"
    assert plain("x" * 90, 10) == "x" * 6 + " ..."


def test_a_run_without_figures_of_steps_is_shown_and_is_no_step_0(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("training: {steps: 4}\n")
    assert "no step finished yet" in seen(read_run(tmp_path), now=0.0)
    folder = write_run(tmp_path / "run")
    (folder / "metrics.jsonl").unlink()
    (folder / "timings.jsonl").unlink(missing_ok=True)
    assert "step 3 of 9, no figures of steps" in seen(read_run(folder))


def test_half_written_and_foreign_lines_do_not_stop_the_view(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'\xff\n{"step": true}\n{"step": 4, "reward/mean": "x"}\n{"step": 5, "rew')
    with (folder / "rollouts.jsonl").open("ab") as file:
        file.write(b'[]\n{"step": 3, "domain": 7, "rollout": {}}\n{"step')
    text = seen(read_run(folder))
    assert "4 lines of the log cannot be read" in text


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", steps=50)
    size = (folder / "rollouts.jsonl").stat().st_size
    tail = read_tail(read_run(folder), "all", last_bytes=size // 10)
    assert 0 < len(tail.sums) < 7
    assert max(tail.sums) == 50
    assert tail.broken == 0


def test_alarms_name_what_to_do() -> None:
    good = {"rollout/strictly_valid": 0.9, "update/entropy": 0.5, "rollout/distinct_programs": 0.8}
    assert alarms(good) == []
    assert "30% of programs run as written" in alarms({"rollout/strictly_valid": 0.3})
    assert "10% of rollouts failed outside of their programs" in alarms({"rollout/failed": 0.1})
    assert alarms({"update/loss": float("nan")}) == ["update/loss: not a finite number"]


def test_what_the_run_warned_of_in_its_last_step_is_shown_and_steers_no_terminal(
    tmp_path: Path,
) -> None:
    log = RunLog(tmp_path)
    log.step(1, {"reward/mean": 1.0}, {"entropy": "settled: raise the temperature"})
    assert "warning  settled: raise the temperature" in seen(read_run(tmp_path))
    log.step(2, {"reward/mean": 1.0}, {"kl": "far\x1b[31m: stop"})
    text = seen(read_run(tmp_path))
    assert "far [31m: stop" in text
    assert "settled" not in text


def test_the_bill_is_set_against_the_budget_with_its_estimates_and_its_end_is_told(
    tmp_path: Path,
) -> None:
    log = RunLog(tmp_path)
    log.write_config({"budget": {"usd": 2.0, "tokens": 2000, "calls": 100, "cost": None}})
    log.step(1, {"reward/mean": 1.0})
    said = {"calls": 12, "attempts": 95, "prompt_tokens": 900, "completion_tokens": 100}
    guessed = {"priced_usd": 0.5, "estimated_tokens": 500, "estimated_usd": 0.25}
    log.bills({"total": {**said, **guessed}}, {}, 1)
    text = seen(read_run(tmp_path))
    assert "12 calls · 1,500 tokens · $0.75 · 500 tokens of these estimated" in text
    assert "$0.75 of $2.00 (38%) · 1,500 of 2,000 tokens (75%)" in text
    assert "95 of 100 requests (95%)" in " ".join(text.split())
    assert "95% of budget.calls is used -> at its end the run stops" in text
    assert "budget.usd" not in text


def test_an_alarm_looks_back_over_the_last_steps_only() -> None:
    bad, good = {"rollout/failed": 1.0}, {"rollout/failed": 0.0}
    assert alarms(bad, good, good, good, good, good) == []


def test_a_quiet_run_is_told_unless_it_is_done() -> None:
    step = {"time/step_s": 60.0}
    quiet = alarms(step, written_at=0.0, now=300.0)
    assert quiet == ["nothing written for 5 min, a step takes 60 s"]
    assert alarms(step, written_at=0.0, now=200.0) == []
    assert alarms(step, written_at=0.0, now=9e9, config={"training": {"steps": 1}}) == []


def test_durations_and_sparklines() -> None:
    assert [duration(s) for s in (5, 120, 3600, 7500, 4e5)] == [
        "5 s",
        "2 min",
        "1 h",
        "2 h 5 min",
        "4 d",
    ]
    assert sparkline([0.0, 1.0]) == "▁█"
    assert sparkline([2.0, 2.0]) == "▄▄"


def test_a_key_is_read_without_enter_and_the_terminal_is_left_as_it_was() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave) as stream:
        import termios

        before = termios.tcgetattr(stream)
        with Keys(stream) as keys:
            assert keys.wait(0.01) is None
            os.write(master, b"m")
            assert keys.wait(5.0) == "m"
        assert termios.tcgetattr(stream) == before
    os.close(master)


def test_without_a_terminal_there_is_only_waiting() -> None:
    with Keys(io.StringIO("q")) as keys:
        assert keys.wait(0.0) is None


def test_json_of_a_run_is_never_text_in_a_figure(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        json.dumps({"step": 1, "reward/mean": "[bold]x"}) + "\n"
    )
    assert not re.search("bold", seen(read_run(tmp_path)))
