"""`labenv twin` and `labenv stop`: benches of twins, and an end to what goes on at any bench."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from labenv.cli.output import (
    FormatOption,
    OutputFormat,
    examples,
    print_json,
    print_lines,
    print_table,
    tell,
)
from labenv.cli.working import working
from labenv_schemas.errors import ConfigError, InstrumentError

if TYPE_CHECKING:
    from labenv.lab.bench_lock import BenchLock
    from labenv.lab.twin_bench import TwinBench
    from labenv_instruments.watchdog import Secured
    from labenv_schemas.campaign import LabConfig

TWIN_EXAMPLES = examples(
    "labenv twin examples/labs/twin_bench.yaml",
    "labenv twin lab.yaml --any-port --write here.yaml",
    "labenv twin lab.yaml --fault furnace-1=sensor_break@50",
    "labenv twin lab.yaml --faults 20 --seed 3",
    "labenv twin lab.yaml --sample",
)
STOP_EXAMPLES = examples("labenv stop examples/labs/twin_bench.yaml")
_ENDING_S = 20.0
_WITHIN_REQUESTS = 400


def twin(  # noqa: PLR0913 - one parameter an option
    lab: Annotated[Path, typer.Argument(metavar="LAB.yaml", help="The lab file.")],
    any_port: Annotated[
        bool, typer.Option("--any-port", help="Take free ports of loopback, not the file's.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the lab file with the addresses in use."),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATION=KIND[@N]", help="Let something go wrong, after N requests if given."
        ),
    ] = None,
    faults: Annotated[
        int, typer.Option(min=0, metavar="N", help="So many random faults on every twin.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the devices' noise and faults.")] = 0,
    sample: Annotated[
        bool,
        typer.Option(
            "--sample", help="Put a sample at every station, for check-instrument --actuate."
        ),
    ] = False,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Serve a twin of every device of a lab file."""
    from labenv.lab.twin_bench import TwinBench
    from labenv.lab.twin_world import warm_up
    from labenv_instruments.conformance import SAMPLE_ID
    from labenv_instruments.still_sample import StillSample

    config = _load_bench(lab, any_port=any_port)
    bench = TwinBench(config, seed=seed, any_port=any_port)
    _plan_faults(bench, fault or [], faults, seed)
    if sample:
        bench.hand.put(StillSample(SAMPLE_ID))

    # Physics compiles when it is first used, on a fresh machine for longer than a driver waits.
    with working("preparing simulated samples (a minute or two the first time)"):
        warm_up(config.system)

    async def serve() -> None:
        began_s, ended = time.monotonic(), _interrupted()
        found = await bench.start()
        try:
            if write is not None:
                _write(found, write)
            _print_addresses(found, time.monotonic() - began_s, format_)
            await ended.wait()
        finally:
            await bench.close()

    asyncio.run(serve())


def stop(
    lab: Annotated[Path, typer.Argument(metavar="LAB.yaml", help="The lab file.")],
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Stop a bench and make its devices safe."""  # noqa: DOC501 - it is the help
    from labenv.lab.bench_lock import BenchLock, places_of
    from labenv_instruments.watchdog import secure

    config = _load_bench(lab)
    deaf = asyncio.run(_stop_hand(config.hand or ""))
    ended = _end(BenchLock(places_of(config)))
    results = asyncio.run(secure([s.address for s in config.stations.values()], tries=3))
    _print_secured(list(config.stations), results, ended, format_)
    if deaf is not None:
        tell(f"warning: {deaf}")
    if any(result.error is not None for result in results):
        raise typer.Exit(1)


def _load_bench(lab: Path, *, any_port: bool = False) -> LabConfig:
    """Read a lab file that names stations.

    Args:
        lab: The file.
        any_port: Whether the file's ports do not matter.

    Returns:
        What it says.

    Raises:
        ConfigError: If it names none.
    """
    from labenv.campaigns.lab_file import load_lab

    config = load_lab(lab, any_port=any_port)
    if config.hand is None:
        raise ConfigError(f"{lab} names no stations on wires: no 'hand' and no 'stations'")
    return config


async def _stop_hand(address: str) -> str | None:
    """Tell the hand to carry nothing any more.

    Returns:
        Why it could not be told, or None.
    """
    from labenv_instruments.hand import Hand

    hand = Hand(address)
    try:
        await hand.ask("stop")
    except InstrumentError as error:
        return str(error)
    finally:
        await hand.close()
    return None


def _end(lock: BenchLock) -> int | None:
    """End the process that drives the bench, and wait until it has.

    Returns:
        Its number; None if there was none.
    """
    process = lock.holder()
    if process is None or process == os.getpid():
        return None
    tell(f"ending process {process}, which drives this bench")
    os.kill(process, signal.SIGTERM)
    give_up_s = time.monotonic() + _ENDING_S
    while lock.holder() == process and time.monotonic() < give_up_s:
        time.sleep(0.1)
    return process


def _plan_faults(bench: TwinBench, given: list[str], count: int, seed: int) -> None:
    from labenv_instruments.faults import FOR_EVER, WIRE_FAULTS, Fault, FaultPlan, parse_kind

    for number, (name, device) in enumerate(bench.twins.items()):
        if count:
            kinds = device.known_faults | WIRE_FAULTS
            plan = FaultPlan.random(seed + number, kinds, count, _WITHIN_REQUESTS)
            bench.set_faults(name, plan)
    for text in given:
        station, _, rest = text.partition("=")
        kind, _, after = rest.partition("@")
        if station not in bench.twins or not rest or (after and not after.isdigit()):
            raise ConfigError(
                f"--fault {text}: write STATION=KIND or STATION=KIND@N; stations are "
                f"{', '.join(bench.twins)}"
            )
        found = parse_kind(kind)
        lasts = 1 if found in WIRE_FAULTS else FOR_EVER
        bench.twins[station].let_fail(Fault(found, int(after or 0), lasts))


def _interrupted() -> asyncio.Event:
    """Return an event that is set when the process is told to end."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    return ended


def _write(config: LabConfig, place: Path) -> None:
    import yaml

    text = yaml.safe_dump(config.model_dump(mode="json", exclude_defaults=True), sort_keys=False)
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{place} cannot be written: {error.strerror or error}") from None


def _print_addresses(config: LabConfig, took_s: float, format_: OutputFormat) -> None:
    stations = {name: station.address for name, station in config.stations.items()}
    if format_ is OutputFormat.JSON:
        print_json({"hand": config.hand, "stations": stations, "started_in_s": round(took_s, 4)})
    else:
        rows = [
            {"station": name, "address": address}
            for name, address in {"hand": config.hand or "", **stations}.items()
        ]
        print_table(rows, {"station": "station", "address": "address"})
        print_lines("", "serving; end with Ctrl-C")
    sys.stdout.flush()


def _print_secured(
    names: list[str], results: list[Secured], ended: int | None, format_: OutputFormat
) -> None:
    rows = [
        {
            "station": name,
            "device": result.device or "unknown",
            "state": "safe" if result.error is None else f"NOT SAFE: {result.error}",
        }
        for name, result in zip(names, results, strict=True)
    ]
    if format_ is OutputFormat.JSON:
        print_json({"ended_process": ended, "stations": rows})
    else:
        print_table(rows, {name: name for name in ("station", "device", "state")})
