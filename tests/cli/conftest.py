"""Every test of a verb has a folder of its own and calls verbs in this process."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from called_verbs import OPTIONS, ROWS, Verbs, began, rows

from llm_as_judge.cli import main
from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation.records import EvaluationRecord


def _enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.chdir(folder)
    patch.setenv("COLUMNS", "200")
    patch.setenv("LLM_AS_JUDGE_CACHE", str(folder / "cache"))
    patch.setenv("OMP_WAIT_POLICY", "passive")
    for name in ("LLM_AS_JUDGE_CONFIG", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        patch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder, away from the person's own environment."""
    _enter(tmp_path, monkeypatch)
    before = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    yield tmp_path
    for number, handler in before.items():  # a stopped verb leaves them ignored
        signal.signal(number, handler)


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str]) -> Verbs:
    return Verbs(capsys)


def _write_rows(folder: Path) -> None:
    for name, held_out in ROWS.items():
        write_problems(folder / "data" / "test" / f"{name}_test.jsonl", held_out)


@pytest.fixture
def held_out_rows(folder: Path) -> None:
    """The test files of ``ROWS``."""
    _write_rows(folder)


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which direct and cot were evaluated on ``ROWS``, to be copied."""
    place = tmp_path_factory.mktemp("evaluated")
    _write_rows(place)
    with pytest.MonkeyPatch.context() as patch:
        _enter(place, patch)
        for policy in (("--policy", "direct"), ("--baseline", "cot")):
            with pytest.raises(SystemExit, match="0"):
                main(["evaluate", *OPTIONS, *policy])
    return place


@pytest.fixture
def mine(verb: Verbs) -> str:
    """What init said of a task of twelve rows, begun in this folder."""
    rows()
    return began(verb)


@pytest.fixture
def direct(folder: Path, evaluated: Path) -> Path:
    """The results of an evaluation of ``direct`` in this folder, beside those of ``cot``."""
    shutil.copytree(evaluated, folder, dirs_exist_ok=True)
    return folder / "results" / "evaluation" / "direct_results.json"


@pytest.fixture
def record(direct: Path) -> EvaluationRecord:
    return EvaluationRecord.read(direct)
