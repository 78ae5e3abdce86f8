"""Door to `llm-as-judge evaluate`: same options, same function."""

import sys

from llm_as_judge.cli import main

if __name__ == "__main__":
    main(["evaluate", *sys.argv[1:]])
