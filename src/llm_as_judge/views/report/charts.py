"""Geometry of the charts: numbers to SVG coordinates. The drawing itself is templates/chart.svg.

Coordinates are rounded to a tenth and come from finite numbers alone, so nothing in a log can write
markup into a path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from llm_as_judge.views.report.curves import Point, Series

WIDTH, HEIGHT = 460.0, 220.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 20.0, 12.0, 34.0
PERCENT = "percent"


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    color: int
    path: str
    band: str
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    color: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Mark:
    """One result in the cost-accuracy chart."""

    name: str
    color: int
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its table: what a picture shows, a reader without it can read."""

    id: str
    title: str
    note: str
    x_label: str
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    marks: tuple[Mark, ...] = ()
    front: str = ""
    x_ticks: tuple[tuple[float, str], ...] = ()
    y_ticks: tuple[tuple[float, str], ...] = ()
    legend: tuple[tuple[int, str], ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    bottom: float = HEIGHT - BOTTOM


@dataclass(frozen=True, slots=True)
class Scale:
    """Data to a coordinate, linear."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low or 1.0
        place = self.start + (value - self.low) / span * (self.end - self.start)
        return round(min(max(place, min(self.start, self.end)), max(self.start, self.end)), 1)


def line_chart(
    id_: str,
    title: str,
    note: str,
    series: Sequence[Series],
    *,
    unit: str = "",
    bounds: tuple[float, float] | None = None,
    first_color: int = 0,
) -> Chart | None:
    """Curves over steps, with bands where points have intervals; None without a point.

    Args:
        unit: ``percent`` shows shares as per cent.
        bounds: of the vertical axis; None = from the data.
    """
    shown = [(i + first_color, s) for i, s in enumerate(series) if s.points]
    points = [p for _, s in shown for p in s.points]
    if not points:
        return None
    xs = _x_scale(points)
    low, high, ticks = _axis(points, bounds)
    ys = Scale(low, high, HEIGHT - BOTTOM, TOP)
    return Chart(
        id_,
        title,
        note,
        "step",
        lines=tuple(_line(s, color, xs, ys) for color, s in shown),
        x_ticks=_x_ticks(points, xs),
        y_ticks=tuple((ys(t), _shown(t, unit)) for t in ticks),
        legend=tuple((color, s.name) for color, s in shown),
        head=("step", *(s.name for _, s in shown)),
        rows=_table(series, unit),
    )


def stacked_chart(id_: str, title: str, note: str, series: Sequence[Series]) -> Chart | None:
    """Shares that sum to 1 as stacked bars over steps; None without a point."""
    points = [p for s in series for p in s.points]
    if not points:
        return None
    places = sorted({p.x for p in points})
    xs = _x_scale(points)
    ys = Scale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    width = round(min(36.0, 0.8 * (xs.end - xs.start) / max(1, len(places))), 1)
    reached = dict.fromkeys(places, 0.0)
    bars = []
    for color, one in enumerate(series):
        for p in one.points:
            top, bottom = ys(reached[p.x] + p.y), ys(reached[p.x])
            reached[p.x] += p.y
            if bottom > top:
                place = round(xs(p.x) - width / 2, 1)
                bars.append(Bar(one.name, color, place, top, width, round(bottom - top, 1)))
    return Chart(
        id_,
        title,
        note,
        "step",
        bars=tuple(bars),
        x_ticks=_x_ticks(points, xs),
        y_ticks=_quarters(ys),
        legend=tuple((i, s.name) for i, s in enumerate(series)),
        head=("step", *(s.name for s in series)),
        rows=_table(series, PERCENT),
    )


def front_chart(
    id_: str,
    title: str,
    note: str,
    x_label: str,
    named: Sequence[tuple[str, Point]],
    front: list[int],
) -> Chart | None:
    """Results by cost (``x``) and accuracy (``y`` with interval), numbered as in the legend, and the line of
    the best."""
    if not named:
        return None
    highest = max(point.x for _, point in named) or 1.0
    ticks = _nice_ticks(0.0, highest * 1.15)
    xs = Scale(0.0, max(ticks[-1], highest * 1.15), LEFT, WIDTH - RIGHT)
    ends = [y for _, p in named for y in (p.y, p.low, p.high) if y is not None]
    shares = _nice_ticks(min(ends), max(ends))
    ys = Scale(shares[0], shares[-1], HEIGHT - BOTTOM, TOP)
    return Chart(
        id_,
        title,
        note,
        x_label,
        marks=tuple(_mark(name, color, p, xs, ys) for color, (name, p) in enumerate(named)),
        front=_path([(xs(named[i][1].x), ys(named[i][1].y)) for i in front]),
        x_ticks=tuple((xs(t), _shown(t, "")) for t in ticks),
        y_ticks=tuple((ys(t), _shown(t, PERCENT)) for t in shares),
        legend=tuple((n, f"{n + 1} {name}") for n, (name, _) in enumerate(named)),
        head=("result", x_label, "accuracy (95 % interval)", "on the front"),
        rows=tuple(
            (name, _shown(p.x, ""), _value(p, PERCENT), "yes" if i in front else "")
            for i, (name, p) in enumerate(named)
        ),
    )


# ------------------------------------------------------------------------------------------ parts
def _line(series: Series, color: int, xs: Scale, ys: Scale) -> Line:
    dots = tuple((xs(p.x), ys(p.y)) for p in series.points)
    bounded = [
        (p.x, p.low, p.high) for p in series.points if p.low is not None and p.high is not None
    ]
    upper = [(xs(x), ys(high)) for x, _, high in bounded]
    lower = [(xs(x), ys(low)) for x, low, _ in reversed(bounded)]
    if len(bounded) == 1:  # one point: a band of some width, or it would not be seen
        upper = [(upper[0][0] - 4, upper[0][1]), (upper[0][0] + 4, upper[0][1])]
        lower = [(lower[0][0] + 4, lower[0][1]), (lower[0][0] - 4, lower[0][1])]
    band = _path(upper + lower) + "Z" if bounded else ""
    return Line(series.name, color, _path(dots), band, dots if len(dots) <= 60 else ())


def _quarters(ys: Scale) -> tuple[tuple[float, str], ...]:
    return tuple((ys(t), _shown(t, PERCENT)) for t in (0.0, 0.25, 0.5, 0.75, 1.0))


def _mark(name: str, color: int, p: Point, xs: Scale, ys: Scale) -> Mark:
    low, high = (ys(p.y if bound is None else bound) for bound in (p.low, p.high))
    return Mark(name, color, xs(p.x), ys(p.y), low, high)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if points else ""


def _x_scale(points: Sequence[Point]) -> Scale:
    low, high = min(p.x for p in points), max(p.x for p in points)
    if low == high:
        low, high = low - 1, high + 1
    inset = 20.0  # room for half a bar at both ends
    return Scale(low, high, LEFT + inset, WIDTH - RIGHT - inset)


def _x_ticks(points: Sequence[Point], xs: Scale) -> tuple[tuple[float, str], ...]:
    places = sorted({p.x for p in points})
    every = max(1, math.ceil(len(places) / 8))
    return tuple((xs(x), f"{x:g}") for x in places[::every])


def _axis(
    points: Sequence[Point], bounds: tuple[float, float] | None
) -> tuple[float, float, list[float]]:
    if bounds is not None:
        low, high = bounds
    else:
        values = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
        low, high = min([*values, 0.0]), max([*values, 0.0])
    ticks = _nice_ticks(low, high)
    return min(low, ticks[0]), max(high, ticks[-1]), ticks


def _nice_ticks(low: float, high: float) -> list[float]:
    """About five round numbers over low..high."""
    span = high - low or 1.0
    raw = span / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw)
    first = math.floor(low / step + 1e-9)
    return [round(i * step, 10) for i in range(first, math.ceil(high / step - 1e-9) + 1)]


def _table(series: Sequence[Series], unit: str) -> tuple[tuple[str, ...], ...]:
    shown = [s for s in series if s.points]
    places = sorted({p.x for s in shown for p in s.points})
    at = [{p.x: p for p in s.points} for s in shown]
    return tuple(
        (f"{x:g}", *(_value(column[x], unit) if x in column else "-" for column in at))
        for x in places
    )


def _value(p: Point, unit: str) -> str:
    text = _shown(p.y, unit)
    if p.low is not None and p.high is not None:
        text += f" [{_shown(p.low, unit)}, {_shown(p.high, unit)}]"
    return text


def _shown(value: float, unit: str) -> str:
    if unit == PERCENT:
        return f"{value:.0%}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
