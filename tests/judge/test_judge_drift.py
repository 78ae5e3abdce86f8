from llm_as_judge.judge.drift import DriftWatch, abstention_alarm, canaries
from llm_as_judge.types import Problem, Verdict

PROBLEM = Problem("p/t/1", "math", "math", "6*7?", ("42",))


class Fixed:
    """Gives one verdict until told another."""

    def __init__(self, correct: bool | None) -> None:
        self.correct = correct
        self.calls = 0

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        self.calls += 1
        return Verdict(self.correct, "llm", "llm.fixed")


def test_canaries_are_a_hundred_of_both_kinds() -> None:
    cases = canaries()
    assert len(cases) == 100
    assert sum(case.correct for case in cases) == 50
    assert cases == canaries()


async def test_a_judge_that_changes_its_mind_raises_the_alarm() -> None:
    judge = Fixed(True)
    watch = DriftWatch(judge)
    assert (await watch.check()).alarm is None
    assert (await watch.check()).alarm is None
    judge.correct = False
    assert "100 of 100" in str((await watch.check()).alarm)
    judge.correct = None
    report = await watch.check()
    assert (report.alarm, report.not_graded) == (None, 100)


async def test_a_share_of_the_accepted_goes_to_the_second_judge() -> None:
    second = Fixed(False)
    watch = DriftWatch(Fixed(True), second, share=0.5)
    accepted = (PROBLEM, "42", Verdict(True, "llm", "r"))
    rejected = (PROBLEM, "41", Verdict(False, "llm", "r"))
    opinions = await watch.after_step([accepted, rejected] * 100)
    assert 30 <= opinions.asked == second.calls <= 70
    assert opinions.agreed == 0
    assert "second judge" in str(opinions.alarm)


async def test_agreement_and_silence_raise_no_alarm() -> None:
    accepted = [(PROBLEM, "42", Verdict(True, "llm", "r"))] * 50
    agreeing = await DriftWatch(Fixed(True), Fixed(True), share=1.0).after_step(accepted)
    assert (agreeing.asked, agreeing.agreed, agreeing.alarm) == (50, 50, None)
    silent = await DriftWatch(Fixed(True), Fixed(None), share=1.0).after_step(accepted)
    assert (silent.asked, silent.alarm) == (0, None)
    alone = await DriftWatch(Fixed(True)).after_step(accepted)
    assert alone.asked == 0


def test_more_than_a_twentieth_not_graded_pauses_the_run() -> None:
    right, silent = Verdict(True, "exact", "r"), Verdict(None, "llm", "llm.empty")
    assert abstention_alarm([right] * 19 + [silent]) is None
    assert "2 of 20" in str(abstention_alarm([right] * 18 + [silent] * 2))
    assert abstention_alarm([]) is None
