"""One version of the policy's weights, as the server gets it."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llm_as_judge.files import output_errors

if TYPE_CHECKING:
    from llm_as_judge.policy.model import Policy


@dataclass(frozen=True, slots=True)
class Adapter:
    """One version of the weights as the server knows it."""

    name: str
    path: Path
    version: int


def write_adapter(policy: Policy, folder: Path) -> Adapter:
    """The weights as they are now, in a folder of their own whose name holds their digest.

    Raises:
        OutputError: ``folder`` cannot be written.
    """
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".policy-", dir=folder))
        try:
            partial.chmod(0o755)
            policy.save_adapter(partial)
            weights = (partial / "adapter_model.safetensors").read_bytes()
            name = f"policy-v{policy.version}-{hashlib.sha256(weights).hexdigest()[:8]}"
            path = folder.resolve() / name
            if not path.exists():
                partial.replace(path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return Adapter(name, path, policy.version)
