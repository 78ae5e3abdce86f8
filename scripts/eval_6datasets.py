"""Door to `llm-as-judge evaluate`: same options, same function."""

from door import open_door

if __name__ == "__main__":
    open_door("evaluate")
