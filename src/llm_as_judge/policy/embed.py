"""Sentence embeddings with transformers: mean of the last layer, unit length.

This is what the sentence-transformers library computes for all-MiniLM-L6-v2 (transformer, mean
pooling over the mask, normalization), without that library as one more dependency.
Source: Reimers and Gurevych, "Sentence-BERT" (arXiv:1908.10084).
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from llm_as_judge.errors import ModelError

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()

MAX_TOKENS = 256
"""Of a text; what follows is not seen. all-MiniLM-L6-v2 was trained on no more."""
_BATCH = 32
_KEPT = 4096


class SentenceEmbedder:
    """An ``Embedder`` over a folder of safetensors weights."""

    def __init__(self, folder: Path, name: str) -> None:
        """
        Raises:
            ModelError: the folder holds no encoder that transformers can load.
        """
        self.name = name
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
            self._model: Any = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
            first = str(error).strip().splitlines()[0]
            raise ModelError(f"{folder}: no sentence model can be loaded: {first}") from None
        self.dimensions = int(self._model.config.hidden_size)
        self._known: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """(N, D); a text embedded lately is not computed again."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            for start in range(0, len(new), _BATCH):
                part = new[start : start + _BATCH]
                self._known.update(zip(part, self._computed(part), strict=True))
            vectors = [self._known[text] for text in texts]
            for text in texts:
                self._known.move_to_end(text)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return vectors

    @torch.inference_mode()
    def _computed(self, texts: list[str]) -> list[list[float]]:
        batch = self._tokenizer(
            texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        hidden_BTD = self._model(**batch).last_hidden_state
        mask_BT1 = batch["attention_mask"][..., None].to(hidden_BTD.dtype)
        mean_BD = (hidden_BTD * mask_BT1).sum(1) / mask_BT1.sum(1)
        vectors: list[list[float]] = torch.nn.functional.normalize(mean_BD, dim=1).tolist()
        return vectors
