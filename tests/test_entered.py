"""The count of what a command enters: functions of the package, while they are to be counted."""

from __future__ import annotations

import json
from threading import Thread

from entered import Recorder, table

from llm_as_judge.quoting import quoted


def test_functions_of_the_package_are_counted_in_all_threads_and_no_others() -> None:
    recorder = Recorder()
    try:
        quoted("before")
        assert recorder.found == set()
        recorder.counting = True
        json.dumps({})
        other = Thread(target=quoted, args=("in a thread",))
        other.start()
        other.join()
        in_thread = set(recorder.found)
        recorder.found.clear()
        quoted("here")
    finally:
        recorder.close()
    assert in_thread == recorder.found
    assert {(file, name) for file, name, _ in in_thread} >= {("quoting.py", "quoted")}
    assert {file for file, _, _ in in_thread} == {"quoting.py"}
    assert table(in_thread).splitlines()[-1].split()[:3] == ["all", "1", "files"]
