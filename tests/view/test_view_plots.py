"""Pictures of runs: what they choose to show, that nothing is lost on the way, and that they are files."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from steadyhand.core.link import PROFILES, LinkProfile
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.ground.config import CommunicationConfig
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import Motion
from steadyhand.simulation.metrics import summarize
from steadyhand.simulation.run import RunResult, simulate
from steadyhand.simulation.scenario import DEPLOYED, Restart, Scenario
from steadyhand.view.plots import check_plot_path, draw_run
from steadyhand.view.plots.page import embedded_json
from steadyhand.view.plots.style import PALETTE
from steadyhand.view.simulate_table import ROWS

CHROMIUM = Path("/usr/bin/chromium")
LOSES_ALL = LinkProfile(name="loses all", loss=1.0)
LOSSY = LinkProfile(name="lossy", delay_ms=20.0, jitter_ms=4.0, loss=0.06)


def play(
    link: LinkProfile = PROFILES["wifi_burst"],
    *,
    motion: Motion | None = None,
    duration_s: float = 3.0,
    peers: bool = True,
    **changes: Any,
) -> RunResult:
    """A short run."""
    scenario = Scenario(
        motion=motion or builtin_motion("reaches", Random(7)),
        link=link,
        duration_s=duration_s,
        seed=changes.pop("seed", 7),
        **changes,
    )
    return simulate(scenario, peers=peers)


def joints(count: int, name: str = "many") -> Motion:
    """A swing of `count` joints, the last the widest."""
    times_s = [0.1 * step for step in range(31)]
    poses = [[(joint + 1.0) * np.sin(t) for joint in range(count)] for t in times_s]
    return Motion(times_s=times_s, poses_deg=poses, name=name)


def drawn(result: RunResult, path: Path) -> bytes:
    """The bytes of a drawn run."""
    draw_run(result, summarize(result), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def burst() -> RunResult:
    return play()


# ---- files ------------------------------------------------------------------------------------


def test_a_png_is_a_png_and_small(burst: RunResult, tmp_path: Path) -> None:
    content = drawn(burst, tmp_path / "run.png")
    assert content.startswith(b"\x89PNG")
    assert 50_000 < len(content) < 1_000_000


def test_an_svg_is_xml_that_says_what_is_shown(burst: RunResult, tmp_path: Path) -> None:
    content = drawn(burst, tmp_path / "run.svg")
    text = " ".join(ElementTree.fromstring(content).itertext())
    report = summarize(burst)
    for expected in ("steadyhand's playout buffer", "Latest wins", "Ordered stream", "nothing arrives"):
        assert expected in text
    assert f"{report['alternatives']['latest_wins']['peak_speed_deg_s']:,.0f} °/s" in text
    assert len(content) < 2_000_000


@pytest.mark.parametrize("name", ["run.pdf", "run", "run.svgz", "png"])
def test_another_suffix_is_refused_and_the_three_are_named(
    burst: RunResult, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InputError) as caught:
        draw_run(burst, summarize(burst), tmp_path / name)
    for suffix in (".png", ".svg", ".html"):
        assert suffix in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_the_suffix_may_be_in_capitals() -> None:
    assert check_plot_path(Path("RUN.SVG")) == ".svg"


def test_a_place_that_cannot_be_written_is_an_input_error(burst: RunResult, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.run\.svg: cannot be written: No such file"):
        draw_run(burst, summarize(burst), tmp_path / "nowhere" / "run.svg")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".png", ".html"])
def test_the_same_run_gives_the_same_bytes(burst: RunResult, tmp_path: Path, suffix: str) -> None:
    assert drawn(burst, tmp_path / f"a{suffix}") == drawn(play(), tmp_path / f"b{suffix}")


@pytest.mark.slow
def test_a_long_run_gives_a_picture_no_larger(tmp_path: Path) -> None:
    result = play(duration_s=200.0, motion=builtin_motion("sine", Random(0)))
    assert len(drawn(result, tmp_path / "long.svg")) < 2_000_000


def test_matplotlib_loads_only_when_something_is_drawn_and_pyplot_never() -> None:
    code = (
        "import sys, steadyhand.view.plots as plots\n"
        "if 'matplotlib' in sys.modules:\n"
        "    raise RuntimeError('loaded on import')\n"
        "import steadyhand.view.plots.run_plot, steadyhand.view.plots.tune_plot\n"
        "from steadyhand.view.plots.style import house_style\n"
        "import matplotlib\n"
        "before = matplotlib.rcParams.copy()\n"
        "with house_style():\n"
        "    if matplotlib.rcParams['svg.hashsalt'] != 'steadyhand':\n"
        "        raise RuntimeError('the house style is not set')\n"
        "if matplotlib.rcParams.copy() != before:\n"
        "    raise RuntimeError('global state left behind')\n"
        "if 'matplotlib.pyplot' in sys.modules:\n"
        "    raise RuntimeError('pyplot loaded')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- runs that are hard to draw -----------------------------------------------------------------

HARD: dict[str, Callable[[], RunResult]] = {
    "nothing arrives": lambda: play(LOSES_ALL),
    "only a stop, for ever": lambda: play(
        PROFILES["stale_replay"], duration_s=13.0, recover_s=-1.0, motion=joints(3)
    ),
    "every loss becomes a synthetic": lambda: play(LOSSY, redundancy=0),
    "one joint": lambda: play(motion=joints(1)),
    "twelve joints": lambda: play(motion=joints(12)),
    "a joint that never moves": lambda: play(
        PROFILES["clean"], motion=Motion(times_s=[0.0, 1.0], poses_deg=[[5.0], [5.0]])
    ),
    "no buffer": lambda: play(communication=CommunicationConfig(playout_buffer_ms=0.0)),
    "no alternatives": lambda: play(peers=False),
    "a sender that restarts": lambda: play(restarts=(Restart(at_s=1.0, gap_s=0.7),), drift_ppm=-300.0),
    "adaptive depth": lambda: play(
        LOSSY, communication=msgspec.structs.replace(DEPLOYED, playout_adaptive_max_ms=400.0)
    ),
    "a tenth of a second": lambda: play(duration_s=0.1),
    "names that are markup": lambda: play(
        LinkProfile(name='</script><b>&"', delay_ms=1.0), motion=joints(2, name="a$x^2$ <i> 机器人 \x07.csv")
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HARD)
def test_a_run_that_is_hard_to_draw_is_drawn(case: str, tmp_path: Path) -> None:
    page = drawn(HARD[case](), tmp_path / "run.html").decode()
    assert page.count("<script") == page.count("</script>") == 2
    picture = page[page.index("<figure><svg") + len("<figure>") : page.index("<figcaption>")]
    ElementTree.fromstring(picture)


def test_a_name_is_shown_as_it_is(tmp_path: Path) -> None:
    picture = drawn(HARD["names that are markup"](), tmp_path / "run.svg")
    assert "motion a$x^2$ <i> 机器人 ?.csv" in " ".join(ElementTree.fromstring(picture).itertext())


# ---- the page -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stopped() -> RunResult:
    return play(PROFILES["blackhole"], duration_s=8.0)


@pytest.fixture(scope="module")
def stopped_page(stopped: RunResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    return drawn(stopped, tmp_path_factory.mktemp("page") / "run.html").decode()


def test_the_page_has_the_figures_the_stops_and_what_was_asked(stopped: RunResult, stopped_page: str) -> None:
    page = stopped_page
    report = summarize(stopped)
    lanes = [report, *report["alternatives"].values()]
    for label, figure in ROWS:
        row = page[page.index(f'<th scope="row">{label}</th>') :].split("</tr>")[0]
        for lane in lanes:
            assert f">{figure(lane)}<" in row
    assert report["stops"], "the scenario is one that stops"
    assert report["stops"][0]["why"].replace("'", "&#x27;") in page
    assert "blackhole" in page
    assert f">{report['counters']['offered']:,}<" in page


def test_the_page_opens_with_the_network_cable_out(stopped_page: str) -> None:
    page = stopped_page
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\((?!#)", page)
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', page)
    assert "default-src 'none'" in page


@pytest.mark.slow
def test_the_page_follows_light_and_dark_with_every_colour_of_the_picture(
    stopped: RunResult, stopped_page: str, tmp_path: Path
) -> None:
    lights = [light for light, _ in PALETTE.values()]
    assert len(set(lights)) == len(lights), "a light colour twice could not be told apart in the picture"
    svg = drawn(stopped, tmp_path / "run.svg").decode()
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) <= set(lights)
    body = stopped_page[stopped_page.index("<body>") : stopped_page.index("<script")]
    assert not re.findall(r"#[0-9a-f]{6}\b", body)


def test_no_markup_inside_the_data_ends_its_block() -> None:
    block = embedded_json("x", {"name": "</script><script>alert(1)</script>"})
    assert block.count("</script>") == 1
    inner = re.fullmatch(r"<script[^>]*>(.*)</script>\n", block)
    assert inner is not None
    assert msgspec.json.decode(inner.group(1)) == {"name": "</script><script>alert(1)</script>"}


# ---- in a browser -----------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs the distribution's Chromium")
def test_the_chart_reads_ticks_zooms_and_obeys_the_keyboard(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    result = play()
    drawn(result, tmp_path / "run.html")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        page = browser.new_context(offline=True).new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.goto((tmp_path / "run.html").as_uri())
        chart = page.locator("#chart")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
        tick_s = reading(page)
        chart.focus()
        page.keyboard.press("ArrowRight")
        assert tick_s < reading(page) < tick_s + 0.1
        page.keyboard.press("0")
        page.keyboard.press("+")
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
        page.mouse.wheel(0, -400)
        buffer_row = page.inner_text("#readout tr:first-child").split("\t")
        assert buffer_row[0] == "steadyhand's playout buffer"
        assert "received setpoint" in buffer_row
        browser.close()
    assert faults == []


def reading(page: Any) -> float:
    """The time the chart's readout tells, seconds."""
    found = re.match(r"At ([0-9.]+) s: the datagram sent then arrived", page.inner_text("#readout-when"))
    assert found is not None
    return float(found.group(1))
