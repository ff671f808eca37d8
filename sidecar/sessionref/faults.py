"""An exception as the log tells it: what kind and where, and never what it says.

What an exception of ours says may quote what was read when it was raised, and a log line never
holds transcript text (contract, section 6). The one exception is what the system says of a file.
"""

import traceback
from collections.abc import Iterator


def told(error: BaseException) -> str:
    """The lines of a traceback without messages; what led to the error comes first."""
    return "\n".join(_lines(error, set()))


def _lines(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen:
        yield from _lines(before, seen)
        yield "which led to"
    yield "Traceback (most recent call last):"
    for frame in traceback.format_tb(error.__traceback__):
        yield frame.rstrip("\n")
    yield _kind(error)
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _lines(part, seen)


def _kind(error: BaseException) -> str:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{kind}: {error.strerror}"
    return kind
