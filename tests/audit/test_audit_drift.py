"""A judge that changes is noticed; a steady one is left alone."""

from llm_as_judge.audit.drift import CanaryWatch, canaries, case_key
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem, Verdict


class Fixed:
    """Gives one verdict until told another."""

    def __init__(self, correct: bool | None) -> None:
        self.correct = correct

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        return Verdict(self.correct, "llm", "llm.fixed")


def test_canaries_are_a_hundred_of_both_kinds() -> None:
    cases = canaries()
    assert len(cases) == len({case_key(case) for case in cases}) == 100
    assert sum(case.correct for case in cases) == 50
    assert cases == canaries()


async def test_half_of_the_canaries_only_a_model_can_decide(rules: Judge) -> None:
    verdicts = [await rules.grade(c.problem, c.candidate) for c in canaries()]
    open_ones = [v for v in verdicts if v.correct is None or v.rule == "exact_match"]
    assert len(open_ones) >= 50


async def test_a_judge_that_changes_its_mind_raises_the_alarm() -> None:
    judge = Fixed(True)
    watch = CanaryWatch(judge)
    first = await watch.check()
    assert (first.alarm, first.right) == (None, 50)
    assert (await watch.check()).alarm is None
    judge.correct = False
    assert "100 of 100" in str((await watch.check()).alarm)
    judge.correct = None
    report = await watch.check()
    assert (report.alarm, report.not_graded) == (None, 100)


async def test_two_in_a_hundred_may_differ_and_three_may_not() -> None:
    cases = canaries()
    for differing, alarmed in ((2, False), (3, True)):
        before: dict[str, bool | None] = {case_key(c): True for c in cases}
        before.update({case_key(c): False for c in cases[:differing]})
        report = await CanaryWatch(Fixed(True), before).check()
        assert len(report.changed) == differing
        assert (report.alarm is not None) is alarmed


async def test_verdicts_of_the_audit_are_what_the_first_check_compares_with() -> None:
    audited: dict[str, bool | None] = {case_key(c): c.correct for c in canaries()}
    report = await CanaryWatch(Fixed(True), audited).check()
    assert len(report.changed) == 50
