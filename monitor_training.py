"""Door to `llm-as-judge monitor`: same options, same function."""

from scripts.door import open_door

if __name__ == "__main__":
    open_door("monitor")
