"""Loaders of the data sets of the paper's Sections 4.2 and 4.3."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import pandas as pd
from sklearn.utils import Bunch

from mdfa_fairness_plugin.datasets.origin import DataHome, Origin, log_size
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.settings import is_choice, shown

AdultSubset = Literal["all", "train", "test"]

# Columns of ProPublica's table that are kept; the others name persons, dates and cases.
_COMPAS_COLUMNS = [
    "sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count",
    "priors_count", "c_charge_degree", "days_b_screening_arrest", "decile_score", "score_text",
    "v_decile_score", "v_score_text", "is_recid", "is_violent_recid", "two_year_recid",
]  # fmt: skip
_COMPAS_FEATURES = ["priors_count", "c_charge_degree", "age_cat", "juv_fel_count", "juv_misd_count"]
_COMPAS = Origin(
    title="COMPAS",
    alternatives=(("compas_two_years.csv",), ("compas-scores-two-years.csv",)),
    files="compas_two_years.csv or compas-scores-two-years.csv",
    advice="Get compas-scores-two-years.csv from https://github.com/propublica/compas-analysis",
    aif360_folder="compas",
)

_ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
]  # fmt: skip
_ADULT_FEATURES = ["education", "education-num", "hours-per-week", "occupation", "age"]
_ADULT_ROWS = {"train": 32_561, "test": 16_281}
_ADULT = Origin(
    title="Adult",
    alternatives=(("adult_train.csv", "adult_test.csv"), ("adult.data", "adult.test")),
    files="adult_train.csv and adult_test.csv (or adult.data and adult.test)",
    advice="Get adult.data and adult.test from https://archive.ics.uci.edu/dataset/2/adult",
    aif360_folder="adult",
    openml=("adult", 2),
    required=(*_ADULT_COLUMNS[:-1], "class"),
)

_GERMAN_COLUMNS = [
    "status", "month", "credit_history", "purpose", "credit_amount", "savings", "employment",
    "investment_as_income_percentage", "personal_status", "other_debtors", "residence_since",
    "property", "age", "installment_plans", "housing", "number_of_credits", "skill_level",
    "people_liable_for", "telephone", "foreign_worker", "credit",
]  # fmt: skip
# Codes of german.data, in the words of its description file.
_GERMAN_LABELS = {
    "A11": "<0 DM", "A12": "0<=...<200 DM", "A13": ">=200 DM", "A14": "no checking account",
    "A30": "no credits/all paid", "A31": "all paid at this bank", "A32": "existing paid till now",
    "A33": "delay in the past", "A34": "critical account",
    "A40": "car (new)", "A41": "car (used)", "A42": "furniture/equipment",
    "A43": "radio/television", "A44": "domestic appliances", "A45": "repairs", "A46": "education",
    "A47": "vacation", "A48": "retraining", "A49": "business", "A410": "others",
    "A61": "<100 DM", "A62": "100<=...<500 DM", "A63": "500<=...<1000 DM", "A64": ">=1000 DM",
    "A65": "unknown/none",
    "A71": "unemployed", "A72": "<1 year", "A73": "1<=...<4 years", "A74": "4<=...<7 years",
    "A75": ">=7 years",
    "A91": "male divorced/separated", "A92": "female divorced/separated/married",
    "A93": "male single", "A94": "male married/widowed", "A95": "female single",
    "A101": "none", "A102": "co-applicant", "A103": "guarantor",
    "A121": "real estate", "A122": "savings agreement/life insurance", "A123": "car or other",
    "A124": "unknown/none",
    "A141": "bank", "A142": "stores", "A143": "none",
    "A151": "rent", "A152": "own", "A153": "for free",
    "A171": "unemployed/unskilled non-resident", "A172": "unskilled resident", "A173": "skilled",
    "A174": "management/self-employed/highly qualified",
    "A191": "none", "A192": "yes",
    "A201": "yes", "A202": "no",
}  # fmt: skip
_GERMAN = Origin(
    title="German credit",
    alternatives=(("german_credit.csv",), ("german.data",)),
    files="german_credit.csv or german.data",
    advice=(
        "Get german.data from https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data"
    ),
    aif360_folder="german",
    openml=("credit-g", 1),
    required=("personal_status", "class"),
    n_columns=len(_GERMAN_COLUMNS),
)

_CRIMES_TARGET = "ViolentCrimesPerPop"
# Above the 70th percentile of the UCI value, which is 0.28 itself.
_CRIMES_THRESHOLD = 0.28
_CRIMES_NOT_FEATURES = [
    _CRIMES_TARGET, "Y", "attr", "state", "county", "community", "communityname", "fold",
    "racepctblack", "racePctWhite", "racePctAsian", "racePctHisp",
    # The police survey, missing in 1,675 of the 1,994 communities.
    "LemasSwornFT", "LemasSwFTPerPop", "LemasSwFTFieldOps", "LemasSwFTFieldPerPop",
    "LemasTotalReq", "LemasTotReqPerPop", "PolicReqPerOffic", "PolicPerPop",
    "RacialMatchCommPol", "PctPolicWhite", "PctPolicBlack", "PctPolicHisp", "PctPolicAsian",
    "PctPolicMinor", "OfficAssgnDrugUnits", "NumKindsDrugsSeiz", "PolicAveOTWorked",
    "PolicCars", "PolicOperBudg", "LemasPctPolicOnPatr", "LemasGangUnitDeploy",
    "PolicBudgPerPop",
]  # fmt: skip
_CRIMES = Origin(
    title="Communities and Crime",
    alternatives=(("communities_crime_uci.csv",), ("communities_crime_gerryfair.csv",)),
    files="communities_crime_uci.csv",
    advice=(
        "Get communities.data from https://archive.ics.uci.edu/dataset/183/communities+and+crime, "
        "give it a header row of UCI's column names and call it communities_crime_uci.csv"
    ),
    openml=("us_crime", 1),
    required=("racepctblack", "racePctWhite", _CRIMES_TARGET),
)


def load_compas(
    data_home: DataHome = None,
    *,
    binary_race: bool = False,
    as_in_paper: bool = False,
) -> Bunch:
    """COMPAS risk scores of 7,214 defendants, published by ProPublica (Section 4.2).

    Parameters
    ----------
    data_home : path or None, default=None
        Folder to look in first, for ``compas_two_years.csv`` or ProPublica's own
        ``compas-scores-two-years.csv``. Then the folder named by the environment variable
        ``MDFA_DATA_HOME`` and AIF360's folder of raw data are searched.
    binary_race : bool, default=False
        Whether the sensitive feature race has the two values ``"African-American"`` and ``"not
        African-American"``, as in the paper, rather than all six. ``frame`` keeps all six.
    as_in_paper : bool, default=False
        Whether ``X`` holds pandas category codes in the place of values, as in the experiments
        behind Table 2: age category (alphabetical), charge degree (F = 0, M = 1) and the code of
        the juvenile felony count.

    Returns
    -------
    data : Bunch
        ``X`` : DataFrame of shape (7214, 5)
            Prior offences, charge degree, age category, juvenile felonies and misdemeanours.
        ``y`` : Series of shape (7214,)
            1 for a high risk of violent recidivism (``v_score_text`` is "High": a score of 8 to
            10), else 0.
        ``sensitive_features`` : DataFrame of shape (7214, 2)
            Columns ``race`` and ``sex``.
        ``frame`` : DataFrame
            17 columns, without names, dates and case numbers.
        ``source`` : str
            The file read.
        ``DESCR`` : str
            What it is.

    Raises
    ------
    DataNotFoundError
        If no folder has the file. It is not downloaded: its source states no licence.
    """
    paths = _COMPAS.find(data_home)
    if paths is None:
        raise _COMPAS.not_found(data_home)
    frame = pd.read_csv(
        paths[0], usecols=_COMPAS_COLUMNS, keep_default_na=False, na_values=[""]
    ).loc[:, _COMPAS_COLUMNS]
    log_size("COMPAS", frame, 7_214)
    sensitive = frame[["race", "sex"]].copy()
    if binary_race:
        is_aa = sensitive["race"] == "African-American"
        sensitive["race"] = is_aa.map({True: "African-American", False: "not African-American"})
    data = Bunch(
        X=frame[_COMPAS_FEATURES].copy(),
        y=(frame["v_score_text"] == "High").astype("int64").rename("high_risk"),
        sensitive_features=sensitive,
        frame=frame,
        source=str(paths[0]),
        DESCR=(
            "COMPAS scores of defendants in Broward County, Florida, 2013-2015, published by "
            "ProPublica. y: 1 if the risk of violent recidivism was called high. Sensitive "
            "features: race, sex."
        ),
    )
    if as_in_paper:
        data.X = _category_codes(data.X, ["age_cat", "c_charge_degree", "juv_fel_count"])
    return data


def load_adult(
    data_home: DataHome = None,
    *,
    subset: AdultSubset = "all",
    as_in_paper: bool = False,
    download_if_missing: bool = True,
) -> Bunch:
    """Incomes of 48,842 adults in the US census of 1994 (Section 4.3).

    Parameters
    ----------
    data_home : path or None, default=None
        Folder to look in first, for ``adult_train.csv`` and ``adult_test.csv`` or UCI's own
        ``adult.data`` and ``adult.test``. Then the folder named by the environment variable
        ``MDFA_DATA_HOME`` and AIF360's folder of raw data are searched, then openml.org.
    subset : {"all", "train", "test"}, default="all"
        Both of UCI's files, the first of them before the second, or one.
    as_in_paper : bool, default=False
        Whether to leave out the first row of each file and to give ``X`` as pandas category codes
        (alphabetical, ``"?"`` is 0), as in the experiments behind Table 4.
    download_if_missing : bool, default=True
        Whether to ask openml.org when no folder has the files.

    Returns
    -------
    data : Bunch
        ``X`` : DataFrame of shape (n_samples, 5)
            Education and its years, hours per week, occupation, age: the rows of Table 4.
        ``y`` : Series of shape (n_samples,)
            1 for an income of at most 50,000 dollars, else 0.
        ``sensitive_features`` : DataFrame of shape (n_samples, 2)
            Columns ``sex`` and ``race``.
        ``frame`` : DataFrame
            All 15 columns; ``"?"`` stands as it is in the files.
        ``source``, ``DESCR`` : str
            Where it was read from, and what it is.

    Raises
    ------
    DataNotFoundError
        If the files are in no folder and cannot be downloaded.
    """
    if not is_choice(subset, get_args(AdultSubset)):
        raise InputError(f"subset must be 'all', 'train' or 'test'; found {shown(subset)}.")
    paths = _ADULT.find(data_home)
    if paths is not None:
        parts = {"train": _read_adult(paths[0]), "test": _read_adult(paths[1])}
        source = str(paths[0].parent)
    else:
        frame, source = _ADULT.fetch(data_home, download_if_missing)
        frame = _without_categories(frame.rename(columns={"class": "income"}), fill="?")
        # OpenML's copy holds the second file first.
        n_test = _ADULT_ROWS["test"]
        parts = {"train": frame.iloc[n_test:], "test": frame.iloc[:n_test]}
    names = tuple(parts) if subset == "all" else (subset,)
    skipped = 1 if as_in_paper else 0
    frame = pd.concat([parts[name].iloc[skipped:] for name in names], ignore_index=True)
    frame = frame.loc[:, _ADULT_COLUMNS]
    log_size("Adult", frame, sum(_ADULT_ROWS[name] - skipped for name in names))
    data = Bunch(
        X=frame[_ADULT_FEATURES].copy(),
        y=(frame["income"] == "<=50K").astype("int64").rename("income_at_most_50K"),
        sensitive_features=frame[["sex", "race"]].copy(),
        frame=frame,
        source=source,
        DESCR=(
            "UCI Adult: incomes in the US census of 1994. y: 1 if the income is at most 50,000 "
            "dollars. Sensitive features: sex, race."
        ),
    )
    if as_in_paper:
        data.X = _category_codes(data.X, ["education", "occupation"])
    return data


def load_german(data_home: DataHome = None, *, download_if_missing: bool = True) -> Bunch:
    """Credit risk of 1,000 borrowers of a German bank (Section 4.3).

    Parameters
    ----------
    data_home : path or None, default=None
        Folder to look in first, for ``german_credit.csv`` or UCI's own ``german.data``. Then the
        folder named by the environment variable ``MDFA_DATA_HOME`` and AIF360's folder of raw data
        are searched, then openml.org (whose category labels differ slightly).
    download_if_missing : bool, default=True
        Whether to ask openml.org when no folder has the file.

    Returns
    -------
    data : Bunch
        ``X`` : DataFrame of shape (1000, 19)
            Everything but the credit risk, the sex, and the personal status, which tells the sex.
        ``y`` : Series of shape (1000,)
            1 for bad credit, else 0.
        ``sensitive_features`` : Series of shape (1000,)
            ``sex``, ``"male"`` or ``"female"``, read from the personal status.
        ``frame`` : DataFrame
            All 22 columns.
        ``source``, ``DESCR`` : str
            Where it was read from, and what it is.

    Raises
    ------
    DataNotFoundError
        If the file is in no folder and cannot be downloaded.
    """
    paths = _GERMAN.find(data_home)
    if paths is None:
        frame, source = _GERMAN.fetch(data_home, download_if_missing)
        frame = _without_categories(frame.set_axis(_GERMAN_COLUMNS, axis=1), fill="none")
    else:
        frame = _read_german(paths[0])
        source = str(paths[0])
    if "sex" not in frame:
        sex = frame["personal_status"].str.partition(" ")[0]
        frame.insert(list(frame.columns).index("personal_status") + 1, "sex", sex)
    log_size("German credit", frame, 1_000)
    return Bunch(
        X=frame.drop(columns=["credit", "sex", "personal_status"]),
        y=(frame["credit"] == "bad").astype("int64").rename("bad_credit"),
        sensitive_features=frame["sex"].copy(),
        frame=frame,
        source=source,
        DESCR=(
            "UCI Statlog German credit. y: 1 if the borrower was called a bad risk. Sensitive "
            "feature: sex."
        ),
    )


def load_crimes(data_home: DataHome = None, *, download_if_missing: bool = True) -> Bunch:
    """Violent crime in 1,994 US communities (Section 4.3).

    Parameters
    ----------
    data_home : path or None, default=None
        Folder to look in first, for ``communities_crime_uci.csv`` or
        ``communities_crime_gerryfair.csv``. Then the folder named by the environment variable
        ``MDFA_DATA_HOME`` is searched, then openml.org.
    download_if_missing : bool, default=True
        Whether to ask openml.org when no folder has the file.

    Returns
    -------
    data : Bunch
        ``X`` : DataFrame of shape (1994, 96)
            The census features. Left out are the four shares of races, the 22 columns of the police
            survey (missing in most communities), and the columns that name the place.
        ``y`` : Series of shape (1994,)
            1 where violent crimes per head are above their 70th percentile (the normalised value
            is above 0.28), else 0.
        ``sensitive_features`` : Series of shape (1994,)
            ``black_share``, ``"high"`` where the *normalised* ``racepctblack`` is at least 0.2, as
            in the paper's experiments, else ``"low"``.
        ``frame`` : DataFrame
            The whole table.
        ``source``, ``DESCR`` : str
            Where it was read from, and what it is.

    Raises
    ------
    DataNotFoundError
        If the file is in no folder and cannot be downloaded.

    Notes
    -----
    The paper speaks of a share of 20 %; its code compares UCI's value, which runs from 0 to 1 over
    the communities and is not a share, with 0.2.
    """
    paths = _CRIMES.find(data_home)
    if paths is not None:
        frame = pd.read_csv(paths[0], na_values=["", "?"])
        source = str(paths[0])
    else:
        frame, source = _CRIMES.fetch(data_home, download_if_missing)
    log_size("Communities and Crime", frame, 1_994)
    high = (frame["racepctblack"].astype(float) >= 0.2).map({True: "high", False: "low"})
    return Bunch(
        X=frame.drop(columns=_CRIMES_NOT_FEATURES, errors="ignore"),
        y=(frame[_CRIMES_TARGET].astype(float) > _CRIMES_THRESHOLD)
        .astype("int64")
        .rename("high_crime"),
        sensitive_features=high.rename("black_share"),
        frame=frame,
        source=source,
        DESCR=(
            "UCI Communities and Crime. y: 1 if violent crimes per head are above their 70th "
            "percentile. Sensitive feature: whether the normalised share of Black residents is at "
            "least 0.2."
        ),
    )


def _category_codes(X: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    codes = {column: X[column].astype("category").cat.codes.astype("int64") for column in columns}
    return X.assign(**codes)


def _without_categories(frame: pd.DataFrame, *, fill: str) -> pd.DataFrame:
    """Turn OpenML's categorical columns into text, with ``fill`` where a value is missing."""
    text = frame.select_dtypes(exclude="number").astype(object)
    filled = text.where(text.notna(), fill).astype(str)
    return frame.assign(**{str(name): column for name, column in filled.items()})


def _read_adult(path: Path) -> pd.DataFrame:
    if path.suffix == ".csv":
        return pd.read_csv(path, keep_default_na=False)
    # UCI's second file opens with a line that is no row, and ends each label with a dot.
    frame = pd.read_csv(
        path,
        header=None,
        names=_ADULT_COLUMNS,
        skipinitialspace=True,
        keep_default_na=False,
        skiprows=1 if path.suffix == ".test" else 0,
    )
    return frame.assign(income=frame["income"].str.rstrip("."))


def _read_german(path: Path) -> pd.DataFrame:
    if path.suffix == ".csv":
        return pd.read_csv(path, keep_default_na=False)
    frame = pd.read_csv(path, sep=r"\s+", header=None, names=_GERMAN_COLUMNS)
    frame = frame.replace(_GERMAN_LABELS)
    return frame.assign(credit=frame["credit"].map({1: "good", 2: "bad"}))
