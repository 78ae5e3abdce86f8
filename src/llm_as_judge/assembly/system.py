"""The workbench with a policy: what training, evaluation and serving need."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_as_judge.assembly.documents import library_facts
from llm_as_judge.assembly.executor_settings import operator_settings
from llm_as_judge.assembly.models import load_policy_of, model_weights
from llm_as_judge.assembly.policy_prompt import policy_prompt
from llm_as_judge.assembly.trained_prompt import under_trained_prompt
from llm_as_judge.assembly.workbench import Workbench, open_workbench
from llm_as_judge.config import Config, find_model
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.files import file_sha256
from llm_as_judge.interruptible import in_thread
from llm_as_judge.operators import operator_facts
from llm_as_judge.plugins import plugin_facts
from llm_as_judge.policy.backends import SamplerPlace, sampler_backend
from llm_as_judge.policy.chat_template import prompt_ids
from llm_as_judge.policy.checkpoint import EXPERIENCE
from llm_as_judge.policy.launched import launched
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.reward import RewardOptions
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.training.options import TrainingContext
from llm_as_judge.types import PolicySampler, to_json
from llm_as_judge.workflow.program import ProgramForm

if TYPE_CHECKING:
    from llm_as_judge.policy.memory import Memory


@dataclass(frozen=True, slots=True)
class System(TrainingContext):
    """A workbench with a policy: what training and evaluation need."""

    bench: Workbench

    def facts(self) -> dict[str, Any]:
        """What the run was made of, for run.json."""
        config = self.bench.config
        facts = {
            "versions": versions(),
            "platform": f"{platform.system()} {platform.machine()}",
            "policy": config.policy.name,
            "policy_dtype": str(self.policy.dtype).removeprefix("torch."),
            "policy_device": str(self.policy.device),
            "sampling_backend": config.sampling.backend,
            "executor": self.bench.executor.name,
            "judge": config.judge.label,
            "calls": config.calls.mode,
            "judge_fingerprint": self.judge.fingerprint,
            "isolation": to_json(self.work.isolation),
            "models": _hashes_of_models(config),
            "plugins": plugin_facts(),
            "own_operators": operator_facts(),
            **library_facts(config),
        }
        if self.memory is not None:
            facts["embedder"] = config.experience.embedder
            facts["experience_entries"] = len(self.memory.buffer)
        if config.data.train_file.is_file():
            facts["train_file_sha256"] = file_sha256(config.data.train_file)
        return facts


def _hashes_of_models(config: Config) -> dict[str, str | None]:
    others = (one.model for one in config.executors.values())
    used = {config.policy.name, config.executor.model, *others, config.judge.model}
    found = {name: find_model(name) for name in sorted(used)}
    return {name: entry.sha256 for name, entry in found.items() if entry}


def versions() -> dict[str, str]:
    """Of Python and the packages that decide numbers."""
    names = ("llm-as-judge", "torch", "transformers", "peft", "openvino-genai", "math-verify")
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in names},
    }


@asynccontextmanager
async def open_system(
    config: Config, adapter: Path | None = None, *, training: bool = False
) -> AsyncIterator[System]:
    """A workbench and the policy.

    Args:
        adapter: checkpoint folder, whose policy keeps the prompt that it was trained under; None = a fresh
            adapter, equal to the base model.
        training: the system may learn: a run without a checkpoint begins with the experience that
            earlier runs left. An evaluation sees none but its checkpoint's.
    """
    config = under_trained_prompt(config, adapter)
    backend = sampler_backend(config.sampling)
    if training:
        require_draws(config)
    async with open_workbench(config) as bench:  # first: what it lacks is found out in a moment
        memory = await in_thread(open_memory, config, adapter, training=training)
        policy = await in_thread(load_policy_of, config, adapter, launched())
        from llm_as_judge.policy.thread import PolicyThread

        on_policy = PolicyThread(policy.base)
        prompt = policy_prompt(
            config,
            memory=memory,
            count_tokens=lambda messages: len(prompt_ids(policy.tokenizer, messages)),
            context_tokens=policy.context_tokens,
        )
        place = SamplerPlace(policy, on_policy, config.sampling, adapters_folder(config))
        async with AsyncExitStack() as stack:
            stack.callback(on_policy.close)
            sampler = await stack.enter_async_context(backend.open(place))
            runner = rollout_runner(bench, prompt, sampler, config.sampling.form)
            opened = (policy, prompt, sampler, runner, on_policy, memory)
            yield System(*opened, bench.ledger, bench.judge, bench.work, bench)


def adapters_folder(config: Config) -> Path:
    """Where adapters for a server are written."""
    return config.sampling.adapters or config.output.cache_dir() / "adapters"


def require_draws(config: Config) -> None:
    """
    Raises:
        ConfigError: several runs of a program are wanted, and all would be the same.
    """
    runs = config.workflow.draws
    if runs > 1 and operator_settings(config).temperature == 0:
        raise ConfigError(
            f"workflow.draws: {runs} runs of one program with a greedy executor are all the same; "
            "set executor.temperature above 0"
        )


def rollout_runner(
    bench: Workbench,
    prompt: PolicyPrompt,
    sampler: PolicySampler,
    form: ProgramForm | None = None,
) -> RolloutRunner:
    """Rollouts on this workbench, whoever writes the programs: ``workflow.draws`` runs of each.

    Args:
        form: in which they are written; None = each in the form that it is in.
    """
    return RolloutRunner(
        bench.environment(form, runs=bench.config.workflow.draws),
        sampler,
        prompt,
        RewardOptions(**bench.config.reward.model_dump()),
        timeout_s=bench.config.workflow.rollout_timeout_s,
    )


def open_memory(
    config: Config, adapter: Path | None = None, *, training: bool = False
) -> Memory | None:
    """The experience buffer, if the configuration has one: a checkpoint's own where it holds one,
    else, in training, that of ``experience.folder``, else none: an untrained policy that is
    evaluated after a training run must not be shown what that run found.

    Raises:
        ModelError: the embedder's weights cannot be had.
        ConfigError: entries of another program form.
    """
    experience = config.experience
    saved = adapter / EXPERIENCE if adapter and (adapter / EXPERIENCE).is_dir() else None
    if not experience.enabled or (saved is None and not training):
        return None
    # Imported here: torch, and the sentence model, only where the buffer is used.
    from llm_as_judge.policy.embed import SentenceEmbedder
    from llm_as_judge.policy.experience import ExperienceBuffer
    from llm_as_judge.policy.memory import Memory

    name = experience.embedder
    try:
        embedder = SentenceEmbedder(model_weights(config, name, "experience.embedder"), name)
    except ModelError as error:
        raise ModelError(
            f"experience.embedder: {error}; or go without examples of earlier steps: "
            "--set experience.enabled=false"
        ) from None
    return Memory(
        ExperienceBuffer(threshold=experience.reward_threshold, size=experience.buffer_size),
        embedder,
        form=config.sampling.form,
        folder=experience.folder or config.data.data_dir / "experience_buffer",
        start=saved,
        top_k=experience.top_k,
        example_chars=experience.example_chars,
    )
