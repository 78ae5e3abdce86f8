"""Length of the policy's prompt without its problem, by program form and prompt style.

    python benchmarks/prompt_tokens.py [--model qwen25-coder-0.5b]

Counted by the policy's own tokenizer, chat template included: the mean of 20 problems of a domain, which are shown
different rotating examples. The model itself is not loaded.
"""

from __future__ import annotations

import argparse
from statistics import fmean
from typing import Any

from transformers import AutoTokenizer

from llm_as_judge.assembly import model_weights, policy_prompt
from llm_as_judge.config import load_config
from llm_as_judge.policy.chat_template import prompt_ids
from llm_as_judge.policy.unpacking import unpack_gguf
from llm_as_judge.types import DOMAINS, Domain, Problem

STYLES = {
    "full": (),
    "short": (),
    "calls": (),
    "short, no examples": ("sampling.prompt_style=short", "sampling.examples=false"),
    "signatures": (),
    "signatures, a budget": ("sampling.prompt_style=signatures", "reward.scheme=priced"),
}
PROBLEMS = 20


def tokens(tokenizer: Any, overrides: tuple[str, ...], domain: Domain) -> float:
    prompt = policy_prompt(load_config("embedded", overrides=overrides))
    problems = [Problem(f"tokens/{n}", "custom", domain, "?") for n in range(PROBLEMS)]
    return fmean(len(prompt_ids(tokenizer, one.messages)) for one in prompt.write(problems))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="qwen25-coder-0.5b")
    weights = model_weights(load_config("embedded"), parser.parse_args().model, "--model")
    folder = unpack_gguf(weights) if weights.suffix == ".gguf" else weights
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    print(f"| form | style | {' | '.join(DOMAINS)} |\n|---|---|{'---:|' * len(DOMAINS)}")
    for form in ("body", "class"):
        for name, keys in STYLES.items():
            chosen = (f"sampling.form={form}", *(keys or (f"sampling.prompt_style={name}",)))
            counts = (f"{tokens(tokenizer, chosen, domain):.0f}" for domain in DOMAINS)
            print(f"| {form} | {name} | {' | '.join(counts)} |")


if __name__ == "__main__":
    main()
