"""The replies of a pool without what was asked: what can be shared when its rows may not be.

    python recipes/pool_without_prompts.py logs/calls OUT

Writes OUT/pool.sqlite. Who has the rows asks the same and gets the replies: `--set calls.mode=replay --set
calls.folder=OUT`, or a copy of it as the folder of `calls.mode: cache`, which goes on with it. Each reply is compressed
against its prompt: without the prompt it cannot be read, and what it repeats of a row is not in the file.
"""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.errors import ConfigError
from llm_as_judge.llm.pool import POOL, is_pool
from llm_as_judge.llm.pool_sharing import copy_without_prompts
from recipe import parser_of, run


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("pool", type=Path, help="folder of a pool: calls.folder of the runs")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if not is_pool(arguments.pool):
        raise ConfigError(f"{arguments.pool}: no {POOL} in it; run: llm-as-judge pool fill")
    count = copy_without_prompts(arguments.pool, arguments.out)
    size = (arguments.out / POOL).stat().st_size
    print(f"{count} replies without prompts in {arguments.out / POOL}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    run(main)
