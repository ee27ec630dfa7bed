"""The report: complete in itself, safe, and true to the campaign."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from labenv.campaigns.comparison import compare
from labenv.errors import ConfigError
from labenv.web.diffraction_chart import diffraction_chart
from labenv.web.progress_chart import progress_chart
from labenv.web.report import render_report, write_report
from labenv.web.svg import text_box
from labenv.web.timeline_chart import timeline_chart


def _load(name: str):
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


samples = _load("campaign_samples")
CAMPAIGN = samples.campaign(
    samples.row(0, 0.4),
    samples.row(1, None, "failed_machine"),
    samples.row(2, 0.98),
    samples.row(3, 0.0, "invalid", message="the furnace ends at 1600 °C"),
    uses=(
        samples.use(0, "ball-mill", 0, 1),
        samples.use(0, "furnace-1", 1, 9),
        samples.use(1, "furnace-2", 1, 9, "failed"),
        samples.use(2, "furnace-1", 9, 30),
    ),
)


class Outline(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def outline(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Outline()
    parser.feed(html)
    return parser.tags


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    tags = outline(render_report(CAMPAIGN, samples.scan()))
    names = {tag for tag, _ in tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base"}
    for _, attributes in tags:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
    html = render_report(CAMPAIGN)
    assert "@import" not in html
    assert "url(" not in html


def test_text_of_users_is_escaped() -> None:
    html = render_report(CAMPAIGN, samples.scan())
    assert "<campaign>" not in html
    assert "Test &lt;campaign&gt;" in html
    assert "plan <0>" not in html


def test_the_page_says_how_the_campaign_went() -> None:
    html = render_report(CAMPAIGN, samples.scan())
    for said in ("0.980", "experiment 2", "reached", "1 failed machine, 1 invalid", "c00001",
                 "the furnace ends at 1600 °C", "lab fingerprint", "BaTiO3-tetragonal",
                 "2026-01-02 03:04:05 UTC", "batio3-synthesis", "sobol"):  # fmt: skip
        assert said in html, said


def test_the_page_can_be_read_without_seeing_it() -> None:
    tags = outline(render_report(CAMPAIGN, samples.scan()))
    assert ("html", {"lang": "en"}) in tags
    charts = [attributes for tag, attributes in tags if tag == "svg"]
    assert len(charts) == 3
    assert all(chart["role"] == "img" and len(chart["aria-label"] or "") > 40 for chart in charts)
    headings = [tag for tag, _ in tags if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert all(attributes.get("scope") for tag, attributes in tags if tag == "th")


def test_colours_are_given_for_light_and_dark() -> None:
    html = render_report(CAMPAIGN)
    light, dark = re.findall(r":root \{(.*?)\}", html, re.DOTALL)[:2]
    defined = set(re.findall(r"(--[\w-]+):", light))
    assert defined <= set(re.findall(r"(--[\w-]+):", dark))
    assert set(re.findall(r"var\((--[\w-]+)\)", html)) <= defined


@pytest.mark.parametrize(
    "svg",
    [progress_chart(CAMPAIGN), timeline_chart(CAMPAIGN), diffraction_chart(samples.scan(), "x")],
    ids=["progress", "timeline", "diffraction"],
)
def test_charts_are_well_formed_and_finite(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    assert "nan" not in svg
    assert "inf" not in svg.replace("info", "")
    for item in root.iter():
        for name, limit in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            if name in item.attrib:
                assert -1 <= float(item.attrib[name]) <= limit + 1, item.attrib


def test_every_outcome_is_a_mark_with_its_plan_as_tooltip() -> None:
    root = ElementTree.fromstring(progress_chart(CAMPAIGN))
    titles = [item.text or "" for item in root.iter("{http://www.w3.org/2000/svg}title")]
    for index in range(4):
        assert any(t.startswith(f"experiment {index}") and "plan <" in t for t in titles)
    assert any("not scored" in title for title in titles)


def test_the_score_is_called_score_and_explained() -> None:
    html = render_report(CAMPAIGN)
    assert "Score: the measured weight fraction of the target less its standard unc" in html
    assert "merit" not in html
    assert '<th scope="col" class="num">Score</th>' in html
    titles = ElementTree.fromstring(progress_chart(CAMPAIGN)).itertext()
    assert any("experiment 2: score 0.980" in title for title in titles)


def test_a_score_short_of_the_goal_never_reads_as_the_goal() -> None:
    html = render_report(samples.campaign(samples.row(0, 0.96996)))
    assert "not reached" in html
    assert "0.96996" in html
    assert "0.970" not in html


def test_a_refused_plan_is_never_the_best() -> None:
    summary = samples.campaign(samples.row(0, 0.0, "invalid"), samples.row(1, 0.0, "invalid"))
    assert summary.best is None
    assert "point best" not in render_report(summary)
    assert samples.campaign(samples.row(0, 0.0, "invalid"), samples.row(1, 0.0)).best.index == 1


def test_late_results_are_marked() -> None:
    rows = (samples.row(0, 0.9), samples.row(1, None, "ok", late=True, message="after the budget"))
    summary = dataclasses.replace(samples.campaign(*rows), lab_time_limit_s=15 * 3600.0)
    html = render_report(summary)
    for said in ("1 late", ">late</td>", "not scored: 1.", "after the budget", 'class="limit"'):
        assert said in html, said
    assert 'class="limit"' not in render_report(samples.campaign(samples.row(0, 0.9)))


def test_the_tile_counts_the_late_results_that_the_text_names() -> None:
    rows = (
        samples.row(0, 0.9),
        samples.row(1, None, "failed_machine"),
        samples.row(2, None, "ok", late=True),
        samples.row(3, None, "failed_machine", late=True),
    )
    html = render_report(dataclasses.replace(samples.campaign(*rows), lab_time_limit_s=1.0))
    assert "not scored: 2, 3." in html
    assert "<small>1 failed machine, 2 late</small>" in html
    assert ">late, failed machine</td>" in html


def boxes(svg: str, class_: str) -> list[tuple[float, float, float, float]]:
    return [
        text_box(
            float(item.attrib["x"]),
            float(item.attrib["y"]),
            item.text or "",
            item.attrib["text-anchor"],  # type: ignore[arg-type]
        )
        for item in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
        if set(class_.split()) <= set(item.attrib.get("class", "").split())
    ]


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return (
        one[0] < other[1] and other[0] < one[1] and one[2] < other[3] - 1 and other[2] < one[3] - 1
    )


@pytest.mark.parametrize("best_at", range(12))
def test_the_labels_of_the_best_curve_cover_no_mark(best_at: int) -> None:
    rows = [
        samples.row(index, 0.969 if index == best_at else 0.90 + 0.005 * index)
        for index in range(12)
    ]
    svg = progress_chart(samples.campaign(*rows))
    labels = boxes(svg, "note halo")
    assert len(labels) == 2
    assert not overlap(*labels)
    marks = [
        (float(item.attrib["cx"]), float(item.attrib["cy"]))
        for item in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}circle")
    ]
    for left, right, top, bottom in labels:
        assert not [1 for x, y in marks if left < x < right and top < y < bottom]


def test_the_labels_of_the_timeline_stand_apart() -> None:
    svg = timeline_chart(CAMPAIGN)
    labels = sorted(boxes(svg, "station") + boxes(svg, "tick"), key=lambda box: box[2])
    labels = [box for box in labels if box[0] < 140]
    assert len(labels) >= 6
    for index, one in enumerate(labels):
        assert not [other for other in labels[index + 1 :] if overlap(one, other)]


PROBE = """<body><iframe id="f" src="report.html" style="width:375px;height:3000px"></iframe>
<script>f.onload = () => { const page = f.contentDocument.documentElement;
document.title = page.scrollWidth + "/" + page.clientWidth }</script></body>"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium to lay the page out")
def test_the_page_fits_a_phone(tmp_path: Path) -> None:
    name = "BaTiO3_" + "a_name_without_any_space_" * 4
    plain = samples.row(1, 0.5, plan="12.5 mmol BaCO3 + 12.5 mmol TiO2, 1200 degC", message=name)
    html = render_report(samples.campaign(plain, uses=CAMPAIGN.uses, name=name), samples.scan())
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    (tmp_path / "probe.html").write_text(PROBE)
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
         "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}",
         "--dump-dom", (tmp_path / "probe.html").as_uri()],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    found = re.search(r"<title>(\d+)/(\d+)</title>", done.stdout)
    assert found is not None, done.stdout[:500]
    assert found[1] == found[2]


def test_every_operation_is_a_bar_of_its_length() -> None:
    root = ElementTree.fromstring(timeline_chart(CAMPAIGN))
    bars = [
        item for item in root.iter("{http://www.w3.org/2000/svg}rect")
        if item.attrib["class"].startswith("bar")
    ]  # fmt: skip
    assert len(bars) == 4
    widths = sorted(float(bar.attrib["width"]) for bar in bars)
    assert widths[-1] / widths[0] == pytest.approx(21.0, rel=0.1)
    assert sum("failed" in bar.attrib["class"] for bar in bars) == 1
    labels = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert labels.index("furnace-1") < labels.index("ball-mill")


def test_a_campaign_without_outcomes_still_has_a_report() -> None:
    html = render_report(samples.campaign())
    assert "No experiment has finished yet." in html
    assert "No operation has run." in html
    unscored = samples.campaign(samples.row(0, None, "cancelled"))
    assert "No experiment could be scored." in render_report(unscored)


def test_published_and_simulated_stand_side_by_side() -> None:
    recipe_tests = Path(__file__).parents[1] / "campaigns" / "test_comparison.py"
    assert recipe_tests.exists()
    from labenv_schemas import Outcome, Recipe
    from labenv_schemas.base import parse

    recipe = parse(Recipe, {
        "name": "Author 2000", "citation": "A. Author, J. Sources 1 (2000) 1",
        "proposal": {"operations": [
            {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]}]},
        "published": {"phases": {"BaTiO3": 1.0}, "statement": "single phase"},
    })  # fmt: skip
    outcome = Outcome(experiment_id="e", status="ok", analyses=(samples.scan().recorded,))
    html = render_report(CAMPAIGN, comparisons=[compare(recipe, outcome)])
    for said in ("Simulated beside published", "Author 2000", "J. Sources 1 (2000) 1",
                 "BaTiO3 alone", "has Ba2TiO4", "BaTiO3 -0.020", "in 0 of 1"):  # fmt: skip
        assert said in html, said


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.html"
    write_report(path, "<p>é</p>")
    assert path.read_text(encoding="utf-8") == "<p>é</p>"
    assert [item.name for item in path.parent.iterdir()] == ["b.html"]
    with pytest.raises(ConfigError, match="cannot be written"):
        write_report(path / "c.html", "x")
