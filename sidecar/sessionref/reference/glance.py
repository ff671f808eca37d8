"""What a person sees of a session before referring to it.

Pure. Takes what a snapshot would be made of, so that both say the same. How it is worded, and what
must be escaped where it is shown, is the concern of who shows it. Source: issue "`@` completion in
every editor", 2.
"""

from collections.abc import Sequence

import msgspec

from sessionref.sessions.model import Degraded, Reading
from sessionref_protocol.ecmascript import utf8_length
from sessionref_protocol.errors import RpcError

from .projection import Item, project
from .references import Wanted
from .retention import Stats
from .snapshot import take


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """One session at this moment."""

    title: str
    """What people call it: a sub-agent's name, else its title, else its id."""
    cwd: str | None
    created_at: int
    """Milliseconds since the epoch, as `last_activity_at`."""
    last_activity_at: int | None
    messages: int
    """That a snapshot could quote."""
    exchange: tuple[Item, ...]
    """The last thing that a person said, and the last that was answered; one or none of them
    where there is no more."""
    kept: Stats | None
    """What a snapshot would keep; None where there can be none."""
    size: int
    """UTF-8 bytes of that snapshot."""
    degraded: Degraded | None


def glance(reading: Reading, max_bytes: int) -> Glance:
    """What is to be seen of one reading, with the budget that a snapshot would have."""
    header, items = reading.header, project(reading.nodes)
    title = reading.name or reading.title or header.id
    kept, size = _prospect(Wanted(header.id, title, 0), reading, max_bytes)
    return Glance(
        title=title,
        cwd=header.cwd,
        created_at=header.created_at,
        last_activity_at=reading.last_activity_at,
        messages=len(items),
        exchange=_last_exchange(items),
        kept=kept,
        size=size,
        degraded=reading.degraded,
    )


def _prospect(wanted: Wanted, reading: Reading, max_bytes: int) -> tuple[Stats | None, int]:
    try:
        snapshot = take(wanted, reading, max_bytes)
    except RpcError:
        return None, 0
    return snapshot.stats, utf8_length(snapshot.json)


def _last_exchange(items: Sequence[Item]) -> tuple[Item, ...]:
    asked = [at for at, item in enumerate(items) if item.role == "user" and not item.checkpoint]
    if not asked:
        return tuple(items[-1:])
    answers = [item for item in items[asked[-1] :] if item.role == "assistant"]
    return (items[asked[-1]], *answers[-1:])
