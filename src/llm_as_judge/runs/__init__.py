"""Files of a run on disk: log, journal, lock, and their reader."""
