"""Logs, places and files that somebody made to harm, held against the spawned program."""
