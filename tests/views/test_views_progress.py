"""Long work says how much is done and how long the rest takes, by times that the test makes up."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pytest
from rich.console import Console

from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.types import Completion, Program, Rollout, Usage
from llm_as_judge.views.busy import busy_words
from llm_as_judge.views.console import about, clock
from llm_as_judge.views.progress import LOOK_S, QUIET_S, Progress, Rate


class Told:
    """A view over a log, or a terminal, and the seconds that a test says it is."""

    def __init__(
        self,
        parts: Sequence[str] = (),
        *,
        terminal: bool = False,
        busy: str = "",
        width: int = 200,
    ) -> None:
        self.now = 0.0
        self._file = io.StringIO()
        console = Console(file=self._file, width=width, force_terminal=terminal)
        self.view = Progress(console, parts, seconds=lambda: self.now, busy=lambda: busy)

    def did(self, *at: float) -> None:
        for self.now in at:
            self.view.did()

    @property
    def text(self) -> str:
        return self._file.getvalue()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def rollout(*operators: str) -> Rollout:
    program = Program("", "", operators=operators)
    return Rollout("p", 0, Completion((), (), (), "", "stop"), program)


# ------------------------------------------------------------------------------------- the time left
def uneven(count: int, at_once: int, load_s: float) -> Iterator[float]:
    """Ends of units of 1 to 9 seconds, of which so many share a machine, after a model was loaded."""
    rng, now, running = random.Random(count), load_s, list[float]()
    todo = [rng.uniform(1, 9) for _ in range(count)]
    while todo or running:
        running += [todo.pop() for _ in range(min(at_once - len(running), len(todo)))]
        shortest = min(running)
        now += shortest * len(running)
        running = [one - shortest for one in running]
        yield from [now] * running.count(0.0)
        running = [one for one in running if one]


def bursts(count: int, at_once: int) -> Iterator[float]:
    """Ends of units that are asked together, and answered together."""
    for unit in range(count):
        yield 60.0 + 12.0 * (unit // at_once)


@pytest.mark.parametrize(
    "ends",
    [
        [*uneven(144, 4, 25.0)],
        [*uneven(144, 8, 90.0)],
        [*uneven(1000, 16, 0.0)],
        [*bursts(144, 8)],
        [*accumulate([40.0, 30.0, 35.0, 28.0, 33.0, 41.0, 30.0, 37.0])],
        [*accumulate([3.0] * 500)],
    ],
    ids=["four at once", "a slow start", "sixteen at once", "bursts", "steps", "one by one"],
)
def test_the_time_left_is_within_a_third_of_the_truth_from_a_quarter_of_the_way_on(
    ends: list[float],
) -> None:
    rate, told = Rate(), 0
    for done, now in enumerate(ends, start=1):
        rate.ended(now)
        left, truth = rate.left_s(len(ends) - done, now), ends[-1] - now
        at_the_end = done > 0.8 * len(
            ends
        )  # what is left is begun, and how much of it is not known
        if done >= len(ends) / 4 and not at_the_end and left is not None:
            told += 1
            assert abs(left - truth) < truth / 3, (done, left, truth)
    assert told > len(ends) / 2


def test_the_time_left_follows_a_machine_that_becomes_busy() -> None:
    rate = Rate(0.0)
    ends = [*accumulate([1.0] * 200 + [4.0] * 200)]
    for now in ends[:300]:
        rate.ended(now)
    left = rate.left_s(100, ends[299])
    assert left is not None
    assert 250 < left < 400 + 1


def test_what_is_overdue_is_not_soon() -> None:
    rate = Rate(0.0)
    for now in (10.0, 20.0, 30.0):
        rate.ended(now)
    assert rate.left_s(2, 35.0) == pytest.approx(15.0)
    later = rate.left_s(2, 130.0)
    assert later is not None
    assert later > 20.0


def test_too_few_ends_say_nothing() -> None:
    rate = Rate()
    assert rate.left_s(9, 0.0) is None
    for now in (5.0, 6.0):
        rate.ended(now)
    assert rate.left_s(98, 6.0) is None  # neither a quarter of them, nor five
    assert rate.left_s(3, 6.0) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "about 5 s"), (44, "about 45 s"), (170, "about 3 min"), (3600, "about 1 h"), (7800, "about 2 h 10 min")],
)  # fmt: skip
def test_a_time_left_is_said_roundly(seconds: float, said: str) -> None:
    assert about(seconds) == said


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (3723, "1:02:03")])
def test_a_time_that_has_passed_is_shown_as_a_clock_does(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


# ------------------------------------------------------------------------------------------ in words
def test_a_line_says_the_part_its_count_and_the_time_left() -> None:
    told = Told(["weights", "a bank of programs", "GRPO"])
    told.view.part("weights")
    told.view.part("a bank of programs", 140, "runs", 40)
    told.did(*range(20, 20 + 2 * 54, 2))
    told.now += QUIET_S
    told.view.look()
    assert told.lines == [
        " 0:00  part 1 of 3, weights",
        " 0:00  part 2 of 3, a bank of programs: 40 of 140 runs (40 from before)",
        " 2:36  part 2 of 3, a bank of programs: 94 of 140 runs (40 from before), about 2 min left",
    ]


def test_a_last_unit_that_takes_longer_than_those_before_is_not_said_to_end_at_once() -> None:
    told = Told(["GRPO"])
    told.view.part("GRPO", 4, "steps", begun=True)
    told.did(10, 20, 30)
    told.now = 35.0
    assert told.view.line().endswith("3 of 4 steps, about 5 s left")
    told.now = 60.0
    assert told.view.line().endswith("3 of 4 steps")


def test_a_part_that_has_no_number_stands_behind_the_one_that_has() -> None:
    told = Told(["weights", "GRPO"])
    told.view.part("GRPO")
    told.view.part("loading [a] model")
    assert told.view.line() == "part 2 of 2, GRPO, loading [a] model"
    told.now = QUIET_S
    assert told.view.line() == "part 2 of 2, GRPO, loading [a] model: 0:30 so far"
    told.view.part("GRPO", 8, "steps", begun=True)
    assert told.view.line() == "part 2 of 2, GRPO: 0 of 8 steps"


def test_a_log_is_silent_until_nothing_was_said_for_a_while() -> None:
    told = Told()
    told.view.part("fixed programs", 9, "runs")
    for second in (0.0, QUIET_S - LOOK_S, QUIET_S, QUIET_S + LOOK_S):
        told.did(second)
        told.view.look()
    assert told.lines == ["fixed programs: 3 of 9 runs, about 90 s left"]


def test_a_busy_machine_is_told_of() -> None:
    said = busy_words(1.4, 2.0, 2)
    assert said == "busy: others take 1.4 of 2 cores"
    told = Told(busy=said)
    told.view.part("GRPO", 8, "steps")
    assert told.view.line() == f"GRPO: 0 of 8 steps; {said}"
    assert not busy_words(1.4, 1.6, 2)  # there is room left
    assert not busy_words(0.2, 2.0, 2)  # it is we who fill it


def test_a_line_of_a_log_keeps_within_the_width_by_saying_less_of_a_busy_machine() -> None:
    parts = ["a", "b", "c", "direct", *"efghijkl"]
    told = Told(parts, busy=busy_words(0.7, 2.0, 2), width=80)
    told.view.part("direct", 48, "held-out rows", 0)
    told.did(*range(1, 13))
    told.now += QUIET_S
    told.view.look()
    assert told.lines[-1].endswith(" left; busy")
    assert all(len(line) <= 80 for line in told.lines)


async def test_a_part_without_a_finished_unit_counts_programs_and_replies() -> None:
    told = Told()
    told.view.part("direct", 48, "held-out rows", 3)
    told.view.found(2)
    ledger = Ledger()
    with told.view.at_work() as wrote:
        assert told.view.line() == "direct: 5 of 48 held-out rows (5 from before)"
        wrote()
        for failure in ("", "", "timeout"):
            ledger.record_attempt("executor", Attempt(Usage(7, 1), None, 0.1, failure))
        counts = "programs written 1, replies 2, failed tries 1"
        assert told.view.line() == f"direct: 5 of 48 held-out rows (5 from before); {counts}"
        told.view.did()
        assert counts not in told.view.line()


def test_work_that_turns_out_longer_or_shorter_is_counted_as_it_is() -> None:
    told = Told()
    told.view.part("draws", 10, "draws")
    told.view.expect(4)
    assert told.view.line() == "draws: 0 of 4 draws"
    told.did(1.0, 2.0, 3.0, 4.0, 5.0)
    told.view.found()
    assert told.view.line() == "draws: 6 of 6 draws (1 from before)"


def test_bytes_are_said_in_megabytes() -> None:
    told = Told()
    told.view.show("qwen", 0, 491_000_000, "MB")
    told.view.show("qwen", 120_999_999, 491_000_000, "MB")
    assert told.view.line().startswith("qwen: 120 of 491 MB")
    told.view.show("reading rows", 3, None)
    assert told.view.line() == "reading rows"


def test_a_step_is_one_line_with_what_was_right_valid_and_used() -> None:
    told = Told()
    told.view.part("GRPO", 6, "steps", 1, begun=True)
    told.view.doing("step 2: writing and running programs")
    for operators in (("programmer", "programmer"), ("answer_generate",)):
        told.view.rollout(rollout(*operators))
    assert told.view.line().endswith("; step 2: writing and running programs, 2 programs run")
    told.view.step(2, 6, {"accuracy/all": 0.5, "rollout/strictly_valid": 0.75, "time/step_s": 41.4})
    told.view.step(3, 6, {"judge/decided": 0.04})
    assert told.lines == [
        "step 2 of 6: 41 s, right 50%, valid 75%; operators programmer 2, answer_generate 1",
        "step 3 of 6: trained judge decided 4%",
    ]
    assert told.view.line().startswith("GRPO: 3 of 6 steps")


def test_a_step_says_how_long_those_after_it_take() -> None:
    told = Told()
    told.view.part("GRPO", 10, "steps", begun=True)
    for step in range(1, 11):
        told.now = 60.0 * step
        told.view.step(step, 10, {"accuracy/all": 0.5})
    assert told.lines[2] == "step 3 of 10: right 50%, about 7 min left"
    assert told.lines[8] == "step 9 of 10: right 50%, about 60 s left"
    assert told.lines[9] == "step 10 of 10: right 50%"


def test_what_a_run_says_of_itself_is_left_out_of_a_numbered_course_and_a_warning_is_not() -> None:
    for parts, lines in (
        ((), ["run directory logs/[a]", "warning: the disk is full"]),
        (["GRPO"], [" 0:00  warning: the disk is full"]),
    ):
        told = Told(parts)
        told.view.stage("run directory logs/[a]")
        told.view.warning("the disk is full")
        assert told.lines == lines


def test_a_terminal_has_a_bar_with_the_words_beside_it() -> None:
    told = Told(terminal=True)
    with told.view as view:
        view.part("direct", 40, "held-out rows")
        view.did(10)
        view.say("ten are done")
    assert "direct: 10 of 40 held-out rows" in told.text
    assert "ten are done" in told.text


def test_the_thread_that_looks_ends_with_the_work() -> None:
    told = Told()
    with told.view as view:
        view.part("loading")
        assert view.is_watching
    assert not view.is_watching
