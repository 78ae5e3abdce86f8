"""Door to `llm-as-judge monitor`: same options, same function."""

import sys

from llm_as_judge.cli import main

if __name__ == "__main__":
    main(["monitor", *sys.argv[1:]])
