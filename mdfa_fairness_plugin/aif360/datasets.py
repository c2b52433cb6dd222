"""COMPAS, Adult and German credit as AIF360's data sets have them, whatever the pandas."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, get_args

import pandas as pd

from mdfa_fairness_plugin.aif360.toolkit import part, quiet
from mdfa_fairness_plugin.datasets import load_adult as _load_adult
from mdfa_fairness_plugin.datasets import load_compas as _load_compas
from mdfa_fairness_plugin.datasets import load_german as _load_german
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.settings import is_choice, shown

if TYPE_CHECKING:
    from aif360.datasets import BinaryLabelDataset

CompasOutcome = Literal["two_year_recid", "high_risk"]
DataHome = str | os.PathLike[str] | None


def load_compas(
    data_home: DataHome = None, *, outcome: CompasOutcome = "two_year_recid"
) -> BinaryLabelDataset:
    """COMPAS as a ``BinaryLabelDataset``.

    Parameters
    ----------
    data_home : path or None, default=None
        As in ``mdfa_fairness_plugin.datasets.load_compas``.
    outcome : {"two_year_recid", "high_risk"}, default="two_year_recid"
        Labels: whether the defendant was charged again within two years, or what the COMPAS score
        said, a high risk of violent recidivism (Section 4.2 of the paper). The rows are the same,
        so that the labels of one can be put into a copy of the other.

    Returns
    -------
    dataset : BinaryLabelDataset
        6,172 rows, as AIF360's ``CompasDataset`` filters them; favorable label 0; protected
        attributes ``sex`` (1 = Female) and ``race`` (1 = Caucasian). The text of the charge is not
        among the features.

    Raises
    ------
    DataNotFoundError
        If no folder has the file.
    """
    if not is_choice(outcome, get_args(CompasOutcome)):
        raise InputError(
            f"outcome: 'two_year_recid' or 'high_risk' expected, {shown(outcome)} found."
        )
    frame = _load_compas(data_home).frame
    frame = frame.assign(high_risk=frame["v_score_text"] == "High")
    # ProPublica's own filter: charges that belong to the arrest, and scores that exist.
    kept = (
        frame["days_b_screening_arrest"].between(-30, 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & (frame["score_text"] != "N/A")
    )
    columns = [
        "sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count",
        "priors_count", "c_charge_degree", outcome,
    ]  # fmt: skip
    table = frame.loc[kept, columns].copy()
    table["sex"] = table["sex"] == "Female"
    table["race"] = table["race"] == "Caucasian"
    names = {
        "two_year_recid": {1.0: "Did recid.", 0.0: "No recid."},
        "high_risk": {1.0: "High risk", 0.0: "Not high risk"},
    }
    return _binary_label_dataset(
        table,
        label=outcome,
        favorable=0.0,
        label_names=names[outcome],
        protected={
            "sex": {0.0: "Male", 1.0: "Female"},
            "race": {1.0: "Caucasian", 0.0: "Not Caucasian"},
        },
        categories=["age_cat", "c_charge_degree"],
    )


def load_adult(
    data_home: DataHome = None, *, download_if_missing: bool = True
) -> BinaryLabelDataset:
    """Adult census income as a ``BinaryLabelDataset``.

    Parameters
    ----------
    data_home, download_if_missing
        As in ``mdfa_fairness_plugin.datasets.load_adult``.

    Returns
    -------
    dataset : BinaryLabelDataset
        45,222 rows, those without missing values, in the order and with the features of AIF360's
        ``AdultDataset``; favorable label 1, an income above 50,000 dollars; protected attributes
        ``race`` (1 = White) and ``sex`` (1 = Male).

    Raises
    ------
    DataNotFoundError
        If the files are in no folder and cannot be downloaded.
    """
    parts = [
        _load_adult(data_home, subset=subset, download_if_missing=download_if_missing).frame
        for subset in ("test", "train")
    ]
    frame = pd.concat(parts, ignore_index=True)
    table = frame[(frame != "?").all(axis=1)].drop(columns=["fnlwgt", "income"])
    table["race"] = table["race"] == "White"
    table["sex"] = table["sex"] == "Male"
    table["income-per-year"] = frame.loc[table.index, "income"] == ">50K"
    return _binary_label_dataset(
        table,
        label="income-per-year",
        favorable=1.0,
        label_names={1.0: ">50K", 0.0: "<=50K"},
        protected={
            "race": {1.0: "White", 0.0: "Non-white"},
            "sex": {1.0: "Male", 0.0: "Female"},
        },
        categories=[
            "workclass", "education", "marital-status", "occupation", "relationship",
            "native-country",
        ],
    )  # fmt: skip


def load_german(
    data_home: DataHome = None, *, download_if_missing: bool = True
) -> BinaryLabelDataset:
    """German credit as a ``BinaryLabelDataset``.

    Parameters
    ----------
    data_home, download_if_missing
        As in ``mdfa_fairness_plugin.datasets.load_german``.

    Returns
    -------
    dataset : BinaryLabelDataset
        1,000 rows; labels 1 (favorable, good credit) and 2; protected attributes ``sex`` (1 = male)
        and ``age`` (1 = above 25). As AIF360's ``GermanDataset``, with categories in words rather
        than codes.

    Raises
    ------
    DataNotFoundError
        If the file is in no folder and cannot be downloaded.
    """
    frame = _load_german(data_home, download_if_missing=download_if_missing).frame
    columns = [name for name in frame.columns if name not in ("personal_status", "sex", "credit")]
    table = frame[columns].copy()
    table["age"] = table["age"] > 25
    table["sex"] = frame["sex"] == "male"
    table["credit"] = frame["credit"].map({"good": 1.0, "bad": 2.0})
    return _binary_label_dataset(
        table,
        label="credit",
        favorable=1.0,
        label_names={1.0: "Good Credit", 2.0: "Bad Credit"},
        protected={"sex": {1.0: "Male", 0.0: "Female"}, "age": {1.0: "Old", 0.0: "Young"}},
        categories=[
            "status", "credit_history", "purpose", "savings", "employment", "other_debtors",
            "property", "installment_plans", "housing", "skill_level", "telephone",
            "foreign_worker",
        ],
    )  # fmt: skip


def _binary_label_dataset(
    table: pd.DataFrame,
    *,
    label: str,
    favorable: float,
    label_names: dict[float, str],
    protected: dict[str, dict[float, str]],
    categories: list[str],
) -> BinaryLabelDataset:
    """One-hot columns in the place of categories, and everything a number."""
    table = pd.get_dummies(table, columns=categories, prefix_sep="=").astype(float)
    maps = {"label_maps": [label_names], "protected_attribute_maps": list(protected.values())}
    with quiet():
        return part("datasets").BinaryLabelDataset(
            favorable_label=favorable,
            unfavorable_label=next(one for one in label_names if one != favorable),
            df=table,
            label_names=[label],
            protected_attribute_names=list(protected),
            privileged_protected_attributes=[[1.0]] * len(protected),
            unprivileged_protected_attributes=[[0.0]] * len(protected),
            metadata=maps,
        )
