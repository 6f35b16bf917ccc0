"""Publishes the measured history as asv's site, self-contained: it opens from a disk, without a network or a server.

usage: python -m asv_bench.site [--out DIR]

asv's pages load their scripts from public networks; these come from npm's registry here, by `npm pack`, and lie in
`vendor/` beside the pages. The published figures go into one script as well, because browsers do not let a page read
files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

from asv_bench import builds, history_chart

HERE = Path(__file__).resolve().parent
PACKAGES = (
    (r"/jquery-(?P<version>[\d.]+)\.min\.js$", "jquery", "dist/jquery.min.js"),
    (r"/flot/(?P<version>[\d.]+)/(?P<file>jquery\.flot(\.\w+)?)\.min\.js$", "flot", "{file}.js"),
    (r"/flot-orderbars@(?P<version>[\d.]+)/(?P<file>.+)$", "flot-orderbars", "{file}"),
    (r"/stupidtable/1\.[\d.]+/stupidtable\.min\.js$", "stupid-table-plugin", "stupidtable.min.js"),
    (r"/blueimp-md5/(?P<version>[\d.]+)/(?P<file>.+)$", "blueimp-md5", "{file}"),
    (r"/bootstrap@(?P<version>[\d.]+)/(?P<file>.+)$", "bootstrap", "{file}"),
)
"""(end of the address, npm package, the file in it): what asv's pages load; without a version, the newest 1.x."""
TAG = re.compile(r"<(script|link)\b[^>]*?\b(?:src|href)=\"(https?://[^\"]+)\"[^>]*>")
EXTRA = {"bootstrap": "dist/fonts"}
"""Folders that a package's style sheets load from."""


class SiteError(RuntimeError):
    """The site cannot be made self-contained; says why."""


def _asv(*arguments: str, home: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs asv; with another home git and Python keep the settings of the user's."""
    command = [sys.executable, "-m", "asv", *arguments]
    kept = {
        "GIT_CONFIG_GLOBAL": str(Path.home() / ".gitconfig"),
        "PYTHONUSERBASE": sysconfig.get_config_var("userbase"),
    }
    environment = {**os.environ} if home is None else {**kept, **os.environ, "HOME": home}
    return subprocess.run(command, cwd=HERE, check=False, capture_output=True, text=True, env=environment)


def discover(config: Path, results: Path) -> None:
    """Lets asv list the benchmarks, as a machine that has results: asv asks this one for its description otherwise, and
    keeps it in the user's home and beside the results. Raises: SiteError."""
    machines = {path.parent.name: json.loads(path.read_text()) for path in results.glob("*/machine.json")}
    if not machines:
        message = f"{results} has no results of any machine"
        raise SiteError(message)
    with tempfile.TemporaryDirectory() as home:
        Path(home, ".asv-machine.json").write_text(json.dumps({**machines, "version": 1}))
        arguments = ("--bench", "just-discover", "--python=same", "--machine", min(machines))
        done = _asv("run", *arguments, "--config", str(config), home=home)
    if not (results / "benchmarks.json").exists():
        message = f"asv lists no benchmarks: {done.stdout[-500:]}{done.stderr[-500:]}"
        raise SiteError(message)


def publish(out: Path, config: Path, results: Path) -> None:
    """Lets asv write its pages; the list of benchmarks, which is not kept with their results, is made again. Raises:
    SiteError."""
    discover(config, results)
    done = _asv("publish", "--html-dir", str(out), "--config", str(config))
    if done.returncode or not (out / "index.html").exists():
        message = f"asv publish failed: {done.stdout[-500:]}{done.stderr[-500:]}"
        raise SiteError(message)


def tidy(out: Path) -> None:
    """Leaves out of the pages what has no figure at any commit, which would be empty frames, and marks the versions."""
    index = json.loads((out / "index.json").read_text())
    measured = {path.stem for path in (out / "graphs" / "summary").glob("*.json")}
    index["benchmarks"] = {name: row for name, row in index["benchmarks"].items() if name in measured}
    revisions = index["revision_to_hash"].items()
    for version, commit in builds.versions().items():
        index["tags"] |= {version: int(number) for number, full in revisions if full.startswith(commit)}  # noqa: B035
    (out / "index.json").write_text(json.dumps(index))


def overview(page: str, out: Path, results: Path) -> str:
    """The page with the history's picture, drawn into `out`, at the top of its grid; as it is where no such figures
    are."""
    machines = history_chart.machines(results)
    found = re.search(r"<div id=\"summarygrid-display\"[^>]*>", page)
    if not machines or not found:
        return page
    (out / "history.svg").write_text(history_chart.draw(machines[0], machines[1:]))
    alternative = "what each operation takes, by version"
    picture = f'<img src="history.svg" alt="{alternative}" style="width: 100%; max-width: 1100px">'
    return page[: found.end()] + picture + page[found.end() :]


def package_of(address: str) -> tuple[str, str]:
    """(package with its version, file in it) of an address. Raises: SiteError for one that is not known."""
    for pattern, package, file in PACKAGES:
        if found := re.search(pattern, address):
            parts = found.groupdict()
            return f"{package}@{parts.get('version', '1')}", file.format(**parts)
    message = f"{address}: no package is known for this; add it to PACKAGES"
    raise SiteError(message)


def unpack(package: str, folder: Path) -> Path:
    """The unpacked files of an npm package. Raises: SiteError."""
    if shutil.which("npm") is None:
        message = "npm is not installed: the pages' scripts come from its registry"
        raise SiteError(message)
    target = folder / package
    if not target.exists():
        target.mkdir(parents=True)
        command = ["npm", "pack", "--silent", "--pack-destination", str(target), package]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        packed = next(target.glob("*.tgz"), None)
        if done.returncode or packed is None:
            message = f"npm pack {package}: {done.stderr.strip()[-300:]}"
            raise SiteError(message)
        with tarfile.open(packed) as archive:
            archive.extractall(target, filter="data")
    return target / "package"


def vendor(page: str, out: Path) -> str:
    """The page with every script and style sheet of other hosts beside it. Raises: SiteError."""
    with tempfile.TemporaryDirectory() as cache:

        def local(found: re.Match[str]) -> str:
            package, file = package_of(found[2])
            source, name = unpack(package, Path(cache)), package.rpartition("@")[0]
            target = out / "vendor" / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, target)
            if name in EXTRA:
                shutil.copytree(source / EXTRA[name], out / "vendor" / name / EXTRA[name], dirs_exist_ok=True)
            path = f"vendor/{name}/{file}"
            if found[1] == "link":
                return f'<link rel="stylesheet" href="{path}">'
            return f'<script src="{path}" onerror="js_load_failure()">'

        return TAG.sub(local, page)


def inline(out: Path) -> None:
    """Writes every published figure into data.js, by the path that the pages ask for."""
    files = {path.relative_to(out).as_posix(): path.read_text() for path in sorted(out.rglob("*.json"))}
    text = json.dumps(files).replace("</", "<\\/")
    (out / "data.js").write_text(f"window.asv_published = {text};\n")
    shutil.copyfile(HERE / "site.js", out / "site.js")


def make(out: Path, config: Path = HERE / "asv.conf.json") -> None:
    """Publishes into a folder and makes what is there self-contained. Raises: SiteError."""
    results = config.parent / json.loads(config.read_text())["results_dir"]
    publish(out, config, results)
    tidy(out)
    page = overview(vendor((out / "index.html").read_text(), out), out, results)
    inline(out)
    marker = re.search(r"<script[^>]*\bsrc=\"asv\.js\"", page)
    if marker is None:
        message = "asv's index.html does not load asv.js where it did"
        raise SiteError(message)
    scripts = '<script src="data.js"></script>\n    <script src="site.js"></script>\n    '
    (out / "index.html").write_text(page[: marker.start()] + scripts + page[marker.start() :])


def main() -> None:
    """Makes the site."""
    parser = argparse.ArgumentParser(prog="python -m asv_bench.site", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / ".asv" / "html")
    out = parser.parse_args().out.resolve()
    try:
        make(out)
    except SiteError as error:
        sys.exit(str(error))
    print(f"{out / 'index.html'}: {sum(path.stat().st_size for path in out.rglob('*') if path.is_file())} bytes in all")


if __name__ == "__main__":
    main()
