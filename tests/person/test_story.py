"""What a card says, as text and as a page."""

from __future__ import annotations

import html.parser
import json
from dataclasses import replace

HOSTILE = '<script>alert("x")</script>\x1b[31m\n\u202eevil & "co" \'s' + "y" * 300


class _Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text, self.attributes = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text.append(data)


def parsed(text):
    page = _Page()
    page.feed(text)
    return page


def test_page_is_self_contained_and_says_what_the_text_says(auditor, tmp_path, flat):
    card = auditor.explain_row([25, "A"], sensitive="f", outcome="refused")
    path = tmp_path / "card.html"
    card = replace(card, statement={"auditor": HOSTILE})
    assert json.loads(card.to_json())["statement"] == {"auditor": HOSTILE}
    assert "Version of the system: not stated" in flat(card.summary())
    text = card.to_html(path)
    assert path.read_text(encoding="utf-8") == text
    assert text == card.to_html()
    page = parsed(text)
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not any(name in ("src", "href") or name.startswith("on") for name, _ in page.attributes)
    assert "url(" not in text
    assert "@import" not in text
    assert ("lang", "en") in page.attributes
    assert "prefers-color-scheme: dark" in text
    assert page.tags.count("h1") == 1
    shown = flat(" ".join(page.text))
    for paragraph in ("All 5 models of the audit put this person inside.", "How certain this is"):
        assert paragraph in shown


def test_hostile_names_show_as_text(people, fitted):
    X, y, s = people(900, names=(HOSTILE, "town"), labels=(HOSTILE, "<b>m</b>"), column=HOSTILE)
    y = y.replace({"refused": HOSTILE, "granted": "</td><script>"})
    auditor = fitted(X, y, s)
    card = auditor.explain_row(X.iloc[3], sensitive=s[3], outcome=y[3], show_records=True)
    text = card.summary()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(line.isprintable() for line in text.splitlines())
    assert max(map(len, text.splitlines())) < 400
    page = parsed(card.to_html())
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert "<script>" in "".join(page.text)
    json.loads(card.to_json())
