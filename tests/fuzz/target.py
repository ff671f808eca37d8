"""What a fuzzer is: a check of any bytes, and what helps to find bytes worth checking."""

from collections.abc import Callable
from typing import NamedTuple


class Target(NamedTuple):
    """One fuzzer. A check that returns has found nothing; whatever it raises is a finding."""

    name: str
    check: Callable[[bytes], None]
    tokens: tuple[bytes, ...] = ()
    """What inputs are likely to hold."""
    mutate: Callable[[bytes, int], bytes] | None = None
    """An input made of another and a seed of randomness, where flipping bytes leads nowhere."""
