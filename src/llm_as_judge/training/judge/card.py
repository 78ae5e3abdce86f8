"""Model card of a trained judge: README.md of its folder."""

from __future__ import annotations

from collections.abc import Sequence

from llm_as_judge.judge.calibration import Scored
from llm_as_judge.judge.judge_file import JudgeFile

_CELLS = ("accepted right", "accepted wrong", "rejected right", "rejected wrong", "abstained")


def threshold_figures(rows: Sequence[Scored], judge: JudgeFile) -> dict[str, dict[str, int]]:
    """Domain -> what the thresholds do to the rows that they were chosen on, by what was right."""
    found: dict[str, dict[str, int]] = {}
    for domain, thresholds in judge.thresholds.items():
        cells = dict.fromkeys(_CELLS, 0)
        for row in rows:
            if row.domain != domain or row.log_odds is None or row.made:
                continue
            said = thresholds.verdict(row.log_odds)
            word = {True: "accepted", False: "rejected"}.get(said) if said is not None else None
            label = "right" if row.correct else "wrong"
            cells[f"{word} {label}" if word else "abstained"] += 1
        found[domain] = cells
    return found


def judge_card(judge: JudgeFile, rows: Sequence[Scored]) -> str:
    """README.md of the folder."""
    layers = f", its first {judge.layers} layers" if judge.layers else ""
    kind = "Thresholds for" if judge.endpoint else "LoRA adapter on"
    lines = [
        "# A judge of answers",
        "",
        f"{kind} {judge.base}{layers}. It reads a question, a reference answer and a candidate, and",
        "says by the log-odds of two tokens whether they agree. LLM-as-Judge uses it: `judge.kind: scoring`.",
        "",
        "## What it learned from",
        "",
        *(f"- {name}: {count}" for name, count in judge.examples.items()),
        f"- seed {judge.seed}, examples with SHA-256 {judge.data_sha256}",
        "",
        f"## Thresholds, lower bound of precision {judge.precision}",
        "",
        f"| domain | accept from | reject to | {' | '.join(_CELLS)} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for domain, cells in threshold_figures(rows, judge).items():
        limits = judge.thresholds[domain]
        shown = [
            "-" if value is None else f"{value:.2f}" for value in (limits.accept, limits.reject)
        ]
        lines.append(f"| {domain} | {' | '.join([*shown, *map(str, cells.values())])} |")
    lines += [
        "",
        "Counts are of the answers that the rules left open among the rows kept apart for the thresholds.",
        "Before it may train a policy it must pass `llm-as-judge judge audit`.",
    ]
    return "\n".join(lines) + "\n"
