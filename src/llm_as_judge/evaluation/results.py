"""Results files of a record: the documented one and the full one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from llm_as_judge.data.selection import MIXED
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.layout import FULL, run_folder
from llm_as_judge.evaluation.metrics import official_scores, over_sets, set_metrics
from llm_as_judge.evaluation.records import EvaluationRecord, PlannedSet, put_aside
from llm_as_judge.files import output_errors, write_text
from llm_as_judge.grading.answer_hash import AnswerHashes
from llm_as_judge.runs.results import FORMAT, FullResults, ProblemRow, Results, SetResults
from llm_as_judge.types import Group, Problem, to_json


def results_of(record: EvaluationRecord) -> Results:
    """What ``NAME_results.json`` holds."""
    return Results(**_figures(record))


def _figures(record: EvaluationRecord) -> dict[str, Any]:
    plan, config = record.plan, record.config
    by_set = _drawn_sets(record)
    parts = {name: groups for name, groups in by_set.items() if name != MIXED} or by_set
    everything = list({g.problem.id: g for groups in parts.values() for g in groups}.values())
    return {
        "format": FORMAT,
        "model": config.policy.name,
        "policy": plan.policy,
        "checkpoint": plan.checkpoint,
        "executor": config.executor.model,
        "judge": config.judge.label,
        "judges": plan.judges,
        "seed": plan.seed,
        "split": config.evaluation.split,
        "samples": plan.samples,
        "draws": config.workflow.draws,
        "budget": plan.budget,
        "grading_version": plan.grading_version,
        "run": str(Path(plan.name) / record.folder.name),
        "complete": record.complete,
        "datasets": tuple(_set_results(planned, by_set[planned.name]) for planned in plan.sets),
        "domains": {
            domain: set_metrics([g for g in everything if g.problem.domain == domain])
            for domain in sorted({g.problem.domain for g in everything})
        },
        "overall": {**set_metrics(everything), **over_sets(everything)},
    }


def _drawn_sets(record: EvaluationRecord) -> dict[str, list[Group]]:
    """By set its problems, with a rollout for each run of each program: the runs of a problem are
    averaged before problems are."""
    draws = record.config.workflow.draws
    return {
        name: [_drawn(group, draws) for group in groups]
        for name, groups in record.groups_by_set().items()
    }


def _drawn(group: Group, draws: int) -> Group:
    return replace(
        group, rollouts=tuple(run for rollout in group.rollouts for run in rollout.each_draw(draws))
    )


def _set_results(planned: PlannedSet, groups: Sequence[Group]) -> SetResults:
    domains = {group.problem.domain for group in groups}
    return SetResults(
        dataset=planned.name,
        domain=domains.pop() if len(domains) == 1 else "mixed",
        official=_official_names(groups),
        num_samples=len(groups),
        rows_in_test_file=planned.rows,
        sample=planned.sample,
        seen_in_training=planned.seen_in_training,
        metrics=set_metrics(groups),
    )


def _official_names(groups: Sequence[Group]) -> tuple[str, ...]:
    problem = groups[0].problem if groups else None
    if problem is None or len({g.problem.dataset for g in groups}) > 1:
        return ("accuracy",)
    if problem.dataset_info.has_text_scores:
        return ("em", "f1")
    return ("pass_at_1",) if problem.dataset_info.metric == "pass_at_k" else ("accuracy",)


def full_results_of(record: EvaluationRecord) -> FullResults:
    """What ``full.json`` holds."""
    sets = {name: {g.problem.id for g in groups} for name, groups in record.groups_by_set().items()}
    draws = record.config.workflow.draws
    hashes = AnswerHashes(record.config.output.cache_dir())
    rows = tuple(
        _problem_row(
            _drawn(group, draws),
            hashes,
            tuple(name for name, ids in sets.items() if group.problem.id in ids),
        )
        for group in record.groups()
    )
    totals = {
        name: sum(sum(getattr(row, name)) for row in rows)
        for name in ("calls", "tokens", "cost", "policy_tokens", "seconds")
    }
    totals["policy_tokens"] //= draws  # a program is written once, however often it runs
    return FullResults(
        **_figures(record),
        hash=record.plan.hash,
        versions=record.plan.versions,
        facts=record.plan.facts,
        isolation=tuple(to_json(report) for report in record.isolations()),
        config=record.config.model_dump(mode="json"),
        salt=hashes.name,
        totals=totals,
        problems=rows,
    )


def _problem_row(group: Group, hashes: AnswerHashes, sets: tuple[str, ...]) -> ProblemRow:
    problem, rollouts = group.problem, group.rollouts
    executions = [r.execution for r in rollouts]
    return ProblemRow(
        sets=sets,
        id=problem.id,
        dataset=problem.dataset,
        domain=problem.domain,
        content=content_digest(problem),
        correct=tuple(r.verdict.correct if r.verdict else None for r in rollouts),
        rule=tuple(r.verdict.rule if r.verdict else "" for r in rollouts),
        official=tuple(official_scores(problem, r) for r in rollouts),
        status=tuple(e.status if e else "failed" for e in executions),
        calls=tuple(e.llm_calls if e else 0 for e in executions),
        tokens=tuple(e.tokens if e else 0 for e in executions),
        cost=tuple(e.cost if e else 0.0 for e in executions),
        policy_tokens=tuple(
            len(r.completion.prompt_ids) + len(r.completion.token_ids) for r in rollouts
        ),
        cost_usd=tuple(e.cost_usd if e else None for e in executions),
        seconds=tuple(round(e.seconds, 3) if e else 0.0 for e in executions),
        strictly_valid=tuple(r.program.strictly_valid for r in rollouts),
        operators=tuple(r.program.operators for r in rollouts),
        answers=tuple(
            hashes.of(problem, e.answer) if e and e.status == "ok" else "" for e in executions
        ),
    )


def content_digest(problem: Problem) -> str:
    """Of what was asked and of its golds: equal ids of two files must be equal problems."""
    said = {key: value for key, value in to_json(problem).items() if key not in ("id", "meta")}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def write_results(
    record: EvaluationRecord, folder: Path, on_replaced: Callable[[Path], None] | None = None
) -> Path:
    """``FOLDER/NAME_results.json``; the same, and full.json, beside the rollouts.

    An evaluation that was stopped does not replace the results of another one, and one that does
    replaces no more than their copy in FOLDER.

    Args:
        on_replaced: called with where the results of the other one are.
    Raises:
        OutputError: a folder cannot be written.
    """
    path = folder / f"{record.plan.name}_results.json"
    results = results_of(record)
    full_results_of(record).write(record.folder / FULL)
    results.write(record.folder / path.name)
    other = path.is_file() and _folder_of(path) != record.folder
    if results.complete or not other:
        if other:
            earlier = _archive_path(path)
            if on_replaced is not None:
                on_replaced(earlier)
        results.write(path)
    return path


def _folder_of(path: Path) -> Path | None:
    """Of the evaluation that a results file is of; None where it is not there, or not told."""
    try:
        folder = run_folder(path)
    except DataError:
        return None
    return folder if folder.is_dir() else None


def _archive_path(path: Path) -> Path:
    """Where these results lie when ``path`` is replaced: in the folder of their evaluation, or,
    where that is not known, beside it under another name."""
    folder = _folder_of(path)
    if folder is None:
        return put_aside(path)
    own = folder / path.name
    if not own.is_file():  # of before evaluations kept their own
        with output_errors(path):
            write_text(own, path.read_text(encoding="utf-8"))
    return own
