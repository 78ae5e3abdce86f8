"""``python -m llm_as_judge`` is ``llm-as-judge``."""

from llm_as_judge.cli import main

if __name__ == "__main__":
    main()
