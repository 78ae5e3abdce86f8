"""Door to recipes/by_domain.py: python analyze_by_domain.py logs/train_*.log"""

from scripts.door import open_recipe

if __name__ == "__main__":
    open_recipe("by_domain")
