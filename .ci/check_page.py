#!/usr/bin/env python3
"""Check report pages in a real browser.

    python .ci/check_page.py [--axe FOLDER] PAGE.html [...]

Each is accessible in both themes, asks for nothing when opened, answers on its first screen who, how
many, how much, how sure and what now, has no text in pictures below 10 px on a phone, prints every
table whole on A4 and Letter, and can be read without any style of its own.
Needs Debian's ``chromium`` (or CHROMIUM=path), and axe-core: a folder with ``axe.min.js`` is taken
from --axe, or ``npm`` fetches it into a temporary folder. Exit status 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urlsplit

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--hide-scrollbars",
)
# The browser's own business, which no page asks for.
OWN_HOSTS = {
    "accounts.google.com",
    "android.clients.google.com",
    "clients2.google.com",
    "optimizationguide-pa.googleapis.com",
    "redirector.gvt1.com",
    "update.googleapis.com",
}
OWN_ADDRESSES = ("https://www.google.com/async/",)
CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
THEMES = {"light": "1", "dark": "0"}
MOST_BYTES = 250_000
# Looks at the page, in light on a desk and in dark on a phone.
LOOKS = (("light", 1280), ("dark", 390))
# Widths of what is printed between margins of 1.5 cm, in pixels.
PAPERS = {"A4": 680, "Letter": 702}
# Run after the page; what they find is read from the finished document.
RUNNER = """
<script>{axe}</script>
<script>
{looked}
const tell = found => {{
  const out = document.createElement("script");
  out.type = "application/json"; out.id = "found";
  out.textContent = encodeURIComponent(JSON.stringify(found));
  parent.document.body.append(out);
}};
</script>
<script>{script}</script>
"""
# A window is no narrower than 500 px; a frame is.
FRAMED = """<!doctype html><meta name="color-scheme" content="light dark"><body style="margin: 0">
<iframe style="width: {width}px; height: 2000px; border: 0" srcdoc="{page}"></iframe></body>"""
LOOKED = """
const root = document.documentElement, screen_height = 800;
const beyond = () => root.scrollWidth - root.clientWidth;
const scale = turned => Math.hypot(turned.a, turned.b);
const small = () => [...document.querySelectorAll("svg text")].filter(one =>
  scale(one.getScreenCTM()) * parseFloat(getComputedStyle(one).fontSize) < 9.99
).map(one => one.textContent);
const cut = () => [...document.querySelectorAll("table")].filter(one => one.offsetParent && (
  one.getBoundingClientRect().right > root.clientWidth + 0.5
  || [...one.querySelectorAll("th, td")].some(cell => cell.scrollWidth > cell.clientWidth + 1)
)).map(one => one.caption ? one.caption.textContent : one.textContent.slice(0, 60));
const answers = [".headline, .person", ".now", ".key", ".found, .unfound"];
const late = () => answers.filter((one, place) => {
  const part = document.querySelector(one);
  return part ? part.getBoundingClientRect().bottom > screen_height : place < 2;
});
const black = () => [...document.querySelectorAll("svg path, svg rect, svg text")].filter(one =>
  !one.closest("clipPath, defs") && getComputedStyle(one).fill == "rgb(0, 0, 0)").length;
"""
AXE = """
const wanted = late();
for (const d of document.querySelectorAll("details")) d.open = true;
const phone = small(), wide = beyond();
axe.run(document, {resultTypes: ["violations"]}).then(found => {
  for (const own of document.querySelectorAll("style")) own.remove();
  const styled = document.querySelectorAll("[style]").length;
  tell({violations: found.violations.map(v => ({id: v.id, impact: v.impact, help: v.help,
      nodes: v.nodes.slice(0, 5).map(n => n.html.slice(0, 200) + " | " + n.failureSummary)})),
    passes: found.passes.length, small: phone, late: wanted, wide: wide, bare: black() + styled});
});
"""
PRINTED = "tell({cut: cut(), wide: beyond()});"


def find_chromium() -> str | None:
    """Path of the browser."""
    return os.environ.get("CHROMIUM") or next(
        (p for name in ("chromium", "chromium-browser") if (p := shutil.which(name))), None
    )


def browse(browser: str, page: Path, *extra: str) -> str:
    """Open a page and give the finished document."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser, *FLAGS, f"--user-data-dir={profile}", *extra, "--dump-dom", page.as_uri()],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    return done.stdout


def requests_made(browser: str, page: Path) -> set[str]:
    """Addresses a page asks for when opened, without the policy that would stop it."""
    with tempfile.TemporaryDirectory() as folder:
        copy, log = Path(folder) / "page.html", Path(folder) / "net.json"
        copy.write_text(CSP.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")
        browse(browser, copy, f"--log-net-log={log}", "--virtual-time-budget=3000")
        found = re.findall(r'"url":"([^"]+)"', log.read_text(encoding="utf-8", errors="replace"))
    outside = {address for address in found if re.match(r"(https?|wss?|ftp)://", address)}
    return {
        address
        for address in outside
        if urlsplit(address).hostname not in OWN_HOSTS and not address.startswith(OWN_ADDRESSES)
    }


def found_by(browser: str, page: Path, script: str, axe: str = "", **look: str | int) -> dict:
    """What a script finds on a page; the page forbids scripts, its copy allows this one."""
    text = CSP.sub("", page.read_text(encoding="utf-8"))
    if "paper" in look:
        text = text.replace("@media print", "@media all")
    run = RUNNER.format(axe=axe.replace("</script", "<\\/script"), looked=LOOKED, script=script)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.html"
        page_and_run = html.escape(text.replace("</body>", f"{run}</body>"))
        framed = FRAMED.format(width=look["width"], page=page_and_run)
        copy.write_text(framed, encoding="utf-8")
        document = browse(
            browser,
            copy,
            f"--blink-settings=preferredColorScheme={THEMES[str(look['theme'])]}",
            "--window-size=1400,2000",
            "--virtual-time-budget=60000",
        )
    found = re.search(r'id="found">([^<]*)<', document)
    if found is None:
        raise SystemExit(f"{page}: the browser gave no answer")
    return json.loads(unquote(html.unescape(found.group(1))))


def faults_of(browser: str, page: Path, axe: str) -> list[str]:
    """Everything that is wrong with a page."""
    faults = [f"asks for {address}" for address in sorted(requests_made(browser, page))]
    size = page.stat().st_size
    faults += [f"{size:,} bytes are more than {MOST_BYTES:,}"] if size > MOST_BYTES else []
    for theme, width in LOOKS:
        found = found_by(browser, page, AXE, axe, theme=theme, width=width)
        where = f"{theme}, {width} px: "
        for problem in found["violations"]:
            nodes = "".join(f"\n    {node}" for node in problem["nodes"])
            faults.append(f"{where}{problem['id']} ({problem['impact']}): {problem['help']}{nodes}")
        faults += [f"{where}{found['wide']} px too wide"] if found["wide"] > 0 else []
        faults += [
            f"{where}not on the first screen: {own}" for own in found["late"] if width > 1000
        ]
        faults += [f"{where}text below 10 px: {text}" for text in found["small"]]
        faults += [f"{found['bare']} shapes are black without style"] if found["bare"] else []
    for paper, width in PAPERS.items():
        found = found_by(browser, page, PRINTED, theme="light", width=width, paper=paper)
        faults += [f"{paper}: cut off: {table}" for table in found["cut"]]
        faults += [f"{paper}: {found['wide']} px too wide"] if found["wide"] > 0 else []
    return faults


def load_axe(folder: str | None) -> str:
    """Text of axe-core."""
    if folder is not None:
        path = Path(folder)
        path = path if path.is_file() else path / "axe.min.js"
        return path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(
            [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                place,
                "axe-core",
            ],
            check=True,
            timeout=300,
        )
        return (Path(place) / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def main() -> int:
    """Check every page given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--axe", help="folder (or file) of axe-core; default: fetched with npm")
    asked = parser.parse_args()
    browser = find_chromium()
    if browser is None:
        sys.stderr.write("no chromium found; set CHROMIUM\n")
        return 2
    return check(asked.pages, browser, load_axe(asked.axe))


def check(pages: list[Path], browser: str, axe: str) -> int:
    """Say what is wrong with each page; 1 if anything is."""
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda page: faults_of(browser, page.resolve(), axe), pages))
    for page, faults in zip(pages, found, strict=True):
        sys.stdout.write(f"{page.name}: {len(faults) or 'nothing'} wrong\n")
        sys.stdout.writelines(f"  {fault}\n" for fault in faults)
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
