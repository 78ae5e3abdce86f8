"""Views for people: the screen, the page of a run, advice."""
