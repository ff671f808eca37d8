"""What may differ between two generations of the log format, as a value.

A generation is described, never coded: readers look at these fields and at nothing else, so that
a new generation costs one small module beside this one. Source: the log format, sections 2 to 5.
"""

import msgspec


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one generation, as far as a snapshot depends on them."""

    number: int
    packed_rows: bool
    """Stream deltas are packed into rows that stand for many events."""
    surface_types: frozenset[str]
    """The event types that live on the surface; they must say how, and others must not."""
    log_types: frozenset[str]
    """The other event types known so far. Any other type is counted as unknown."""
    empty_citations: bool
    """An assistant message may carry an empty list of citations."""
    system_first: bool
    """A system message that opens the surface can only be replaced by one like it."""
    understood: bool = True
    """False for a generation newer than we know, which is read as well as we can."""

    def followed_by(
        self,
        *,
        packed_rows: bool | None = None,
        surface_types: tuple[str, ...] = (),
        log_types: tuple[str, ...] = (),
        empty_citations: bool | None = None,
        system_first: bool | None = None,
    ) -> "Generation":
        """The next generation: this one, with what changed and the event types that came."""
        return Generation(
            number=self.number + 1,
            packed_rows=self.packed_rows if packed_rows is None else packed_rows,
            surface_types=self.surface_types.union(surface_types),
            log_types=self.log_types.union(log_types),
            empty_citations=self.empty_citations if empty_citations is None else empty_citations,
            system_first=self.system_first if system_first is None else system_first,
        )

    def stretched_to(self, number: int) -> "Generation":
        """These rules as the best guess for a newer generation of which nothing is known."""
        return msgspec.structs.replace(self, number=number, understood=False)
