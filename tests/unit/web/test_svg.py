"""Scales and ticks."""

from __future__ import annotations

import pytest

from labenv.web.svg import Scale, element, line_path, nice_ticks, number_text, step_path, text


def test_a_scale_maps_ends_to_ends() -> None:
    scale = Scale(10.0, 20.0, 100.0, 300.0)
    assert [scale(10.0), scale(15.0), scale(20.0)] == [100.0, 200.0, 300.0]


def test_a_root_scale_spreads_the_small() -> None:
    scale = Scale(0.0, 100.0, 0.0, 10.0, kind="root")
    assert scale(25.0) == pytest.approx(5.0)
    assert scale(-3.0) == 0.0


def test_a_scale_without_extent_does_not_divide_by_zero() -> None:
    assert Scale(5.0, 5.0, 0.0, 10.0)(5.0) == 0.0


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (3.0, 47.0, [10.0, 20.0, 30.0, 40.0]),
        (-0.2, 0.3, [-0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        (5.0, 5.0, [5.0]),
    ],
)
def test_ticks_are_round_and_inside(low: float, high: float, ticks: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(ticks)


def test_numbers_on_axes_are_short() -> None:
    assert [number_text(v) for v in (0.5, 1200.0, 12_000.0)] == ["0.5", "1200", "12 k"]


def test_markup_is_escaped() -> None:
    assert text(1, 2, "<&>") == '<text x="1" y="2" text-anchor="start">&lt;&amp;&gt;</text>'
    assert element("a", title='"x"', none=None) == '<a title="&quot;x&quot;"/>'


def test_paths() -> None:
    assert line_path([0.0, 1.0], [2.0, 3.0]) == "M0.0,2.0L1.0,3.0"
    assert step_path([0.0, 1.0], [2.0, 3.0], 5.0) == "M0.0,2.0H1.0V3.0H5.0"


def test_a_purity_scale_spreads_what_is_nearly_pure() -> None:
    scale = Scale(0.0, 1.0, 0.0, 1.0, kind="purity")
    assert [scale(0.0), scale(1.0)] == pytest.approx([0.0, 1.0])
    assert scale(0.99) - scale(0.9) == pytest.approx(scale(0.9) - scale(0.0), rel=0.1)
