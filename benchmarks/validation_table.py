"""Write the table of published values into `docs/validation.md`.

    labenv validate --format json > values.json
    python benchmarks/validation_table.py values.json docs/validation.md

What stands between the two markers is replaced.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def row(check: dict[str, Any]) -> str:
    """Return a line of the table for one check."""
    ours = "none" if check["ours"] is None else f"{check['ours']:.5g}"
    unit = "" if check["unit"] == "1" else f" {check['unit']}"
    cells = [
        check["system"],
        check["quantity"],
        f"{check['published']:g} ± {check['tolerance']:.3g}{unit}",
        ours,
        "pass" if check["passed"] else "**miss**",
        check["source"],
    ]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def table(values: dict[str, Any]) -> str:
    """Return the whole table, with its sum above it."""
    checks = values["checks"]
    systems = len({check["system"] for check in checks})
    head = [
        f"{values['passed']} of {len(checks)} values within tolerance, {systems} systems.",
        "",
        "| System | Quantity | Published | Ours | Verdict | Source |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(row(check) for check in checks)])


def main() -> None:
    """Read the values and rewrite the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("values", type=Path)
    parser.add_argument("page", type=Path)
    given = parser.parse_args()
    text = given.page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    values = json.loads(given.values.read_text(encoding="utf-8"))
    new = f"{before}{BEGIN}\n\n{table(values)}\n\n{END}{after}"
    given.page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
