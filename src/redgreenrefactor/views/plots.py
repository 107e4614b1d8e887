"""Plots as inline SVG: a figure each, with words for those who do not see it."""

from collections.abc import Iterable, Sequence
from math import ceil, log10

from redgreenrefactor.model.values import frozen
from redgreenrefactor.views.lines import short_number
from redgreenrefactor.views.markup import Markup, joined, tag

WIDE, HIGH = 360, 150  # of the drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 22  # room for words around it
MOST_WORDS = 10  # words below an axis
LETTER = 6.5  # what a letter of a word takes
DOT, LESS = (
    3.0,
    1.5,
)  # a dot's radius, and by how much those of an earlier series are larger: they show behind later ones


@frozen
class Series:
    """Numbers of one kind, one for each place; None where nothing was measured."""

    name: str
    kind: str  # the class its colour hangs on
    values: tuple[float | None, ...]


def figure(title: str, words: str, drawing: Markup, names: Iterable[Series] = ()) -> Markup:
    """Return a plot with its title, what it shows in words, and what its colours mean."""
    legend = [tag("li", tag("span", class_=f"key {one.kind}"), one.name) for one in names]
    return tag(
        "figure",
        tag("figcaption", title),
        tag(
            "svg",
            tag("title", f"{title}: {words}"),
            drawing,
            viewBox=f"0 0 {WIDE} {HIGH}",
            role="img",
            focusable="false",
        ),
        tag("ul", legend, class_="legend") if legend else None,
        tag("p", words, class_="words"),
    )


def steps(points: Sequence[tuple[float, float]], unit: str) -> Markup:
    """Return a line that climbs by steps: how many there were at which moment."""
    most_x = max((x for x, _ in points), default=0.0) or 1.0
    scale = _Scale(max((y for _, y in points), default=1.0))
    path, last = "", scale.y(0)
    for x, y in points:
        place = _across(x / most_x)
        path += f"{'L' if path else 'M'}{place:.1f} {last:.1f}"
        last = scale.y(y)
        path += f"L{place:.1f} {last:.1f}"
    marks = [(_across(share), _few_digits(most_x * share)) for share in (0.0, 0.5, 1.0)]
    return joined([scale.grid(), tag("path", d=path, class_="step"), _below(marks, unit)])


def _few_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004


def columns_of(series: Sequence[Series], places: Sequence[str], unit: str = "") -> Markup:
    """Return a column for each place, the series on top of each other."""
    sums = [sum(one.values[index] or 0.0 for one in series) for index in range(len(places))]
    scale = _Scale(max(sums, default=1.0))
    room = (WIDE - LEFT - RIGHT) / max(len(places), 1)
    wide = min(room * 0.7, 40)
    bars: list[Markup] = []
    for index in range(len(places)):
        base = 0.0
        for one in series:
            value = one.values[index] or 0.0
            top = scale.y(base + value)
            box = {"x": f"{LEFT + room * (index + 0.5) - wide / 2:.1f}", "width": f"{wide:.1f}"}
            bars += (
                [tag("rect", **box, y=f"{top:.1f}", height=f"{scale.y(base) - top:.1f}", class_=one.kind)]
                if value
                else []
            )
            base += value
    return joined([scale.grid(), bars, _below(_marks(places, room), unit)])


def lines_of(series: Sequence[Series], places: Sequence[str], unit: str = "") -> Markup:
    """Return per cent as lines with a dot for each place where something was measured."""
    scale = _Scale(100.0)
    room = (WIDE - LEFT - RIGHT) / max(len(places), 1)
    drawn: list[Markup] = []
    for behind, one in zip(reversed(range(len(series))), series, strict=True):
        radius = min(DOT + LESS * behind, room * 0.4)
        known = [
            (LEFT + room * (index + 0.5), scale.y(value))
            for index, value in enumerate(one.values)
            if value is not None
        ]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in known)
        wide = f"{min(2 + LESS * behind, radius):.1f}"
        drawn.append(tag("polyline", points=points, class_=f"line {one.kind}", stroke_width=wide))
        drawn += [
            tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:.1f}", class_=one.kind) for x, y in known
        ]
    return joined([scale.grid(), drawn, _below(_marks(places, room), unit)])


class _Scale:
    """The upright axis from zero to a round number."""

    def __init__(self, most: float) -> None:
        unit = 10 ** (ceil(log10(most)) - 1) if most > 0 else 1.0
        self._top = next(step * unit for step in (1, 2, 2.5, 5, 10) if step * unit >= most)

    def y(self, value: float) -> float:
        """Return where a value lies."""
        return HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * value / self._top

    def grid(self) -> Markup:
        """Return lines across at nothing, half and all of it, each with its number."""
        return joined(
            joined(
                [
                    tag(
                        "line",
                        x1=LEFT,
                        x2=WIDE - RIGHT,
                        y1=f"{self.y(value):.1f}",
                        y2=f"{self.y(value):.1f}",
                        class_="grid",
                    ),
                    _word(LEFT - 5, self.y(value) + 4, short_number(value), "end"),
                ]
            )
            for value in (0.0, self._top / 2, self._top)
        )


def _across(share: float) -> float:
    return LEFT + (WIDE - LEFT - RIGHT) * share


def _marks(places: Sequence[str], room: float) -> list[tuple[float, str]]:
    every = ceil(len(places) / MOST_WORDS) or 1
    return [(LEFT + room * (i + 0.5), name) for i, name in enumerate(places) if i % every == 0]


def _below(marks: Sequence[tuple[float, str]], unit: str) -> Markup:
    words = [_word(min(x, WIDE - LETTER / 2 * len(name)), HIGH - 8, name, "middle") for x, name in marks]
    return joined([words, _word(2, HIGH - 8, unit, "start") if unit else None])


def _word(x: float, y: float, words: str, anchor: str) -> Markup:
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
