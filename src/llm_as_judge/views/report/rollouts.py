"""Rollouts as the page keeps them, and their sums by step for the curves; read as a stream.

Token ids and log-probs stay in rollouts.jsonl. Every text is cut to a length a person reads, so that
ten thousand rollouts make a page of tens of megabytes at most. All of it is untrusted: here it is
only carried, the page shows it as text and never as markup.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llm_as_judge.jsonl import Broken, JsonLines, is_whole
from llm_as_judge.quoting import beginning
from llm_as_judge.runs.rundir import finite
from llm_as_judge.runs.runlog import ROLLOUTS

MAX_TEXT = 4000
"""Characters kept of a program, an answer, a problem."""
MAX_REMARK = 400
"""Characters kept of an error, an explanation, a message."""


@dataclass(slots=True)
class ProblemSums:
    """Counts over the programs of one problem: the unit of every interval, since programs of one
    problem are right and wrong together."""

    domain: str
    count: int = 0
    valid: int = 0
    judged: int = 0
    """With a verdict."""
    open: int = 0
    """Of these, neither right nor wrong."""
    correct: int = 0
    rewards: list[float] = field(default_factory=list)

    def add(self, other: ProblemSums) -> None:
        for name in ("count", "valid", "judged", "open", "correct", "rewards"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class StepSums:
    """Counts over the rollouts of one step."""

    count: int = 0
    valid: int = 0
    executed: int = 0
    failed: int = 0
    not_graded: int = 0
    problems: dict[str, ProblemSums] = field(default_factory=dict)
    """By id."""
    parts: dict[str, list[float]] = field(default_factory=dict)
    """What each part adds to the total: score times weight; they add up to it."""
    judged: Counter[str] = field(default_factory=Counter)
    """By domain, and ``all``."""
    correct: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    """Calls by operator."""

    def add(self, other: StepSums) -> None:
        counts = ("count", "valid", "executed", "failed", "not_graded")
        for name in (*counts, "judged", "correct", "operators"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for id_, problem in other.problems.items():
            self.problems.setdefault(id_, ProblemSums(problem.domain)).add(problem)
        for name, scores in other.parts.items():
            self.parts.setdefault(name, []).extend(scores)


@dataclass(slots=True)
class Gathered:
    """All rollouts of a run, in groups."""

    groups: list[dict[str, Any]] = field(default_factory=list)
    sums: dict[int, StepSums] = field(default_factory=dict)
    rollouts: int = 0
    left_out: int = 0
    """Rollouts beyond the page's limit: in the curves, not in the browser."""
    broken_lines: int = 0


def gather(folder: Path, config: Mapping[str, Any], *, limit: int) -> Gathered:
    """Groups and sums of ``folder``'s rollouts.

    Args:
        config: of the run; names the file in which problems are looked up.
        limit: rollouts the browser shows at most, the newest.
    """
    found, broken = Gathered(), Broken()
    by_key: dict[tuple[int, str], dict[str, Any]] = {}
    for row in JsonLines(folder / ROLLOUTS).sound_rows(broken):
        step, rollout = row.get("step"), row.get("rollout")
        if not is_whole(step) or not isinstance(rollout, dict):
            broken.lines += 1
            continue
        domain, key = _text(row.get("domain"), 40), (step, _text(rollout.get("problem_id"), 200))
        count_rollout(found.sums.setdefault(step, StepSums()), rollout, domain)
        group = by_key.get(key)
        if group is None:
            group = {"step": step, "id": key[1], "domain": domain, "rollouts": []}
            group["dataset"] = _text(row.get("dataset"), 60)
            by_key[key] = group
        if isinstance(row.get("problem"), dict):
            group["problem"] = shown_problem(row["problem"])
        group["rollouts"].append(shown_rollout(rollout))
        found.rollouts += 1
    found.broken_lines = broken.lines
    found.groups, found.left_out = _newest(list(by_key.values()), limit)
    _add_problems(found.groups, folder, config)
    return found


def _newest(groups: list[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], int]:
    kept, count, left_out = [], 0, 0
    for group in reversed(groups):
        size = len(group["rollouts"])
        if count + size > limit:
            left_out += size
        else:
            count += size
            kept.append(group)
    return kept[::-1], left_out


# ------------------------------------------------------------------------------------ one rollout
def shown_rollout(rollout: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a rollout that a person looks at; every field of a known type."""
    program, execution = part_of(rollout, "program"), part_of(rollout, "execution")
    verdict, reward = part_of(rollout, "verdict"), part_of(rollout, "reward")
    failure, completion = part_of(rollout, "failure"), part_of(rollout, "completion")
    source = _text(program.get("source"), MAX_TEXT)
    correct = verdict.get("correct")
    return {
        "index": finite(rollout.get("index")),
        # a reply that holds no program is shown as it came
        "hash": _text(program.get("hash"), 100),
        "source": source or _text(completion.get("text"), MAX_TEXT),
        "cut": completion.get("stop") == "length",
        "valid": _strictly_valid(program),
        "repairs": [_text(name, 60) for name in _list(program.get("repairs"))],
        "findings": [
            {
                "code": _text(finding.get("code"), 20),
                "line": finite(finding.get("line")) or 0,
                "message": _text(finding.get("message"), MAX_REMARK),
                "hint": _text(finding.get("hint"), MAX_REMARK),
            }
            for finding in _objects(program.get("diagnostics"))
        ],
        "status": _text(execution.get("status"), 20),
        "answer": _text(execution.get("answer"), MAX_TEXT),
        "error": _text(execution.get("error"), MAX_REMARK),
        "calls": [_shown_call(call) for call in _objects(execution.get("calls"))],
        "correct": correct if isinstance(correct, bool) else None,
        "rule": _decided_by(verdict),
        "explanation": _text(verdict.get("explanation"), MAX_REMARK),
        "reward": finite(reward.get("total")),
        "parts": {
            _text(name, 40): [finite(part.get("score")), finite(part.get("weight"))]
            for name, part in part_of(reward, "parts").items()
            if isinstance(part, dict)
        },
        "failure": ": ".join(
            _text(failure.get(key), MAX_REMARK) for key in ("stage", "kind", "message") if failure
        ),
    }


def _decided_by(verdict: Mapping[str, Any]) -> str:
    """Stage and rule; a judge that knows how sure it is says it behind them."""
    if not verdict:
        return ""
    decided = "/".join(_text(verdict.get(key), 60) for key in ("stage", "rule"))
    confidence = finite(verdict.get("confidence"))
    return decided if confidence is None else f"{decided}, right with {confidence:.2f}"


def _shown_call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operator": _asked(call),
        "prompt": finite(call.get("prompt_tokens")) or 0,
        "completion": finite(call.get("completion_tokens")) or 0,
        "calls": finite(call.get("llm_calls")) or 0,
        "shared": finite(call.get("cached")) or 0,
        "usd": finite(call.get("cost_usd")),
        "error": _text(call.get("error"), MAX_REMARK),
        "notes": [_text(note, MAX_REMARK) for note in _list(call.get("notes"))],
    }


def count_rollout(sums: StepSums, rollout: Mapping[str, Any], domain: str) -> None:
    """Add one logged rollout to the sums of its step."""
    execution, verdict = part_of(rollout, "execution"), part_of(rollout, "verdict")
    id_ = _text(rollout.get("problem_id"), 200)
    problem = sums.problems.setdefault(id_, ProblemSums(domain))
    valid = _strictly_valid(part_of(rollout, "program"))
    sums.count, problem.count = sums.count + 1, problem.count + 1
    sums.valid, problem.valid = sums.valid + valid, problem.valid + valid
    sums.executed += execution.get("status") == "ok"
    failed = bool(rollout.get("failure"))
    sums.failed += failed
    correct = verdict.get("correct")
    sums.not_graded += not failed and not isinstance(correct, bool)
    if verdict and not failed:
        right = correct is True
        problem.judged += 1
        problem.open += not isinstance(correct, bool)
        problem.correct += right
        for name in ("all", domain):
            sums.judged[name] += 1
            sums.correct[name] += right
    for call in _objects(execution.get("calls")):
        sums.operators[_asked(call)] += 1
    reward = part_of(rollout, "reward")
    if (total := finite(reward.get("total"))) is not None:
        problem.rewards.append(total)
        parts = part_of(reward, "parts")
        for name in parts:
            score, weight = (finite(part_of(parts, name).get(key)) for key in ("score", "weight"))
            if score is not None and weight is not None:
                sums.parts.setdefault(_text(name, 40), []).append(score * weight)


def _asked(call: Mapping[str, Any]) -> str:
    """Operator of a call, with the executor that it named: the calls of two are told apart."""
    operator, executor = _text(call.get("operator"), 40), call.get("executor")
    return f"{operator} ({_text(executor, 32)})" if executor else operator


def _strictly_valid(program: Mapping[str, Any]) -> bool:
    return (
        bool(program.get("runnable"))
        and not program.get("diagnostics")
        and not program.get("repairs")
    )


# ---------------------------------------------------------------------------------------- problems
def shown_problem(problem: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of a problem; hidden tests stay out."""
    return {
        "question": _text(problem.get("question"), MAX_TEXT),
        "context": _text(problem.get("context"), MAX_TEXT),
        "options": [_text(option, MAX_REMARK) for option in _list(problem.get("options"))],
        "answers": [_text(answer, MAX_REMARK) for answer in _list(problem.get("answers"))][:8],
    }


def _add_problems(groups: list[dict[str, Any]], folder: Path, config: Mapping[str, Any]) -> None:
    """Look up the problems of ``groups`` in the file that the run was trained on, if it is there."""
    wanted = {group["id"] for group in groups if "problem" not in group}
    named = part_of(config, "data").get("train_file")
    if not wanted or not isinstance(named, str):
        return
    found: dict[str, dict[str, Any]] = {}
    for row in _problem_rows(folder, Path(named)):
        if isinstance(row.get("id"), str) and row["id"] in wanted:
            found[row["id"]] = shown_problem(row)
            if len(found) == len(wanted):
                break
    for group in groups:
        if group["id"] in found:
            group["problem"] = found[group["id"]]


def _problem_rows(folder: Path, named: Path) -> Iterator[dict[str, Any]]:
    # as the run saw it, else beside the folder of logs: the page may be made from another place
    for path in (named, folder.parent.parent / named):
        if path.is_file():
            yield from JsonLines(path).sound_rows(Broken())
            return


# ------------------------------------------------------------------------------- untrusted values
def part_of(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if isinstance(part, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _text(value: object, limit: int) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    # lone surrogates cannot be written as UTF-8
    shown = beginning(text, limit + 1).encode("utf-8", "replace").decode("utf-8")
    return shown if len(shown) <= limit else shown[:limit] + " [... cut]"
