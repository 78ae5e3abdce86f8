"""Door to `llm-as-judge data process`: same options, same function."""

from door import open_door

if __name__ == "__main__":
    open_door("data", "process")
