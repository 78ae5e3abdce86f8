"""Progress of long work, in words: beside a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task
from rich.progress import Progress as Bar
from rich.text import Text

from llm_as_judge.llm.billing import Attempt, metered
from llm_as_judge.types import Rollout
from llm_as_judge.views.busy import Busy
from llm_as_judge.views.console import about, clock, status_console
from llm_as_judge.views.live import step_line

LOOK_S, QUIET_S = 1.0, 30.0
"""Seconds between looks, and without a line, after which a log says how far the work is."""
BAR, WHEN = 20, 7
"""Columns of the bar, and of the time before a line of a log."""
ENOUGH = 5
"""Units, or a quarter of the work, before which nothing is said of the time left."""
RECENT = 32
"""Ends that the rate is measured over; of many the later half, so that it follows a machine that becomes busy."""


class Rate:
    """The time that counted work still takes, from when its units ended.

    Args:
        began: when the work on the first unit began; None: not known, because a model is loaded before it.
    """

    def __init__(self, began: float | None = None) -> None:
        self._done = 0
        self._ends = [] if began is None else [(began, 0)]
        """(when, how many units had ended)"""

    def ended(self, now: float, count: int = 1) -> None:
        self._done += count
        self._ends.append((now, self._done))

    def left_s(self, units: int, now: float) -> float | None:
        """Seconds until ``units`` more have ended; None while too few have."""
        if self._done < min(ENOUGH, (self._done + units) / 4) or len(self._ends) < 2:
            return None
        (began, before), (ended, done) = self._ends[self._first()], self._ends[-1]
        if ended == began:
            return None
        usual = (ended - began) / (done - before) * units - (now - ended)
        at_once = done - self._ends[-2][1]
        # what comes next is overdue: as if it ended now
        overdue = (now - began) / (done - before + at_once) * (units - at_once)
        return max(usual, overdue, 0.0)

    def _first(self) -> int:
        return min(len(self._ends) // 2, max(0, len(self._ends) - RECENT))


class Progress:
    """What is being done, how much of it is done and how long the rest takes.

    ``part 2 of 8, a bank of programs: 94 of 140 runs, about 3 min left``
    """

    def __init__(
        self,
        console: Console = status_console,
        parts: Sequence[str] = (),
        *,
        seconds: Callable[[], float] = time.monotonic,
        busy: Callable[[], str] | None = None,
    ) -> None:
        """
        Args:
            parts: names of the parts of a long course, in their order; with them each line says which part it is
                of, and when.
            seconds: a clock.
            busy: a clause that says that the machine has other work; empty: it has not.
        """
        self._console, self._parts, self._seconds = console, tuple(parts), seconds
        self._busy = busy or Busy()
        self._began = self._part_began = self._said_at = seconds()
        self._heading = self._name = self._unit = self._doing = ""
        self._total = self._done = self._found = self._rollouts = self._written = 0
        self._attempts: list[Attempt] = []
        self._rate = Rate()
        self._operators: Counter[str] = Counter()
        self._bar = Bar(
            BarColumn(bar_width=BAR), _Line(self), console=console, disable=not console.is_terminal
        )
        self._task = self._bar.add_task("", total=None, visible=False)
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Progress:
        self._bar.start()
        if not self._console.is_terminal:
            self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._ended.set()
        if self.is_watching:
            self._watch.join()

    @property
    def is_watching(self) -> bool:
        return self._watch.is_alive()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_S):
            self.look()

    def look(self) -> None:
        """A line, where none was printed for a while and something is going on."""
        if self._seconds() - self._said_at >= QUIET_S and (line := self.line()):
            self._print(line)

    # ----------------------------------------------------------------------------- told by the work
    def part(
        self, name: str, total: int = 0, unit: str = "", done: int = 0, *, begun: bool = False
    ) -> None:
        """What is done from now on.

        Args:
            total: units of it; 0: it is not counted.
            done: units that were done before.
            begun: the first unit is in work from now on; else a model may be loaded before.
        """
        now = self._part_began = self._seconds()
        numbered = name in self._parts
        if numbered:
            at = self._parts.index(name) + 1
            self._heading = f"part {at} of {len(self._parts)}, {name}"
        self._name, self._unit, self._doing = "" if numbered else name, unit, ""
        self._total, self._done, self._found, self._rollouts = total, done, done, 0
        self._rate = Rate(now if begun else None)
        self._show()
        if numbered and not self._console.is_terminal:
            self._print(self.line())

    def doing(self, text: str) -> None:
        """A remark on what is being done, beside its count."""
        self._doing, self._rollouts = text, 0

    @contextmanager
    def at_work(self) -> Iterator[Callable[[], None]]:
        """Until the first unit is done, the line counts the replies of models that come inside, and the
        programs that are written: each calls what this gives."""
        with metered() as attempts:
            self._attempts, self._written = attempts, 0
            try:
                yield self._wrote
            finally:
                self._attempts = []

    def _wrote(self) -> None:
        self._written += 1

    def did(self, count: int = 1) -> None:
        """So many more units are done."""
        self._rate.ended(self._seconds(), count)
        self._done += count
        self._show()

    def found(self, count: int = 1) -> None:
        """So many units were done before, and took no time now."""
        self._found += count
        self._done += count
        self._show()

    def expect(self, total: int) -> None:
        """There are so many units, and not those said at first."""
        self._total = total
        self._show()

    def show(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """``done`` of ``total`` of ``what``, as functions say it that know no view; of bytes the unit is ``MB``."""
        scale = 10**6 if unit == "MB" else 1
        new, total = done // scale, (total or 0) // scale
        if (what, total) != (self._name, self._total):
            self.part(what, total, unit, new, begun=True)
            self._found = 0
        elif new > self._done:
            self.did(new - self._done)

    def rollout(self, rollout: Rollout) -> None:
        """A program of a training step has run."""
        self._rollouts += 1
        self._operators.update(rollout.program.operators)

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None:
        """A training step has ended."""
        self._doing, self._rollouts = "", 0
        self.did()
        used = ", ".join(f"{name} {count}" for name, count in self._operators.most_common(4))
        self._operators.clear()
        line = step_line(step, steps, metrics) + self._left()
        self._print(line + (f"; operators {used}" if used else ""))

    def stage(self, text: str) -> None:
        """Something that a run says of itself; a course of numbered parts has its own words for it."""
        if not self._parts:
            self._print(text, "dim")

    def say(self, text: str) -> None:
        """What has come out."""
        self._print(text)

    def warning(self, text: str) -> None:
        self._print(f"warning: {text}", "yellow")

    # ------------------------------------------------------------------------------------ in words
    def line(self) -> str:
        """All of it; empty before something is begun."""
        what = ", ".join(filter(None, [self._heading, self._name]))
        if not what:
            return ""
        rollouts = f"{self._rollouts} programs run" if self._rollouts else ""
        doing = ", ".join(filter(None, [self._doing, rollouts, self._before_the_first()]))
        told = "; ".join(filter(None, [": ".join(filter(None, [what, self._count()])), doing]))
        busy = self._busy()
        if len(told) + len(busy) + 2 > self._room():
            busy = busy.partition(":")[0]
        return "; ".join(filter(None, [told, busy]))

    def _room(self) -> int:
        """Columns beside the time, or the bar."""
        return self._console.width - (BAR + 1 if self._console.is_terminal else WHEN)

    def _before_the_first(self) -> str:
        if self._done > self._found:
            return ""
        came = sum(not attempt.failure for attempt in self._attempts)
        counts = {
            "programs written": self._written,
            "replies": came,
            "failed tries": len(self._attempts) - came,
        }
        return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)

    def _count(self) -> str:
        if not self._total:
            passed = self._seconds() - self._part_began
            return f"{clock(passed)} so far" if passed >= QUIET_S else ""
        total = max(self._total, self._done)
        said = f"{self._done:,} of {total:,} {self._unit}".rstrip()
        if self._found:
            said += f" ({self._found:,} from before)"
        return said + self._left()

    def _left(self) -> str:
        """``, about 3 min left``; empty while it is not known."""
        units = max(self._total, self._done) - self._done
        left = self._rate.left_s(units, self._seconds()) if units else None
        # 0: the last unit takes longer than those before, and nothing tells how much
        return f", {about(left)} left" if left else ""

    def _show(self) -> None:
        self._bar.update(self._task, completed=self._done, total=self._total or None, visible=True)

    def _print(self, text: str, style: str | None = None) -> None:
        self._said_at = self._seconds()
        when = f"{clock(self._said_at - self._began):>5}  " if self._parts else ""
        self._bar.console.print(
            when + text, style=style, markup=False, highlight=False, soft_wrap=True
        )


class _Line(ProgressColumn):
    """The words beside the bar."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(self._progress.line())
