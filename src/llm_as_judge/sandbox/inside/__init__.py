"""The side of the sandbox that shares a process with untrusted code.

These modules run under a bare interpreter (no site packages) and import the standard library
alone: nothing else of this project is ever loaded beside a program. Whatever they say about
themselves is not believed: the host checks every frame.
"""
