"""Small parts of inline SVG charts: elements, scales, ticks, axes.

Colours and fonts are not here: every element carries a class, and the page's style sheet paints it,
for light and for dark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray


def element(name: str, *children: str, **attributes: object) -> str:
    """Return one SVG element.

    Args:
        name: Tag name.
        *children: Elements and text, already escaped.
        **attributes: Attributes; a trailing underscore is dropped (``class_``), other underscores
            become hyphens, and None leaves the attribute out.

    Returns:
        The markup.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not children:
        return f"<{name}{written}/>"
    return f"<{name}{written}>{''.join(children)}</{name}>"


Anchor = Literal["start", "middle", "end"]
_LETTER_PX = 6.8  # more than a character of the charts' 12 px text takes, so that boxes are safe


def text(x: float, y: float, content: str, class_: str = "", anchor: Anchor = "start") -> str:
    """Return a text element.

    Args:
        x: Position, px.
        y: Baseline, px.
        content: Plain text; escaped here.
        class_: Style class.
        anchor: ``start``, ``middle`` or ``end``.

    Returns:
        The markup.
    """
    return element("text", escape(content), x=x, y=y, class_=class_ or None, text_anchor=anchor)


def text_box(
    x: float, y: float, content: str, anchor: Anchor = "start"
) -> tuple[float, float, float, float]:
    """Return about where a text of 12 px lies.

    Args:
        x: Position, px.
        y: Baseline, px.
        content: The text.
        anchor: What of the text stands at `x`.

    Returns:
        Left, right, top and bottom edge, px.
    """
    width = _LETTER_PX * len(content)
    left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
    return left, left + width, y - 11.0, y + 3.0


def tooltip(content: str) -> str:
    """Return a title element, which browsers show on hover and screen readers read.

    Args:
        content: Plain text; escaped here.

    Returns:
        The markup.
    """
    return f"<title>{escape(content)}</title>"


_LEAST_IMPURITY = 0.002  # where a scale of purity turns from logarithmic to linear


@dataclass(frozen=True)
class Scale:
    """A map from data to pixels.

    Attributes:
        low: Data value at `start_px`.
        high: Data value at `end_px`.
        start_px: Pixel of `low`.
        end_px: Pixel of `high`.
        kind: What distances follow: the value; its square root, from zero up; or, for a purity, the
            logarithm of what is missing to 1, which spreads 0.9, 0.99 and 0.999 evenly.
    """

    low: float
    high: float
    start_px: float
    end_px: float
    kind: Literal["linear", "root", "purity"] = "linear"

    def __call__(self, value: float) -> float:
        """Return the pixel of a value.

        Args:
            value: In the data's unit.

        Returns:
            Position, px.
        """
        return float(self.many(np.array([value]))[0])

    def many(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the pixels of many values.

        Args:
            values: In the data's unit, shape (n,).

        Returns:
            Positions, px, shape (n,).
        """
        numbers = self._spread(np.asarray(values, dtype=np.float64))
        low, high = map(float, self._spread(np.array([self.low, self.high])))
        shares: NDArray[np.float64] = (numbers - low) / ((high - low) or 1.0)
        return self.start_px + shares * (self.end_px - self.start_px)

    def _spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        spread: NDArray[np.float64] = values
        if self.kind == "root":
            spread = np.sqrt(np.maximum(values, 0.0))
        elif self.kind == "purity":
            spread = -np.log10(np.maximum(1.0 - values, 0.0) + _LEAST_IMPURITY)
        return spread


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two limits.

    Args:
        low: Lower limit.
        high: Upper limit.
        most: About how many to give.

    Returns:
        Multiples of 1, 2 or 5 times a power of ten, within the limits.
    """
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    raw = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def number_text(value: float) -> str:
    """Return a number for an axis.

    Args:
        value: The number.

    Returns:
        Such as ``"0.5"``, ``"1200"`` or ``"12 k"``.
    """
    if abs(value) >= 1e4:
        return f"{value / 1e3:g} k"
    return f"{value:g}"


def line_path(x_px: Sequence[float] | NDArray[np.float64], y_px: ArrayLike) -> str:
    """Return the path data of a polyline.

    Args:
        x_px: Positions, px, shape (n,).
        y_px: Positions, px, shape (n,).

    Returns:
        The value of a path's ``d``.
    """
    pairs = zip(np.asarray(x_px, dtype=np.float64), np.asarray(y_px, dtype=np.float64), strict=True)
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def step_path(x_px: Sequence[float], y_px: Sequence[float], end_px: float) -> str:
    """Return the path data of a staircase that keeps each value until the next.

    Args:
        x_px: Where each value begins, px.
        y_px: The values, px.
        end_px: Where the last one ends, px.

    Returns:
        The value of a path's ``d``.
    """
    parts = [f"M{x_px[0]:.1f},{y_px[0]:.1f}"]
    for x, y in zip(x_px[1:], y_px[1:], strict=True):
        parts.append(f"H{x:.1f}V{y:.1f}")
    return "".join(parts) + f"H{end_px:.1f}"


def x_axis(
    scale: Scale,
    y_px: float,
    label: str,
    format_: Callable[[float], str] = number_text,
    ticks: Iterable[float] | None = None,
) -> str:
    """Return a horizontal axis below a plot.

    Args:
        scale: The horizontal scale.
        y_px: Where the axis lies.
        label: Quantity and unit.
        format_: How a tick is written.
        ticks: Where ticks stand; round numbers if None.

    Returns:
        The markup.
    """
    places = nice_ticks(scale.low, scale.high) if ticks is None else ticks
    parts = [element("line", x1=scale.start_px, x2=scale.end_px, y1=y_px, y2=y_px, class_="axis")]
    for place in places:
        x = scale(place)
        parts.append(element("line", x1=x, x2=x, y1=y_px, y2=y_px + 4, class_="axis"))
        parts.append(text(x, y_px + 17, format_(place), "tick", "middle"))
    middle = (scale.start_px + scale.end_px) / 2
    parts.append(text(middle, y_px + 36, label, "label", "middle"))
    return element("g", *parts)


def y_axis(
    scale: Scale,
    x_px: tuple[float, float],
    label: str,
    format_: Callable[[float], str] = number_text,
    ticks: Iterable[float] | None = None,
) -> str:
    """Return a vertical axis with grid lines across a plot.

    Args:
        scale: The vertical scale.
        x_px: Left and right edge of the plot.
        label: Quantity and unit.
        format_: How a tick is written.
        ticks: Where ticks stand; round numbers if None.

    Returns:
        The markup.
    """
    places = nice_ticks(scale.low, scale.high, 5) if ticks is None else ticks
    parts: list[str] = []
    for place in places:
        y = scale(place)
        parts.append(element("line", x1=x_px[0], x2=x_px[1], y1=y, y2=y, class_="grid"))
        parts.append(text(x_px[0] - 8, y + 4, format_(place), "tick", "end"))
    middle = (scale.start_px + scale.end_px) / 2
    x = x_px[0] - 46
    turned = f"rotate(-90 {x:.1f} {middle:.1f})"
    parts.append(
        element(
            "text",
            escape(label),
            x=x,
            y=middle,
            class_="label",
            text_anchor="middle",
            transform=turned,
        )
    )
    return element("g", *parts)


def figure(width: int, height: int, title: str, description: str, *children: str) -> str:
    """Return a whole chart that scales with the page and says what it shows.

    Args:
        width: Width of the drawing, px.
        height: Height of the drawing, px.
        title: Short name, for screen readers.
        description: What the chart shows in a sentence, for screen readers.
        *children: The drawing.

    Returns:
        The markup.
    """
    return element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=f"{title}. {description}",
        class_="chart",
    )


def _text(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)
