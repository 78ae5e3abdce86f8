"""A judge that changes, or that a second one contradicts, is noticed; steady ones are left alone."""

import json

from llm_as_judge.audit.drift import CanaryWatch, ModelOnly, SecondWatch, canaries, case_key
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.llm_judge import LlmJudge
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import ChatRequest, Problem, Verdict

PROBLEM = Problem("p/t/1", "math", "math", "6*7?", ("42",))


class Fixed:
    """Gives one verdict until told another."""

    def __init__(self, correct: bool | None) -> None:
        self.correct = correct
        self.seen: list[str] = []

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        self.seen.append(answer)
        return Verdict(self.correct, "llm", "llm.fixed")


def test_canaries_are_a_hundred_of_both_kinds() -> None:
    cases = canaries()
    assert len(cases) == len({case_key(case) for case in cases}) == 100
    assert sum(case.correct for case in cases) == 50
    assert cases == canaries()
    assert len(canaries(count=20)) == 20


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


async def test_a_share_of_the_accepted_goes_to_the_second_judge() -> None:
    second = Fixed(False)
    watch = SecondWatch(second, share=0.5)
    accepted = [(PROBLEM, f"yes {n}", Verdict(True, "llm", "r")) for n in range(100)]
    rejected = [(PROBLEM, f"no {n}", Verdict(False, "llm", "r")) for n in range(100)]
    opinions = await watch.look(accepted + rejected, "seed")
    assert 30 <= opinions.asked == len(second.seen) <= 70
    assert all(answer.startswith("yes") for answer in second.seen)
    assert "agrees with only 0 of the last" in str(opinions.alarm)
    again = Fixed(False)
    await SecondWatch(again, share=0.5).look(rejected + accepted[::-1], "seed")
    assert sorted(again.seen) == sorted(second.seen), "the choice hangs on the seed alone"


async def test_equal_answers_are_asked_once_and_code_never() -> None:
    second = Fixed(True)
    code = Problem("humaneval/test/1", "humaneval", "code", "?", hidden_tests=("assert f()",))
    right = Verdict(True, "llm", "r")
    watch = SecondWatch(second, share=1.0)
    await watch.look([(PROBLEM, "42", right)] * 5 + [(code, "def f(): ...", right)], "seed")
    assert second.seen == ["42"]


async def test_agreement_and_silence_raise_no_alarm() -> None:
    accepted = [(PROBLEM, f"{n}", Verdict(True, "llm", "r")) for n in range(50)]
    agreeing = await SecondWatch(Fixed(True), share=1.0).look(accepted, "s")
    assert (agreeing.asked, agreeing.agreed, agreeing.alarm) == (50, 50, None)
    silent = await SecondWatch(Fixed(None), share=1.0).look(accepted, "s")
    assert (silent.asked, silent.alarm) == (0, None)


async def test_a_hole_found_late_is_seen_though_much_was_right_before() -> None:
    watch = SecondWatch(Fixed(False), share=1.0, before=[True] * 5000)
    accepted = [(PROBLEM, f"{n}", Verdict(True, "llm", "r")) for n in range(20)]
    opinions = await watch.look(accepted, "s")
    assert (opinions.asked, opinions.agreed) == (100, 80)
    assert opinions.alarm


async def test_the_second_judge_has_no_rules_of_the_first() -> None:
    def refuse(request: ChatRequest) -> str:
        shown = json.loads(request.messages[1].content)
        assert shown["candidate"] == "42"
        fields = {"candidate_final_answer": "42", "reference_answer": "42", "differences": "none"}
        return json.dumps({**fields, "verdict": "incorrect"})

    second = ModelOnly(LlmJudge(ScriptedChat(refuse)))
    assert (await second.grade(PROBLEM, "We find \\boxed{42}")).correct is False
