"""A dry run's words about the policy: where its weights are, what they take, and what was not checked."""

from __future__ import annotations

from llm_as_judge.config import Config, known_model
from llm_as_judge.errors import ModelError

NOT_CHECKED = (
    "not checked: whether endpoints answer, whether the weights load and fit into the memory of the device, and "
    "what the sandbox isolates"
)


def policy_lines(settings: Config) -> list[str]:
    """Where the weights of the policy are or come from, and the memory that they and the adapter take."""
    from llm_as_judge.training.memory import listed_line, memory_line, tensor_shapes

    policy, said = known_model(settings.policy.name, "policy.name"), _availability(settings)
    cache, one = settings.output.cache_dir(), settings.policy
    shapes = {} if said.startswith("cannot") else tensor_shapes(policy, cache)
    memory = memory_line(shapes, one.lora_rank, one.lora_targets) if shapes else listed_line(policy)
    return [f"policy    {policy.name}: {said}", *([f"memory    {memory}"] if memory else [])]


def require_policy(settings: Config) -> None:
    """Refuses a base model that cannot be had, and a device that is not there."""
    said = _availability(settings)
    if said.startswith("cannot"):
        raise ModelError(f"policy.name: {settings.policy.name} {said}")
    if settings.policy.device not in ("auto", "cpu"):
        # Imported here: torch takes seconds, and no other check of a dry run wants it.
        from llm_as_judge.policy.model import pick_device

        pick_device(settings.policy.device)


def _availability(settings: Config) -> str:
    from llm_as_judge.llm.weights import availability

    policy = known_model(settings.policy.name, "policy.name")
    return availability(policy, settings.output.cache_dir())
