"""The page in a browser: each tick can be asked, every figure opens as a table, nothing is fetched."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steadyhand.view.figures import SCRIPTS, play, render_all
from steadyhand.view.figures.words import sentence

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="the distribution's Chromium is not installed"),
]

OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg.fig')) {
    const view = svg.viewBox.baseVal;
    const texts = [...svg.querySelectorAll('text')].map((t) => [t.textContent, t.getBBox()]);
    texts.forEach(([a, r], i) => {
      if (r.x < 0 || r.x + r.width > view.width) found.push(`${a} leaves the picture`);
      for (const [b, s] of texts.slice(i + 1)) {
        const wide = Math.min(r.x + r.width, s.x + s.width) - Math.max(r.x, s.x);
        const high = Math.min(r.y + r.height, s.y + s.height) - Math.max(r.y, s.y);
        if (wide > 0.5 && high > 2) found.push(`${a} on ${b}`);
      }
      for (const line of svg.querySelectorAll('line.leader')) {
        const x = line.x1.baseVal.value;
        const crossed = t => x > r.x && x < r.x + r.width && r.y + r.height > line.y1.baseVal.value;
        const isNote = a.length > 3;
        if (isNote && crossed() && r.y < line.y2.baseVal.value) found.push(`a line through ${a}`);
      }
    });
  }
  return found;
}"""

CONTRASTS = """() => {
  const light = (css) => {
    const [r, g, b] = css.match(/[0-9.]+/g).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const under = (text) => {
    if (!text.classList.contains('seq')) return text.closest('svg').querySelector('.ground');
    let box = text.previousElementSibling;
    while (box.tagName !== 'rect' || box.classList.contains('ring')) box = box.previousElementSibling;
    return box;
  };
  return [...document.querySelectorAll('.fig text')].map((text) => {
    const pair = [text, under(text)].map((e) => light(getComputedStyle(e).fill)).sort((a, b) => b - a);
    return [(pair[0] + 0.05) / (pair[1] + 0.05), text.getAttribute('class')];
  });
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    for name, content in render_all().items():
        (folder / name).write_bytes(content)
    return folder / "index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, site: Path) -> Iterator[Any]:
    """The page at 1280 × 720, and a list `requested` of everything it asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    tab = context.new_page()
    tab.requested = []
    tab.on("request", lambda request: tab.requested.append(request.url))
    tab.goto(site.as_uri())
    yield tab
    context.close()


@pytest.fixture(scope="module")
def told() -> dict[str, list[str]]:
    """What each tick of each figure must say."""
    return {s.letter.lower(): [sentence(record) for record in play(s).ticks] for s in SCRIPTS}


def test_hovering_a_tick_tells_what_happened(page: Any, told: dict[str, list[str]]) -> None:
    for letter, sentences in told.items():
        figure = page.locator(f"#section-{letter}")
        for tick in (7, len(sentences) - 1):
            figure.locator(".column").nth(tick).hover()
            assert figure.locator(".told").inner_text() == sentences[tick]
        assert figure.locator(".column.on").count() == 1


def test_the_keyboard_walks_from_tick_to_tick(page: Any, told: dict[str, list[str]]) -> None:
    figure = page.locator("#section-d")
    page.locator("#section-c summary").focus()
    page.keyboard.press("Tab")
    assert figure.locator(".told").inner_text() == told["d"][0], "one Tab leads into the next figure"
    for _ in range(16):
        page.keyboard.press("ArrowRight")
    assert figure.locator(".told").inner_text() == told["d"][16]
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".told").inner_text() == told["d"][15]
    page.keyboard.press("End")
    assert figure.locator(".told").inner_text() == told["d"][-1]
    page.keyboard.press("ArrowRight")
    assert figure.locator(".told").inner_text() == told["d"][-1], "the last tick has no next"
    page.keyboard.press("Home")
    assert figure.locator(".told").inner_text() == told["d"][0]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY", "one Tab leads out again"


def test_a_tap_tells_it_too(browser: Any, site: Path, told: dict[str, list[str]]) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tab = context.new_page()
    tab.goto(site.as_uri())
    figure = tab.locator("#section-h")
    figure.locator(".column").nth(10).tap()
    assert figure.locator(".told").inner_text() == told["h"][10]
    context.close()


def test_every_figure_opens_as_a_table_of_its_ticks(page: Any, told: dict[str, list[str]]) -> None:
    for letter, sentences in told.items():
        details = page.locator(f"#section-{letter} details")
        assert not details.locator("table").is_visible()
        details.locator("summary").click()
        assert details.locator("table").is_visible()
        assert details.locator("tbody tr").count() == len(sentences)


def test_no_request_leaves_the_page(page: Any, site: Path) -> None:
    page.locator("#section-a .column").first.hover()
    page.locator("#section-a summary").click()
    outside = [url for url in page.requested if not url.startswith("data:")]
    assert outside == [site.as_uri()]


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 720)])
def test_figures_scroll_in_their_frame_and_the_page_does_not(page: Any, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    for details in page.locator("details").all():
        details.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inner = page.evaluate(
        "[...document.querySelectorAll('.scroll')].map((e) => e.scrollWidth - e.clientWidth)"
    )
    assert (max(inner) > 0) == (width < 760)


@pytest.mark.parametrize(("scheme", "ground"), [("light", "255, 255, 255"), ("dark", "18, 24, 31")])
def test_text_stands_out_from_what_it_stands_on(page: Any, scheme: str, ground: str) -> None:
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate("getComputedStyle(document.querySelector('.fig .ground')).fill") == f"rgb({ground})"
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 500
    assert min(contrasts, key=lambda each: each[0])[0] >= 4.5, "WCAG AA for small text"


def test_no_text_lies_on_another_and_no_line_runs_through_a_note(page: Any) -> None:
    assert page.evaluate(OVERLAPS) == []


def test_no_text_lies_on_another_in_the_pictures_that_stand_alone(browser: Any, site: Path) -> None:
    context = browser.new_context(viewport={"width": 960, "height": 600})
    tab = context.new_page()
    pictures = sorted(site.parent.glob("*.svg"))
    assert len(pictures) == 9
    for picture in pictures:
        tab.goto(picture.as_uri())
        assert tab.evaluate(OVERLAPS) == [], picture.name
    context.close()
