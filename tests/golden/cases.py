"""The cases whose results are frozen: every balance, solver, evaluation and page, on small data.

A case is a function without arguments that returns named artifacts: text, compared to the byte, or
plain values, compared number by number. Only public names of the package are used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import mdfa_fairness_plugin as mdfa

Artifacts = dict[str, Any]
Maker = Callable[[], Artifacts]


@dataclass(frozen=True)
class Case:
    """What makes the artifacts, and the optional package that takes."""

    make: Maker
    needs: str


CASES: dict[str, Case] = {}

FEATURES = ["x1", "x2", "age", "town"]
# Cases are about other things than repeats, but for those called so.
ONCE = {"n_repeats": 1}
TREE = {"learner": "tree", "n_splits": 3} | ONCE


def case(needs: str = "") -> Callable[[Maker], Maker]:
    """Enter a case under the name of its function."""

    def enter(make: Maker) -> Maker:
        CASES[make.__name__] = Case(make, needs)
        return make

    return enter


# -- data


def people(n: int = 700, seed: int = 0, delta: float = 1.5) -> pd.DataFrame:
    """Two numbers, an age and a town, with sex, race, the decision and what proved true."""
    data = mdfa.datasets.make_synthetic(n_samples=n, delta=delta, random_state=seed)
    rng = np.random.default_rng(1000 + seed)
    decision = np.where(data.y == 1, "yes", "no").astype(object)
    mistaken = rng.random(n) < 0.15
    frame = pd.DataFrame(
        {
            "x1": np.asarray(data.X["x1"]),
            "x2": np.asarray(data.X["x2"]),
            "age": rng.integers(18, 71, n),
            "town": rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2]).astype(object),
            "sex": np.where(data.sensitive_features == 1, "f", "m").astype(object),
            "race": rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]).astype(object),
            "decision": decision,
            "truth": np.where(mistaken, np.where(decision == "yes", "no", "yes"), decision),
        }
    )
    frame.loc[rng.random(n) < 0.03, "age"] = np.nan
    return frame


def auditor_of(
    frame: pd.DataFrame, sensitive: Any = "sex", weight: Any = None, **params: Any
) -> Any:
    """Fit an auditor to such people."""
    auditor = mdfa.MDFAuditor(**({"random_state": 0} | ONCE | params))
    return auditor.fit(
        frame[FEATURES],
        frame["decision"],
        sensitive_features=frame[sensitive],
        sample_weight=weight,
    )


# -- artifacts


def everything(result: Any) -> Artifacts:
    """An audit as values and as each of its pages."""
    return {
        "result": result.to_dict(rows=True),
        "json_is_dict": json.loads(result.to_json(rows=True)) == result.to_dict(rows=True),
        "table": table(result.to_frame()),
        "summary.txt": result.summary(),
        "card.md": result.to_model_card(),
        "junit.xml": result.to_junit(fail_above=0.2),
        "page.html": result.to_html(),
    }


def table(frame: pd.DataFrame) -> dict[str, Any]:
    """A table as its columns' values, with the names and the index in words."""
    return {
        "columns": [str(name) for name in frame.columns],
        "index": [str(name) for name in frame.index],
        "values": frame.astype(object).to_numpy().tolist(),
    }


def rows(values: Any) -> str:
    """Hash of a yes or no for every row."""
    array = np.asarray(values, dtype=bool)
    return (
        f"{int(array.sum())} of {len(array)}, sha256 {hashlib.sha256(array.tobytes()).hexdigest()}"
    )


def judged(auditor: Any) -> Artifacts:
    """What a fitted auditor says of new rows."""
    new = people(200, 9)[FEATURES]
    return {
        "inside": rows(auditor.predict(new)),
        "scores": np.asarray(auditor.decision_function(new))[:100].tolist(),
    }


def audited(auditor: Any) -> Artifacts:
    return everything(auditor.result_) | judged(auditor)


# -- audits


@case()
def overlap() -> Artifacts:
    """As users have it who choose nothing but one repeat, with new rows judged."""
    auditor = auditor_of(people())
    control = rows(auditor.result_.as_control_feature() == "inside")
    return audited(auditor) | {"control": control}


@case()
def repeated() -> Artifacts:
    """As users have it who choose nothing but the learner, of three values."""
    frame = people(600, 20)
    return audited(auditor_of(frame, "race", outcomes="yes", **TREE | {"n_repeats": "auto"}))


@case()
def repeated_with_rows_held_back() -> Artifacts:
    frame = people(600, 21)
    return audited(auditor_of(frame, n_repeats=2, n_splits=2, max_learning_rows=500))


@case()
def entropy() -> Artifacts:
    return audited(auditor_of(people(seed=1), balance="entropy", solver="level_set", n_splits=3))


@case()
def kernel_matching() -> Artifacts:
    return audited(
        auditor_of(
            people(600, 2),
            balance="kernel_matching",
            solver="iterative",
            learner="logistic",
            evaluation="holdout",
            alpha=0.02,
            max_iter=60,
        )
    )


@case()
def propensity_and_integer_weights() -> Artifacts:
    counts = np.random.default_rng(3).integers(0, 4, 700)
    return audited(
        auditor_of(
            people(seed=3),
            weight=counts,
            balance="propensity",
            evaluation="holdout",
            learner="tree",
        )
    )


@case()
def no_balance_and_sampling_weights() -> Artifacts:
    weight = np.random.default_rng(4).gamma(4.0, 0.25, 700)
    frame = people(seed=4)
    return audited(
        auditor_of(
            frame, weight=weight, balance="none", solver="level_set", learner="tree", n_splits=3
        )
    )


@case()
def given_weights_and_three_groups() -> Artifacts:
    weights = np.random.default_rng(5).uniform(0.5, 1.5, 800)
    frame = people(800, 5)
    bold = (frame["race"] == "B") & (frame["x1"] > 0)
    frame.loc[bold, "decision"] = "yes"
    return audited(auditor_of(frame, "race", balance=weights, **TREE))


class ByTown:
    """A user's own balancing: each side gets the weight that makes its towns equally frequent."""

    def __repr__(self) -> str:
        return "ByTown()"

    def fit(self, X: Any, s: Any, sample_weight: Any = None) -> ByTown:
        self.center_ = np.nanmean(np.asarray(X, dtype=float)[:, 0])
        return self

    def weights(self, X: Any, s: Any) -> np.ndarray:
        above = np.asarray(X, dtype=float)[:, 0] > self.center_
        return np.where(above == (np.asarray(s) > 0), 0.8, 1.2)


@case()
def own_balance_and_missing_as_category() -> Artifacts:
    frame = people(seed=6)
    frame.loc[np.random.default_rng(6).random(len(frame)) < 0.15, "sex"] = None
    return audited(auditor_of(frame, balance=ByTown(), missing="category", **TREE))


@case("torch")
def mmd_network() -> Artifacts:
    return audited(auditor_of(people(600, 7), balance="mmd_network", **TREE))


@case("torch")
def as_in_paper() -> Artifacts:
    frame = people(600, 8)
    auditor = mdfa.MDFAuditor.as_in_paper(random_state=0, max_iter=40, alpha=0.02)
    auditor.fit(frame[FEATURES], frame["decision"], sensitive_features=frame["sex"])
    return audited(auditor)


@case()
def intersections_and_missing_left_out() -> Artifacts:
    frame = people(900, 10)
    rng = np.random.default_rng(10)
    frame.loc[rng.random(len(frame)) < 0.1, "race"] = None
    frame.loc[rng.random(len(frame)) < 0.05, "sex"] = np.nan
    return audited(
        auditor_of(
            frame, ["sex", "race"], intersections=True, outcomes="yes", min_group_size=80, **TREE
        )
    )


@case()
def no_common_support() -> Artifacts:
    """Nobody of one sex beyond a point; compared with one reference."""
    frame = people(900, 11)
    frame = frame[(frame["sex"] == "f") | (frame["x1"] < 0.6)].reset_index(drop=True)
    return audited(auditor_of(frame, reference_group="m", **TREE))


@case()
def few_learning_rows() -> Artifacts:
    return audited(
        auditor_of(
            people(900, 12),
            max_learning_rows=400,
            learner="gradient_boosting",
            estimator="doubly_robust",
            n_splits=3,
            confidence_level=0.9,
        )
    )


# -- what is built on audits


def comparison_of(frame: pd.DataFrame, models: dict[str, Any], **params: Any) -> Artifacts:
    result = mdfa.compare(
        frame[FEATURES], models, sensitive_features=frame["sex"], random_state=0, **ONCE, **params
    )
    return {
        "result": result.to_dict(rows=True),
        "json_is_dict": json.loads(result.to_json(rows=True)) == result.to_dict(rows=True),
        "table": table(result.to_frame(every_search=True)),
        "transfer": table(result.transfer_frame()),
        "difference": table(result.difference_frame()),
        "summary.txt": result.summary(),
        "page.html": result.to_html(),
    }


@case()
def comparison_with_truth() -> Artifacts:
    frame = people(700, 13)
    milder = people(700, 13, delta=0.7)["decision"]
    by_one = np.where(frame["x1"] > 0, "yes", "no")
    models = {"as found": frame["decision"], "milder": milder, "by one feature": by_one}
    return comparison_of(
        frame, models, y_true=frame["truth"], n_splits=3, n_folds=3, learner="tree"
    )


@case()
def comparison_of_weighted_rows() -> Artifacts:
    frame = people(600, 14)
    weight = np.random.default_rng(14).integers(1, 3, 600)
    models = {"as found": frame["decision"], "all alike": np.full(600, "no", dtype=object)}
    models["reversed"] = np.where(frame["decision"] == "yes", "no", "yes")
    return comparison_of(
        frame,
        models,
        sample_weight=weight,
        n_splits=0,
        n_folds=3,
        baseline="reversed",
        solver="level_set",
        balance="entropy",
        learner="tree",
    )


@case("dask")
def dask() -> Artifacts:
    import dask.dataframe as dd

    from mdfa_fairness_plugin.dask import audit_dask

    frame = people(1500, 15).drop(columns=["race", "truth"])
    frame["weight"] = np.random.default_rng(15).gamma(4.0, 0.25, len(frame))
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    result = audit_dask(
        parts,
        outcome="decision",
        sensitive="sex",
        sample_weight="weight",
        scheduler="synchronous",
        max_learning_rows=500,
        random_state=0,
        **TREE,
    )
    inside = result.membership(parts).compute(scheduler="synchronous")
    members = {"members": rows(inside)}
    return everything(result) | judged(result.auditor) | members


@case()
def cards() -> Artifacts:
    frame = people(seed=16)
    auditor = auditor_of(frame, **TREE)
    inside = int(np.flatnonzero(auditor.result_.worst_case.membership)[0])
    audited = auditor.explain_row(None, row=inside)
    person = {"x1": -0.3, "x2": -0.4, "age": 35, "town": "south"}
    new = auditor.explain_row(person, sensitive="f", outcome="no", show_records=True)
    found: Artifacts = {}
    for name, card in (("audited", audited), ("new", new)):
        found[name] = card.to_dict()
        found[f"{name}_json_is_dict"] = json.loads(card.to_json()) == card.to_dict()
        found[f"{name}.txt"] = card.summary()
        found[f"{name}.html"] = card.to_html()
    return found


@case()
def repetitions() -> Artifacts:
    result = auditor_of(people(600, 17), **TREE).result_
    null = result.null_distribution(n_draws=3)
    stable = result.stability(n_repeats=3)
    return {
        "null": table(null.to_frame()),
        "draws": null.draws.tolist(),
        "statistics": null.statistics.tolist(),
        "null.txt": null.summary(),
        "stability": table(stable.to_frame()),
        "frequency": np.asarray(stable.frequency, dtype=float).ravel()[:300].tolist(),
        "features": table(stable.features),
        "stability.txt": stable.summary(),
    }


@case("fairlearn")
def fairlearn() -> Artifacts:
    from fairlearn.metrics import selection_rate, true_positive_rate

    from mdfa_fairness_plugin import fairlearn as plugin

    frame = people(700, 18)
    weight = np.random.default_rng(18).gamma(4.0, 0.25, len(frame))
    given = {
        "y_true": (frame["truth"] == "yes").astype(int),
        "y_pred": (frame["decision"] == "yes").astype(int),
        "sensitive_features": frame["sex"],
        "audit_features": frame[FEATURES],
    }
    made = plugin.MDFAMetricFrame(
        metrics={"selected": selection_rate, "hit": true_positive_rate},
        control_features=frame["town"],
        sample_params={"selected": {"sample_weight": weight}},
        **given,
        **TREE,
    )
    return {
        "by_group": table(made.by_group),
        "overall": table(made.overall),
        "difference": table(made.difference()),
        "by_subgroup": table(made.by_subgroup),
        "subgroup_difference": table(made.subgroup_difference()),
        "kept": rows(made.kept_rows_),
        "result": made.result_.to_dict(rows=True),
        "violation": plugin.worst_case_violation(**given, event="false_positive", **TREE),
        "ratio": plugin.worst_case_ratio(**given, event="error", **TREE),
        "certificate": plugin.unfairness_certificate(**given, sample_weight=weight, **TREE),
        "hash": plugin.predictions_hash(given["y_pred"]),
    }


@case("aif360")
def aif360() -> Artifacts:
    from aif360.datasets import BinaryLabelDataset

    from mdfa_fairness_plugin import aif360 as plugin

    frame = people(700, 19)
    columns = frame[["x1", "x2"]].assign(
        north=(frame["town"] == "north").astype(int),
        sex=(frame["sex"] == "f").astype(int),
        y=(frame["truth"] == "yes").astype(int),
    )
    dataset = BinaryLabelDataset(
        df=columns, label_names=["y"], protected_attribute_names=["sex"], favorable_label=1.0
    )
    classified = dataset.copy()
    classified.labels = (frame[["decision"]] == "yes").to_numpy(dtype=float)
    metric = plugin.MDFAClassificationMetric(
        dataset,
        classified,
        unprivileged_groups=[{"sex": 1}],
        privileged_groups=[{"sex": 0}],
        random_state=0,
        **TREE,
    )
    audit = metric.audit()
    told = plugin.MDFATextExplainer(metric)
    names = ("audit", "worst_case_violation", "worst_case_ratio", "unfairness_certificate")
    scan = plugin.mdfa_scan(
        columns.drop(columns="y"), y_true=columns["y"], prot_attr="sex", random_state=0, **TREE
    )
    return {
        **everything(audit),
        "told.txt": "\n\n".join(getattr(told, name)() for name in names),
        "json_is_dict": json.loads(plugin.MDFAJSONExplainer(metric).audit()) == audit.to_dict(),
        "json": json.loads(plugin.MDFAJSONExplainer(metric).worst_case_violation()),
        "coverage": metric.coverage(),
        "subgroup": np.asarray(metric.worst_case_subgroup().features).sum(axis=0).tolist(),
        "parity": metric.statistical_parity_difference(),
        "scan": [scan.score, scan.rule, rows(scan.mask), scan.subset],
    }
