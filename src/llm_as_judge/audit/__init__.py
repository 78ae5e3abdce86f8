"""Audit of a judge before it may reward: attacks, bars, canaries, drift."""
