"""Embeddings: mean over a text's own tokens, unit length, the batch does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from llm_as_judge.config import OutputConfig, load_models
from llm_as_judge.errors import ModelError
from llm_as_judge.llm.weights import installed
from llm_as_judge.policy.embed import MAX_TOKENS, SentenceEmbedder

TEXTS = ["r = await custom", "the answer is 4 and more than that", "x"]


@pytest.fixture(scope="module")
def embedder(tiny_encoder: Path) -> SentenceEmbedder:
    return SentenceEmbedder(tiny_encoder, "tiny")


def test_vectors_are_normalized_means_of_the_last_layer(
    tiny_encoder: Path, embedder: SentenceEmbedder
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    model = AutoModel.from_pretrained(tiny_encoder).eval()
    for text, vector in zip(TEXTS, embedder.embed(TEXTS), strict=True):
        with torch.no_grad():  # alone: without padding, so without a mask
            mean = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        assert vector == pytest.approx((mean / mean.norm()).tolist(), abs=1e-5)
        assert sum(x * x for x in vector) == pytest.approx(1.0, abs=1e-5)
    assert embedder.dimensions == len(vector)


def test_known_texts_and_repeats_give_the_same_vectors(embedder: SentenceEmbedder) -> None:
    first, second = embedder.embed(["p", "q"])
    assert embedder.embed(["q", "p", "q"]) == [second, first, second]
    assert embedder.embed([]) == []


def test_what_follows_the_longest_text_is_not_seen(embedder: SentenceEmbedder) -> None:
    long = "4 " * MAX_TOKENS
    one, two = embedder.embed([long + "x", long + "y"])
    assert one == pytest.approx(two, abs=1e-6)


@pytest.mark.slow
def test_all_minilm_gives_the_similarities_that_its_authors_publish() -> None:
    weights = installed(load_models()["all-minilm-l6-v2"], OutputConfig().cache_dir())
    if weights is None:
        pytest.skip("all-minilm-l6-v2 is not on this machine")
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = torch.tensor(SentenceEmbedder(weights, "all-minilm-l6-v2").embed(texts))
    # https://sbert.net/docs/quickstart.html
    wanted = torch.tensor([[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]])
    assert torch.allclose(vectors @ vectors.T, wanted, atol=2e-4)


def test_a_folder_without_a_model_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no sentence model can be loaded") as raised:
        SentenceEmbedder(tmp_path, "none")
    assert "\n" not in str(raised.value)
