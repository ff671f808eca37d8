"""Generation 1: the layout of late v0 under a number of its own."""

from typing import Final

from sessionref.sessions.generations.v0 import V0

V1: Final = V0.followed_by()
