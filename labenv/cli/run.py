"""`labenv run`: a campaign from its file to its report."""

from __future__ import annotations

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
    tell,
)
from labenv.cli.outputs import check_output
from labenv.cli.stores import open_store
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labenv.store import CampaignRecord, Store
    from labenv_schemas.campaign import CampaignConfig

EXAMPLES = examples(
    "labenv run examples/batio3.yaml",
    "labenv run my.yaml --policy sobol --experiments 20 --seed 3",
    "labenv run my.yaml --store postgresql://me@host/lab --report my.html",
    "labenv run my.yaml --lab examples/labs/twin_bench.yaml",
    "labenv run --resume latest",
)
_LARGEST_SEED = 2**63 - 1
_MOST_DIFFERENCES, _LONGEST_VALUE = 4, 40


def run(  # noqa: PLR0913 - one parameter an option
    campaign: Annotated[
        Path | None, typer.Argument(metavar="CAMPAIGN.yaml", help="The campaign file.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another policy; see 'labenv policies'.")
    ] = None,
    experiments: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Another number of experiments.")
    ] = None,
    goal: Annotated[
        float | None,
        typer.Option(metavar="SCORE", help="End the campaign at the first result of this score."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=_LARGEST_SEED, metavar="S", help="Another seed."),
    ] = None,
    lab: Annotated[
        Path | None,
        typer.Option(metavar="LAB.yaml", help="Run on the devices, or twins, of a lab file."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    resume: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Go on with a campaign of the store: its id or 'latest'."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Where the HTML report goes; beside the store by default."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Run a campaign, simulated or on devices, and report."""
    from labenv.campaigns.setup import check_campaign
    from labenv.cli.reports import check_report_path, report_path, save_report

    overrides = {"policy": policy, "experiments": experiments, "seed": seed, "goal": goal}
    config = _config(campaign, resume, overrides, lab)
    if config is not None:
        check_campaign(config)
    if report is not None:
        check_output(report, "report", store=store, campaign=campaign)
    check_report_path(report)
    with open_store(store, create=resume is None) as opened:
        campaign_id = _run(opened, config, resume, store_url=store, quiet=quiet)
        place = report_path(report, store, campaign_id)
        check_output(place, "report", store=store, campaign=campaign)
        written = save_report(opened, campaign_id, place)
        _print_result(opened, campaign_id, written, format_)


def _config(
    campaign: Path | None, resume: str | None, overrides: dict[str, Any], lab: Path | None
) -> CampaignConfig | None:
    """Return the campaign asked for; None when it is the store that knows it.

    Args:
        campaign: The file that was named, if any.
        resume: The campaign to go on with, if any.
        overrides: Options that replace settings of the file.
        lab: The lab file that replaces the campaign's laboratory, if any.

    Returns:
        The campaign.

    Raises:
        ConfigError: If neither is named, or settings of a resumed campaign are to be replaced.
    """
    from labenv.campaigns import load_campaign, with_overrides

    given = [f"--{name}" for name, value in overrides.items() if value is not None]
    given += [] if lab is None else ["--lab"]
    if resume is not None:
        if given:
            raise ConfigError(
                f"a resumed campaign keeps its own settings; leave out {', '.join(given)}"
            )
        return None if campaign is None else load_campaign(campaign)
    if campaign is None:
        raise ConfigError(
            "name a campaign file, such as examples/batio3.yaml, or a campaign with --resume"
        )
    config = with_overrides(load_campaign(campaign), **overrides)
    if lab is None:
        return config
    from labenv.campaigns.lab_file import load_lab

    return config.model_copy(update={"lab": load_lab(lab, system=config.lab.system)})


def _run(
    store: Store,
    config: CampaignConfig | None,
    resume: str | None,
    *,
    store_url: str,
    quiet: bool,
) -> str:
    """Run to the end; an interruption says how to go on.

    Args:
        store: Where the campaign is kept.
        config: The campaign to begin, or the file that was named beside the one to resume.
        resume: The campaign to go on with, if any.
        store_url: How the user named the store.
        quiet: Whether to show no progress.

    Returns:
        The campaign's id.

    Raises:
        ConfigError: If there is nothing to run.
        KeyboardInterrupt: If the user interrupts.
    """
    from labenv.campaigns import CampaignRunner
    from labenv.cli.live_display import open_display

    with open_display(quiet=quiet) as display:
        if resume is None:
            if config is None:
                raise ConfigError("there is no campaign to run")
            if config.lab.hand is not None:
                from labenv.lab.bench_lock import BenchLock, places_of

                BenchLock(places_of(config.lab)).check_free()
            runner = CampaignRunner.begin(store, config, on_progress=display)
        else:
            record = store.campaign(resume)
            _compare(config, record)
            if record.status == "finished":
                tell(f"campaign {record.campaign_id} is finished already")
                return record.campaign_id
            runner = CampaignRunner(store, record.campaign_id, on_progress=display)
        try:
            return runner.run()
        except (Exception, KeyboardInterrupt):
            display.close()
            if runner.has_led:
                _tell_how_to_resume(runner.campaign_id, store_url)
            raise


def _compare(config: CampaignConfig | None, record: CampaignRecord) -> None:
    """Make sure that a file named beside ``--resume`` is the campaign's own.

    Args:
        config: The file's campaign, if one was named.
        record: The campaign to resume.

    Raises:
        ConfigError: If they differ; the message says in what.
    """
    if config is None or config == record.config:
        return
    given, began = (item.model_dump(mode="json") for item in (config, record.config))
    found = list(_differences(given, began, ""))
    more = f"; and {len(found) - _MOST_DIFFERENCES} more" if len(found) > _MOST_DIFFERENCES else ""
    raise ConfigError(
        f"the file is not what campaign {record.campaign_id} began with "
        f"({'; '.join(found[:_MOST_DIFFERENCES])}{more}); leave the file out to go on with the "
        "campaign, or leave out --resume to begin another"
    )


def _differences(given: object, began: object, place: str) -> Iterator[str]:
    """Find where two campaigns differ.

    Args:
        given: Plain data of the file.
        began: Plain data of the store.
        place: Key that the data stands at.

    Yields:
        Each place with both values.
    """
    if isinstance(given, dict) and isinstance(began, dict):
        for key in dict.fromkeys([*given, *began]):
            inner = f"{place}.{key}" if place else str(key)
            yield from _differences(given.get(key), began.get(key), inner)
    elif isinstance(given, list) and isinstance(began, list) and len(given) == len(began):
        for index, (one, other) in enumerate(zip(given, began, strict=True)):
            yield from _differences(one, other, f"{place}[{index}]")
    elif given != began:
        yield f"{place}: {_short(given)} in the file, {_short(began)} in the store"


def _short(value: object) -> str:
    from labenv.campaigns.plan_text import count_text

    if isinstance(value, list):
        return count_text(len(value), "item")
    text = "nothing" if value is None else f"{value}"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _tell_how_to_resume(campaign_id: str, store_url: str) -> None:
    import shlex

    store = "" if store_url == DEFAULT_STORE else f" --store {shlex.quote(store_url)}"
    tell(f"nothing is lost; go on with: labenv run --resume {campaign_id}{store}")


def _print_result(store: Store, campaign_id: str, report: Path, format_: OutputFormat) -> None:
    from labenv.campaigns.retrospect import comparisons, summarise
    from labenv.cli.campaign_tables import print_comparisons, print_summary, summary_json

    summary, compared = summarise(store, campaign_id), comparisons(store, campaign_id)
    if format_ is OutputFormat.JSON:
        data = summary_json(summary, compared)
        print_json({**data, "store": store.location, "report": str(report)})
        return
    print_summary(summary)
    if compared:
        print_comparisons(compared)
    print_lines("", f"store:  {store.location}", f"report: {report}")
