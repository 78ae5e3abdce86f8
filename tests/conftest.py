"""A real policy of a few thousand weights, so that every part is tested for real in seconds.

Its weights are files in ``weights/``, made once by ``weights/fit.py``: no test depends on how a fit
ends on the processor that runs it.
"""

from __future__ import annotations

import asyncio
import fcntl
import functools
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
import torch
from coverage import Coverage
from fit import policy_shape
from httpx._transports import default
from hypothesis import HealthCheck, is_hypothesis_test, settings
from safetensors.torch import load_file
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    Qwen2ForCausalLM,
)

import llm_as_judge.views.console  # noqa: F401 (a console that is made later keeps the width of one test)
from llm_as_judge.assembly.judge_gate import require_audit
from llm_as_judge.config import Config
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import datasets
from restored import restored

# A busy machine draws examples slowly, and is no reason to fail: no clock decides a test. Nor does chance:
# the same code meets the same examples; `make fuzz` draws new ones.
_NO_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeated", _NO_CLOCK, derandomize=True)
settings.register_profile("drawn", _NO_CLOCK, derandomize=False)
settings.load_profile("repeated")

# What verbs print is as wide wherever the tests run: before the first console is made.
os.environ["COLUMNS"] = "80"
os.environ.pop("LINES", None)

# Clients of HTTP that speak to this machine alone: each would read all certificates for a twentieth of a second.
default.create_ssl_context = functools.cache(default.create_ssl_context)  # type: ignore[attr-defined]

# Tiny matrices: a second thread costs more than it gives, and on a busy machine far more.
torch.set_num_threads(1)

WEIGHTS = Path(__file__).parent / "weights"


def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: many tests wait for a clock or a process."""
    return (os.cpu_count() or 1) + 1


LONGEST = (
    "test_typed_commands.py",
    "test_trainer.py",
    "test_sandbox_grading.py",
    "test_warm_start.py",
    "test_plain_scripts.py",
    "test_extend_example.py",
    "test_own_task_page.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: one that begins last would leave the other processes idle."""
    place = {name: n for n, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


WATCHED_CHILDREN = "COVERAGE_PROCESS_CONFIG"
watching = Coverage.current() if "PYTEST_XDIST_WORKER" in os.environ else None
"""Coverage of this process. Where all tests run in one it watches them all: it warns of a second start."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Coverage watches the fast tests of named examples: they reach the lines.

    Whole runs and hundreds of drawn examples take most of the time, and would take twice as much.
    """
    if watching is None:
        return
    slow = item.get_closest_marker("slow") is not None
    wanted = not slow and not is_hypothesis_test(getattr(item, "function", None))
    if wanted and Coverage.current() is None:
        watching.start()
    elif not wanted and Coverage.current() is watching:
        watching.stop()
        os.environ.pop(WATCHED_CHILDREN, None)  # `start` sets it


@pytest.fixture(scope="session")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the shipped rules' audit, made once for all processes that test side by side."""
    own = tmp_path_factory.getbasetemp()
    results = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "audited"
    results.mkdir(exist_ok=True)
    with (results / "one_at_a_time").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        settings = {"judge": {"model": "none"}, "output": {"results": results}}
        asyncio.run(require_audit(Config.model_validate(settings)))
    return results / "audit"


@pytest.fixture
def audited(tmp_path: Path, audits: Path) -> None:
    """``results/audit`` of the test's folder holds what other runs left."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "audit").symlink_to(audits)


def _policy(name: str, folder: Path) -> Path:
    """A folder as a hub gives it, of the fixed weights ``weights/name.safetensors``."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(WEIGHTS / "tokenizer")
    model = Qwen2ForCausalLM(policy_shape(tokenizer))
    model.load_state_dict(load_file(WEIGHTS / f"{name}.safetensors"))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny policy: about half of what it writes are valid programs, as an update needs."""
    return _policy("tiny", tmp_path_factory.mktemp("tiny_policy"))


@pytest.fixture(scope="session")
def fluent_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny policy, fitted on to one program: nearly all of what it writes runs."""
    return _policy("fluent", tmp_path_factory.mktemp("fluent_policy"))


@pytest.fixture
def no_new_sets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Data sets that a test adds are not known after it."""
    before = dict(datasets._known)
    monkeypatch.setattr(datasets, "_by_any_name", dict(datasets._by_any_name))
    with restored(CATALOG):
        yield
    datasets._known.clear()
    datasets._known.update(before)


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Safetensors folder of a sentence model of random weights."""
    folder = tmp_path_factory.mktemp("tiny_encoder")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(WEIGHTS / "tokenizer")
    torch.manual_seed(0)
    BertModel(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            pad_token_id=tokenizer.pad_token_id,
        )
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rules() -> AsyncIterator[Judge]:
    """The judge without a model."""
    judge = Judge()
    yield judge
    await judge.aclose()
