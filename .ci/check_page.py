#!/usr/bin/env python3
"""Check report pages in a real browser: accessible in both themes, and no request when opened.

    python .ci/check_page.py [--axe FOLDER] PAGE.html [...]

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
    "clients2.google.com",
    "optimizationguide-pa.googleapis.com",
    "redirector.gvt1.com",
    "update.googleapis.com",
}
OWN_ADDRESSES = ("https://www.google.com/async/",)
CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
THEMES = {"light": "1", "dark": "0"}
# Runs after the page; what it finds is read from the finished document.
RUNNER = """
<script>{axe}</script>
<script>
for (const d of document.querySelectorAll("details")) d.open = {open};
axe.run(document, {{resultTypes: ["violations"]}}).then(found => {{
  const out = document.createElement("script");
  out.type = "application/json"; out.id = "axe-found";
  out.textContent = encodeURIComponent(JSON.stringify({{
    violations: found.violations.map(v => ({{id: v.id, impact: v.impact, help: v.help,
      nodes: v.nodes.slice(0, 5).map(n => n.html.slice(0, 200) + " | " + n.failureSummary)}})),
    passes: found.passes.length,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth}}));
  document.body.append(out);
}});
</script>
"""


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


def axe_found(browser: str, page: Path, axe: str, *, theme: str, width: int) -> dict:
    """What axe-core says about a page."""
    # The page forbids scripts; its copy allows the one that looks at it.
    text = CSP.sub("", page.read_text(encoding="utf-8"))
    runner = RUNNER.format(axe=axe.replace("</script", "<\\/script"), open="true")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.html"
        copy.write_text(text.replace("</body>", f"{runner}</body>"), encoding="utf-8")
        document = browse(
            browser,
            copy,
            f"--blink-settings=preferredColorScheme={THEMES[theme]}",
            f"--window-size={width},2000",
            "--virtual-time-budget=60000",
        )
    found = re.search(r'id="axe-found">([^<]*)<', document)
    if found is None:
        raise SystemExit(f"{page}: axe-core gave no answer")
    return json.loads(unquote(html.unescape(found.group(1))))


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
    axe = load_axe(asked.axe)
    wrong = 0
    for page in asked.pages:
        page = page.resolve()
        asked_for = requests_made(browser, page)
        for address in sorted(asked_for):
            sys.stdout.write(f"{page.name}: asks for {address}\n")
        wrong += len(asked_for)
        for theme in THEMES:
            for width in (1000, 400):
                found = axe_found(browser, page, axe, theme=theme, width=width)
                problems = found["violations"]
                wrong += len(problems) + (found["wide"] > 0)
                sys.stdout.write(
                    f"{page.name}, {theme}, {width} px: {len(problems)} problem(s), "
                    f"{found['passes']} rules passed, {found['wide']} px too wide\n"
                )
                for problem in problems:
                    sys.stdout.write(
                        f"  {problem['id']} ({problem['impact']}): {problem['help']}\n"
                    )
                    for node in problem["nodes"]:
                        sys.stdout.write(f"    {node}\n")
    sys.stdout.write("no request, no problem\n" if not wrong else f"{wrong} thing(s) wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
