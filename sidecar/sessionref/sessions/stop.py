"""How blocking work learns that nobody waits for it any more."""


class StoppedError(Exception):
    """Nobody waits for this work any more. Raised inside the work, never to its caller."""


class Stop:
    """Tells a piece of blocking work that nobody waits for it any more."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Nobody waits from now on."""
        self._is_set = True

    @property
    def is_set(self) -> bool:
        """Whether nobody waits any more."""
        return self._is_set

    def check(self) -> None:
        """To be called at every step of the work: ends what nobody waits for."""
        if self._is_set:
            raise StoppedError
