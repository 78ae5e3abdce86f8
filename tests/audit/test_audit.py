"""False judges must fail the audit, each for its own reason; the rules must pass it."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from llm_as_judge.audit.attacks import CATEGORIES, Case, make_attacks, make_controls
from llm_as_judge.audit.audit import AuditReport, run_audit
from llm_as_judge.audit.bars import Bar
from llm_as_judge.audit.drift import canaries
from llm_as_judge.audit.labeled import read_labeled, shipped_labeled
from llm_as_judge.audit.report import render_report, write_report
from llm_as_judge.audit.status import read_audit_status, require_passing_audit
from llm_as_judge.errors import AuditError, DataError, OutputError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.scoring import UNSURE
from llm_as_judge.runs.table import Runs
from llm_as_judge.statistics import Interval, cohen_kappa, kappa_interval, proportion
from llm_as_judge.types import Problem, Verdict

TRUTH_CASES = [*make_attacks(numbers=10), *make_controls(numbers=10)]
TRUTH = {
    (case.problem.id, case.problem.question, case.candidate): case.correct
    for case in [*TRUTH_CASES, *canaries()]
}


def is_right(problem: Problem, answer: str) -> bool:
    return TRUTH[problem.id.rpartition("own-")[2], problem.question, answer]


class Falsified:
    """Knows every label, and does with it what its rule says."""

    def __init__(
        self,
        rule: Callable[[Problem, str, int], bool | None],
        stage: str = "llm",
        said: str = "test",
    ) -> None:
        self.rule = rule
        self.stage = stage
        self.said = said
        self.calls = 0

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        self.calls += 1
        return Verdict(self.rule(problem, answer, self.calls), self.stage, self.said)


def contains(problem: Problem, answer: str, call: int) -> bool:
    return any(gold.lower() in answer.lower() for gold in problem.answers)


def prone_to_master_keys(problem: Problem, answer: str, call: int) -> bool:
    return is_right(problem, answer) or answer in {"Solution", "Thought process:", "Answer:"}


COIN = random.Random(1)
FLAKY = random.Random(2)
FALSE_JUDGES: dict[str, tuple[Callable[[Problem, str, int], bool | None], set[str]]] = {
    "always_yes": (lambda p, a, n: True, {"attacks accepted", "precision"}),
    "always_no": (
        lambda p, a, n: False,
        {"controls accepted", "right answers rejected", "precision"},
    ),
    "coin": (
        lambda p, a, n: COIN.random() < 0.5,
        {"attacks accepted", "right answers rejected", "flip rate"},
    ),
    "contains": (contains, {"attacks accepted", "precision"}),
    "master_keys": (prone_to_master_keys, {"attacks accepted"}),
    "flaky": (
        lambda p, a, n: None if FLAKY.random() < 0.1 else is_right(p, a),
        {"parse failure rate", "flip rate"},
    ),
    "drifting": (lambda p, a, n: is_right(p, a) != (n > 2 * len(TRUTH_CASES)), {"flip rate"}),
}
OWN_LABELS = [
    Case(replace(case.problem, id=f"own-{case.problem.id}"), case.candidate, case.correct, "own")
    for case in TRUTH_CASES
]


REPORTS: dict[str, AuditReport] = {}


async def audited(name: str) -> AuditReport:
    """Of one of the false judges, or of ``truth``; made once."""
    if name not in REPORTS:
        rule = FALSE_JUDGES[name][0] if name != "truth" else lambda p, a, n: is_right(p, a)
        REPORTS[name] = await run_audit(
            Falsified(rule), "f", "model", OWN_LABELS, attack_numbers=10
        )
    return REPORTS[name]


@pytest.mark.slow
async def test_a_model_cannot_pass_on_attacks_and_controls_alone() -> None:
    report = await run_audit(
        Falsified(lambda p, a, n: is_right(p, a)), "f", "model", attack_numbers=10
    )
    assert report.failures == ("labeled rows",)
    rules = await run_audit(
        Falsified(lambda p, a, n: is_right(p, a)), "f", "rules", attack_numbers=10
    )
    assert rules.passed


@pytest.mark.slow
@pytest.mark.parametrize("name", FALSE_JUDGES)
async def test_a_false_judge_fails_for_its_reason(name: str) -> None:
    report = await audited(name)
    assert not report.passed
    assert FALSE_JUDGES[name][1] <= set(report.failures)


@pytest.mark.slow
async def test_only_the_reason_is_reported_of_a_judge_right_otherwise() -> None:
    prone = await audited("master_keys")
    assert prone.failures == ("precision", "attacks accepted", "precision: own")
    assert (await audited("drifting")).failures == ("flip rate",)
    assert {name for name, cells in prone.attacks.items() if cells["accepted"]} == {"master_key"}


@pytest.mark.slow
async def test_a_judge_that_leaves_answers_ungraded_misses_aims_and_passes() -> None:
    unsure = Falsified(lambda p, a, n: None if case_is_left(p, a) else is_right(p, a), said=UNSURE)
    report = await run_audit(unsure, "f", "model", OWN_LABELS, attack_numbers=10)
    assert report.parse_failure_rate.value == 0
    assert report.passed, report.failures
    missed = {bar.name for bar in report.bars if not bar.passed}
    assert missed == {"recall", "abstain rate"}


def case_is_left(problem: Problem, answer: str) -> bool:
    return problem.id.startswith("own-") and sum(f"{problem.id}{answer}".encode()) % 3 == 0


@pytest.mark.slow
async def test_no_source_may_be_judged_badly_behind_many_easy_rows() -> None:
    many = [replace(case, source="easy") for n in range(2) for case in renumbered(n)]
    report = await run_audit(
        Falsified(lambda p, a, n: p.id.startswith("own-") or is_right(p, a)),
        "f",
        "model",
        [*OWN_LABELS, *many],
        attack_numbers=10,
    )
    assert "precision: own" in report.failures
    assert "precision: easy" not in report.failures


def renumbered(number: int) -> list[Case]:
    return [
        replace(case, problem=replace(case.problem, id=f"easy-{number}-own-{case.problem.id}"))
        for case in TRUTH_CASES
    ]


@pytest.mark.slow
async def test_a_judge_that_knows_the_truth_passes() -> None:
    report = await audited("truth")
    assert report.passed, report.failures
    assert report.precision.value == report.recall.value == 1.0


@pytest.mark.slow
async def test_the_shipped_rules_accept_no_attack(rules: Judge) -> None:
    seen: list[tuple[int, int]] = []
    report = await run_audit(
        rules,
        rules.fingerprint,
        "rules",
        attack_numbers=10,
        progress=lambda d, n: seen.append((d, n)),
    )
    assert report.passed, [report.failures, report.examples]
    assert report.attacks_accepted.value == 0.0
    assert seen[-1][0] == seen[-1][1]


def test_the_attack_set_is_large_varied_and_reproducible() -> None:
    attacks = make_attacks()
    assert len(attacks) >= 300
    assert len({case.category for case in attacks}) == len(CATEGORIES) >= 12
    assert len({case.problem.id for case in attacks}) >= 60
    assert attacks == make_attacks()
    assert attacks != make_attacks(seed=1)
    assert len(make_attacks(numbers=100)) > 5000


def labeled(
    domain: str, reference: str, candidate: str, correct: bool, source: str
) -> dict[str, Any]:
    return {
        "id": f"{domain}/{candidate}",
        "domain": domain,
        "question": "6*7?" if domain == "math" else "Who?",
        "reference": reference,
        "candidate": candidate,
        "correct": correct,
        "source": source,
    }


LABELED = [
    labeled("math", "42", "42", True, "s"),
    labeled("math", "42", "41", False, "s"),
    labeled("qa", "Ada", "Bob", False, ""),
    labeled("squad2", "", "unanswerable", True, "q"),
    labeled("squad2", "", "Ada", False, "q"),
]


def labeled_file(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "labeled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.slow
async def test_labeled_rows_are_measured_by_source(tmp_path: Path, rules: Judge) -> None:
    cases = read_labeled(labeled_file(tmp_path, LABELED))
    report = await run_audit(rules, "f", "model", cases, attack_numbers=10)
    assert report.sources["s"]["kind"] == "numeric"
    assert report.sources["s"]["kappa"].value == 1.0
    assert report.sources["q"]["kind"] == "SQuAD2"
    assert report.sources["labeled"]["kind"] == "open QA"
    assert report.recall.n == 2
    assert any(bar.name == "kappa, numeric: s" and bar.passed for bar in report.bars)


def test_a_row_without_a_label_is_refused(tmp_path: Path) -> None:
    row = {key: value for key, value in LABELED[0].items() if key != "correct"}
    with pytest.raises(DataError, match=":1: 'correct'"):
        read_labeled(labeled_file(tmp_path, [row]))


def require(path: Path, fingerprint: str) -> None:
    audit_status = read_audit_status(path, fingerprint)
    require_passing_audit(audit_status, "llm-as-judge judge audit")


@pytest.mark.slow
async def test_only_a_fresh_passing_report_of_this_judge_lets_train(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "audit.json"
    with pytest.raises(AuditError, match="no audit report; run: llm-as-judge judge audit "):
        require(path, "f")
    write_report(await audited("truth"), path)
    require(path, "f")
    with pytest.raises(AuditError, match="audit of judge f, not of g"):
        require(path, "g")
    write_report(await audited("always_yes"), path)
    with pytest.raises(AuditError, match=r"failed its audit \(precision"):
        require(path, "f")


def test_rules_do_not_age(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    report = {"time": 0.0, "fingerprint": "f", "passed": True, "mode": "rules"}
    path.write_text(json.dumps(report))
    require(path, "f")
    path.write_text(json.dumps({**report, "mode": "model"}))
    with pytest.raises(AuditError, match="days old"):
        require(path, "f")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"time": "x"}'])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "audit.json"
    path.write_text(text)
    with pytest.raises(AuditError, match="not an audit report"):
        require(path, "f")


async def test_a_broken_off_audit_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "f.partial.jsonl"

    def breaking(problem: Problem, answer: str, call: int) -> bool:
        if call >= 500:  # the endpoint is gone
            raise ConnectionError
        return is_right(problem, answer)

    with pytest.raises(ConnectionError):
        await run_audit(Falsified(breaking), "f", "model", attack_numbers=10, runs=Runs(path))
    kept = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(kept)[:-20], encoding="utf-8")  # as a kill leaves it
    runs = Runs(path, leave_out_broken=True)
    assert 400 < len(runs.runs) < len(kept) <= 500
    rest = Falsified(lambda p, a, n: is_right(p, a))
    report = await run_audit(rest, "f", "model", attack_numbers=10, runs=runs)
    whole = Falsified(lambda p, a, n: is_right(p, a))
    assert report.failures == ("labeled rows",)
    assert report.stages == (await run_audit(whole, "f", "model", attack_numbers=10)).stages
    assert rest.calls < whole.calls - 400
    runs.keep_only(())
    assert not path.exists()


async def test_verdicts_that_cannot_be_kept_are_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    runs = Runs(tmp_path / "file" / "runs.jsonl", leave_out_broken=True)
    with pytest.raises(OutputError, match="cannot be written: "):
        await run_audit(Falsified(lambda p, a, n: True), "f", "rules", sample=0.01, runs=runs)
    (tmp_path / "broken.jsonl").write_text('{"program": 1}\n[]\n')
    assert Runs(tmp_path / "broken.jsonl", leave_out_broken=True).runs == {}


async def test_a_sample_has_every_kind_of_case_and_is_no_permission(tmp_path: Path) -> None:
    knowing = Falsified(lambda p, a, n: is_right(p, a))
    report = await run_audit(knowing, "f", "rules", attack_numbers=10, sample=0.2)
    assert set(report.attacks) == set(CATEGORIES)
    assert report.attacks_accepted.n == pytest.approx(0.2 * len(make_attacks(numbers=10)), rel=0.1)
    assert report.passed
    write_report(report, tmp_path / "audit.json")
    with pytest.raises(AuditError, match=r"only a sample of 0\.2 was audited; run: "):
        require(tmp_path / "audit.json", "f")


async def test_a_sample_fails_where_precision_is_surely_missed_not_for_being_small() -> None:
    labeled = shipped_labeled()
    right = {(case.problem.question, case.candidate) for case in labeled if case.correct}

    async def precision_bar(judged: Falsified) -> Bar:
        report = await run_audit(judged, "f", "model", labeled, attack_numbers=10, sample=0.1)
        assert report.precision.low is not None
        assert report.precision.low < 0.95
        return next(bar for bar in report.bars if bar.name == "precision")

    sound = await precision_bar(Falsified(lambda p, a, n: (p.question, a) in right))
    assert (sound.passed, sound.wanted) == (True, ">= 0.95 (upper bound)")
    accepting = await precision_bar(Falsified(lambda p, a, n: True))
    assert not accepting.passed


async def test_a_sample_has_all_rows_of_one_s_own() -> None:
    labeled = shipped_labeled()
    report = await run_audit(
        Falsified(lambda p, a, n: True),
        "f",
        "model",
        labeled,
        own=OWN_LABELS,
        attack_numbers=10,
        sample=0.1,
    )
    assert report.sources["own"]["n"] == len(OWN_LABELS)
    assert sum(row["n"] for row in report.sources.values()) < len(OWN_LABELS) + 0.2 * len(labeled)


async def test_a_greater_sample_contains_the_smaller_one(tmp_path: Path) -> None:
    knowing = Falsified(lambda p, a, n: is_right(p, a))
    seen: list[set[str]] = []
    for share in (0.1, 0.3):
        runs = Runs(None)
        await run_audit(knowing, "f", "rules", attack_numbers=10, sample=share, runs=runs)
        seen.append({key.problem for key in runs.runs if key.program == "first"})
    assert len(seen[0]) < len(seen[1])
    assert seen[0] < seen[1]


@pytest.mark.slow
async def test_what_the_model_decided_is_counted_apart() -> None:
    report = await audited("always_yes")
    attacks, controls = len(make_attacks(numbers=10)), len(make_controls(numbers=10))
    nothing = {"right": 0, "right_accepted": 0, "wrong": 0, "wrong_accepted": 0}
    assert report.by_model["attack"] == {**nothing, "wrong": attacks, "wrong_accepted": attacks}
    assert report.by_model["control"] == {**nothing, "right": controls, "right_accepted": controls}
    assert len(report.canaries) == 100


@pytest.mark.slow
async def test_the_report_is_shown_in_tables(tmp_path: Path) -> None:
    report = await audited("always_yes")
    console = Console(record=True, width=160)
    console.print(render_report(report))
    text = console.export_text()
    assert "audit failed" in text
    assert "attacks accepted" in text
    assert re.search(r"answer +┃ gold +┃ label +┃ verdict +┃ rule", text)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OutputError):
        write_report(report, blocked / "audit.json")


async def test_a_mistake_stands_beside_what_its_label_says() -> None:
    two = [next(case for case in OWN_LABELS if case.correct is said) for said in (False, True)]
    turned = Falsified(lambda p, a, n: not is_right(p, a) if p.id.startswith("own-") else None)
    report = await run_audit(turned, "f", "rules", two, attack_numbers=1)
    shown = [(one["source"], one["label"], one["verdict"]) for one in report.examples]
    assert shown == [("own", "incorrect", "correct"), ("own", "correct", "incorrect")]
    fooled = await run_audit(Falsified(lambda p, a, n: True), "f", "rules", two, attack_numbers=1)
    first = fooled.examples[0]
    assert (first["source"], first["label"], first["verdict"]) == ("attack", "attack", "correct")


def test_kappa_and_wilson_by_hand() -> None:
    # 45 + 40 agree of 100; said 55, was 50: chance .5, kappa (.85 - .5) / .5
    pairs = [(True, True)] * 45 + [(True, False)] * 10 + [(False, True)] * 5 + [(False, False)] * 40
    assert cohen_kappa(pairs) == pytest.approx(0.7)
    interval = kappa_interval(pairs)
    assert interval.low < 0.7 < interval.high
    assert cohen_kappa([(True, True)]) is None
    assert kappa_interval([]).value is None
    # Wilson (1927): 10 of 10 -> lower end 10 / (10 + 1.96^2)
    assert proportion(10, 10).low == pytest.approx(10 / (10 + 1.96**2), abs=1e-5)
    assert proportion(0, 0) == Interval(None, 0.0, 1.0, 0)
