"""The published site: self-contained, and a graph is visible when a browser opens it from the disk."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from asv_bench import builds, history_chart, site

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FIGURE = "footprint.Arena.track_arena"


def browser() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def asv_page() -> str:
    asv = pytest.importorskip("asv", reason="needs the bench extra")
    return (Path(asv.__file__).parent / "www" / "index.html").read_text()


def test_everything_that_the_pages_load_has_a_package() -> None:
    addresses = [found[2] for found in site.TAG.finditer(asv_page())]
    assert len(addresses) > 5
    for address in addresses:
        package, file = site.package_of(address)
        assert re.fullmatch(r"[\w.-]+@[\d.]+", package)
        assert file.endswith((".js", ".css"))


def test_an_address_without_a_package_is_refused() -> None:
    with pytest.raises(site.SiteError, match="no package is known"):
        site.package_of("https://example.org/new.js")


def test_published_figures_cannot_end_the_script(tmp_path: Path) -> None:
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "a.json").write_text('["</script>"]')
    site.inline(tmp_path)
    text = (tmp_path / "data.js").read_text()
    assert "</" not in text
    assert json.loads(text.partition(" = ")[2].rstrip(";\n")) == {"graphs/a.json": '["</script>"]'}


def test_the_pages_have_what_was_measured_alone(tmp_path: Path) -> None:
    (tmp_path / "graphs" / "summary").mkdir(parents=True)
    (tmp_path / "graphs" / "summary" / "a.B.track_c.json").write_text("[[1, 2.0]]")
    (version, commit), *_ = builds.versions().items()
    index = {
        "benchmarks": {"a.B.track_c": {}, "a.B.time_d": {}},
        "revision_to_hash": {"7": f"{commit:0<40}"},
        "tags": {},
    }
    (tmp_path / "index.json").write_text(json.dumps(index))
    site.tidy(tmp_path)
    left = json.loads((tmp_path / "index.json").read_text())
    assert list(left["benchmarks"]) == ["a.B.track_c"]
    assert left["tags"] == {version: 7}


def test_the_history_is_above_the_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = asv_page()
    assert site.overview(page, tmp_path, tmp_path) == page
    line = history_chart.LINES[0]
    rows = [(letter * 40, {(history_chart.KINDS[0], line): 2.0}) for letter in "ab"]
    monkeypatch.setattr(history_chart, "machines", lambda _: [rows])
    found = site.overview(page, tmp_path, tmp_path)
    assert found.index("summarygrid-display") < found.index('src="history.svg"') < found.index("summarylist-display")
    assert line.title in (tmp_path / "history.svg").read_text()


# Pages in a browser ---------------------------------------------------------------------------------------------------


def run(*command: str, cwd: Path) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def test_a_fresh_clone_is_published_and_stays_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("asv")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # nothing is known of the machine
    root, home = tmp_path / "repo", tmp_path / "home"
    home.mkdir()
    shutil.copytree(site.HERE / "benchmarks", root / "asv_bench" / "benchmarks")
    config = json.loads((site.HERE / "asv.conf.json").read_text()) | {"matrix": {}}
    path = root / "asv_bench" / "asv.conf.json"
    path.write_text(json.dumps(config))
    (root / ".gitignore").write_text("__pycache__/\n/asv_bench/results/benchmarks.json\n")
    git = ("git", "-c", "user.name=site", "-c", "user.email=site@localhost", "-c", "commit.gpgsign=false")
    run("git", "init", "--quiet", "--initial-branch=main", cwd=root)
    run(*git, "commit", "--quiet", "--allow-empty", "-m", "measured", cwd=root)
    commit, (kept, *_) = (
        run("git", "rev-parse", "HEAD", cwd=root),
        sorted((site.HERE / "results/amd-epyc-4-cpus").glob("*-*.json")),
    )
    results = root / "asv_bench" / "results" / "amd-epyc-4-cpus"
    results.mkdir(parents=True)
    shutil.copyfile(site.HERE / "results" / "amd-epyc-4-cpus" / "machine.json", results / "machine.json")
    told = json.loads(kept.read_text()) | {"commit_hash": commit, "env_name": "virtualenv-py3.11"}
    (results / f"{commit[:8]}-virtualenv-py3.11.json").write_text(json.dumps(told))
    run("git", "add", "--all", cwd=root)
    run(*git, "commit", "--quiet", "-m", "results", cwd=root)
    site.publish(tmp_path / "out", path, results.parent)
    assert list((tmp_path / "out" / "graphs" / "summary").glob("milestones.*.json"))
    assert run("git", "status", "--porcelain", cwd=root) == ""
    assert list(home.iterdir()) == []


def measured(folder: Path) -> Path:
    """A scratch repository of three commits with one figure measured at each; asv's configuration."""
    root = folder / "repo"
    root.mkdir()
    run("git", "init", "--quiet", "--initial-branch=main", cwd=root)
    config = json.loads((site.HERE / "asv.conf.json").read_text())
    config |= {"repo": str(root), "benchmark_dir": str(site.HERE / "benchmarks"), "matrix": {}}
    config |= {f"{name}_dir": str(folder / name) for name in ("env", "results", "html")}
    path = folder / "asv.conf.json"
    path.write_text(json.dumps(config))
    asv = (sys.executable, "-m", "asv")
    identity = ("-c", "user.name=site", "-c", "user.email=site@localhost", "-c", "commit.gpgsign=false")
    for day in (1, 2, 3):
        dated = f"GIT_COMMITTER_DATE=2026-01-0{day}T12:00:00"
        run("env", dated, "git", *identity, "commit", "--quiet", "--allow-empty", "-m", f"{day}", cwd=root)
        commit = run("git", "rev-parse", "HEAD", cwd=root)
        env = ("env", f"HOME={folder}")
        run(*env, *asv, "machine", "--yes", "--config", str(path), cwd=folder)
        options = ("--config", str(path), "--quick", "--python=same", "--set-commit-hash", commit, "--bench", FIGURE)
        run(*env, *asv, "run", *options, cwd=folder)
    return path


def pixels(png: bytes) -> NDArray[np.uint8]:
    """The picture [height, width, channels] of an 8-bit PNG."""
    width, height, _, colour = struct.unpack(">IIBB", png[16:26])
    channels = {2: 3, 6: 4}[colour]
    packed, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        packed += png[at + 8 : at + 8 + size] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    out = np.zeros((height + 1, width + 1, channels), np.int32)
    for y, row in enumerate(rows):
        line = row[1:].reshape(width, channels).astype(np.int32)
        above = out[y, 1:]
        for x in range(width):
            left, corner = out[y + 1, x], out[y, x]
            near = left + above[x] - corner
            distance = [np.abs(near - one) for one in (left, above[x], corner)]
            paeth = np.where(
                (distance[0] <= distance[1]) & (distance[0] <= distance[2]),
                left,
                np.where(distance[1] <= distance[2], above[x], corner),
            )
            guess = (0, left, above[x], (left + above[x]) // 2, paeth)[row[0]]
            out[y + 1, x + 1] = (line[x] + guess) & 255
    return out[1:, 1:].astype(np.uint8)


@pytest.mark.slow
@pytest.mark.skipif(browser() is None, reason="no Chromium")
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm")
def test_a_graph_is_visible_from_the_disk(tmp_path: Path) -> None:
    asv_page()
    out = tmp_path / "site"
    site.make(out, measured(tmp_path))
    assert "https://" not in "".join(
        re.findall(r'(?:src|href)="(?!https://github)[^"]*"', (out / "index.html").read_text())
    )
    command = [str(browser()), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=640,480"]
    command += ["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000"]
    command += [f"--user-data-dir={tmp_path / 'user'}"]

    def shown(page: str) -> str:
        """A page's elements, once its scripts have run without a complaint."""
        done = subprocess.run(
            [*command, "--dump-dom", f"{(out / 'index.html').as_uri()}{page}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
        return done.stdout

    assert shown("").count('class="flot-base"') == 2, "track_arena and track_arena_resized have figures, no other has"
    assert "<table" in shown("#/regressions")
    assert FIGURE.rpartition(".")[2] in shown("#/summarylist")
    page = shown(f"#{FIGURE}")
    assert "flot-base" in page
    assert "flot-tick-label" in page
    run(*command, f"--screenshot={tmp_path / 'page.png'}", f"{(out / 'index.html').as_uri()}#{FIGURE}", cwd=tmp_path)
    picture = pixels((tmp_path / "page.png").read_bytes())[..., :3].astype(int)
    coloured = (picture.max(axis=2) - picture.min(axis=2)) > 80
    assert coloured.sum() > 200, "no line of a graph is in the screenshot"
