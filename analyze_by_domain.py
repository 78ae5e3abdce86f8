"""Door to `llm-as-judge analyze`: python analyze_by_domain.py logs/train_*.log"""

import sys

from llm_as_judge.cli import main

if __name__ == "__main__":
    main(["analyze", *sys.argv[1:]])
