"""AIF360's detectors and the audit, side by side on one split."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from mdfa_fairness_plugin.aif360.groups import (
    FAVORABLE,
    PRIVILEGED,
    UNFAVORABLE,
    UNPRIVILEGED,
    ByRow,
    Groups,
    check_lists,
    mask_of,
)
from mdfa_fairness_plugin.aif360.reading import audited_features, outcomes, values_by_row
from mdfa_fairness_plugin.aif360.toolkit import part, quiet
from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.balance.balancer import overlap_weights
from mdfa_fairness_plugin.balance.support import common_support
from mdfa_fairness_plugin.data.clusters import read_clusters, renumbered
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.exceptions import InputError, MDFAError
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.measure.estimates import measure, measure_leftover
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.splitting import draw_folds
from mdfa_fairness_plugin.records import ratio_of
from mdfa_fairness_plugin.settings import draw_seed

if TYPE_CHECKING:
    from aif360.datasets import BinaryLabelDataset

DETECTORS = ("mdss", "gerryfair", "mdfa")
_COLUMNS = (
    "detector", "region", "group", "outcome", "n_rows", "share", "raw_ratio", "balanced_ratio",
    "ratio_low", "ratio_high", "own_score", "seconds", "note",
)  # fmt: skip
# bias_scan lists values: a column with more of them than this is cut into quarters first.
_MOST_VALUES = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """Rows of one side of the split."""

    X: pd.DataFrame
    s: np.ndarray  # +1 unprivileged, -1 privileged
    favorable: np.ndarray
    weight: np.ndarray
    cluster: np.ndarray | None = None

    def take(self, places: np.ndarray) -> _Part:
        by_row = {name: getattr(self, name)[places] for name in ("s", "favorable", "weight")}
        cluster = None if self.cluster is None else renumbered(self.cluster[places])
        return _Part(X=self.X.iloc[places].reset_index(drop=True), cluster=cluster, **by_row)

    def positive(self, outcome: str) -> np.ndarray:
        return self.favorable if outcome == FAVORABLE else ~self.favorable

    def sides(self, group: str) -> np.ndarray:
        return self.s if group == UNPRIVILEGED else -self.s


@dataclass(frozen=True, kw_only=True, eq=False)
class _Region:
    """What a detector found on the search rows, judged on both parts."""

    text: str
    on_search: np.ndarray
    on_held_out: np.ndarray
    own_score: float
    groups: tuple[str, ...] = (UNPRIVILEGED, PRIVILEGED)  # who may get the outcome more often
    outcomes: tuple[str, ...] = (UNFAVORABLE, FAVORABLE)


def compare_detectors(
    dataset: BinaryLabelDataset,
    classified_dataset: BinaryLabelDataset | None = None,
    unprivileged_groups: Groups = None,
    privileged_groups: Groups = None,
    *,
    detectors: Sequence[str] = DETECTORS,
    test_size: float = 0.3,
    random_state: int | None = None,
    audit_features: Sequence[str] | None = None,
    clusters: ByRow = None,
    penalty: float = 1e-17,
    num_iters: int = 10,
    **auditor: Any,
) -> pd.DataFrame:
    """Let each detector name a region on the same rows, and measure it on the same held-out rows.

    Parameters
    ----------
    dataset : BinaryLabelDataset
        Features, protected attributes and weights; its labels are audited if there is no
        ``classified_dataset``.
    classified_dataset : BinaryLabelDataset or None, default=None
        Its labels are audited.
    unprivileged_groups, privileged_groups : list of dict
        As in AIF360; rows in neither are left out.
    detectors : sequence of {"mdss", "gerryfair", "mdfa"}, default=("mdss", "gerryfair", "mdfa")
        AIF360's ``bias_scan`` (in both directions), the auditor of its ``GerryFairClassifier``, and
        ``MDFAuditor`` (each of its four searches).
    test_size : float, default=0.3
        Share of the rows held out.
    random_state : int or None, default=None
        Of the split and of ``MDFAuditor``; None is seed 0.
    audit_features : list of str or None, default=None
    clusters : str, array-like of shape (n,) or None, default=None
        As in ``MDFADatasetMetric``. The rows of a cluster are held out together.
    penalty, num_iters
        Of ``bias_scan``.
    **auditor
        Arguments of ``MDFAuditor``.

    Returns
    -------
    table : DataFrame
        One row per region:

        - ``detector``, ``region``: who found it, and what it is in the detector's terms;
        - ``group``, ``outcome``: who gets what more often there;
        - ``n_rows``, ``share``: held-out rows in it, all and relative;
        - ``raw_ratio``: the group's rate of the outcome over the others' in the region;
        - ``balanced_ratio``, ``ratio_low``, ``ratio_high``: the same at equal features (overlap
          weights, doubly robust), with its interval;
        - ``own_score``: what the detector calls its result: log likelihood ratio, weighted
          disparity, ``delta`` on the search rows;
        - ``seconds``: of the search;
        - ``note``: why something is missing.

    Notes
    -----
    ``bias_scan`` and GerryFair look for people whose outcomes differ from everybody's, and may
    name the sensitive value itself. Their region is therefore taken to be everyone who would be in
    it with one sensitive value or the other, in the direction (group and outcome) with the largest
    lower limit of the raw ratio on the search rows. Both get the sensitive column among the
    features; GerryFair has all features declared protected, and audits rates of the favorable
    outcome (false positives among rows labelled 0). Numbers with more than ten values are cut into
    quarters for ``bias_scan``. NumPy's global random state, which it resets, is put back.
    """
    unknown = [name for name in detectors if name not in DETECTORS]
    if unknown:
        raise InputError(
            f"detectors: {listing(unknown)} is not known; choose from {listing(DETECTORS)}."
        )
    if unprivileged_groups is None or privileged_groups is None:
        raise InputError(
            "unprivileged_groups, privileged_groups: both are needed to measure ratios between "
            "them."
        )
    check_lists(dataset, unprivileged_groups, privileged_groups)
    argument, labelled = "classified_dataset.labels", classified_dataset
    if labelled is None:
        argument, labelled = "dataset.labels", dataset
    ids = values_by_row(dataset, clusters, "clusters")
    random_state = draw_seed(random_state)
    low, high = mask_of(dataset, unprivileged_groups), mask_of(dataset, privileged_groups)
    everybody = _Part(
        X=audited_features(dataset, audit_features=audit_features, by_row={"clusters": clusters}),
        s=low.astype(int) - high,
        weight=np.asarray(dataset.instance_weights, dtype=float).ravel(),
        favorable=outcomes(labelled, argument) == FAVORABLE,
        cluster=None if ids is None else read_clusters(ids),
    )
    search_part, held_out = _split(everybody, argument, test_size, random_state)
    judge = _Judge(held_out, random_state, float(auditor.get("confidence_level", 0.95)))
    parts = search_part, held_out
    settings = {"random_state": random_state} | auditor
    directions = itertools.product((UNPRIVILEGED, PRIVILEGED), (FAVORABLE, UNFAVORABLE))
    searches = [
        *(("mdss", partial(_mdss, *parts, over, penalty, num_iters)) for over in (True, False)),
        ("gerryfair", partial(_gerryfair, *parts)),
        *(("mdfa", partial(_mdfa, *parts, *direction, settings)) for direction in directions),
    ]
    rows = [_timed(name, find, search_part, judge) for name, find in searches if name in detectors]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _split(everybody: _Part, argument: str, test_size: float, seed: int) -> tuple[_Part, _Part]:
    """Search and held-out rows, alike in groups and outcomes; those of s = 0 are in neither list."""
    cluster = everybody.cluster
    rows = np.flatnonzero((everybody.s != 0) & (everybody.weight > 0))
    whose = np.arange(len(rows)) if cluster is None else cluster[rows]
    _, first, own = np.unique(whose, return_index=True, return_inverse=True)
    strata = (2 * (everybody.s > 0) + everybody.favorable)[rows][first]
    counts = np.bincount(strata, minlength=4)
    if counts.min() < 2:
        raise InputError(
            f"{argument}: the {FAVORABLE if counts.argmin() % 2 else UNFAVORABLE} outcome is too "
            f"rare among the {UNPRIVILEGED if counts.argmin() > 1 else PRIVILEGED} "
            f"({counts.min()} {'rows' if cluster is None else 'clusters'}) to be split into search and "
            "held-out rows."
        )
    searched, held_out = train_test_split(
        np.arange(len(first)), test_size=test_size, random_state=seed, stratify=strata
    )

    def part_of(units: np.ndarray) -> _Part:
        return everybody.take(rows[units] if cluster is None else rows[np.isin(own, units)])

    return part_of(searched), part_of(held_out)


class _Judge:
    """Measures every region in the same way on the held-out rows."""

    def __init__(self, held_out: _Part, random_state: int, confidence_level: float) -> None:
        self.part = held_out
        self._level = confidence_level
        rng = np.random.default_rng(random_state)
        encoded = FeatureEncoder().fit(held_out.X).rows(held_out.X)
        weight = held_out.weight / held_out.weight.mean()
        folds = draw_folds(2 * (held_out.s > 0) + held_out.favorable, 5, rng, held_out.cluster)
        propensity, self._favorable = (
            cross_fitted_probability(
                encoded,
                positive,
                folds,
                sample_weight=weight,
                random_state=int(rng.integers(2**31 - 1)),
            ).out_of_fold
            for positive in (held_out.s > 0, held_out.favorable)
        )
        self._balanced = weight * overlap_weights(propensity, held_out.s)
        self._inside = common_support(propensity, held_out.s, weight)

    def row(self, region: _Region, group: str, outcome: str) -> dict[str, Any]:
        """Ratios of one region, in the direction given."""
        part = self.part
        member = region.on_held_out
        s, positive = part.sides(group), part.positive(outcome)
        row: dict[str, Any] = {"n_rows": int(member.sum())}
        row["share"] = float(np.average(member, weights=part.weight))
        comparable = member & self._inside
        if len(np.unique(s[comparable])) < 2:
            return row | {"note": "no comparable rows of both groups are in the region"}
        expected = self._favorable if outcome == FAVORABLE else 1.0 - self._favorable
        plain = measure(positive, s, self._balanced, comparable, part.cluster)
        leftover = measure_leftover(positive, s, self._balanced, expected, comparable, part.cluster)
        low, high = delta_interval(plain, self._level, leftover=leftover)
        return row | {
            "raw_ratio": ratio_of(measure(positive, s, part.weight, member).delta),
            "balanced_ratio": ratio_of(plain.at_same_features(leftover).delta),
            "ratio_low": ratio_of(low),
            "ratio_high": ratio_of(high),
        }


def _timed(
    name: str, find: Callable[[], _Region], search_part: _Part, judge: _Judge
) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(_COLUMNS, math.nan)
    row |= {"detector": name, "region": "", "group": "", "outcome": "", "n_rows": 0, "note": ""}
    region = None
    started = time.perf_counter()
    try:
        region = find()
    except MDFAError as error:
        row["note"] = str(error)
    except Exception as error:  # AIF360's detectors fail in many ways; the others go on.
        row["note"] = f"AIF360's detector failed here: {type(error).__name__}: {error}"
    row["seconds"] = time.perf_counter() - started
    if region is None:
        return row
    group, outcome = _best_direction(search_part, region)
    own = {"region": region.text, "own_score": region.own_score, "group": group, "outcome": outcome}
    return row | own | judge.row(region, group, outcome)


def _best_direction(part: _Part, region: _Region) -> tuple[str, str]:
    """Choose the (group, outcome) a region says most about, on the search rows."""

    def says(direction: tuple[str, str]) -> float:
        group, outcome = direction
        s, positive = part.sides(group), part.positive(outcome)
        rates = measure(positive, s, part.weight, region.on_search, part.cluster)
        low = delta_interval(rates, 0.95)[0]
        return -math.inf if math.isnan(low) else low

    return max(itertools.product(region.groups, region.outcomes), key=says)


# -- detectors


def _mdss(
    search_part: _Part, held_out: _Part, overpredicted: bool, penalty: float, num_iters: int
) -> _Region:
    """MDSS: the subset whose outcomes are rarer (or more frequent) than expected of everybody."""
    encoder = FeatureEncoder().fit(search_part.X)
    tables = (encoder.display_frame(one.X) for one in (search_part, held_out))
    searched, judged = _few_values(*tables)
    group = _unused("group", searched.columns)
    named = np.where(search_part.s > 0, UNPRIVILEGED, PRIVILEGED)
    state = np.random.get_state()  # noqa: NPY002  # bias_scan resets it.
    try:
        with quiet():
            subset, score = part("detectors").bias_scan(
                data=searched.assign(**{group: named}),
                observations=pd.Series(search_part.favorable.astype(int)),
                favorable_value=1,
                overpredicted=overpredicted,
                penalty=penalty,
                num_iters=num_iters,
            )
    finally:
        np.random.set_state(state)  # noqa: NPY002
    texts = [f"{name} in {{{', '.join(map(str, values))}}}" for name, values in subset.items()]
    features = {name: values for name, values in subset.items() if name != group}
    return _Region(
        text=" and ".join(texts) or "everybody",
        on_search=searched[list(features)].isin(features).all(axis=1).to_numpy(),
        on_held_out=judged[list(features)].isin(features).all(axis=1).to_numpy(),
        own_score=float(score),
        outcomes=(UNFAVORABLE if overpredicted else FAVORABLE,),
    )


def _few_values(searched: pd.DataFrame, judged: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables as text, numbers of many values by quarter of the first."""
    tables = searched.copy(), judged.copy()
    for name in searched.columns:
        first = searched[name]
        if pd.api.types.is_numeric_dtype(first) and first.nunique() > _MOST_VALUES:
            edges = np.unique(np.nanquantile(first.astype(float), [0.25, 0.5, 0.75]))
            for table in tables:
                table[name] = pd.cut(table[name].astype(float), [-np.inf, *edges, np.inf])
    return tables[0].astype(str).astype(object), tables[1].astype(str).astype(object)


def _gerryfair(search_part: _Part, held_out: _Part) -> _Region:
    """GerryFair: a half space of the features with another rate of the favorable outcome."""
    encoder = FeatureEncoder().fit(search_part.X)
    names = [str(name) for name in encoder.encoded_names_]
    group, label = _unused("group", names), _unused("label", names)
    columns = [*names, group]
    X = np.column_stack([encoder.transform(search_part.X), search_part.s > 0])
    frame = pd.DataFrame(X, columns=columns).assign(**{label: 0.0})
    gerryfair = part("algorithms.inprocessing.gerryfair.auditor")
    with quiet():
        dataset = part("datasets").BinaryLabelDataset(
            df=frame, label_names=[label], protected_attribute_names=columns
        )
        auditor = gerryfair.Auditor(dataset, "FP")
        predictions = tuple(search_part.favorable.astype(float))
        found = auditor.get_group(predictions, auditor.get_baseline(auditor.y_input, predictions))
    coefficients = np.ravel(found.func.b1.coef_)

    def with_either_value(one: _Part) -> np.ndarray:
        encoded = encoder.transform(one.X)
        inside = np.zeros(len(encoded), dtype=bool)
        for value in (0.0, 1.0):
            table = np.column_stack([encoded, np.full(len(encoded), value)])
            inside |= found.func.predict(pd.DataFrame(table, columns=columns)) == 1
        return inside

    largest = np.argsort(-np.abs(coefficients))[:3]
    terms = ", ".join(f"{columns[place]} {-coefficients[place]:+.2g}" for place in largest)
    text, score = f"half space, steepest in {terms}", float(found.weighted_disparity)
    searched, judged = (with_either_value(one) for one in (search_part, held_out))
    return _Region(text=text, on_search=searched, on_held_out=judged, own_score=score)


def _mdfa(
    search_part: _Part, held_out: _Part, group: str, outcome: str, settings: dict[str, Any]
) -> _Region:
    """One (group, outcome) search of this package."""
    sides = np.where(search_part.s > 0, UNPRIVILEGED, PRIVILEGED).astype(object)
    auditor = MDFAuditor(**(settings | {"groups": [group], "outcomes": [outcome]}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Said once per search, of the same rows.
        labels = np.where(search_part.favorable, FAVORABLE, UNFAVORABLE).astype(object)
        groups = pd.Series(sides, name="group")
        auditor.fit(search_part.X, labels, groups, search_part.weight, search_part.cluster)
    worst = auditor.result_.worst_case
    if worst is None:
        reason = "; ".join(one.reason for one in auditor.result_.violations if one.reason)
        raise InputError(f"nothing could be measured: {reason or 'no region was found'}")
    return _Region(
        text=worst.rule or "no short rule",
        on_search=worst.membership,
        on_held_out=auditor.predict(held_out.X),
        own_score=worst.delta,
        groups=(group,),
        outcomes=(outcome,),
    )


def _unused(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name
