"""What a campaign shows while it runs: a live panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Self

from labenv.campaigns.plan_text import duration_text
from labenv.campaigns.score_text import score_text
from labenv.cli.output import console

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from labenv.campaigns.progress import Progress


class Display(Protocol):
    """Shows progress between entry and exit."""

    def __call__(self, progress: Progress) -> None:
        """Take note of a step."""
        ...

    def close(self) -> None:
        """Stop showing; twice is safe."""
        ...

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(self, *exc_info: object) -> None:
        """Leave the terminal as it was."""
        ...


def open_display(*, quiet: bool) -> Display:
    """Return the display that suits where standard error goes.

    Args:
        quiet: Whether to show warnings only.

    Returns:
        The display.
    """
    output = console(progress=True)
    if quiet:
        return _PlainLines(output, quiet=True)
    return _LivePanel(output) if output.is_terminal else _PlainLines(output, quiet=False)


class _PlainLines(AbstractContextManager["_PlainLines"]):
    """One line an outcome."""

    def __init__(self, output: Console, *, quiet: bool) -> None:
        self._output = output
        self._quiet = quiet

    def close(self) -> None:
        """Nothing to put back."""

    def __exit__(self, *exc_info: object) -> None:
        """Nothing to put back."""

    def __call__(self, progress: Progress) -> None:
        """Write a line, if there is something to say."""
        line = _line(progress)
        if line and (not self._quiet or progress.kind == "warning"):
            self._output.print(line, markup=False, soft_wrap=True)


class _LivePanel(AbstractContextManager["_LivePanel"]):
    """A panel that is redrawn in place, with the latest outcomes above it."""

    def __init__(self, output: Console) -> None:
        from rich.live import Live

        self._output = output
        self._live: Live = Live(console=output, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        """Begin to draw.

        Returns:
            The display.
        """
        self._live.start()
        return self

    def close(self) -> None:
        """Remove the panel."""
        self._live.stop()

    def __exit__(self, *exc_info: object) -> None:
        """Remove the panel."""
        self.close()

    def __call__(self, progress: Progress) -> None:
        """Redraw."""
        if line := _line(progress):
            self._output.print(line, markup=False, soft_wrap=True)
        self._live.update(_panel(progress))


def _line(progress: Progress) -> str:
    match progress.kind:
        case "begun":
            return f"campaign {progress.campaign_id} begins"
        case "resumed":
            return f"campaign {progress.campaign_id} goes on from what the store holds"
        case "warning":
            return f"warning: {progress.message}"
        case "result":
            return _result_line(progress)
        case "finished":
            return f"campaign {progress.campaign_id} ends: {progress.message}"
        case _:
            return ""


def _result_line(progress: Progress) -> str:
    result = progress.result
    if result is None or progress.replayed:
        return ""
    total = "" if progress.limit is None else f"/{progress.limit}"
    status = result.outcome.status.replace("_", " ")
    scored = result.score.value is not None
    value = f"score {score_text(result.score.value, progress.goal)}" if scored else "not scored"
    said = value if result.outcome.status == "ok" else f"{status}: {result.outcome.message}"
    best = ""
    if progress.best_value is not None:
        best = f" | best {_best(progress)} (experiment {progress.best_index})"
    return (
        f"[{progress.finished}{total}] {duration_text(progress.lab_time_s):>7} | "
        f"experiment {progress.index}: {said}{best}"
    )


def _panel(progress: Progress) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    facts = Table.grid(padding=(0, 3))
    best = _best(progress)
    if progress.best_index is not None:
        best += f" (experiment {progress.best_index})"
    done = f"{progress.finished}" + ("" if progress.limit is None else f" of {progress.limit}")
    facts.add_row("lab time", duration_text(progress.lab_time_s), "best score", best)
    facts.add_row("experiments", done, "in flight", str(progress.submitted - progress.finished))
    stations = Table.grid(padding=(0, 2))
    for station in progress.stations:
        busy = station.experiment_id is not None
        doing = f"experiment {_number(station.experiment_id)}" if busy else "idle"
        queue = f"{station.queue_length} waiting" if station.queue_length else ""
        shows = ", ".join(f"{name} {value}".strip() for name, value in station.shows.items())
        stations.add_row(
            Text("●" if busy else "○", style="green" if busy else "dim"),
            station.name,
            doing,
            queue,
            Text(shows, style="dim"),
        )
    parts: list[RenderableType] = [facts]
    if progress.limit:
        bar = ProgressBar(total=progress.limit, completed=progress.finished, width=60)
        parts.append(Padding(bar, (0, 0, 1, 0)))
    parts.append(stations)
    return Panel(Group(*parts), title=f"campaign {progress.campaign_id}", title_align="left")


def _best(progress: Progress) -> str:
    return score_text(progress.best_value, progress.goal)


def _number(experiment_id: str | None) -> str:
    tail = (experiment_id or "").rpartition("-")[2]
    return str(int(tail)) if tail.isdigit() else experiment_id or ""
