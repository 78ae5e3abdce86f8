"""Files and functions of the package that a command enters in its own process, by package.

    python scripts/entered.py evaluate --policy direct --limit 5 --config embedded
    python scripts/entered.py --step train --config smoke --steps 1

With ``--step`` only what one step of training enters is counted, without what opens and closes a run.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import llm_as_judge

PACKAGE = str(Path(llm_as_judge.__file__).parent)

Entered = set[tuple[str, str, int]]
"""(file, function, its first line)."""


class Recorder:
    """Notes what all threads that start after it enter, while ``counting``."""

    def __init__(self) -> None:
        self.found: Entered = set()
        self.counting = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not self.counting or event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name[0] != "<":  # the body of a module, a comprehension
            file = code.co_filename[len(PACKAGE) + 1 :]
            self.found.add((file, code.co_name, code.co_firstlineno))

    def close(self) -> None:
        """Notes nothing more."""
        sys.setprofile(None)
        threading.setprofile(None)


def table(found: Entered) -> str:
    """Lines of the packages, those with the most files first, and a line of all."""
    files = {file for file, _, _ in found}
    by_package = Counter(file.partition("/")[0] for file in files)
    functions = Counter(file.partition("/")[0] for file, _, _ in found)
    lines = [
        f"{name:20}{n:6} files{functions[name]:6} functions" for name, n in by_package.most_common()
    ]
    return "\n".join([*lines, f"{'all':20}{len(files):6} files{len(found):6} functions"])


def main(arguments: list[str]) -> int:
    """Runs the command and prints what it entered; its exit status."""
    from llm_as_judge.cli import main as command

    only_step = arguments[:1] == ["--step"]
    recorder = Recorder()
    if only_step:
        _count_steps_alone(recorder)
    else:
        recorder.counting = True
    status: object = 0
    try:
        command(arguments[only_step:])
    except SystemExit as ended:
        status = ended.code
    recorder.close()
    print(table(recorder.found))
    return status if isinstance(status, int) else int(status is not None)


def _count_steps_alone(recorder: Recorder) -> None:
    from llm_as_judge.training.run import Run

    one_step = Run.one_step

    async def counted(run: Run) -> dict[str, float]:
        recorder.counting = True
        try:
            return await one_step(run)
        finally:
            recorder.counting = False

    Run.one_step = counted  # type: ignore[assignment]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
