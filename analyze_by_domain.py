"""Door to `llm-as-judge report --by-domain`: python analyze_by_domain.py logs/train_*.log"""

from scripts.door import open_door

if __name__ == "__main__":
    open_door("report", "--by-domain")
