"""Trained judges of different sizes on the same labeled answers: what labeled rows buy.

    llm-as-judge judge train --labeled rows.jsonl --out judges/500 --limit 500 ...    # once for each size
    python benchmarks/judge_curve.py --judge judges/500 --judge judges/5000 --labeled held_out.jsonl

Anchors, the first lines: the rules alone; a match of the gold as whole words. Every judge scores the
answers of ``--labeled`` that the rules leave open; none of them may be of a question that a judge learned
from. *AUC* is the chance that a right answer scores above a wrong one, over those answers; no threshold has
a part in it. The other figures are of all answers, by rules and judge together, at the thresholds that stand
in the judge's folder. Scores are kept in ``FOLDER/scores.jsonl`` and used again when the same rows come.
Expected: AUC rises with the logarithm of the examples; thresholds that keep .97 come at 5,000.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from scipy.stats import mannwhitneyu

from llm_as_judge.assembly import model_weights
from llm_as_judge.audit.agreement import kappa_interval, proportion
from llm_as_judge.audit.labeled import cases_sha256, read_labeled
from llm_as_judge.config import load_config
from llm_as_judge.judge.calibration import thresholds_of
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.judge_file import JudgeFile, read_judge_file
from llm_as_judge.judge.parts import holds_gold, part_of
from llm_as_judge.policy.label_scorer import LabelScorer
from llm_as_judge.training.judge.making import learned_questions
from llm_as_judge.training.judge.rows import Graded, graded_by_rules

AT_ONCE = 8


async def by_rules(path: Path) -> list[Graded]:
    rules = Judge()
    try:
        return await graded_by_rules(read_labeled(path), rules)
    finally:
        await rules.aclose()


def scores_of(folder: Path, made: JudgeFile, reaching: Sequence[Graded]) -> list[float]:
    """Log-odds of each answer that the rules leave open."""
    cases = [graded.case for graded in reaching]
    known, digest = folder / "scores.jsonl", cases_sha256(cases)
    if known.exists():
        kept = json.loads(known.read_text("utf-8"))
        if kept["rows_sha256"] == digest:
            return [float(score) for score in kept["log_odds"]]
    weights = model_weights(load_config("embedded"), made.base, "--judge")
    scorer = LabelScorer.load(weights, folder, layers=made.layers, device="cpu")
    found: list[float] = []
    try:
        for at in range(0, len(cases), AT_ONCE):
            found += scorer.log_odds([(c.problem, c.candidate) for c in cases[at : at + AT_ONCE]])
    finally:
        scorer.close()
    known.write_text(json.dumps({"rows_sha256": digest, "log_odds": found}), "utf-8")
    return found


def by_words(graded: Graded) -> bool | None:
    """Right where a gold stands in it; of other answers than to questions what the rules say."""
    case = graded.case
    if case.problem.domain != "qa":
        return graded.verdict.correct
    return holds_gold(case.problem, case.candidate)


def verdict(made: JudgeFile, graded: Graded, score: float) -> bool | None:
    """As the judge gives it."""
    case = graded.case
    limits = thresholds_of(part_of(case.problem, case.candidate), made.thresholds)
    return limits.verdict(score) if limits is not None else None


def auc_of(scored: Sequence[tuple[float, bool]]) -> float:
    """Chance that a right answer scores above a wrong one."""
    sides = [[score for score, right in scored if right is label] for label in (True, False)]
    return float(mannwhitneyu(*sides).statistic / (len(sides[0]) * len(sides[1])))


def row(name: str, rows: Sequence[Graded], verdicts: Sequence[bool | None], auc: str) -> str:
    pairs = [
        (said, g.case.correct) for said, g in zip(verdicts, rows, strict=True) if said is not None
    ]
    accepted = [label for said, label in pairs if said]
    right = sum(g.case.correct for g in rows)
    precision, recall = proportion(sum(accepted), len(accepted)), proportion(sum(accepted), right)
    cells = [
        f"{share.value or 0:.3f} [{share.low:.3f}, {share.high:.3f}]"
        for share in (precision, recall, kappa_interval(pairs))
    ]
    abstained = 1 - len(pairs) / len(rows)
    return f"| {name} | {auc} | {' | '.join(cells)} | {abstained:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--judge", type=Path, action="append", required=True)
    parser.add_argument("--labeled", type=Path, required=True)
    given = parser.parse_args()
    rows = asyncio.run(by_rules(given.labeled))
    reaching = [graded for graded in rows if graded.open]
    print(f"{len(rows)} answers, {len(reaching)} of them left open by the rules")
    print(
        "| judge, examples learned | AUC | precision | recall | kappa of the decided | abstained |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    print(row("rules alone", rows, [g.verdict.correct for g in rows], "-"))
    print(row("gold in it as whole words", rows, [by_words(g) for g in rows], "-"))
    for folder in given.judge:
        made = read_judge_file(folder)
        again = learned_questions(folder, [g.case for g in rows])
        if again:
            raise SystemExit(f"{folder}: learned from {again} of these questions")
        scores = scores_of(folder, made, reaching)
        of_open = dict(zip(map(id, reaching), scores, strict=True))
        verdicts = [
            g.verdict.correct if not g.open else verdict(made, g, of_open[id(g)]) for g in rows
        ]
        auc = auc_of([(score, g.case.correct) for g, score in zip(reaching, scores, strict=True)])
        learned = sum(n for name, n in made.examples.items() if name.startswith("learned"))
        print(row(f"{folder.name}, {learned:,}", rows, verdicts, f"{auc:.3f}"), flush=True)


if __name__ == "__main__":
    main()
