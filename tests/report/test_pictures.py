"""Displays as inline pictures of a page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.report import pictures
from mdfa_fairness_plugin.report.displays import LoveDisplay
from mdfa_fairness_plugin.report.displays.style import PALETTES
from mdfa_fairness_plugin.report.pictures import draw, numbers_table


def display(name="age"):
    return LoveDisplay(
        names=(name, "b"), before=np.array([0.4, 0.1]), after=np.array([0.02, 0.0]), label=name
    )


HOSTILE = '</text><script>x()</script> #010203 url(#a) id="b" $x_1$ \ufffe <!-- '


def test_picture_is_named_and_described():
    root = ElementTree.fromstring(draw(display(), "love", "A title", "A text"))
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "love-title love-text"
    assert [(child.tag, child.text) for child in root[:2]] == [
        ("title", "A title"),
        ("desc", "A text"),
    ]


def test_text_stays_text():
    svg = draw(display(HOSTILE), "love", HOSTILE, "text")
    root = ElementTree.fromstring(svg)
    assert {element.tag for element in root.iter()} <= {
        *("svg", "title", "desc", "g", "defs", "path", "use", "text", "clipPath", "rect"),
    }
    written = [element.text for element in root.iter("text")]
    assert any(text.startswith("</text><scrip") for text in written)
    assert any("#010203" in (element.text or "") for element in root.iter("title"))


def test_colours_need_no_style_and_follow_the_pages_theme():
    """Where a policy forbids styles, pictures are as on light ground; else the sheet sets colours."""
    root = ElementTree.fromstring(draw(display(), "love", "t", "d"))
    painted = [root.iter(kind) for kind in ("path", "use", "text", "rect")]
    within = {id(own) for clip in root.iter("clipPath") for own in clip}
    shapes = [one for kind in painted for one in kind if id(one) not in within]
    assert not [one for one in root.iter() if "style" in one.attrib]
    assert not [one for one in shapes if not {"fill", "stroke"} & set(one.attrib)]
    colours = {
        one.attrib[name] for one in shapes for name in ("fill", "stroke") if name in one.attrib
    }
    names = ("ink", "muted", "faint", "paper", "first", "second")
    light = {getattr(PALETTES["light"], name): name for name in names}
    assert {"ink", "first", "second"} <= {light.get(colour) for colour in colours}
    assert colours <= {*light, "none"}
    sheet = (Path(pictures.__file__).parent / "templates" / "audit_theme.css").read_text()
    for colour, name in light.items():
        for place in ("fill", "stroke"):
            assert f'.picture [{place}="{colour}"] {{ {place}: var(--{name}); }}' in sheet


def test_every_part_is_its_own_and_nothing_comes_from_elsewhere():
    one, two = (draw(display(), key, "t", "d") for key in ("one", "two"))
    ids = re.findall(r' id="([^"]+)"', one + two)
    assert len(ids) == len(set(ids))
    referred = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', one)
    assert {a or b for a, b in referred} <= set(ids)
    assert "http" not in one
    assert "<style" not in one


@pytest.mark.parametrize(
    "setting", [{"font.size": 30}, {"text.usetex": True}, {"svg.hashsalt": "x"}]
)
def test_same_bytes_whatever_the_settings(setting):
    before = draw(display(), "love", "t", "d")
    with matplotlib.rc_context(setting):
        assert draw(display(), "love", "t", "d") == before
        assert matplotlib.rcParams[next(iter(setting))] == next(iter(setting.values()))


def test_numbers_of_a_picture_have_the_decimals_of_tables():
    """A ratio and its interval are read together; what is withheld has no part in that."""
    frame = pd.DataFrame(
        {
            "search": ["a", "b"],
            "ratio": [1.24, 7.0],
            "ratio_low": [1.05, 1.8],
            "ratio_high": [1.42, 1.05],
        }
    )
    assert numbers_table(frame, {(1, "ratio_high")}).rows == (
        ("a", "1.24", "1.05", "1.42"),
        ("b", "7.0", "1.8", None),
    )
