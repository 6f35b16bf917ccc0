"""The page of `minilite report` in a real browser: hovering, zooming, sorting, searching; names that are traps.

Needs selenium (the extra `test`), Chromium and its driver: on Debian, `apt-get install chromium chromium-driver`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minilite.cli import main
from minilite.format.builder import ModelBuilder

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver")

DIGITS = Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,900",
]
LEFT, BOTTOM, ABOVE = 62, 18, 1.03
"""The margins of the maps in their canvas, as in page.js."""
TRAPS = [
    "</script><script>broken=1</script>",
    "<img src=x onerror=broken=2>",
    "a\"b'c`${broken=3}$title",
    "\x00\n\x7f é ☃",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    except Exception as error:  # noqa: BLE001 - whatever keeps it from starting here
        pytest.skip(f"the browser does not start: {str(error)[:200]}")
    yield found
    found.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


class Page:
    """A page that is open, and what people do with it."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.browser = browser
        browser.get(path.as_uri())
        self.settle()

    def settle(self) -> None:
        """Waits until everything is drawn."""
        script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        self.browser.execute_async_script(script)

    def js(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(f"return {script}", *arguments)

    def point(self, across: float, up: float, side: int = 0, kind: str = "pointermove") -> str:
        """Moves the pointer to shares of a map's width and height; returns what the page says there."""
        script = """(() => {
            const map = document.querySelectorAll('.map')[arguments[2]], area = map.getBoundingClientRect();
            const x = area.left + LEFT + arguments[0] * (area.width - LEFT), y = area.top + (1 - arguments[1]) * (area.height - BOTTOM);
            map.dispatchEvent(new PointerEvent(arguments[3], {clientX: x, clientY: y, bubbles: true}));
            const tip = document.getElementById('tip');
            return tip.style.display === 'block' ? tip.textContent : '';
        })()"""
        script = script.replace("LEFT", str(LEFT)).replace("BOTTOM", str(BOTTOM))
        return str(self.js(script, across, up, side, kind))

    def wheel(self, turn: int, across: float, up: float, side: int = 0) -> bool:
        """Turns the wheel over a map; returns whether the map took it."""
        script = """(() => {
            const map = document.querySelectorAll('.map')[arguments[3]], area = map.getBoundingClientRect();
            const x = area.left + LEFT + arguments[1] * (area.width - LEFT), y = area.top + (1 - arguments[2]) * (area.height - BOTTOM);
            return !map.dispatchEvent(new WheelEvent('wheel', {deltaY: arguments[0], clientX: x, clientY: y, cancelable: true}));
        })()"""
        taken = self.js(script.replace("LEFT", str(LEFT)).replace("BOTTOM", str(BOTTOM)), turn, across, up, side)
        self.settle()
        return bool(taken)

    def picture(self, canvas: str = ".map") -> str:
        return str(self.js("document.querySelector(arguments[0]).toDataURL()", canvas))

    def column(self, at: int) -> list[str]:
        return list(
            self.js(
                "[...document.querySelectorAll('#table tbody tr')].map(row => row.cells[arguments[0]].textContent)", at
            )
        )

    def click(self, selector: str, at: int = 0) -> None:
        self.js("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, at)
        self.settle()

    def search(self, words: str) -> str:
        """Types into the search; returns how many nodes the page says there are."""
        return str(
            self.js(
                """(() => {
            const field = document.getElementById('search');
            field.value = arguments[0];
            field.dispatchEvent(new Event('input'));
            return document.getElementById('count').textContent;
        })()""",
                words,
            )
        )

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def digits(browser: Any, folder: Path) -> Iterator[Page]:
    path = folder / "digits.html"
    if not path.exists():
        assert main(["report", str(DIGITS), "-o", str(path), "--runs", "2"]) == 0
    page = Page(browser, path)
    yield page
    assert page.errors() == []


def test_nothing_comes_from_elsewhere(digits: Page) -> None:
    assert digits.js("performance.getEntriesByType('resource').length") == 0
    assert digits.js("document.title") == "digits.tflite"
    assert digits.js("(map => [map.width, map.height].join())(document.querySelector('.map'))") == digits.js(
        "(map => [map.clientWidth, map.clientHeight].map(n => n * devicePixelRatio).join())(document.querySelector('.map'))"
    )


def test_hovering_tells_name_size_lifetime_and_producer(digits: Page) -> None:
    told = digits.point(0.05, 0.3).splitlines()
    assert told == [
        "conv_1", "1x8x8x8 float32", "2,048 bytes at 0", "needed from node 0 CONV_2D to node 1 CONV_2D", "made by node 0 CONV_2D",
    ]  # fmt: skip
    assert digits.point(0.95, 0.5) == ""
    digits.point(0, 0, kind="pointerleave")
    assert not digits.js("document.getElementById('tip').textContent && document.getElementById('tip').offsetWidth")


def test_zooming_and_coming_back(digits: Page) -> None:
    whole = digits.picture()
    assert not digits.wheel(-100, 0.5, 0.5)  # it scrolls the page
    digits.js("document.querySelector('.map').focus()")
    digits.settle()
    for _ in range(12):
        assert digits.wheel(-100, 0.05, 0.3)
    assert digits.picture() != whole
    corners = {digits.point(across, up) for across in (0.05, 0.8) for up in (0.05, 0.95)}
    assert [told.partition("\n")[0] for told in corners] == ["conv_1"]  # it fills the view
    digits.point(0, 0, kind="pointerleave")
    live = digits.picture("#live")
    digits.click("#all")
    assert digits.picture() == whole
    assert digits.picture("#live") != live
    digits.click("#in")
    assert digits.picture() != whole
    for _ in range(3):
        digits.click("#out")
    assert digits.picture() == whole


def test_keys_zoom_too(digits: Page) -> None:
    whole = digits.picture()
    press = "document.querySelector('.map').dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))"
    for key in ("+", "ArrowRight"):
        before = digits.picture()
        digits.js(press, key)
        digits.settle()
        assert digits.picture() != before
    digits.js(press, "0")
    digits.settle()
    assert digits.picture() == whole


def test_a_finger_marks_zooms_and_moves(digits: Page) -> None:
    whole = digits.picture()
    touch = """(() => {
        const map = document.querySelector('.map'), area = map.getBoundingClientRect();
        const event = (kind, x, y) => map.dispatchEvent(new PointerEvent(kind, {
            pointerType: 'touch', clientX: area.left + x * area.width, clientY: area.top + y * area.height}));
        event('pointerdown', arguments[0], arguments[1]);
        event('pointermove', arguments[2], arguments[3]);
        event('pointerup', arguments[2], arguments[3]);
    })()"""
    digits.js(touch, 0.1, 0.6, 0.1, 0.6)
    assert digits.js("document.getElementById('tip').textContent").startswith("conv_1")
    for _ in range(6):
        digits.click("#in")
    before = digits.picture()
    assert before != whole
    assert digits.point(0.1, 0.5).startswith("conv_1")  # what was marked stays in view
    digits.js(touch, 0.9, 0.5, 0.2, 0.5)
    digits.settle()
    assert digits.picture() != before
    digits.point(0, 0, kind="pointerleave")


def test_strategies_side_by_side(digits: Page) -> None:
    second = "document.querySelectorAll('figure')[1]"
    assert digits.js(f"{second}.hidden")
    names = digits.js("[...document.getElementById('right').options].map(option => option.text)")
    assert names[0] == "nothing beside it"
    assert {"default", "tflite", "naive"} < {name.split(",")[0] for name in names}
    naive = next(at for at, name in enumerate(names) if name.startswith("naive"))
    select = """(() => {
        const select = document.getElementById('right');
        select.selectedIndex = arguments[0];
        select.dispatchEvent(new Event('change'));
    })()"""
    digits.js(select, naive)
    digits.settle()
    assert not digits.js(f"{second}.hidden")
    assert digits.js(f"{second}.textContent").startswith("naive: 4.13 KiB, 50.0 % above the bound")
    assert digits.point(0.52, 0.01, 1) != digits.point(0.52, 0.01, 0) != ""


def test_sorting_and_searching(digits: Page) -> None:
    assert digits.column(0) == [str(at) for at in range(8)]
    digits.click("th button", 0)
    assert digits.column(0) == [str(at) for at in reversed(range(8))]
    digits.click("th button", 7)
    work = [float(text or "-1") for text in digits.column(8)]
    digits.click("th button", 8)
    sums = digits.column(8)
    assert [float(text) for text in sums if text] == sorted((value for value in work if value >= 0), reverse=True)
    assert sums[-2:] == ["", ""]  # what has none comes last
    assert digits.search("SOFT max") == "1 of 8 nodes"
    assert digits.column(1) == ["SOFTMAX"]
    assert digits.search("nothing") == "0 of 8 nodes"
    assert digits.search("") == "8 nodes"


def test_a_click_on_a_node_marks_it(digits: Page) -> None:
    map_, graph = digits.picture(), digits.picture("#graph canvas")
    digits.click("#table tbody tr", 3)
    assert digits.picture() != map_
    assert digits.picture("#graph canvas") != graph
    assert digits.js("document.querySelectorAll('tr.on').length") == 1


def test_a_node_opens_in_the_graph(digits: Page) -> None:
    """A search, a click on it, and the way to a neighbour open it: options, shapes, and the range of weights."""
    about = "document.getElementById('about').innerText"
    find = """(() => {
        const field = document.getElementById('find');
        field.value = arguments[0];
        field.dispatchEvent(new Event('input'));
        return document.getElementById('hits').textContent;
    })()"""
    assert digits.js(find, "conv_2d") == "6 found"
    assert digits.js(about).startswith("0 CONV_2D")
    press = "document.getElementById('find').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))"
    digits.js(press)
    told = digits.js(about)
    assert told.startswith("1 CONV_2D")
    for part in ("options", "stride_w = 2", "inputs", "3 conv_1", "float32 1x8x8x8", "constant: ", " to ", "outputs"):
        assert part in told, told
    before = digits.picture("#graph canvas")
    digits.js("[...document.querySelectorAll('#about button')].at(-1).click()")
    digits.settle()
    assert digits.js(about).startswith("2 CONV_2D")
    assert digits.picture("#graph canvas") != before
    assert digits.js(find, "no such node") == "0 found"
    click = """(() => {
        const holder = document.getElementById('graph'), canvas = holder.firstElementChild, area = canvas.getBoundingClientRect();
        holder.scrollTop = 0;
        canvas.dispatchEvent(new MouseEvent('click', {clientX: area.left + 40, clientY: area.top + arguments[0], bubbles: true}));
    })()"""
    digits.js(click, 30)
    assert digits.js(about).startswith("0 CONV_2D")
    digits.js(click, 56)  # between two nodes
    assert digits.js(about) == "No node is open."


def test_branches_stand_beside_each_other(browser: Any, folder: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.node("TANH", [graph.input("x", (1, 4))], out=("start", (1, 4)))
    ends = [graph.node("NEG", [x], out=(f"branch_{at}", (1, 4))) for at in range(3)]
    graph.output(graph.node("ADD_N", ends, out=("sum", (1, 4))))
    path = folder / "branches.tflite"
    path.write_bytes(builder.build())
    assert main(["report", str(path), "-o", str(folder / "branches.html"), "--runs", "1"]) == 0
    page = Page(browser, folder / "branches.html")
    click = """(() => {
        const canvas = document.querySelector('#graph canvas'), area = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new MouseEvent('click', {clientX: area.left + arguments[0], clientY: area.top + arguments[1], bubbles: true}));
        return document.querySelector('#about h3') && document.querySelector('#about h3').textContent;
    })()"""
    assert [page.js(click, 60 + 226 * lane, 12 + 62 + 18) for lane in range(3)] == ["1 NEG", "2 NEG", "3 NEG"]
    assert page.js(click, 60, 12 + 2 * 62 + 18) == "4 ADD_N"
    assert page.errors() == []


def test_in_the_dark_and_on_a_phone(digits: Page) -> None:
    light = digits.picture()
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    digits.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    digits.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        digits.settle()
        assert digits.js("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
        assert digits.js("document.documentElement.scrollWidth") <= 360
        assert digits.picture() != light
        assert digits.point(0.05, 0.3).startswith("conv_1")
    finally:
        digits.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        digits.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_names_from_a_file_are_only_text(browser: Any, folder: Path) -> None:
    builder = ModelBuilder(description=TRAPS[0])
    graph = builder.subgraph(TRAPS[0])
    x = graph.input(TRAPS[0], (1, 64), signature=(-1, 64))
    for name in TRAPS[1:]:
        x = graph.node("TANH", [x], out=(name, (1, 64)))
    graph.output(x)
    path = folder / "<b>&\"'$data.tflite"
    path.write_bytes(builder.build())
    assert main(["report", str(path), "-o", str(folder / "traps.html"), "--runs", "1"]) == 0
    page = Page(browser, folder / "traps.html")
    assert page.js("typeof broken") == "undefined"
    assert page.js("document.scripts.length") == 2
    assert page.js("document.images.length + document.querySelectorAll('b').length") == 0
    assert page.js("document.querySelector('h1').textContent") == path.name
    assert page.column(5) == [*TRAPS[1:3], r"\u0000\u000a\u007f é ☃"]
    assert page.js("document.querySelector('h1 + p').textContent").startswith(f"{TRAPS[0]} 1x64 float32")
    assert page.point(0.01, 0.99 / ABOVE) or page.point(0.01, 0.2)
    assert page.errors() == []


def large(nodes: int) -> bytes:
    """A chain with sums of tensors from much earlier in it."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    rng = np.random.default_rng(0)
    made = [graph.input("x", (1, 16))]
    for at in range(nodes):
        name = f"block_{at // 10}/layer_{at}"
        other = made[max(0, at - int(rng.integers(1, 60)))]
        read = [made[-1], other] if at % 3 == 0 else [made[-1]]
        made.append(graph.node("ADD" if at % 3 == 0 else "TANH", read, out=(name, (1, 16))))
    graph.output(made[-1])
    return builder.build()


def test_two_thousand_tensors(browser: Any, folder: Path) -> None:
    path = folder / "large.tflite"
    path.write_bytes(large(2000))
    assert main(["report", str(path), "-o", str(folder / "large.html"), "--runs", "1"]) == 0
    assert (folder / "large.html").stat().st_size < 5e6
    page = Page(browser, folder / "large.html")
    assert len(page.column(0)) == 200
    assert page.search("layer_199") == "11 of 2000 nodes"
    assert page.search("") == "2000 nodes"
    page.click("#more")
    assert len(page.column(0)) == 2000
    page.js("document.querySelector('.map').focus()")
    for _ in range(30):
        assert page.wheel(-100, 0.5, 0.5)
    graph = page.picture("#graph canvas")
    page.js("document.getElementById('graph').scrollTop = 40000")
    page.settle()
    assert page.picture("#graph canvas") != graph
    assert page.errors() == []
