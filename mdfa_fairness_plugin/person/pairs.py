"""People of a group beside those most like them who fared better, for a review of files."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from mdfa_fairness_plugin.data.columns import objects
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.person.comparators import CALIPER, distance_weights, numbered
from mdfa_fairness_plugin.person.find import GROUP, OTHERS, outcome_at, refuse_probabilities
from mdfa_fairness_plugin.person.story import as_read
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.settings import check_whole

# Distances are taken for so many people at a time that there are about this many.
_AT_A_TIME: Final = 2_000_000
_OWN: Final = ("pair", "distance", "side", "sensitive_value", "outcome")


def pairs(result: AuditRecord, n: int = 50, *, violation: Violation | None = None) -> pd.DataFrame:
    """Put people of the group who fared badly beside others most like them who did not.

    For a review of files: who is inside the subgroup, on the group's side and with the audited
    outcome, beside the nearest of the others inside it with another one (with the favourable one,
    if that was said). Of a number, who gets less than on average beside who gets more; of a sensitive
    quantity, who has more of it than people like them beside who has less, or the reverse. Unlike
    outcomes of two similar people can be chance: pairs show what to look at, the rates of the
    subgroup (``violation.rates``) how often it happens.

    Parameters
    ----------
    result : AuditResult
    n : int, default=50
        Pairs at most, the most alike first.
    violation : Violation or None, default=None
        Search whose subgroup, group and outcome are meant; None: the worst case.

    Returns
    -------
    pairs : DataFrame
        Two rows per pair, with the index of the audited data (positions if they had none):
        ``pair``, from 1 on; ``distance``, the root of the mean over features of the squared
        differences in standard deviations, 0 for people alike in all; ``side``, "group" or
        "others"; ``sensitive_value``; ``outcome``; and every audited feature, numbered if its name
        is one of these. Empty if nobody has anybody alike.

    Raises
    ------
    InputError
        If the result does not hold its rows, if no group could be compared, or if the search is of
        the favourable outcome.

    Notes
    -----
    As of ``MDFAuditor.explain_row``, people further apart than 1 are not called alike; two drawn at
    random are at about 1.4. Everybody of the group is in one pair, with one of the others, who may
    be in several; of others equally far one is drawn, the same each time. Rows of one cluster are
    never a pair, and of a cluster only the closest pair is shown. Of a 70/30 split only rows held
    out are.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=600, delta=1.5, random_state=0)
    >>> result = mdfa.audit(
    ...     data.X, data.y, sensitive_features=data.sensitive_features, learner="tree",
    ...     n_splits=2, random_state=0,
    ... )
    >>> result.pairs(n=2)["side"].tolist()
    ['group', 'others', 'group', 'others']
    """
    check_whole("n", n, 1)
    if result.source is None:
        raise InputError(
            "pairs: this result holds no rows, being read from a file or made by Dask; use one of an "
            "audit in memory."
        )
    refuse_probabilities(result, "pairs")
    problem = result.source.problem
    own = _search_of(result, violation)
    # One working row of each row of the input.
    rows = np.unique(problem.source_row, return_index=True)[1]
    rows = rows[_at(own.side, problem, rows) != 0]
    rows = rows[~_at(own.left_out, problem, rows)]
    inside = _at(own.membership & own.held_out, problem, rows)
    side, y = _at(own.side, problem, rows), problem.y[rows]
    worse, good = problem.has(own.outcome)[rows], problem.words.favorable
    if problem.is_amount(own.outcome):  # more of it than people there have on average
        value = problem.value(own.outcome)[rows]
        worse = value > (value[inside].mean() if inside.any() else 0.0)
        good = None
    better = ~worse if good is None else y == problem.outcome_labels.index(good)
    group = rows[inside & (side == 1) & worse]
    others = rows[inside & (side == -1) & better]
    weight = distance_weights(problem.X[rows], problem.encoder.displays_)
    partner, distance = _nearest(problem, group, others, weight)
    chosen = np.lexsort((group, distance))
    chosen = chosen[distance[chosen] <= CALIPER]
    if problem.cluster is not None:
        whose = problem.cluster[group[chosen]]
        chosen = chosen[np.sort(np.unique(whose, return_index=True)[1])]
    chosen = chosen[:n]
    both = np.stack([group[chosen], partner[chosen]], axis=1).ravel()
    return _framed(problem, own, both, np.sqrt(distance[chosen]))


def _search_of(result: AuditRecord, violation: Violation | None) -> Violation:
    """The search meant, which has rows and is not of the good outcome."""
    own = result.worst_case if violation is None else violation
    if own is None or not any(own is one for one in result.violations):
        if violation is None:
            raise InputError(
                "pairs: no group could be compared in this audit, so nobody is paired."
            )
        raise InputError("violation: one of the result's violations expected.")
    if not len(own.side):
        raise InputError(f"violation: its search could not be made: {own.reason}.")
    if own.harm is False:
        raise InputError(
            f"violation: its outcome {own.outcome!r} is the favourable one; name a search of another "
            "outcome, by which the group is worse off."
        )
    return own


def _at(values: np.ndarray, problem: AuditProblem, rows: np.ndarray) -> np.ndarray:
    """Values of input rows at working rows."""
    return values[problem.source_row[rows]]


def _nearest(
    problem: AuditProblem, group: np.ndarray, others: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Row of the others nearest to each of a group, and its squared distance; infinite without any."""
    partner, distance = np.zeros_like(group), np.full(len(group), np.inf)
    if not len(others):
        return partner, distance
    # The first of those equally far is taken, so that which comes first is drawn.
    others = np.random.default_rng(0).permutation(others)
    pool, cluster = problem.X[others] * np.sqrt(weight), problem.cluster
    for part in np.array_split(np.arange(len(group)), len(group) * len(others) // _AT_A_TIME + 1):
        apart = cdist(problem.X[group[part]] * np.sqrt(weight), pool, "sqeuclidean")
        if cluster is not None:
            apart[cluster[group[part], np.newaxis] == cluster[others]] = np.inf
        place = apart.argmin(axis=1)
        partner[part], distance[part] = others[place], apart[np.arange(len(part)), place]
    return partner, distance


def _framed(
    problem: AuditProblem, own: Violation, rows: np.ndarray, distance: np.ndarray
) -> pd.DataFrame:
    """Both rows of every pair, with all that a reviewer needs."""
    features = as_read(problem.display.iloc[rows], problem.encoder.displays_)
    labels = next(one for one in problem.sensitive if one.name == own.sensitive_feature).labels
    values: list[Any] = [labels.values[code] for code in labels.codes[rows]]
    values = values if problem.quantity is None else problem.quantity.told(rows)
    outcomes: list[Any] = [outcome_at(problem, row) for row in rows]
    n = len(distance)
    columns = (
        pd.Series(np.repeat(np.arange(1, n + 1), 2)),
        pd.Series(np.repeat(distance, 2)),
        pd.Series([GROUP, OTHERS] * n, dtype=object),
        pd.Series(objects(values)),
        pd.Series(objects(outcomes)),
    )
    names = [*_OWN, *numbered(list(map(str, features)), _OWN)]
    table = pd.concat([*columns, features.reset_index(drop=True)], axis=1).set_axis(names, axis=1)
    index = pd.RangeIndex(problem.n_samples) if problem.index is None else problem.index
    return table.set_axis(index[problem.source_row[rows]], axis=0)
