"""A small sentence model as judge, fully trained: the rival that a trained judge of ours has to beat.

    llm-as-judge models pull all-minilm-l6-v2
    python benchmarks/judge_cross_encoder.py --train rows.jsonl --labeled held_out.jsonl

all-MiniLM-L6-v2 (22M weights) reads question, reference and candidate in one text and gives log-odds. It learns
from the examples of ``judge train`` (people's labels and made answers; the same split by questions), and its thresholds are
chosen as those of our judges are. Figures are those of judge_curve.py, over all answers of ``--labeled``, rules first;
then the same at fixed probabilities. Anchors, the first lines: the rules alone; a match of the gold as whole words.
The last line is the time of a verdict, one at a time and in batches of 32, as a ratio in one run.
Expected (22M cross-encoder with a word match, 9,000 rows): precision .958, recall .881 at probability .9 on open questions.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from judge_curve import auc_of, by_rules, by_words, row
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from llm_as_judge.assembly import model_weights
from llm_as_judge.audit.attacks import Case
from llm_as_judge.config import load_config
from llm_as_judge.judge.calibration import Scored, Thresholds, calibrated
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.training.judge.making import scored_rows
from llm_as_judge.training.judge.rows import (
    Sets,
    question_key,
    read_training_rows,
    split_sets,
)
from llm_as_judge.types import Problem

BATCH = 32
MAX_TOKENS = 192


class CrossEncoder(nn.Module):
    """Pairs of texts -> log-odds of right, (N,)."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.encoder: Any = AutoModel.from_pretrained(folder, dtype=torch.float32)
        self.head = nn.Linear(self.encoder.config.hidden_size, 1)

    def forward(self, pairs: Sequence[tuple[Problem, str]]) -> Tensor:
        asked = [f"{problem.question} | {' / '.join(problem.answers)}" for problem, _ in pairs]
        said = [candidate for _, candidate in pairs]
        tokens = self.tokenizer(
            asked, said, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        hidden_BTD = self.encoder(**tokens).last_hidden_state
        mask_BT1 = tokens["attention_mask"][..., None]
        mean_BD = (hidden_BTD * mask_BT1).sum(1) / mask_BT1.sum(1)
        log_odds_B: Tensor = self.head(mean_BD)[:, 0]
        return log_odds_B

    @torch.inference_mode()
    def log_odds(self, pairs: Sequence[tuple[Problem, str]], at_once: int = BATCH) -> list[float]:
        self.eval()
        found: list[float] = []
        for at in range(0, len(pairs), at_once):
            found += self(pairs[at : at + at_once]).tolist()
        return found


def pairs_of(cases: Sequence[Case]) -> list[tuple[Problem, str]]:
    return [(case.problem, case.candidate) for case in cases]


def learn(model: CrossEncoder, cases: Sequence[Case], rate: float, epochs: int, seed: int) -> None:
    rng = random.Random(seed)
    batches = [
        part
        for _ in range(epochs)
        for order in [rng.sample(cases, len(cases))]
        for at in range(0, len(order), BATCH)
        if (part := order[at : at + BATCH])
    ]
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=len(batches), pct_start=0.1
    )
    began, mean = time.perf_counter(), 0.0
    model.train()
    for number, part in enumerate(batches, 1):
        labels = torch.tensor([float(case.correct) for case in part])
        loss = nn.functional.binary_cross_entropy_with_logits(model(pairs_of(part)), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        mean = loss.item() if number == 1 else 0.95 * mean + 0.05 * loss.item()
        if number % 50 == 0 or number == len(batches):
            left = (time.perf_counter() - began) / number * (len(batches) - number)
            print(
                f"step {number} of {len(batches)}, loss {mean:.3f}, {left:.0f} s left", flush=True
            )


def verdict(one: Scored, limits: dict[str, Thresholds] | float) -> bool | None:
    """The rules' word; of what they leave open that of the thresholds, or of one fixed threshold."""
    if one.log_odds is None:
        return one.rules
    if isinstance(limits, float):
        return one.log_odds >= limits
    mine = limits.get(one.domain)
    return None if mine is None else mine.verdict(one.log_odds)


async def sets(path: Path, seed: int, limit: int | None) -> Sets:
    rules = Judge()
    try:
        return await split_sets(*read_training_rows([path]), rules, seed=seed, limit=limit)
    finally:
        await rules.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--labeled", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--precision", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    examples = asyncio.run(sets(given.train, given.seed, given.limit))
    learned = [g.case for g in examples.learn]
    rows = asyncio.run(by_rules(given.labeled))
    if again := {question_key(g.case) for g in rows} & set(map(question_key, learned)):
        raise SystemExit(f"{given.labeled}: {len(again)} of its questions are learned from")
    config = load_config("embedded")
    model = CrossEncoder(model_weights(config, "all-minilm-l6-v2", "--train"))
    print(
        f"{len(learned)} examples to learn from, {len(examples.calibrate)} to choose thresholds on"
    )
    learn(model, learned, given.rate, given.epochs, given.seed)
    limits = calibrated(scored_rows(examples.calibrate, model.log_odds), given.precision)
    found = scored_rows(rows, model.log_odds)
    reaching = [one for one in found if one.log_odds is not None]
    auc = auc_of([(one.log_odds or 0.0, one.correct) for one in reaching])
    print(f"{len(rows)} answers, {len(reaching)} of them left open by the rules")
    print("| judge | AUC | precision | recall | kappa of the decided | abstained |")
    print("|---|---:|---:|---:|---:|---:|")
    print(row("rules alone", rows, [g.verdict.correct for g in rows], "-"))
    print(row("gold in it as whole words", rows, [by_words(g) for g in rows], "-"))
    mine = [verdict(one, limits) for one in found]
    print(row(f"22M, thresholds at {given.precision:g}", rows, mine, f"{auc:.3f}"))
    for name, log_odds in (("0.5", 0.0), ("0.8", 1.386), ("0.9", 2.197), ("0.95", 2.944)):
        print(row(f"22M, probability {name}", rows, [verdict(one, log_odds) for one in found], ""))
    for source in sorted({g.case.source for g in rows}):
        at = [n for n, g in enumerate(rows) if g.case.source == source]
        print(row(f"22M, thresholds, {source}", [rows[n] for n in at], [mine[n] for n in at], ""))
    cases = pairs_of([g.case for g in rows if g.open][:200])
    seconds = []
    for at_once in (1, BATCH):
        began = time.perf_counter()
        model.log_odds(cases, at_once)
        seconds.append((time.perf_counter() - began) / len(cases))
    print(
        f"a verdict: {seconds[0] * 1e3:.1f} ms alone, {seconds[1] * 1e3:.1f} ms in batches, ratio {seconds[0] / seconds[1]:.1f}"
    )


if __name__ == "__main__":
    main()
