"""Ages and sizes as people say them. A pure leaf."""

from typing import Final

_UNITS: Final = (
    ("year", 365 * 86_400),
    ("month", 30 * 86_400),
    ("week", 7 * 86_400),
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
)

_SIZES: Final = ("KB", "MB", "GB")


def age_in_words(seconds: float) -> str:
    """How long ago something was, as people say it: the largest unit that fits, rounded down."""
    for unit, length in _UNITS:
        number = int(seconds // length)
        if number > 0:
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now" if seconds >= 0 else "in the future"


def size_in_words(size: int) -> str:
    """A number of bytes as people say it: 1 KB is 1000 bytes."""
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    number = float(size)
    for unit in _SIZES:
        number /= 1000
        if number < 999.95 or unit == _SIZES[-1]:
            break
    return f"{number:.1f} {unit}"
