"""Cutting bytes where the bytes themselves say, so that an input is all there is to a run."""


def cut(data: bytes, places: bytes) -> list[bytes]:
    """`data` in pieces, one more than there are `places`; some may be empty."""
    at = sorted(place * len(data) // 255 for place in places)
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]
