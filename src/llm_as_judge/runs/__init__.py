"""What a run leaves on disk: log, journal, lock, and their reader."""
