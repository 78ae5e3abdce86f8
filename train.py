"""Door to `llm-as-judge train`: same options, same function."""

from scripts.door import open_door

if __name__ == "__main__":
    open_door("train")
