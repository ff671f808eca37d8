"""Settings together: the stricter value wins, whoever gave it."""

import pytest

from sessionref.config import Settings


@pytest.mark.parametrize(
    ("window", "budget"),
    [
        (None, 65_536),
        (1, 65_536),
        (81_920, 65_536),
        (81_921, 65_536),
        (81_922, 65_537),
        (128_000, 102_400),
        (1_000_003, 800_002),
        (2**53 - 1, 7_205_759_403_792_792),
    ],
)
def test_the_budget_is_a_fifth_of_the_context_but_never_below_the_default(
    window: int | None, budget: int
) -> None:
    assert Settings(context_window=window).reference_bytes == budget


def test_a_budget_that_is_given_is_the_budget() -> None:
    assert Settings(max_reference_bytes=500, context_window=10**6).reference_bytes == 500
    assert Settings(max_reference_bytes=10**7, context_window=10**6).reference_bytes == 10**7


@pytest.mark.parametrize(
    ("ceiling", "request_", "window", "omissions"),
    [
        (Settings(), Settings(context_window=9, omissions=True), 9, True),
        (Settings(context_window=9, omissions=True), Settings(), 9, True),
        (Settings(context_window=9), Settings(context_window=8), 8, None),
        (Settings(context_window=8), Settings(context_window=9), 8, None),
        (Settings(omissions=False), Settings(omissions=True), None, False),
        (Settings(omissions=True), Settings(omissions=False), None, False),
    ],
)
def test_a_request_can_only_be_stricter(
    ceiling: Settings, request_: Settings, window: int | None, omissions: bool | None
) -> None:
    together = ceiling.stricter(request_)
    assert (together.context_window, together.omissions) == (window, omissions)
