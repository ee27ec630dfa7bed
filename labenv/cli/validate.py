"""`labenv validate`: published values and real scans beside what the simulator says."""

from __future__ import annotations

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
)

if TYPE_CHECKING:
    from labenv.validation import Judged, ReactionScan

EXAMPLES = examples("labenv validate", "labenv validate --scans my-scans --format json")


def validate(
    scans: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Reaction scans named as Cr2O3-2PbO_500C_60min.xrdml, to be predicted too.",
        ),
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Compare the simulator with published values."""
    from labenv.validation import judge_all, judge_scans

    judged = judge_all()
    reactions = judge_scans(scans) if scans is not None else ()
    if format_ is OutputFormat.JSON:
        print_json({
            "passed": sum(j.passed for j in judged),
            "checks": [_check_json(j) for j in judged],
            "reactions": [_reaction_json(r) for r in reactions],
        })
        return
    rows = [
        {
            "system": j.check.system,
            "quantity": j.check.quantity,
            "published": f"{j.check.published:g} ± {j.check.tolerance:g} {j.check.unit}",
            "ours": "none" if j.value is None else f"{j.value:.6g}",
            "verdict": "pass" if j.passed else "MISS",
        }
        for j in judged
    ]
    print_table(rows, {key: key for key in rows[0]})
    systems = len({j.check.system for j in judged})
    passed = sum(j.passed for j in judged)
    print_lines("", f"{passed} of {len(judged)} values within tolerance, {systems} systems")
    for reaction in reactions:
        print_lines(*_reaction_lines(reaction))
    if reactions:
        agree = sum(r.agrees for r in reactions)
        print_lines("", f"main product right in {agree} of {len(reactions)} scans")
        counts = [
            f"{source} {sum(r.agrees_by(r.by_source[source]) for r in reactions)}"
            for source in reactions[0].by_source
        ]
        print_lines("by source of energies: " + ", ".join(counts))


def _check_json(judged: Judged) -> dict[str, object]:
    check = judged.check
    return {
        "system": check.system,
        "quantity": check.quantity,
        "published": check.published,
        "tolerance": check.tolerance,
        "unit": check.unit,
        "source": check.source,
        "ours": judged.value,
        "passed": judged.passed,
        "reason": judged.reason,
    }


def _reaction_json(reaction: ReactionScan) -> dict[str, object]:
    return {
        "scan": reaction.name,
        "predicted": [list(p) for p in reaction.predicted],
        "found": [list(p) for p in reaction.found],
        "analysis": reaction.status,
        "agrees": reaction.agrees,
        "agrees_by_source": {
            source: reaction.agrees_by(prediction)
            for source, prediction in reaction.by_source.items()
        },
        "limited_by": reaction.prediction.limited_by,
        "notes": list(reaction.prediction.notes),
    }


def _reaction_lines(reaction: ReactionScan) -> list[str]:
    def listed(phases: tuple[tuple[str, float], ...]) -> str:
        return ", ".join(f"{name} {100 * share:.0f} %" for name, share in phases) or "nothing"

    predicted = listed(reaction.predicted)
    if not reaction.prediction.in_domain:
        predicted = "outside the domain: " + "; ".join(reaction.prediction.notes)
    return [
        "",
        reaction.name,
        f"  predicted: {predicted}",
        f"  found:     {listed(reaction.found)} ({reaction.status})",
        f"  main product {'agrees' if reaction.agrees else 'differs'}",
    ]


__all__ = ["EXAMPLES", "validate"]
