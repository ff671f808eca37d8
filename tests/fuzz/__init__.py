"""Fuzzers of all that reads bytes of others, each with an oracle of its own; see `__main__`."""
