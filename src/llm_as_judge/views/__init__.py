"""What people look at: the screen, the page of a run, advice."""
