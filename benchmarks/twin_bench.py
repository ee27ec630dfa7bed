"""Twins on sockets: what a station costs, how fast a bench starts and serves, and a fault campaign.

* a call of an in-process station, beside what its twin computes;
* the start of a bench of 8 twins, in a process of its own, imports included and not;
* requests a second that they serve, with the drivers themselves as clients;
* at least so many seeded faults of all kinds on all twins, one a run, each in virtual time. A run
  with a fault must give the numbers of a run without one or an `InstrumentError`, within a time;
  then the device must be safe and the next run, of another sample, right.

    python benchmarks/twin_bench.py [--faults 320] [--seed 0] [--only NAME] [--verbose] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labenv.lab.stations import Station, finish_now
from labenv_instruments.clock import VirtualClock
from labenv_instruments.drivers import driver_names, load_driver
from labenv_instruments.faults import FOR_EVER, WIRE_FAULTS, Fault, FaultKind
from labenv_instruments.instrument import InstrumentRequest
from labenv_instruments.sample_view import ResistanceSeen
from labenv_instruments.testing import StillSample
from labenv_instruments.twins import load_twin, twin_names
from labenv_schemas.characterisation import MeasureResistance, Weigh
from labenv_schemas.errors import InstrumentError
from labenv_schemas.proposal import Dose, Heat, Measure, Mix, PrecursorDose

if TYPE_CHECKING:
    from labenv_schemas.measurement import MeasurementBase

TIMEOUT_S = 0.1  # of one reply
HANG_S = 20.0  # of one run; every wait in it is bounded by far less in wall time

COLD = MeasureResistance(
    temperature_min_k=280.0, temperature_max_k=286.0, step_k=1.0, fine_below_k=300.0
)
HOT = Heat.model_validate({"segments": [{"target": "600 degC", "rate": "10 K/min", "hold": "1 h"}]})
SCAN = Measure(two_theta_min_deg=10.0, two_theta_max_deg=40.0, step_deg=0.05, scan_time_s=300.0)
DOSE = Dose(
    precursors=(
        PrecursorDose(substance="BaCO3", mass_kg=250e-6),
        PrecursorDose(substance="TiO2", mass_kg=100e-6),
    )
)


class Bar(StillSample):
    """A bar of a few ohm, which all bridges read well; keeps what it was fired at."""

    peak_k = 0.0

    def fire(self, heat: Heat) -> float:
        """Take note of the peak."""
        self.peak_k = super().fire(heat)
        return self.peak_k

    def resistance(self, run: MeasureResistance) -> ResistanceSeen:
        """Show a metal."""
        self.done.append(run.op)
        t = run.temperatures_k()
        return ResistanceSeen(t, 1e-2 * t, 4e-3, 4e-6)


class Pair(NamedTuple):
    """A driver and what it is asked to do on its twin.

    Attributes:
        driver: Its id, and that of its twin.
        operation: What to do; None for a thermometer, which leads the stage somewhere.
        options: Of the address.
        settings: What the robot does beside the sample.
        tolerance: How far a number may be from that of a run without a fault, relative.
        beside: A twin that it works with, and the option that names its address.
        fails: Which of the two twins fails: 0 the driver's own, 1 the other.
    """

    driver: str
    operation: Any
    options: dict[str, str] = {}  # noqa: RUF012 - never changed
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed
    tolerance: float = 1e-3
    beside: tuple[str, str] | None = None
    fails: int = 0


_COLD = ("lakeshore_336", "thermometer")
PAIRS = {
    "eurotherm 2416": Pair("eurotherm", HOT, {"model": "2416"}, tolerance=5e-3),
    "eurotherm 3216": Pair("eurotherm", HOT, {"model": "3216"}, tolerance=5e-3),
    "eurotherm EPC3016": Pair("eurotherm", HOT, {"model": "EPC3016"}, tolerance=5e-3),
    "mt_sics dose": Pair("mt_sics", DOSE, {}, {"empty": True, "container_kg": 0.0125}, 0.03),
    "mt_sics weigh": Pair("mt_sics", Weigh(repeats=3), tolerance=1e-3),
    "aeris": Pair("aeris", SCAN, tolerance=0.0),
    "keithley_6221": Pair("keithley_6221", COLD, beside=_COLD),
    "keithley_6221, cold": Pair("keithley_6221", COLD, beside=_COLD, fails=1),
    "keithley_2400": Pair("keithley_2400", COLD, beside=_COLD),
    "keithley_2400, cold": Pair("keithley_2400", COLD, beside=_COLD, fails=1),
    "lakeshore_336": Pair("lakeshore_336", None),
    "multipyvu": Pair("multipyvu", COLD),
}


class Rig:
    """The twins and the driver of a pair, in one virtual time.

    Args:
        pair: Which.
        folder: For a device that writes files.
    """

    def __init__(self, pair: Pair, folder: str) -> None:
        self.pair, self.clock = pair, VirtualClock()
        options = dict(pair.options)
        if pair.driver == "aeris":
            options["folder"] = folder
        self.twins: list[Any] = [load_twin(pair.driver)(clock=self.clock, options=options, seed=1)]
        if pair.beside is not None:
            self.twins.append(load_twin(pair.beside[0])(clock=self.clock, seed=2))
            self.twins[0].thermometer = self.twins[1].stage_temperature_k
        self.driver: Any = None

    @property
    def failing(self) -> Any:  # noqa: ANN401 - a twin
        """The twin that fails."""
        return self.twins[self.pair.fails]

    @property
    def safe(self) -> bool:
        """Whether all devices are."""
        return all(twin.safe for twin in self.twins)

    async def start(self) -> None:
        """Let the twins listen and make the driver."""
        if self.pair.beside is not None:
            place = (await self.twins[1].start()).partition("://")[2]
            self.twins[0].options[self.pair.beside[1]] = place
        address = await self.twins[0].start()
        kind: Any = load_driver(self.pair.driver)
        self.driver = kind(address, pace=self._pace, timeout_s=TIMEOUT_S, stamps=False)

    async def run(self, sample: StillSample) -> tuple[str, list[np.ndarray], bool]:
        """Do the operation; return whose numbers came, the numbers, and whether flagged."""
        await self.driver.connect()
        if self.pair.operation is None:
            shown_k = await self.driver.hold(290.0)
            await self.driver.abort()
            return sample.sample_id, [np.array([shown_k])], False
        self.twins[0].unload()
        self.twins[0].load(sample, {"operation": self.pair.operation, **self.pair.settings})
        await self.driver.prepare(InstrumentRequest(self.pair.operation, sample.sample_id))
        await self.driver.run()
        measured = await self.driver.result()
        whose = {m.sample_id for m in measured}
        flagged = any(m.flags or m.kind == "unmeasured" for m in measured)
        return ",".join(map(str, whose)), [n for m in measured for n in numbers(m)], flagged

    async def close(self) -> None:
        """Let everything go."""
        await self.driver.close()
        for twin in self.twins:
            await twin.close()

    async def _pace(self, lab_s: float) -> None:
        self.clock.set_s(self.clock.now_s + lab_s)
        await asyncio.sleep(0)


def numbers(measured: MeasurementBase) -> list[np.ndarray]:
    """Return the channels of a measurement."""
    fields = (value for name, value in measured if name != "lab_time_s")
    return [np.asarray(v) for v in fields if isinstance(v, float | np.ndarray)]


def same(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> bool:
    """Tell whether two runs gave the same numbers."""
    return len(found) == len(expected) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=1e-7 * (tolerance > 0.0))
        for a, b in zip(found, expected, strict=True)
    )


# ---------------------------------------------------------------------------- a fault campaign


class Trial(NamedTuple):
    """One run with one fault.

    Attributes:
        name: Of the pair.
        kind: Of the fault.
        met: Whether the fault came to pass.
        ended: ``right``, ``error``, ``wrong``, ``hang``, ``crash``, or ``told``: the numbers
            differ and say so, by a flag, or as the true peak of a furnace that became too hot.
        said: What the error said.
        safe: Whether the devices were safe after `abort`, and whether without the fault's going.
        next_right: Whether the next run gave the right numbers of the next sample.
        doubled: Whether anything was done to a sample more often than without a fault.
        took_s: Wall time of the run with the fault.
    """

    name: str
    kind: str
    met: bool
    ended: str
    said: str
    safe: bool
    safe_at_once: bool
    next_right: bool
    doubled: bool
    took_s: float


class Expected(NamedTuple):
    """What a run without a fault gives: numbers, requests and what was done to the sample."""

    values: list[np.ndarray]
    requests: int
    done: Counter[str]


async def reference(pair: Pair) -> Expected:
    """Run a pair without a fault."""
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(pair, folder)
        await rig.start()
        try:
            sample = Bar("sample-1", seed=5)
            _, values, _ = await rig.run(sample)
            return Expected(values, rig.failing.faults.requests, Counter(sample.done))
        finally:
            await rig.close()


async def trial(name: str, pair: Pair, expected: Expected, rng: np.random.Generator) -> Trial:
    """Run a pair with one random fault."""
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(pair, folder)
        await rig.start()
        kinds = sorted(WIRE_FAULTS | rig.failing.known_faults)
        kind = kinds[int(rng.integers(len(kinds)))]
        begin = int(rng.integers(expected.requests))
        lasts = (1, 1, 3, 20, FOR_EVER)[int(rng.integers(5))]
        delay_s = float(rng.uniform(0.5, 6.0)) * TIMEOUT_S
        rig.failing.faults.faults.append(Fault(kind, begin, lasts, delay_s))
        try:
            return await _tried(name, rig, kind, expected)
        finally:
            await rig.close()


async def _tried(name: str, rig: Rig, kind: FaultKind, expected: Expected) -> Trial:
    sample, said, began_s = Bar("sample-1", seed=5), "", time.perf_counter()
    try:
        async with asyncio.timeout(HANG_S):
            whose, values, flagged = await rig.run(sample)
        right = same(values, expected.values, rig.pair.tolerance) and whose == "sample-1"
        hotter = [np.array(sample.peak_k)] if sample.peak_k else []
        told = flagged or (bool(hotter) and same(values[:1], hotter, rig.pair.tolerance))
        ended = "right" if right else "told" if told and whose == "sample-1" else "wrong"
        said = "" if right else _difference(values, expected.values)
    except TimeoutError:
        ended = "hang"
    except InstrumentError as cause:
        ended, said = "error", str(cause)
    except Exception as cause:  # noqa: BLE001 - that it is no InstrumentError is the finding
        ended, said = "crash", repr(cause)
    took_s = time.perf_counter() - began_s
    met = bool(rig.failing.faults.fired)
    doubled = kind is not FaultKind.MISDOSE and bool(Counter(sample.done) - expected.done)
    safe_at_once = rig.safe
    rig.failing.faults.clear()
    safe = await _abort(rig)
    next_right = await _next_is_right(rig, expected)
    return Trial(
        name, kind.value, met, ended, said, safe, safe_at_once, next_right, doubled, took_s
    )


async def _abort(rig: Rig) -> bool:
    """Tell whether the devices are safe once an operator has pressed stop on a mended line."""
    try:
        async with asyncio.timeout(HANG_S):
            await rig.driver.abort()
    except (InstrumentError, TimeoutError):
        return False
    return rig.safe


async def _next_is_right(rig: Rig, expected: Expected) -> bool:
    sample = Bar("sample-2", seed=5)
    try:
        async with asyncio.timeout(HANG_S):
            whose, values, _ = await rig.run(sample)
    except (InstrumentError, TimeoutError):
        return False
    return whose == "sample-2" and same(values, expected.values, rig.pair.tolerance)


def _difference(found: list[np.ndarray], expected: list[np.ndarray]) -> str:
    if [a.shape for a in found] != [b.shape for b in expected]:
        return "other shapes"
    worst = max(
        float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-12), initial=0.0))
        for a, b in zip(found, expected, strict=True)
    )
    return f"numbers differ by up to {100.0 * worst:.3g} %"


async def campaign(pairs: dict[str, Pair], faults: int, seed: int) -> list[Trial]:
    """Run pairs in turn until so many faults came to pass.

    Args:
        pairs: Which.
        faults: How many must come to pass.
        seed: Of kinds, moments and lengths.

    Returns:
        All runs, also those in which the fault came after the last request.
    """
    expected = {name: await reference(pair) for name, pair in pairs.items()}
    rng, trials = np.random.default_rng(seed), list[Trial]()
    while sum(t.met for t in trials) < faults and len(trials) < 3 * faults:
        for name, pair in pairs.items():
            trials.append(await trial(name, pair, expected[name], rng))
            if "--verbose" in sys.argv and (trials[-1].ended not in {"right", "told", "error"}):
                print(trials[-1], file=sys.stderr)
    return trials


# ---------------------------------------------------------------------------- speed


def station_overhead_us(calls: int = 2000, rounds: int = 7) -> dict[str, float]:
    """Return the cost of a call of a station beside its twin's own work, µs, by driver."""
    operations = {
        "ball_mill": Mix(duration_s=60.0),
        "analytical_balance": Weigh(),
        "tube_furnace": HOT,
    }
    found = {}
    for kind, operation in operations.items():
        station = Station(kind, load_driver(kind)(kind))  # type: ignore[call-arg]
        sample: Any = StillSample()
        request = InstrumentRequest(operation, sample.sample_id, 60.0, 60.0)
        twin: Any = station.instrument
        whole, own = list[float](), list[float]()
        for _ in range(rounds):
            began_s = time.perf_counter()
            for _ in range(calls):
                finish_now(station.perform(request, sample))
            whole.append((time.perf_counter() - began_s) / calls)
            began_s = time.perf_counter()
            for _ in range(calls):
                twin.perform(sample, operation)
            own.append((time.perf_counter() - began_s) / calls)
        found[kind] = 1e6 * (statistics.median(whole) - statistics.median(own))
    return found


BENCH_OF_8 = (
    "import time; t0 = time.perf_counter()\n"
    "import asyncio, json\n"
    "from labenv_instruments.twins import load_twin, twin_names\n"
    "from labenv_instruments.clock import VirtualClock\n"
    "names = [n for n in twin_names()]\n"
    "names = (names * 8)[:8]\n"
    "kinds = [load_twin(n) for n in names]; t1 = time.perf_counter()\n"
    "async def main():\n"
    "    twins = [k(clock=VirtualClock()) for k in kinds]\n"
    "    for twin in twins: await twin.start()\n"
    "    t2 = time.perf_counter()\n"
    "    for twin in twins: await twin.close()\n"
    "    print(json.dumps({'imports_s': t1 - t0, 'start_s': t2 - t1, 'twins': names}))\n"
    "asyncio.run(main())\n"
)


def bench_start() -> dict[str, Any]:
    """Start a bench of 8 twins in a process of its own."""
    out = subprocess.run(
        [sys.executable, "-c", BENCH_OF_8], capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, Any] = json.loads(out.stdout.splitlines()[-1])
    return found


async def served_per_s(pairs: dict[str, Pair], seconds: float = 3.0) -> dict[str, float]:
    """Let drivers read all twins at once, as a person watches, and count the requests.

    Args:
        pairs: Which; drivers and twins share this process and its one thread.
        seconds: How long.

    Returns:
        Requests a second, in all and by pair.
    """
    with tempfile.TemporaryDirectory() as folder:
        rigs = {name: Rig(pair, folder) for name, pair in pairs.items()}
        for rig in rigs.values():
            await rig.start()
            await rig.driver.connect()
        before = {name: _requests(rig) for name, rig in rigs.items()}
        began_s = time.perf_counter()

        async def watch(rig: Rig) -> None:
            while time.perf_counter() - began_s < seconds:
                await rig.driver.readings()

        await asyncio.gather(*map(watch, rigs.values()))
        took_s = time.perf_counter() - began_s
        rates = {name: (_requests(rig) - before[name]) / took_s for name, rig in rigs.items()}
        for rig in rigs.values():
            await rig.close()
    return {"all": sum(rates.values()), **rates}


def _requests(rig: Rig) -> int:
    return sum(twin.faults.requests for twin in rig.twins)


# ---------------------------------------------------------------------------- what is shown


def summary(trials: list[Trial], key: str) -> dict[str, dict[str, float]]:
    """Count how runs ended, by pair or by kind of fault."""
    groups = defaultdict[str, list[Trial]](list)
    for one in trials:
        groups[getattr(one, key)].append(one)
        groups["all"].append(one)
    return {
        name: {
            "runs": len(of),
            "met": sum(t.met for t in of),
            **{
                e: sum(t.ended == e for t in of)
                for e in ("right", "told", "error", "wrong", "hang")
            },
            "crash": sum(t.ended == "crash" for t in of),
            "doubled": sum(t.doubled for t in of),
            "unsafe": sum(not t.safe for t in of),
            "unsafe_while_it_lasts": sum(not t.safe_at_once for t in of),
            "next_wrong": sum(not t.next_right for t in of),
            "slowest_s": round(max(t.took_s for t in of), 2),
        }
        for name, of in sorted(groups.items(), key=lambda item: (item[0] == "all", item[0]))
    }


def print_table(rows: dict[str, dict[str, float]]) -> None:
    """Print counts, a line each."""
    columns = list(next(iter(rows.values())))
    print("".join([f"{'':22}", *[f"{c.split('_')[0]:>9}" for c in columns]]))
    for name, row in rows.items():
        print("".join([f"{name:22}", *[f"{row[c]:9g}" for c in columns]]))


def main() -> None:
    """Measure, run the campaign, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--faults", type=int, default=320, help="faults that come to pass")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="pairs whose name begins so")
    parser.add_argument("--verbose", action="store_true", help="say what went wrong")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    there = set(twin_names()) & set(driver_names())
    pairs = {
        name: pair
        for name, pair in PAIRS.items()
        if {pair.driver, *(pair.beside or [])[:1]} <= there and name.startswith(asked.only)
    }
    bench = {n: p for n, p in pairs.items() if p.fails == 0 and n != "mt_sics dose"}
    found: dict[str, Any] = {
        "overhead_us": station_overhead_us(),
        "bench_of_8": bench_start(),
        "served_per_s": asyncio.run(served_per_s(dict(list(bench.items())[:8]))),
    }
    began_s = time.perf_counter()
    trials = asyncio.run(campaign(pairs, asked.faults, asked.seed))
    found["campaign_s"] = time.perf_counter() - began_s
    found["by_pair"], found["by_kind"] = summary(trials, "name"), summary(trials, "kind")
    bad = [t for t in trials if t.ended in {"wrong", "hang", "crash"} or t.doubled]
    bad += [t for t in trials if not (t.safe and t.next_right)]
    found["findings"] = [t._asdict() for t in dict.fromkeys(bad)]
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    for kind, cost_us in found["overhead_us"].items():
        print(f"a station's call beside its twin ({kind}): {cost_us:.1f} us")
    start = found["bench_of_8"]
    print(f"8 twins: imports {start['imports_s']:.2f} s, start {1e3 * start['start_s']:.1f} ms")
    rates = found["served_per_s"]
    print(f"{len(rates) - 1} twins read at once: {rates['all']:.0f} requests/s")
    print(f"\n{len(trials)} runs in {found['campaign_s']:.0f} s\n")
    print_table(found["by_pair"])
    print()
    print_table(found["by_kind"])
    for one in found["findings"]:
        print({k: v for k, v in one.items() if v not in ("", None)})


if __name__ == "__main__":
    main()
