"""Outputs take the place of what was there whole, or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading

import pytest

from mdfa_fairness_plugin.report.files import written_beside
from mdfa_fairness_plugin.report.plain import as_json, written


def test_the_old_file_is_whole_where_writing_fails(tmp_path):
    path = tmp_path / "audit.json"
    path.write_text("old")

    def on_a_full_disk():
        with written_beside(path) as part:
            part.write_text("half of the n")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as caught:
        on_a_full_disk()
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["audit.json"]


def test_no_file_is_left_where_anything_else_fails(tmp_path):
    def interrupted():
        with written_beside(tmp_path / "new.png") as part:
            assert part.suffix == ".png"
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []


def test_permissions_and_links_stay_as_they_were(tmp_path):
    path, link = tmp_path / "page.html", tmp_path / "latest.html"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    assert written("new", link) == "new"
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    umask = os.umask(0)
    os.umask(umask)
    written("other", tmp_path / "other")
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipes_and_devices_are_written_to(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    written("through", pipe)
    reader.join(10)
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    written("away", os.devnull)


def test_what_cannot_be_seen_is_escaped_in_json_and_comes_back():
    hidden = {
        "name": "a\u202eb\u200b\ufeff\U000e0041\u200c \x1b[31m",
        "seen": "d\u00e9j\u00e0 \u4e2d",
    }
    text = as_json(hidden)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "d\u00e9j\u00e0 \u4e2d" in text
    assert json.loads(text) == hidden
