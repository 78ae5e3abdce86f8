"""Answers as salted hashes: equal ones can be counted, and none can be read.

Figures that are kept, copied and published hold no answer of a data set's rows in clear. The salt is a
secret of this machine, so that nobody can try the few answers that a question has; hashes of two
machines cannot be compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import tempfile
from pathlib import Path

from llm_as_judge.errors import OutputError
from llm_as_judge.files import output_errors
from llm_as_judge.grading.equality import normal_answer
from llm_as_judge.types import Problem

_SALT = "answer_salt"
_BYTES = 32


class AnswerHashes:
    """Hashes of answers under the salt in ``folder``, which is made when there is none.

    Raises:
        OutputError: the folder cannot be written, or the salt is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._salt = _salt(folder / _SALT)

    @property
    def name(self) -> str:
        """Of the salt: hashes under two names say nothing of each other."""
        return hashlib.sha256(self._salt).hexdigest()[:8]

    def of(self, problem: Problem, answer: str) -> str:
        """16 hex digits, the same for answers to this question with one normal form.

        Args:
            answer: untrusted, of any length.
        """
        asked = [problem.dataset, problem.question, problem.context, problem.options]
        text = json.dumps([asked, normal_answer(problem, answer)])
        return hmac.new(self._salt, text.encode(), hashlib.sha256).hexdigest()[:16]


def _salt(path: Path) -> bytes:
    with output_errors(path):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(_BYTES))
            with contextlib.suppress(FileExistsError):  # another process was first: its salt counts
                os.link(name, path)
            Path(name).unlink()
        salt = path.read_bytes()
    if len(salt) != _BYTES:
        raise OutputError(
            f"{path}: {len(salt)} bytes, wanted {_BYTES}; remove it: a new one is made, and answers of "
            "before cannot be compared with new ones"
        )
    return salt
