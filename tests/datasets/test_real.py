"""The loaders must find the right files, and give the paper's populations."""

import csv
import importlib.util

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from mdfa_fairness_plugin.datasets import (
    load_adult,
    load_arrests,
    load_compas,
    load_crimes,
    load_german,
)
from mdfa_fairness_plugin.exceptions import DataNotFoundError, InputError

GERMAN_ROW = "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1"
ADULT_ROW = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
    "Male, 2174, 0, 40, ?, <=50K"
)


@pytest.fixture
def nothing_installed(monkeypatch):
    """No folder is named, AIF360 is absent and nothing can be fetched."""
    monkeypatch.delenv("MDFA_DATA_HOME", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    def no_network(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)


def table4(data):
    return data.X.groupby(data.sensitive_features["sex"]).agg(["mean", "std"])


def test_arrests_have_the_known_rates():
    """Not released: 25.9 % of Black and 14.2 % of White arrestees."""
    pytest.importorskip("sklego", reason="scikit-lego ships the arrests")
    data = load_arrests()
    assert data.X.shape == (5_226, 6)
    not_released = (data.y == "not released").groupby(data.sensitive_features).mean()
    assert not_released["Black"] == pytest.approx(0.259, abs=5e-4)
    assert not_released["White"] == pytest.approx(0.142, abs=5e-4)
    assert "colour" not in data.X


def test_compas_rows_and_groups(data_home):
    data = load_compas(data_home)
    assert data.frame.shape == (7_214, 17)
    assert (data.sensitive_features["race"] == "African-American").sum() == 3_696
    assert list(data.X) == [
        "priors_count",
        "c_charge_degree",
        "age_cat",
        "juv_fel_count",
        "juv_misd_count",
    ]
    np.testing.assert_array_equal(data.y, data.frame["v_decile_score"] >= 8)
    assert not data.X.isna().any(axis=None)


def test_compas_population_is_the_one_of_table_2(data_home):
    """All means and standard deviations of the population columns, to the digits printed."""
    data = load_compas(data_home, binary_race=True, as_in_paper=True)
    race = data.sensitive_features["race"]
    assert set(race) == {"African-American", "not African-American"}
    assert data.frame["race"].nunique() == 6
    found = data.X.assign(high=data.y).groupby(race).agg(["mean", "std"]).round(2)
    printed = {
        "priors_count": [4.44, 5.58, 2.46, 3.76],
        "c_charge_degree": [0.31, 0.46, 0.40, 0.49],
        "juv_fel_count": [0.10, 0.49, 0.03, 0.32],
        "juv_misd_count": [0.14, 0.61, 0.04, 0.30],
        "high": [0.14, 0.35, 0.05, 0.22],
    }
    for feature, values in printed.items():
        np.testing.assert_allclose(found[feature].to_numpy().ravel(), values, atol=1e-9)


def test_compas_reads_the_original_file_too(tmp_path, data_home):
    """ProPublica's file has more columns, and two names twice."""
    kept = load_compas(data_home)
    raw = kept.frame.head(50).copy()
    raw.insert(0, "name", "x")
    raw["decile_score.1"] = 0
    header = [name.removesuffix(".1") for name in raw]
    raw.to_csv(tmp_path / "compas-scores-two-years.csv", header=header, index=False)
    again = load_compas(tmp_path)
    pd.testing.assert_frame_equal(again.frame, kept.frame.head(50), check_dtype=False)


def test_adult_rows(data_home):
    train, test = (load_adult(data_home, subset=subset) for subset in ("train", "test"))
    assert len(train.X) == 32_561
    assert train.y.sum() == 24_720
    assert len(test.X) == 16_281
    assert test.y.sum() == 12_435
    both = load_adult(data_home)
    pd.testing.assert_frame_equal(both.X.iloc[:32_561], train.X)
    assert (both.frame["workclass"] == "?").any()
    assert not both.frame.isna().any(axis=None)


def test_adult_test_population_is_the_one_of_table_4(data_home):
    found = table4(load_adult(data_home, subset="test", as_in_paper=True)).round(2)
    printed = {
        "education": [10.41, 3.94, 10.20, 3.85],
        "education-num": [10.06, 2.38, 10.08, 2.66],
        "hours-per-week": [36.38, 12.22, 42.39, 12.12],
        "occupation": [6.20, 4.39, 6.78, 4.14],
        "age": [37.07, 14.38, 39.62, 13.50],
    }
    for feature, values in printed.items():
        np.testing.assert_allclose(found[feature].to_numpy().ravel(), values, atol=1e-9)
    assert len(load_adult(data_home, as_in_paper=True).X) == 48_840


def test_adult_reads_the_files_of_uci(tmp_path):
    (tmp_path / "adult.data").write_text(f"{ADULT_ROW}\n{ADULT_ROW.replace('<=', '>')}\n\n")
    (tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{ADULT_ROW}.\n\n")
    data = load_adult(tmp_path)
    assert data.y.tolist() == [1, 0, 1]
    assert data.frame["native-country"].tolist() == ["?"] * 3
    assert data.frame["age"].tolist() == [39] * 3
    assert len(load_adult(tmp_path, subset="test").X) == 1


def test_german_rows(data_home):
    data = load_german(data_home)
    assert data.frame.shape == (1_000, 22)
    assert data.sensitive_features.value_counts().to_dict() == {"male": 690, "female": 310}
    assert data.y.sum() == 300
    assert not {"sex", "personal_status", "credit"} & set(data.X)
    assert (data.frame["other_debtors"] == "none").sum() == 907


def test_german_reads_the_coded_file(tmp_path, data_home):
    """The first row of german.data, decoded, is the first row of the labelled file."""
    (tmp_path / "german.data").write_text(GERMAN_ROW + "\n")
    data = load_german(tmp_path)
    labelled = load_german(data_home)
    assert list(data.frame) == list(labelled.frame)
    assert data.frame.iloc[0].to_dict() == labelled.frame.iloc[0].to_dict()


def test_crimes_rows(data_home):
    data = load_crimes(data_home)
    assert len(data.frame) == 1_994
    assert data.X.shape == (1_994, 96)
    assert data.y.sum() == 583
    assert (data.sensitive_features == "high").sum() == 549
    assert not {"ViolentCrimesPerPop", "racepctblack", "communityname"} & set(data.X)


def test_both_files_of_crimes_agree(data_home, tmp_path):
    source = data_home / "communities_crime_gerryfair.csv"
    (tmp_path / source.name).write_bytes(source.read_bytes())
    cleaned, original = load_crimes(tmp_path), load_crimes(data_home)
    assert list(cleaned.X) == list(original.X)
    np.testing.assert_array_equal(cleaned.y, original.y)
    np.testing.assert_array_equal(cleaned.y, cleaned.frame["Y"] == 1)
    np.testing.assert_array_equal(cleaned.sensitive_features == "high", cleaned.frame["attr"] == 1)


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


def test_unknown_subset(tmp_path):
    with pytest.raises(InputError, match="subset must be 'all', 'train' or 'test'"):
        load_adult(tmp_path, subset="validation")


def data_columns_of_uci():
    names = (
        "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,"
        "race,sex,capital-gain,capital-loss,hours-per-week,native-country"
    )
    return next(csv.reader([names]))


def openml(monkeypatch, frame):
    asked = []

    def fetch(name, **options):
        asked.append((name, options["version"]))
        return Bunch(frame=frame)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return asked


def test_adult_from_openml_is_put_in_order(monkeypatch, nothing_installed):
    """Its copy has the second file first, and empty cells for question marks."""
    row = next(csv.reader([ADULT_ROW], skipinitialspace=True))
    names = [*data_columns_of_uci(), "class"]
    frame = pd.DataFrame([row] * 48_842, columns=names).astype({"age": int, "fnlwgt": int})
    frame["native-country"] = pd.Categorical([None] * len(frame), categories=["Cuba"])
    frame["fnlwgt"] = np.arange(len(frame))
    asked = openml(monkeypatch, frame)
    data = load_adult()
    assert asked == [("adult", 2)]
    assert data.frame["fnlwgt"].iloc[0] == 16_281
    assert data.frame["fnlwgt"].iloc[-1] == 16_280
    assert set(data.frame["native-country"]) == {"?"}
    assert set(data.y) == {1}


def test_a_table_that_is_not_the_one_expected_is_refused(monkeypatch, nothing_installed):
    openml(monkeypatch, pd.DataFrame({"a": [1], "class": ["x"]}))
    for load in (load_adult, load_german, load_crimes):
        with pytest.raises(DataNotFoundError, match="columns are not the ones expected"):
            load()
