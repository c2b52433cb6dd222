"""Where files are looked for, and what is said if they are nowhere."""

from __future__ import annotations

import importlib.util

import pandas as pd
import pytest
from sklearn.utils import Bunch

from mdfa_fairness_plugin.datasets import load_adult, load_compas, load_crimes, load_german
from mdfa_fairness_plugin.exceptions import DataNotFoundError

GERMAN_ROW = "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1"


def test_the_environment_variable_names_the_folder(tmp_path, monkeypatch, nothing_installed):
    (tmp_path / "german.data").write_text(GERMAN_ROW + "\n")
    monkeypatch.setenv("MDFA_DATA_HOME", str(tmp_path))
    assert load_german().source == str(tmp_path / "german.data")


def test_data_home_comes_first(tmp_path, monkeypatch):
    for folder, row in {"first": GERMAN_ROW, "second": GERMAN_ROW[:-1] + "2"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "german.data").write_text(row + "\n")
    monkeypatch.setenv("MDFA_DATA_HOME", str(tmp_path / "second"))
    assert load_german(tmp_path / "first").y.tolist() == [0]
    assert load_german().y.tolist() == [1]


def test_raw_files_of_aif360_are_found_without_importing_it(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "raw" / "german"
    folder.mkdir(parents=True)
    (folder / "german.data").write_text(GERMAN_ROW + "\n")
    monkeypatch.delenv("MDFA_DATA_HOME", raising=False)
    spec = Bunch(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert load_german().source == str(folder / "german.data")


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (load_compas, "compas-scores-two-years.csv"),
        (load_adult, "adult_train.csv"),
        (load_german, "german.data"),
        (load_crimes, "communities_crime_uci.csv"),
    ],
)
def test_absent_data_say_what_was_tried_and_what_to_do(load, file, tmp_path, nothing_installed):
    with pytest.raises(DataNotFoundError) as caught:
        load(tmp_path)
    message = str(caught.value)
    assert file in message
    assert str(tmp_path) in message
    assert "MDFA_DATA_HOME (not set)" in message
    assert "https://" in message
    if load is not load_compas:
        assert "no route to host" in message
    with pytest.raises(FileNotFoundError):
        load(tmp_path)


def test_downloads_can_be_forbidden(nothing_installed):
    with pytest.raises(DataNotFoundError) as caught:
        load_adult(download_if_missing=False)
    assert "openml" not in str(caught.value)


def test_a_mistyped_folder_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"data_home: .*nowhere' is not a folder"):
        load_compas(tmp_path / "nowhere")


def test_a_table_that_is_not_the_one_expected_is_refused(openml, nothing_installed):
    openml(pd.DataFrame({"a": [1], "class": ["x"]}))
    for load in (load_adult, load_german, load_crimes):
        with pytest.raises(DataNotFoundError, match="columns are not the ones expected"):
            load()
