"""Search for the best fixed program, over a bank of what programs do on problems.

programs.py    the programs that take part: shipped, given, drawn
choices.py     the best program for a domain or a set; in-sample and cross-validated
halving.py     poor programs get few runs
run.py         all of it for one configuration, and its files
"""
