"""Commands that look back: report, list, show, export."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labenv.cli.output import (
    DEFAULT_STORE,
    FormatOption,
    OutputFormat,
    StoreOption,
    examples,
    print_json,
    print_lines,
    print_table,
    writing,
)
from labenv.cli.outputs import check_output
from labenv.cli.stores import open_store
from labenv_schemas.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from labenv.store import CampaignRecord, ExperimentRecord, Store

REPORT_EXAMPLES = examples("labenv report latest", "labenv report c00003 --out best.html")
LIST_EXAMPLES = examples("labenv list", "labenv list --format json")
SHOW_EXAMPLES = examples(
    "labenv show c3/17", "labenv show c00003-0017 --format json", "labenv show latest"
)
EXPORT_EXAMPLES = examples(
    "labenv export latest --out campaign.csv", "labenv export c3 --out campaign.jsonl"
)

CampaignArgument = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Campaign: its id, the beginning of it, its name, or 'latest'."
    ),
]


class ExportFormat(StrEnum):
    """File formats of an export."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"


_EXPORT_SUFFIXES = {
    ".csv": ExportFormat.CSV,
    ".parquet": ExportFormat.PARQUET,
    ".pq": ExportFormat.PARQUET,
    ".jsonl": ExportFormat.JSONL,
    ".ndjson": ExportFormat.JSONL,
}


def report(
    campaign: CampaignArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write; beside the store by default."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Write the HTML report of a campaign."""
    from labenv.cli.reports import report_path, save_report

    if out is not None:
        check_output(out, "report", store=store)
    with open_store(store) as opened:
        campaign_id = opened.campaign(campaign).campaign_id
        place = report_path(out, store, campaign_id)
        check_output(place, "report", store=store)
        written = save_report(opened, campaign_id, place)
    if format_ is OutputFormat.JSON:
        print_json({"campaign_id": campaign_id, "report": str(written)})
    else:
        print_lines(str(written))


def list_campaigns(
    store: StoreOption = DEFAULT_STORE, format_: FormatOption = OutputFormat.TABLE
) -> None:
    """List the campaigns of a store."""
    from labenv.campaigns.retrospect import goal_of
    from labenv.campaigns.score_text import score_text

    with open_store(store) as opened:
        records = opened.campaigns()
    rows = [_campaign_row(record) for record in records]
    if format_ is OutputFormat.JSON:
        print_json(rows)
        return
    columns = {"campaign_id": "id", "status": "status", "policy": "policy", "seed": "seed"}
    columns |= {"experiments": "done", "best": "best score", "created": "begun", "name": "name"}
    print_table(
        [{**row, "best": score_text(record.best_value, goal_of(record)),
          "created": row["created_at"][:16].replace("T", " ")}
         for row, record in zip(rows, records, strict=True)],
        columns,
        numbers=frozenset({"seed", "experiments", "best"}),
    )  # fmt: skip
    if not rows:
        print_lines("the store holds no campaign; 'labenv run CAMPAIGN.yaml' runs one")


def show(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT", help="Its id, or CAMPAIGN/NUMBER such as c3/17; or a campaign."
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Show an experiment in full, or the table of a campaign."""
    from labenv.cli.experiment_view import experiment_json, print_experiment

    with open_store(store) as opened:
        found = _find(opened, experiment)
        if isinstance(found, str):
            _show_campaign(opened, found, format_)
        elif format_ is OutputFormat.JSON:
            print_json(experiment_json(found))
        else:
            print_experiment(found)


def export(
    campaign: CampaignArgument,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write; replaced if it exists.")
    ],
    format_: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format",
            help="csv and parquet: a row an experiment; jsonl: everything, a line an experiment. "
            "By default what the file's name ends with.",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write a campaign to a CSV, Parquet or JSON-lines file."""
    from labenv.campaigns.retrospect import lab_time_limit_s

    check_output(out, "export", store=store)
    wanted = _export_format(out, format_)
    with writing(out, "export"), open_store(store) as opened:
        record = opened.campaign(campaign)
        limit_s = lab_time_limit_s(record)
        written = opened.export(record.campaign_id, out, wanted.value, lab_time_limit_s=limit_s)
    print_lines(str(written))


def _export_format(out: Path, asked: ExportFormat | None) -> ExportFormat:
    """Return the format of an export.

    Args:
        out: The file to write.
        asked: What the user asked for, if anything.

    Returns:
        What was asked for, or what the file's name says.

    Raises:
        ConfigError: If the name is a folder's, says nothing, or says something else than what was
            asked for.
    """
    if out.is_dir():
        raise ConfigError(f"{out} is a folder; name a file in it, such as {out / 'campaign.csv'}")
    suffix = out.suffix.lower()
    named = _EXPORT_SUFFIXES.get(suffix)
    if named is None and asked is None:
        says = f"ends with {suffix}" if suffix else "has no ending"
        hint = " (JSON lines: one experiment a line)" if suffix == ".json" else ""
        raise ConfigError(
            f"the export's format is not clear: {out.name} {says}; end it with .csv, .parquet or "
            f".jsonl{hint}, or add --format csv, parquet or jsonl"
        )
    if named is not None and asked is not None and named is not asked:
        raise ConfigError(
            f"--format {asked.value} does not go with {out.name}, which says {named.value}; leave "
            f"out --format, or end the name with .{asked.value}"
        )
    return asked or named or ExportFormat.CSV


def _find(store: Store, words: str) -> ExperimentRecord | str:
    """Return the experiment, or the id of the campaign, that someone names.

    Args:
        store: Where to look.
        words: What they wrote.

    Returns:
        The record of an experiment, or a campaign's id.

    Raises:
        StoreError: If there is neither, or the words mean several.
    """
    try:
        return store.campaign(words).campaign_id
    except StoreError as no_campaign:
        try:
            return store.experiment(words)
        except StoreError as no_experiment:
            message = _not_found(words, str(no_campaign), str(no_experiment))
            raise StoreError(message) from None


def _not_found(words: str, no_campaign: str, no_experiment: str) -> str:
    """Return what to say of words that mean neither one campaign nor one experiment."""
    if no_campaign.startswith(f"{words!r} means several"):
        return no_campaign
    said = f"there is no campaign {words!r}; "
    unknown = no_experiment.startswith("there is no experiment") and no_campaign.startswith(said)
    if "/" in words or not unknown:
        return no_experiment
    return (
        f"there is no campaign or experiment {words!r}; campaigns "
        f"{no_campaign.removeprefix(said)}; an experiment is named CAMPAIGN/NUMBER such as c3/17"
    )


def _show_campaign(store: Store, campaign_id: str, format_: OutputFormat) -> None:
    from labenv.campaigns.retrospect import comparisons, summarise
    from labenv.cli.campaign_tables import print_comparisons, print_summary, summary_json

    summary, compared = summarise(store, campaign_id), comparisons(store, campaign_id)
    if format_ is OutputFormat.JSON:
        print_json(summary_json(summary, compared))
        return
    print_summary(summary)
    if compared:
        print_comparisons(compared)


def _campaign_row(record: CampaignRecord) -> dict[str, Any]:
    return {
        "campaign_id": record.campaign_id,
        "name": record.name,
        "status": record.status,
        "task": record.config.task,
        "policy": "recipes" if record.config.recipes else record.config.policy.name,
        "seed": record.seed,
        "experiments": record.experiments,
        "pending": record.pending,
        "best_score": record.best_value,
        "best_experiment_id": record.best_experiment_id,
        "created_at": record.created_at.isoformat(),
        "finished_at": None if record.finished_at is None else record.finished_at.isoformat(),
    }
