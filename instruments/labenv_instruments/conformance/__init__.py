"""Whether a device and its driver can be trusted: checks over the wire, for lab engineers.

`run_checks(Bench(address))` runs them; ``labenv check-instrument`` and ``pytest --instrument``
do the same. They only ask, unless the bench says `actuate`. What can be tried without a device, on
an instrument that is simulated in process, is `labenv_instruments.testing.InstrumentContract`.
"""

from labenv_instruments.conformance.bench import SAMPLE_ID, AsksWhetherSafe, Bench
from labenv_instruments.conformance.check import Check, CheckResult, Verdict
from labenv_instruments.conformance.report import as_data, as_junit, counted
from labenv_instruments.conformance.requests import parse_limits, parse_operation
from labenv_instruments.conformance.suite import CHECKS, find_checks, run_check, run_checks

__all__ = [
    "CHECKS",
    "SAMPLE_ID",
    "AsksWhetherSafe",
    "Bench",
    "Check",
    "CheckResult",
    "Verdict",
    "as_data",
    "as_junit",
    "counted",
    "find_checks",
    "parse_limits",
    "parse_operation",
    "run_check",
    "run_checks",
]
