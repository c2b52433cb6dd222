"""Freeze what the cases give, or compare it with what was frozen.

Run from anywhere, of this checkout::

    python tests/golden/make.py                      # write what differs
    python tests/golden/make.py --check              # print what differs
    python tests/golden/make.py --check --only dask  # one case or several

Numbers may differ by 1e-9, also where a page prints ten decimals or more; text and structure not at
all. Versions of packages are left out. The results hold for the versions of ``.ci/constraints.txt``,
and for processors that round alike; elsewhere nothing is compared. Exit status 1: something differs;
2: not all could be compared.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib.metadata
import json
import lzma
import math
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path[:0] = [str(ROOT), str(FOLDER)]

import numpy as np  # noqa: E402
import scipy.linalg  # noqa: E402
from cases import CASES  # noqa: E402

FROZEN = FOLDER / "frozen"
ARITHMETIC = FOLDER / "arithmetic.txt"
TOLERANCE = 1e-9
CORE = ("numpy", "scipy", "scikit-learn", "pandas")
PACKAGES = ("mdfa_fairness_plugin", "mdfa-fairness-plugin", "python", *CORE)
VERSION = re.compile(rf"\b({'|'.join(PACKAGES)}) v?\d+(\.\w+)+")
PRECISE = re.compile(r"-?\b\d+\.\d{10,}(?:e[-+]?\d+)?")
MOST_LINES = 60
MOST_LETTERS = 300


# -- made now


def made(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Values of a case and its pages by file name, without what differs between installations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        artifacts = CASES[name].make()
    pages = {
        f"{name}.{key}": VERSION.sub(r"\1 VERSION", value)
        for key, value in artifacts.items()
        if "." in key
    }
    return plain({key: value for key, value in artifacts.items() if "." not in key}), pages


def plain(value: Any) -> Any:
    """Values of JSON; floats to 12 digits, of versions only whose they are."""
    if isinstance(value, dict):
        return {str(k): sorted(v) if k == "versions" else plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return float(f"{value:.12g}") if isinstance(value, float) else value


def layout(value: Any, depth: int = 0) -> str:
    """JSON with a line for each entry of the outer containers and for each list of numbers."""
    flat = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    nested = isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(one, dict | list) for one in value)
    )
    if not nested or len(flat) < 100:
        return flat
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        lines = [f"{pad}{json.dumps(k)}: {layout(v, depth + 1)}" for k, v in sorted(value.items())]
    else:
        lines = [pad + layout(one, depth + 1) for one in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, ",\n".join(lines), pad[1:] + closing])


# -- files


def path_of(page: str) -> Path:
    return FROZEN / (f"{page}.xz" if page.endswith(".html") else page)


def read(path: Path) -> str | None:
    """Text of a frozen file, None if there is none."""
    if not path.exists():
        return None
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode()


def write(path: Path, text: str) -> None:
    content = text.encode()
    path.write_bytes(lzma.compress(content, preset=9) if path.suffix == ".xz" else content)


# -- comparing


def differences(frozen: Any, now: Any, where: str = "") -> Iterator[str]:
    """Lines that name each place where two values differ."""
    if isinstance(frozen, dict) and isinstance(now, dict):
        for key in sorted(frozen.keys() | now.keys()):
            place = f"{where}.{key}" if where else key
            if key not in now:
                yield f"{place}: no longer there"
            elif key not in frozen:
                yield f"{place}: new"
            else:
                yield from differences(frozen[key], now[key], place)
    elif isinstance(frozen, list) and isinstance(now, list):
        if len(frozen) != len(now):
            yield f"{where}: {len(frozen)} entries before, {len(now)} now"
        for i, (a, b) in enumerate(zip(frozen, now, strict=False)):
            yield from differences(a, b, f"{where}[{i}]")
    elif not same(frozen, now):
        yield f"{where}: {shown(frozen, now)}"


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        both_missing = math.isnan(a) and math.isnan(b)
        return both_missing or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(a) is type(b) and a == b


def shown(a: Any, b: Any) -> str:
    if isinstance(a, str) and isinstance(b, str) and len(a) == len(b) > 100:
        n = sum(x != y for x, y in zip(a, b, strict=True))
        return f"{n} of {len(a)} characters differ"
    return f"{a!r:.300} before, {b!r:.300} now"


def page_differences(page: str, frozen: str | None, now: str | None) -> list[str]:
    if frozen is None or now is None:
        return [f"{page}: {'new' if frozen is None else 'no longer there'}"]
    numbers = [[float(x) for x in PRECISE.findall(text)] for text in (frozen, now)]
    if PRECISE.sub("#", frozen) == PRECISE.sub("#", now) and all(map(same, *numbers)):
        return []
    # Pictures have lines of many elements.
    before, after = (text.replace("><", ">\n<").splitlines() for text in (frozen, now))
    lines = difflib.unified_diff(before, after, f"{page} before", f"{page} now", "", "", 1, "")
    return [line[:MOST_LETTERS] for line in lines] or [f"{page}: only line ends differ"]


def run(name: str, *, freeze: bool = False) -> list[str]:
    """Where a case differs from what was frozen; the files that do are written if asked for."""
    values, pages = made(name)
    home = FROZEN / f"{name}.json"
    frozen = read(home)
    text = layout(values) + "\n"
    now = json.loads(text)
    found = list(differences({} if frozen is None else json.loads(frozen), now))
    if freeze and found:
        write(home, text)
    before = {path.name.removesuffix(".xz") for path in FROZEN.glob(f"{name}.*")} - {home.name}
    for page in sorted(before | pages.keys()):
        path = path_of(page)
        lines = page_differences(page, read(path), pages.get(page))
        found += lines
        if freeze and lines and page in pages:
            write(path, pages[page])
        elif freeze and lines:
            path.unlink()
    return found


# -- where the results hold


def unlike_pinned(name: str) -> str:
    """Why a case cannot be frozen with what is installed; empty if it can."""
    pinned = dict(
        line.strip().split("==")
        for line in (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    needs = CASES[name].needs
    for package in (*CORE, *([needs] if needs else [])):
        try:
            installed = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return f"{package} is not installed"
        if installed.split("+")[0] != pinned[package]:
            return f"the results are of {package} {pinned[package]}; installed is {installed}"
    return ""


def arithmetic() -> str:
    """Hash of the last bits of some sums, which depend on the processor's instructions."""
    rng = np.random.default_rng(0)
    tall, long = rng.normal(size=(600, 7)), rng.normal(size=5000)
    gram = tall.T @ tall
    found = [gram, tall @ gram, tall @ tall[0], long @ long, long.sum(), tall.sum(axis=0)]
    found += [np.exp(long), np.log(np.abs(long)), *scipy.linalg.eigh(gram)]
    found += [np.linalg.solve(gram, tall[:7]), tall @ tall.T]
    return hashlib.sha256(b"".join(np.asarray(one).tobytes() for one in found)).hexdigest()


def unlike_frozen(name: str) -> str:
    """Why the frozen results of a case do not hold here; empty if they do."""
    reason = unlike_pinned(name)
    if not reason and arithmetic() != ARITHMETIC.read_text().strip():
        reason = (
            "a processor of other arithmetic gives other last bits, hence other regions; freeze the "
            "state before your change on this machine and compare with that"
        )
    return reason


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    parser.add_argument("--only", nargs="+", choices=sorted(CASES), help="cases; default: all")
    arguments = parser.parse_args()
    FROZEN.mkdir(exist_ok=True)
    all_anew = not arguments.check and not arguments.only
    n_different = 0
    skipped = False
    for name in arguments.only or CASES:
        reason = unlike_pinned(name) if all_anew else unlike_frozen(name)
        if reason:
            print(f"{name}: not compared, {reason}")
            skipped = True
            continue
        started = time.process_time()
        lines = run(name, freeze=not arguments.check)
        seconds = time.process_time() - started
        told = f"{len(lines)} lines of differences" if lines else "as frozen"
        print(f"{name}: {told} ({seconds:.1f} CPU s)", flush=True)
        for line in lines[:MOST_LINES]:
            print(f"  {line}")
        if len(lines) > MOST_LINES:
            print(f"  ... {len(lines) - MOST_LINES} more lines")
        n_different += bool(lines)
    if all_anew and not skipped:
        ARITHMETIC.write_text(arithmetic() + "\n")
    print(f"{n_different} case(s) differ; {time.process_time():.0f} CPU seconds")
    if arguments.check and n_different:
        return 1
    return 2 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
