"""The configuration files as documented, values and all, are read as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from dotenv import load_dotenv

from llm_as_judge.config import load_config, load_endpoints, load_models
from llm_as_judge.llm.connection import asked_directly
from llm_as_judge.llm.weights import installed

TRAINING = """\
model_name: "Qwen/Qwen2.5-7B-Instruct"
aflow_executor_model: "gpt-oss-120b"
lora_rank: 64
lora_alpha: 64
rollout_batch_size: 4
num_return_sequences_in_group: 6
ppo_epochs: 1
learning_rate: 5e-6
max_steps: 500
temperature: 0.3
physical_gpus: [0]
train_dataset: "data/mixed/train_mixed.jsonl"
val_dataset: "data/mixed/val_mixed.jsonl"
experience_buffer:
  reward_threshold: 8.0
  buffer_size: 100
  top_k: 3
  similarity_metric: cosine
"""
AFLOW_LLM = """\
models:
  "gpt-oss-120b":
    api_type: "openai"
    base_url: "http://localhost:8002/v1"
    api_key: "sk-dummy"
    model_name: "{model_name}"
    temperature: 0
    top_p: 1
    no_proxy: "localhost,127.0.0.1"
"""
MODELS = """\
models:
  qwen25-7b:
    format: safetensors
    sources:
      - path: ${QWEN_MODEL_PATH}
      - hub: Qwen/Qwen2.5-7B-Instruct
  mine:
    format: safetensors
    sources: [{path: /data/my-model}]
"""
ENV = """\
OPENAI_API_KEY=sk-dummy
OPENAI_BASE_URL=http://localhost:8002/v1
WANDB_API_KEY=
WANDB_PROJECT=llm-as-judge
QWEN_MODEL_PATH={weights}
GPT_OSS_MODEL_PATH=
CUDA_VISIBLE_DEVICES=0
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without variables of one's own."""
    monkeypatch.chdir(tmp_path)
    for line in ENV.splitlines():
        monkeypatch.setenv(line.partition("=")[0], "")  # recorded, so that it is taken back
        monkeypatch.delenv(line.partition("=")[0])
    (tmp_path / "config").mkdir()
    return tmp_path


@pytest.mark.parametrize("key", ["model_name", "strategy_model"])
@pytest.mark.parametrize("policy", ["qwen25-7b", "Qwen/Qwen2.5-7B-Instruct"])
def test_training_yaml(place: Path, key: str, policy: str) -> None:
    text = TRAINING.replace("model_name", key).replace("Qwen/Qwen2.5-7B-Instruct", policy)
    (place / "config" / "training.yaml").write_text(text)
    config = load_config("config/training.yaml")
    assert (config.policy.name, config.executor.model) == ("qwen25-7b", "gpt-oss-120b")
    assert (config.policy.lora_rank, config.policy.lora_alpha) == (64, 64)
    assert config.policy.device == "cuda:0"
    training = config.training
    assert (training.problems_per_step, training.samples_per_problem) == (4, 6)
    assert (training.epochs_per_step, training.steps) == (1, 500)
    assert (training.learning_rate, config.sampling.temperature) == (5e-6, 0.3)
    files = (config.data.train_file, config.data.val_file)
    assert files == (Path("data/mixed/train_mixed.jsonl"), Path("data/mixed/val_mixed.jsonl"))
    experience = config.experience
    assert (experience.reward_threshold, experience.buffer_size) == (8.0, 100)
    assert (experience.top_k, experience.similarity_metric) == (3, "cosine")


@pytest.mark.parametrize("served", ["gpt-oss-120b", "openai/gpt-oss-120b"])
def test_aflow_llm_yaml(place: Path, served: str) -> None:
    (place / "config" / "aflow_llm.yaml").write_text(AFLOW_LLM.format(model_name=served))
    endpoint = load_endpoints()["gpt-oss-120b"]
    assert (endpoint.base_url, endpoint.model_name) == ("http://localhost:8002/v1", served)
    assert (endpoint.temperature, endpoint.top_p) == (0.0, 1.0)
    assert endpoint.api_key.get_secret_value() == "sk-dummy"
    assert asked_directly(endpoint.base_url, endpoint.no_proxy)
    for name in ("gpt-oss-120b", "openai/gpt-oss-120b"):
        config = load_config(overrides=[f"executor.model={name}", f"judge.model={name}"])
        assert (config.executor.model, config.judge.model) == ("gpt-oss-120b", "gpt-oss-120b")


def test_models_yaml(place: Path) -> None:
    (place / "config" / "models.yaml").write_text(MODELS)
    entries = load_models(Path("config/models.yaml"))
    assert [source.hub for source in entries["qwen25-7b"].sources] == ["Qwen/Qwen2.5-7B-Instruct"]
    assert entries["mine"].sources[0].path == Path("/data/my-model")


def test_env(place: Path, tiny_encoder: Path) -> None:
    (place / ".env").write_text(ENV.format(weights=tiny_encoder))
    load_dotenv(Path(".env"))
    endpoint = load_endpoints()["gpt-oss-120b"]
    assert endpoint.base_url == "http://localhost:8002/v1"
    assert endpoint.api_key.get_secret_value() == "sk-dummy"
    assert installed(load_models()["qwen25-7b"], place) == tiny_encoder
    assert load_config(model=str(tiny_encoder)).policy.name == str(tiny_encoder)
