"""How long reports take to make, how large they are, and how long frames take while their maps are zoomed in Chromium.

usage: python -m asv_bench.report_frames [MODEL.tflite ...]

Without models: the embedded one, and a chain of 2000 nodes. Needs selenium, chromium and chromedriver.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import minilite
from minilite.cli import main as command

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
FLAGS += ("--disable-component-update", "--disable-sync", "--window-size=1400,1000")
ZOOM = """
const done = arguments[0], map = document.querySelector('.map'), area = map.getBoundingClientRect(), times = [];
const select = document.getElementById('right');
select.selectedIndex = 2;
select.dispatchEvent(new Event('change'));
map.focus();
let last = null;
requestAnimationFrame(function step(now) {
  if (last !== null) times.push(now - last);
  last = now;
  if (times.length === 90) return done(times);
  const deltaY = times.length % 30 < 15 ? -80 : 80, clientX = area.left + area.width * 0.6, clientY = area.top + area.height * 0.7;
  map.dispatchEvent(new WheelEvent('wheel', {deltaY, clientX, clientY, cancelable: true}));
  requestAnimationFrame(step);
});
"""
"""Zooms two maps in and out, a turn of the wheel for each of 90 frames; gives milliseconds from frame to frame."""


def browser(profile: str) -> Any:
    """Chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def chain(path: Path, nodes: int) -> Path:
    """A model of so many nodes and tensors."""
    from asv_bench.benchmarks.common import chain as model

    path.write_bytes(model(nodes))
    return path


def main() -> None:
    """Prints a line for each model."""
    with tempfile.TemporaryDirectory() as folder:
        models = [Path(path) for path in sys.argv[1:]]
        if not models:
            digits = Path(minilite.__file__).parent / "data" / "digits.tflite"
            models = [digits, chain(Path(folder) / "chain_2000.tflite", 2000)]
        driver = browser(f"{folder}/profile")
        try:
            for model in models:
                page = Path(folder) / "page.html"
                started = time.perf_counter()
                command(["report", str(model), "-o", str(page)])
                seconds = time.perf_counter() - started
                driver.get(page.as_uri())
                times = sorted(driver.execute_async_script(ZOOM))
                print(
                    f"{model.name}: made in {seconds:.2f} s, {page.stat().st_size / 1000:.0f} kB; zooming, "
                    f"{len(times)} frames: median {times[len(times) // 2]:.1f} ms, slowest {times[-1]:.1f} ms"
                )
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
