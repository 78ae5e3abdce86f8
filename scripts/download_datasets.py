"""Door to `llm-as-judge download`: same options, same function."""

import sys

from llm_as_judge.cli import main

if __name__ == "__main__":
    main(["download", *sys.argv[1:]])
