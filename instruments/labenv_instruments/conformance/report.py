"""What the checks found, as plain data and as JUnit's XML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from labenv_instruments.conformance.check import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv_instruments.conformance.bench import Bench
    from labenv_instruments.conformance.check import CheckResult

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def counted(results: Sequence[CheckResult]) -> dict[str, int]:
    """Return how many checks passed, failed and were skipped, by verdict."""
    return {verdict.value: sum(r.verdict is verdict for r in results) for verdict in Verdict}


def as_data(bench: Bench, results: Sequence[CheckResult]) -> dict[str, Any]:
    """Return results as plain data.

    Args:
        bench: The device.
        results: What was found.

    Returns:
        Address, driver, identity, whether it was moved, counts, and each check.
    """
    identity = bench.identity
    return {
        "address": bench.address,
        "driver": bench.driver_class.kind,
        "identity": None if identity is None else identity.model_dump(mode="json"),
        "actuated": bench.actuate,
        "timeout_s": bench.timeout_s,
        **counted(results),
        "checks": [
            {
                "name": r.name,
                "says": r.says,
                "actuates": r.actuates,
                "verdict": r.verdict.value,
                "found": r.found,
                "took_s": round(r.took_s, 3),
            }
            for r in results
        ],
    }


def as_junit(bench: Bench, results: Sequence[CheckResult]) -> str:
    """Return results as the XML that build servers read from JUnit.

    Args:
        bench: The device.
        results: What was found.

    Returns:
        The text of the file.
    """
    counts = counted(results)
    total = {
        "name": f"check-instrument {bench.driver_class.kind}",
        "tests": str(len(results)),
        "failures": str(counts["failed"]),
        "errors": "0",
        "skipped": str(counts["skipped"]),
        "time": f"{sum(r.took_s for r in results):.3f}",
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", total)
    properties = ET.SubElement(suite, "properties")
    about = {"address": bench.address, "driver": bench.driver_class.kind}
    if bench.identity is not None:
        about |= {"model": bench.identity.model, "serial": bench.identity.serial}
    for name, value in about.items():
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    for r in results:
        where = {"classname": bench.driver_class.kind, "name": r.name, "time": f"{r.took_s:.3f}"}
        case = ET.SubElement(suite, "testcase", where)
        if r.verdict is Verdict.FAILED:
            failure = {"message": _clean(r.found), "type": "CheckFailed"}
            ET.SubElement(case, "failure", failure).text = _clean(r.says)
        elif r.verdict is Verdict.SKIPPED:
            ET.SubElement(case, "skipped", {"message": _clean(r.found)})
        else:
            ET.SubElement(case, "system-out").text = _clean(r.found)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    """Return a text without the characters that XML has no way to write."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


__all__ = ["as_data", "as_junit", "counted"]
