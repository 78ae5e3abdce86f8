"""Door to `llm-as-judge train`: same options, same function."""

import sys

from llm_as_judge.cli import main

if __name__ == "__main__":
    main(["train", *sys.argv[1:]])
