"""Grading by rules: exact where it can be, undecided where it cannot."""
