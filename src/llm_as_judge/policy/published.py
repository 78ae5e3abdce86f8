"""One version of the policy's weights at the replicas, and sampling from it."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_as_judge.files import output_errors
from llm_as_judge.policy.turns import completion_of, prompt_ids
from llm_as_judge.policy.vllm_wire import Draw, Drawn, draw_seed
from llm_as_judge.types import Completion, Message, OnCompletion, Sampling

if TYPE_CHECKING:
    from llm_as_judge.policy.model import Policy
    from llm_as_judge.policy.vllm import VllmReplicas


@dataclass(frozen=True, slots=True)
class Adapter:
    """One version of the weights as the replicas know it."""

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


@dataclass(frozen=True, slots=True)
class PublishedAdapter:
    """A ``PublishedPolicy``: one version of the weights at the replicas."""

    replicas: VllmReplicas
    adapter: Adapter
    tokenizer: Any
    stop_ids: tuple[int, ...]
    vocabulary: int

    async def sample(
        self,
        prompts_P: list[list[Message]],
        sampling: Sampling,
        *,
        on_completion: OnCompletion | None = None,
    ) -> list[list[Completion]]:
        """(P, K) completions; see ``types.PublishedPolicy``."""
        ids_P = [tuple(prompt_ids(self.tokenizer, messages)) for messages in prompts_P]
        written: dict[tuple[int, int], Completion] = {}

        def ended(draw: Draw, drawn: Drawn) -> None:
            completion = written[draw.place] = completion_of(
                self.tokenizer,
                draw.prompt_ids,
                drawn.token_ids,
                drawn.logprobs,
                drawn.stop,
                self.adapter.version,
            )
            if on_completion:
                on_completion(*draw.place, completion)

        def draw(p: int, k: int) -> Draw:
            return Draw(
                place=(p, k),
                prompt_ids=ids_P[p],
                temperature=sampling.temperature,
                max_new_tokens=sampling.max_new_tokens,
                seed=draw_seed(sampling.seed, p, k),
                stop_ids=self.stop_ids,
                vocabulary=self.vocabulary,
            )

        draws = [[draw(p, k) for k in range(sampling.samples)] for p in range(len(ids_P))]
        await self.replicas.draw(self.adapter, draws, ended)
        return [[written[p, k] for k in range(sampling.samples)] for p in range(len(ids_P))]
