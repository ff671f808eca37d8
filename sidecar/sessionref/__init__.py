"""sessionref: refer from one agent session to another. See the README for the map of the code."""

from typing import Final

__version__: Final = "0.1.0"
__all__ = ["__version__"]
