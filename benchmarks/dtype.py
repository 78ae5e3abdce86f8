"""bfloat16 against float32 on this CPU: one matrix product of the 0.5B policy, as a ratio.

Anchor: float32. `policy.dtype: auto` takes bfloat16 on a CPU only if the processor multiplies in it.
"""

from __future__ import annotations

import time

import torch

ROWS = (1, 8, 32, 256)
SHAPE = (4864, 896)
"""Up-projection of Qwen2.5-0.5B: (intermediate, hidden)."""


def seconds(dtype: torch.dtype, rows: int, repeats: int = 20) -> float:
    weight, x = torch.randn(SHAPE, dtype=dtype), torch.randn(rows, SHAPE[1], dtype=dtype)
    torch.nn.functional.linear(x, weight)
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        torch.nn.functional.linear(x, weight)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    able = {
        k: v for k, v in torch.cpu.get_capabilities().items() if k in ("avx512_bf16", "amx_bf16")
    }
    print(f"bfloat16 products in hardware: {able}")
    for rows in ROWS:
        single, half = seconds(torch.float32, rows), seconds(torch.bfloat16, rows)
        print(
            f"{rows:4} rows: float32 {single * 1e3:7.2f} ms, bfloat16 {half * 1e3:7.2f} ms, "
            f"bfloat16 / float32 = {half / single:.2f}"
        )


if __name__ == "__main__":
    main()
