"""Adult, German credit and Crimes with the answers of LC and its repairs (Section 4.3).

Each once as it should be done (the answers are for rows the classifier was not fitted to, and what
should not be among its features is not), and LC also as the authors' code does it, quirk by quirk.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mdfa_fairness_plugin.datasets import load_adult, load_crimes, load_german
from mdfa_fairness_plugin.exceptions import OptionalDependencyError, RepairWarning
from mdfa_fairness_plugin.experiments.experiment import Options
from mdfa_fairness_plugin.repairs import make_repair

EQUALIZED_ODDS = "Red-LC (equalized odds)"
# As the paper repaired: text as numbers in the order of the alphabet.
CODES = "DI-LC (integer codes)"
MODELS = ("LC", "DI-LC", "Red-LC", EQUALIZED_ODDS)
# The authors' reduction equalises odds, to within 0.05.
_OPTIONS = {EQUALIZED_ODDS: {"eps": 0.05}}
DATA_SETS = ("Adult", "German", "Crimes")
_FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
# What the authors' classifier sees of Adult.
_ADULT_SEEN = [
    "age", "workclass", "education", "occupation", "hours-per-week", "capital-gain",
    "education-num", "race", "marital-status",
]  # fmt: skip
# What they audit.
_ADULT_AUDITED = [
    "age", "workclass", "education", "occupation", "hours-per-week", "education-num",
]  # fmt: skip
# Census features by which communities are compared: size, wealth, work, schooling and age. All
# 96 of them tell the share of Black residents so well that like cannot be compared with like.
_CRIMES_AUDITED = [
    "population", "pctUrban", "PopDens", "medIncome", "PctPopUnderPov", "PctUnemployed",
    "PctNotHSGrad", "agePct12t29",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One data set and what the models answer: labels and answers are 1 or 0."""

    name: str
    X: pd.DataFrame  # audited features
    sensitive: pd.Series
    group: str  # the value that is S = +1
    y: np.ndarray
    outcomes: dict[str, np.ndarray]  # answers by model
    absent: dict[str, str]  # why a model is missing
    everything: pd.DataFrame | None = None  # all features, where they are too many to audit by


def build_cases(names: Sequence[str], models: Sequence[str], options: Options) -> dict[str, Case]:
    """Fit the models of these names, which ``make_repair`` knows, and gather their answers."""
    makers = {"Adult": _adult, "German": _german, "Crimes": _crimes}
    data_by_name = {name: makers[name](options.data_home) for name in names}
    tasks = [
        (name, model)
        for name, data in data_by_name.items()
        for model in models
        if model != CODES or len(data["seen"].select_dtypes(exclude="number").columns)
    ]
    task = partial(_answers, data_by_name, options.random_state)
    answers = dict(zip(tasks, options.repeat(task, tasks, "repairs"), strict=True))
    cases = {}
    for name, data in data_by_name.items():
        found = {model: one for (own, model), one in answers.items() if own == name}
        cases[name] = Case(
            name=name,
            X=data["audited"],
            sensitive=data["sensitive"].iloc[data["judged"]].reset_index(drop=True),
            group=data["group"],
            y=data["y"][data["judged"]],
            outcomes={
                model: np.array(one) for model, one in found.items() if not isinstance(one, str)
            },
            absent={model: one for model, one in found.items() if isinstance(one, str)},
            everything=data.get("everything"),
        )
    return cases


def _answers(
    data_by_name: dict[str, dict[str, Any]], random_state: int, name: str, model: str
) -> np.ndarray | str:
    """Answers for the rows judged, or why there are none."""
    data = data_by_name[name]
    y = data["y"]
    answers = np.zeros(len(y), dtype=int)
    seen, sensitive = data["seen"], data["sensitive"]
    if model == CODES:
        model, seen = "DI-LC", pd.DataFrame(_codes(seen), columns=seen.columns)
    try:
        for train, test in data["parts"]:
            options = _OPTIONS.get(model, {})
            classifier = make_repair(model, random_state=random_state, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RepairWarning)  # The table says it.
                classifier.fit(seen.iloc[train], y[train], sensitive_features=sensitive.iloc[train])
            groups = sensitive.iloc[test]
            answers[test] = classifier.predict(seen.iloc[test], sensitive_features=groups)
    except OptionalDependencyError as error:
        return str(error)
    return answers[data["judged"]]


def _adult(data_home: Any) -> dict[str, Any]:
    """Fitted to the first file, judged on the second; the classifier does not see gender."""
    data = load_adult(data_home)
    n_train = len(load_adult(data_home, subset="train").X)
    judged = np.arange(n_train, len(data.X))
    return {
        "seen": data.frame[_ADULT_SEEN],
        "audited": data.frame[_ADULT_AUDITED].iloc[judged].reset_index(drop=True),
        "sensitive": data.sensitive_features["sex"],
        "group": "Female",
        "y": data.y.to_numpy(),
        "judged": judged,
        "parts": [(np.arange(n_train), judged)],
    }


def _german(data_home: Any) -> dict[str, Any]:
    """Bad credit, women; every row answered by a classifier fitted to the other folds."""
    data = load_german(data_home)
    return _out_of_fold(data.X, data.y.to_numpy(), data.sensitive_features, "female")


def _crimes(data_home: Any) -> dict[str, Any]:
    """As ``_german``, without the label and the shares of races among the features."""
    data = load_crimes(data_home)
    X = data.X.fillna(data.X.median())
    made = _out_of_fold(X, data.y.to_numpy(), data.sensitive_features, "high")
    return made | {"audited": X[_CRIMES_AUDITED], "everything": X}


def _out_of_fold(X: pd.DataFrame, y: np.ndarray, groups: pd.Series, group: str) -> dict[str, Any]:
    return {
        "seen": X,
        "audited": X,
        "sensitive": groups,
        "group": group,
        "y": y,
        "judged": np.arange(len(y)),
        "parts": list(_FOLDS.split(X, y)),
    }


@dataclass(frozen=True, kw_only=True)
class AggregateRatios:
    """Ratios over everybody, S = +1 over the others, of answers 1 among labels 1 and among all."""

    reading: str
    true_positive: float
    outcome: float


PUBLISHED = "as published"


def published_lc(name: str, data_home: str | os.PathLike[str] | None) -> list[AggregateRatios]:
    """LC as in the authors' code (``PUBLISHED``), then with each of its quirks undone."""
    makers = {"Adult": _published_adult, "German": _published_german, "Crimes": _published_crimes}
    with warnings.catch_warnings():
        # Unscaled columns do not always converge in the 100 steps of the default; nor did theirs.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return makers[name](data_home)


def _logistic() -> LogisticRegression:
    # scikit-learn's default of early 2019, which converges on unscaled columns.
    return LogisticRegression(solver="liblinear")


def aggregate(reading: str, answer: Any, y: Any, is_group: Any) -> AggregateRatios:
    """Both ratios of one set of answers."""
    answer, y = np.asarray(answer) == 1, np.asarray(y) == 1
    is_group = np.asarray(is_group, dtype=bool)

    def ratio(among: np.ndarray) -> float:
        return float(answer[among & is_group].mean() / answer[among & ~is_group].mean())

    return AggregateRatios(
        reading=reading, true_positive=ratio(y), outcome=ratio(np.ones(len(y), dtype=bool))
    )


def _published_adult(data_home: Any) -> list[AggregateRatios]:
    train, test = (load_adult(data_home, subset=one, as_in_paper=True) for one in ("train", "test"))
    women = test.sensitive_features["sex"] == "Female"
    # Gender fifth, as theirs: where liblinear stops on unscaled columns depends on their order.
    seen = [*_ADULT_SEEN[:4], "sex", *_ADULT_SEEN[4:]]

    def by_codes(columns: list[str]) -> Any:
        model = _logistic().fit(_codes(train.frame[columns]), train.y)
        return model.predict(_codes(test.frame[columns]))

    one_hot = make_repair("LC").fit(train.frame[_ADULT_SEEN], train.y)
    one_hot_answer = one_hot.predict(test.frame[_ADULT_SEEN])
    return [
        aggregate(PUBLISHED, by_codes(seen), test.y, women),
        aggregate("without gender among the features", by_codes(_ADULT_SEEN), test.y, women),
        aggregate("one-hot for codes, without gender", one_hot_answer, test.y, women),
    ]


def _codes(frame: pd.DataFrame) -> np.ndarray:
    """Numbers, text as pandas category codes."""
    text = frame.select_dtypes(exclude="number")
    codes = {str(name): column.astype("category").cat.codes for name, column in text.items()}
    return frame.assign(**codes).to_numpy(dtype=float)


def _published_german(data_home: Any) -> list[AggregateRatios]:
    data = load_german(data_home)
    good = 1 - data.y.to_numpy()
    men = (data.sensitive_features == "male").to_numpy()
    adult = (data.frame["age"] >= 25).astype(int)
    table = data.X.assign(age=adult)
    numbers = pd.get_dummies(table, dtype=float)
    with_sex = numbers.assign(sex=men.astype(float), sex_age=(men & (adult == 1)).astype(float))
    answer = _logistic().fit(with_sex, good).predict(with_sex)
    blind = _logistic().fit(numbers, good).predict(numbers)
    unseen = cross_val_predict(_logistic(), with_sex, good, cv=_FOLDS)
    return [
        aggregate(PUBLISHED, answer, good, men),
        aggregate("without sex among the features", blind, good, men),
        aggregate("rows not fitted to", unseen, good, men),
        aggregate("bad credit and women, as the text says", 1 - answer, 1 - good, ~men),
    ]


def _published_crimes(data_home: Any) -> list[AggregateRatios]:
    data = load_crimes(data_home)
    high = (data.sensitive_features == "high").to_numpy()
    numbers = data.frame.select_dtypes("number").fillna(0.0)
    kept = [column for column in numbers if column not in _CRIMES_LABELS]
    without = numbers[kept].to_numpy(dtype=float)
    with_label = np.column_stack([without, data.y])
    answers = [_logistic().fit(Z, data.y).predict(Z) for Z in (with_label, without)]
    return [
        aggregate(PUBLISHED, answers[0], data.y, high),
        aggregate("without the label among the features", answers[1], data.y, high),
    ]


# The label under its names, and the columns that number or name places.
_CRIMES_LABELS = {
    "ViolentCrimesPerPop", "Y", "attr", "state", "county", "community", "fold",
}  # fmt: skip
