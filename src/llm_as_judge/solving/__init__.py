"""One problem at a time: who writes its program, and every stage shown."""
