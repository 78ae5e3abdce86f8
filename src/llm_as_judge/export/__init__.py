"""Exports of a run: its best programs as files, and the card of its merged model."""
