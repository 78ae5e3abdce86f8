"""Data sets: upstream rows -> ``Problem``, split, mix, sampler.

catalog   which sets there are, their files, hub records, licenses
rows      upstream files -> raw records with their place (file:line)
sources   raw record -> Problem: mathematics, question answering, multiple choice, custom
code      raw record -> Problem: HumanEval, MBPP
files     unified JSONL <-> Problem
duplicates, split, mix    pure: groups, 5:1, shares
download, process         the two steps a user runs
sampler                   what training reads
"""
