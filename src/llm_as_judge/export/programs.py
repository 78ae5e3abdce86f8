"""The best programs of a run, as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llm_as_judge.accuracy import Accuracy, accuracy, right_of
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_text
from llm_as_judge.jsonl import Broken, JsonLines
from llm_as_judge.runs.rundir import finite, read_run, require_run
from llm_as_judge.runs.runlog import ROLLOUTS
from llm_as_judge.types import DOMAINS, Domain, Program
from llm_as_judge.views.report.rollouts import part_of
from llm_as_judge.views.screen import plain
from llm_as_judge.workflow.program import parse_program


@dataclass(slots=True)
class ProgramRecord:
    """One program (equal up to names and layout) with all its runs in one domain."""

    domain: Domain
    runnable: str
    runs: int = 0
    open: int = 0
    correct: int = 0
    rewards: list[float] = field(default_factory=list)
    calls: float = 0.0
    tokens: float = 0.0
    problems: dict[str, list[bool | None]] = field(default_factory=dict)
    """Right, wrong or open (None) of each run, by problem."""

    @property
    def accuracy(self) -> Accuracy:
        """Each problem weighing the same; runs >= 1."""
        found = accuracy([one for one in map(right_of, self.problems.values()) if one is not None])
        assert found is not None, "a record has runs"
        return found

    @property
    def reward(self) -> float:
        return sum(self.rewards) / len(self.rewards) if self.rewards else 0.0

    def statistics(self) -> dict[str, Any]:
        right = self.accuracy
        return {
            "accuracy": right.value,
            "accuracy_if_open_right": right.most,
            "accuracy_low": right.low,
            "accuracy_high": right.high,
            "correct": self.correct,
            "graded": self.runs - self.open,
            "open": self.open,
            "problems": len(self.problems),
            "reward": self.reward,
            "calls": self.calls / self.runs,
            "tokens": self.tokens / self.runs,
        }


@dataclass(frozen=True, slots=True)
class Best:
    """The best programs of a run."""

    programs: Mapping[Domain, Sequence[tuple[Program, ProgramRecord]]]
    """By domain, best first; domains without any are left out."""
    never_right: Mapping[Domain, int]
    """Programs left out because they never solved anything, by domain; 0 is left out."""


def best_programs(run_dir: Path, *, top: int, min_problems: int) -> Best:
    """The best programs of each domain: of those that were right at least once.

    Ranked by the lower end of the interval of their accuracy, so that one lucky run is not the best;
    then by mean reward. Every program is checked again: a log is a file like any other.

    Args:
        min_problems: different problems that a program must have run on.
    Raises:
        DataError: no run there, or no program that is right and has run on so many problems.
    """
    require_run(run_dir)
    records = _records(run_dir)
    named = read_run(run_dir).config.get("executors")
    executors = tuple(named) if isinstance(named, dict) else ()
    best: dict[Domain, list[tuple[Program, ProgramRecord]]] = {}
    never_right: dict[Domain, int] = {}
    refused = 0
    for domain in DOMAINS:
        tried = [r for r in records if r.domain == domain and len(r.problems) >= min_problems]
        able = [r for r in tried if r.correct]
        if len(able) < len(tried):
            never_right[domain] = len(tried) - len(able)
        able.sort(key=lambda r: (-r.accuracy.low, -r.reward, r.runnable))
        for record in able:
            program = parse_program(record.runnable, domain, executors=executors)
            refused += not program.strictly_valid
            if program.strictly_valid and len(best.setdefault(domain, [])) < top:
                best[domain].append((program, record))
    if refused and not any(best.values()):
        raise DataError(
            f"{run_dir}: right programs: {refused}, and none of them passes the check as it is kept there; "
            "a run that was kept without texts has none to export"
        )
    if not any(best.values()) and not any(record.correct for record in records):
        raise DataError(
            f"{run_dir}: none of its {len(records)} programs was ever right: there is none to export; train on, or see why: "
            f"llm-as-judge report --run-dir {run_dir} --html run.html"
        )
    if not any(best.values()):
        raise DataError(
            f"{run_dir}: no valid program with a right answer has run on {min_problems} problems "
            f"or more ({sum(never_right.values())} were, and never right); lower --min-problems, or "
            "let the run go on"
        )
    return Best({domain: found for domain, found in best.items() if found}, never_right)


def _records(run_dir: Path) -> list[ProgramRecord]:
    records: dict[tuple[str, str], ProgramRecord] = {}
    for row in JsonLines(run_dir / ROLLOUTS).sound_rows(Broken()):
        rollout, domain = row.get("rollout"), row.get("domain")
        if not isinstance(rollout, dict) or domain not in DOMAINS:
            continue
        program, verdict = part_of(rollout, "program"), part_of(rollout, "verdict")
        execution, reward = part_of(rollout, "execution"), part_of(rollout, "reward")
        correct, runnable = verdict.get("correct"), program.get("runnable")
        if not verdict or not isinstance(runnable, str) or not runnable:
            continue
        correct = correct if isinstance(correct, bool) else None
        key = (domain, str(program.get("hash")))
        record = records.setdefault(key, ProgramRecord(domain, runnable))
        record.runs += 1
        record.open += correct is None
        record.correct += correct is True
        record.problems.setdefault(str(rollout.get("problem_id")), []).append(correct)
        if (total := finite(reward.get("total"))) is not None:
            record.rewards.append(total)
        calls = execution.get("calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                record.calls += finite(call.get("llm_calls")) or 0.0
                record.tokens += finite(call.get("prompt_tokens")) or 0.0
                record.tokens += finite(call.get("completion_tokens")) or 0.0
    return list(records.values())


def write_programs(
    best: Mapping[Domain, Sequence[tuple[Program, ProgramRecord]]], run_dir: Path, out: Path
) -> list[Path]:
    """``OUT/DOMAIN/1_HASH.py`` with its statistics at the top, and ``OUT/programs.json``.

    Raises:
        OutputError: the folder cannot be written.
    """
    written, index = [], []
    for domain, found in best.items():
        for place, (program, record) in enumerate(found, start=1):
            path = out / domain / f"{place}_{program.hash}.py"
            write_text(path, _with_header(program, record, run_dir))
            written.append(path)
            entry = {"file": str(path.relative_to(out)), "domain": domain, "place": place}
            entry |= {"hash": program.hash, "operators": list(program.operators)}
            index.append(entry | record.statistics())
    write_text(out / "programs.json", json.dumps(index, indent=2) + "\n")
    return written


def _with_header(program: Program, record: ProgramRecord, run_dir: Path) -> str:
    s = record.statistics()
    right = record.accuracy.text()
    left = f" ({record.open} open)" if record.open else ""
    runs = f"{s['correct']} of {record.runs} runs{left} over {s['problems']} problems"
    used = f"{s['calls']:.1f} executor calls and {s['tokens']:.0f} tokens a run"
    header = (
        f"Workflow {program.hash} for {record.domain}; operators: {', '.join(program.operators)}.",
        f"Right on {runs}; mean over problems {right} (95 % interval).",
        f"Mean reward {s['reward']:+.2f}; {used}; at most {program.worst_case_calls} calls.",
        f"Training rollouts of {plain(run_dir.name, 80)}: chosen on them, so expect less elsewhere.",
        f"Run: llm-as-judge run FILE --domain {record.domain} --problem TEXT",
    )
    lines = "".join(f"# {line}\n" for line in header)
    return f"{lines}\n{program.runnable.strip()}\n"
