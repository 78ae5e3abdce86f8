"""Door to `llm-as-judge process`: same options, same function."""

import sys

from llm_as_judge.cli import main

if __name__ == "__main__":
    main(["process", *sys.argv[1:]])
