"""Graders of one's own: asked first, three-valued; the audit's fingerprint follows what they import."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import llm_as_judge
from llm_as_judge.errors import ConfigError, GraderError
from llm_as_judge.grading.fingerprint import grading_sources, rules_fingerprint
from llm_as_judge.grading.graders import FAILED, GRADERS, GraderFunction, failed_as_open
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.llm_judge import LlmJudge
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import Problem, Verdict

COLOR = Problem("c/1", "colors", "qa", "Which color has the sky?", ("blue",))
SUM = Problem("m/1", "sums", "math", "What is 2 + 2?", ("4",))


def shade(problem: Problem, answer: str) -> bool | None:
    """Azure is blue, red is not, and of anything else it says nothing."""
    return {"azure": True, "red": False}.get(answer.strip().lower())


async def verdict(
    rules: Judge, answer: str, problem: Problem = COLOR, **conditions: object
) -> Verdict:
    one = GraderFunction("shade", shade, **conditions)  # type: ignore[arg-type]
    with GRADERS.with_also([one]):
        return await rules.grade(problem, answer)


async def test_a_grader_that_decides_has_the_word(rules: Judge) -> None:
    right, wrong = await verdict(rules, "azure"), await verdict(rules, "red")
    assert (right.correct, right.stage, right.rule) == (True, "grader", "shade.right")
    assert (wrong.correct, wrong.stage, wrong.rule) == (False, "grader", "shade.wrong")


async def test_what_a_grader_leaves_open_goes_on_to_the_rules(rules: Judge) -> None:
    exact = await verdict(rules, "blue")
    assert (exact.correct, exact.stage) == (True, "qa")


async def test_a_grader_spares_the_judge_model() -> None:
    chat = ScriptedChat({})
    judge = Judge(last=LlmJudge(chat))
    with GRADERS.with_also([GraderFunction("shade", shade)]):
        assert (await judge.grade(COLOR, "azure")).stage == "grader"
    await judge.aclose()


@pytest.mark.parametrize(
    ("conditions", "asked"),
    [
        ({}, True),
        ({"domain": "qa"}, True),
        ({"domain": "math"}, False),
        ({"dataset": "colors"}, True),
        ({"dataset": "sums"}, False),
        ({"domain": "qa", "dataset": "sums"}, False),
        ({"when": lambda problem: "sky" in problem.question}, True),
        ({"when": lambda problem: "sea" in problem.question}, False),
    ],
)
async def test_a_grader_is_asked_where_all_its_conditions_hold(
    rules: Judge, conditions: dict[str, Any], asked: bool
) -> None:
    assert ((await verdict(rules, "azure", **conditions)).stage == "grader") is asked


async def test_a_grader_may_wait_and_may_say_a_whole_verdict(rules: Judge) -> None:
    async def slow(problem: Problem, answer: str) -> Verdict:
        return Verdict(True, "grader", "half", score=0.5)

    with GRADERS.with_also([GraderFunction("slow", slow)]):
        assert (await rules.grade(SUM, "5")).score == 0.5


@pytest.mark.parametrize(
    ("grade", "said"),
    [
        (lambda problem, answer: 1 / 0, "grader 'bad': m/1: ZeroDivisionError"),
        (lambda problem, answer: "yes", "grader 'bad': m/1: found 'yes', wanted True, False, None"),
    ],
)
async def test_a_grader_that_fails_is_no_verdict(
    rules: Judge, grade: Callable[[Problem, str], bool], said: str
) -> None:
    with (
        GRADERS.with_also([GraderFunction("bad", grade)]),
        pytest.raises(GraderError, match=said),
    ):
        await rules.grade(SUM, "5")


async def test_a_condition_that_fails_is_told_likewise(rules: Judge) -> None:
    def never(problem: Problem) -> bool:
        return problem.options[0] == "A"

    with pytest.raises(GraderError, match="grader 'shade': c/1: IndexError"):
        await verdict(rules, "azure", when=never)


class Raising:
    """Rules with a bug."""

    async def verdict(self, problem: Problem, answer: str) -> Verdict:
        raise ValueError("exceeds the limit")

    async def aclose(self) -> None: ...


async def test_a_bug_of_the_shipped_rules_names_the_problem_and_what_to_do() -> None:
    with pytest.raises(GraderError) as raised:
        await Judge(rules=Raising()).grade(SUM, "5")
    said = str(raised.value)
    assert said.startswith("grading: m/1: ValueError: exceeds the limit (")
    assert "report it with this row" in said
    assert "\n" not in said


async def test_where_no_rollout_can_fail_a_failed_grading_is_an_open_verdict_with_its_reason() -> (
    None
):
    verdict = await failed_as_open(Judge(rules=Raising()).grade(SUM, "5"))
    assert (verdict.correct, verdict.rule) == (None, FAILED)
    assert "m/1: ValueError" in verdict.explanation


# ------------------------------------------------------------------------------- the fingerprint
@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    installed = functools.cache(importlib.metadata.packages_distributions)  # takes half a second
    monkeypatch.setattr(importlib.metadata, "packages_distributions", installed)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


GRADER = "def grade(problem, answer):\n    return None\n"


def fingerprint_with(module: str) -> str:
    importlib.invalidate_caches()
    one = GraderFunction("one", importlib.import_module(module).grade)
    with GRADERS.with_also([one]):
        return rules_fingerprint()


@pytest.mark.slow
def test_the_fingerprint_follows_what_a_grader_imports_and_nothing_else(folder: Path) -> None:
    (folder / "near.py").write_text("import far\n")
    (folder / "far.py").write_text("LIMIT = 1\n")
    (folder / "unrelated.py").write_text("LIMIT = 1\n")
    (folder / "own_grader.py").write_text(GRADER)
    without = rules_fingerprint()
    alone = fingerprint_with("own_grader")
    assert alone != without

    (folder / "far.py").write_text("LIMIT = 2\n")
    (folder / "unrelated.py").write_text("LIMIT = 2\n")
    assert fingerprint_with("own_grader") == alone

    (folder / "own_grader.py").write_text(f"import near\n{GRADER}")
    importing = fingerprint_with("own_grader")
    assert importing != alone
    (folder / "far.py").write_text("LIMIT = 3\n")
    assert fingerprint_with("own_grader") != importing
    (folder / "unrelated.py").write_text("LIMIT = 3\n")
    (folder / "far.py").write_text("LIMIT = 2\n")
    assert fingerprint_with("own_grader") == importing
    assert rules_fingerprint() == without


def test_an_import_for_type_checkers_alone_is_none(folder: Path) -> None:
    (folder / "typed.py").write_text("")
    (folder / "own_grader.py").write_text(
        f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import typed\n{GRADER}"
    )
    before = fingerprint_with("own_grader")
    (folder / "typed.py").write_text("class Any: ...\n")
    assert fingerprint_with("own_grader") == before


def test_a_module_beside_its_package_is_followed_by_relative_imports(folder: Path) -> None:
    package = folder / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("A = 1\n")
    (package / "grading.py").write_text(f"from .words import A\nfrom . import words\n{GRADER}")
    before = fingerprint_with("own_package.grading")
    (package / "words.py").write_text("A = 2\n")
    assert fingerprint_with("own_package.grading") != before


def test_a_grader_without_a_file_is_refused() -> None:
    space: dict[str, object] = {"__name__": "nowhere"}
    exec(GRADER, space)
    one = GraderFunction("one", space["grade"])  # type: ignore[arg-type]
    with (
        GRADERS.with_also([one]),
        pytest.raises(ConfigError, match=r"'nowhere' has no source file .* into a \.py file"),
    ):
        rules_fingerprint()


def test_the_shipped_graders_are_in_the_fingerprint_and_the_judge_model_is_not() -> None:
    names = {name.removeprefix("llm_as_judge.") for name in grading_sources()}
    kinds = {f"grading.{kind}" for kind in ("extract", "math", "qa", "choice", "rules", "symbolic")}
    assert kinds | {"sandbox.inside.grading", "sandbox.inside.functions"} <= names
    assert not {"judge.llm_judge", "audit.audit", "types", "config"} & names


@pytest.mark.slow
def test_a_new_import_or_another_word_of_a_shipped_grader_changes_the_fingerprint(
    tmp_path: Path,
) -> None:
    package = tmp_path / "llm_as_judge"
    shutil.copytree(Path(llm_as_judge.__file__).parent, package)

    changes = {
        "rounding.py": "PLACES = 3\n",
        "audit/report.py": "# no grader imports this\n",
        "grading/number.py": "\nfrom llm_as_judge import rounding\n",
        "./rounding.py": "PLACES = 4\n",
        "grading/words.yaml": "# changed\n",
        "grading/wordlists.py": "# changed\n",
        "types/datasets.py": "# changed\n",
    }
    script = (
        "import importlib, json, sys\nfrom llm_as_judge.grading import fingerprint as f\n"
        "print(f.__file__)\nfor name, text in [('audit/report.py', ''), *json.loads(sys.argv[1]).items()]:\n"
        "    open('llm_as_judge/' + name, 'a').write(text)\n    importlib.invalidate_caches()\n"
        "    print(f.rules_fingerprint())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(changes)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    file, before, *found = done.stdout.splitlines()
    assert Path(file).is_relative_to(tmp_path)
    assert found[:2] == [before] * 2
    assert len({before, *found[2:]}) == 6
