"""The judge: rules first, then a language model where they cannot decide."""
