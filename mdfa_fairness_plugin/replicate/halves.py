"""An audit repeated on half samples, to see whether it finds the same people again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from joblib import delayed

from mdfa_fairness_plugin.data.clusters import renumbered
from mdfa_fairness_plugin.describe.rules import describe_rule
from mdfa_fairness_plugin.describe.wording import label_text, percent
from mdfa_fairness_plugin.measure.splitting import draw_folds
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.pipeline import AuditSource
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.replicate.repeats import (
    Named,
    checked,
    mean_of_known,
    repeat,
    rerun,
    search_text,
    searched,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stability:
    """Whether an audit of other people from the same population finds the same subgroup.

    Parameters
    ----------
    searches : tuple of tuple
        ``(sensitive_feature, group, outcome)`` of each search.
    jaccard : ndarray of shape (n_repeats, n_searches)
        Overlap with the audit's own subgroup: people in both over people in either. NaN where a
        search could not be repeated.
    chance : ndarray of shape (n_searches,)
        Overlap of two groups of this size drawn at random.
    frequency : ndarray of shape (n_searches, n_samples)
        Share of the repeats that put each person inside; NaN for people who were not compared.
    features : DataFrame of shape (n_features, n_searches)
        Share of the repeats in whose rule each feature appears.
    """

    searches: tuple[Named, ...]
    jaccard: np.ndarray
    chance: np.ndarray
    frequency: np.ndarray
    features: pd.DataFrame

    @property
    def n_repeats(self) -> int:
        """Number of repeats."""
        return len(self.jaccard)

    def __repr__(self) -> str:
        return (
            f"Stability({self.n_repeats} repeats, mean overlap {mean_of_known(self.jaccard):.2f})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search: mean and range of the overlap, and the features that come back."""
        lines = []
        for j, (name, group, outcome) in enumerate(self.searches):
            overlap = self.jaccard[:, j][~np.isnan(self.jaccard[:, j])]
            shares = self.features.iloc[:, j]
            lines.append(
                {
                    "sensitive_feature": name,
                    "group": group,
                    "outcome": outcome,
                    "overlap": mean_of_known(overlap),
                    "overlap_low": overlap.min() if len(overlap) else np.nan,
                    "overlap_high": overlap.max() if len(overlap) else np.nan,
                    "chance": self.chance[j],
                    "features": ", ".join(
                        f"{label_text(feature)} ({percent(share)})"
                        for feature, share in shares[shares > 0]
                        .sort_values(ascending=False, kind="stable")
                        .head(4)
                        .items()
                    ),
                }
            )
        return pd.DataFrame(lines)

    def summary(self) -> str:
        """Tell how far the subgroups come back, in plain text."""
        lines = [
            f"The audit was repeated on {self.n_repeats} half samples. Overlap is rows in both "
            "subgroups over rows in either: 1 is the same rows. What comes back need not be "
            "there: where the models of the features are wrong, every half is wrong in the same way."
        ]
        for search, line in zip(self.searches, self.to_frame().to_dict("records"), strict=True):
            if np.isnan(line["overlap"]):
                lines.append(f"- {search_text(search)}: could not be repeated.")
                continue
            often = f"; most often in the rule: {line['features']}" if line["features"] else ""
            lines.append(
                f"- {search_text(search)}: overlap {line['overlap']:.2f} "
                f"({line['overlap_low']:.2f} to {line['overlap_high']:.2f}; {line['chance']:.2f} by "
                f"chance){often}."
            )
        return "\n".join(lines)


def stability(
    result: AuditRecord,
    n_repeats: int = 20,
    *,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> Stability:
    """Repeat an audit on halves of its rows and compare the people it finds.

    Parameters
    ----------
    result : AuditResult
    n_repeats : int, default=20
        Halves; two at a time are complementary, so that they share nobody.
    n_jobs, random_state, progress
        As for ``null_distribution``.

    Returns
    -------
    stability : Stability

    Raises
    ------
    InputError
        If the result was read from elsewhere and does not hold its data.

    Notes
    -----
    Half samples in complementary pairs (Shah and Samworth 2013) rather than bootstrap samples, whose
    repeated rows would be in the training and the held-out part at once. A half finds less than the
    whole does, so the overlap understates how stable the whole audit is. Everybody is judged: rows
    outside the half by the models of the half.

    It sees chance, not bias: where the models of the features miss something, those of every half miss
    it too, and a false violation comes back as surely as a real one. ``Violation.depends_on_models``
    tells what rests on the models.
    """
    source, n_repeats, seed = checked(
        result, n_repeats, "n_repeats", random_state, of_groups=False, of_known=False
    )
    parts = repeat(lambda i: delayed(_half)(source, seed, i), n_repeats, n_jobs, progress)
    problem = source.problem
    n = len(result.violations)
    jaccard = np.full((n_repeats, n), np.nan)
    chance = np.full(n, np.nan)
    frequency = np.full((n, problem.n_samples), np.nan)
    names = [display.name for display in problem.encoder.displays_]
    used = np.zeros((len(names), n))
    compared = {(one.sensitive_feature, one.group): one.rows for one in problem.contrasts}
    for j, violation in enumerate(result.violations):
        if len(violation.side) == 0:  # a search that could not be made
            continue
        rows = np.flatnonzero(compared[violation.sensitive_feature, violation.group])
        own = violation.membership[problem.source_row][rows]
        halves = {i: part[j] for i, part in enumerate(parts) if part and part[j]}
        if not halves:
            continue
        inside = np.array([of_half[rows] for of_half, _ in halves.values()])
        either, both = (inside | own).sum(axis=1), (inside & own).sum(axis=1)
        with np.errstate(invalid="ignore"):
            jaccard[list(halves), j] = both / either
        shares = np.array([own.mean(), inside.mean(axis=1).mean()])
        both = shares.prod()
        chance[j] = both / (shares.sum() - both) if shares.sum() > both else np.nan
        frequency[j, problem.source_row[rows]] = inside.mean(axis=0)
        for _, features in halves.values():
            used[list(features), j] += 1.0
        used[:, j] /= len(halves)
    searches = searched(result)
    index = pd.Index(names, dtype=object, name="feature")
    of = ["sensitive_feature", "group", "outcome"]
    features = pd.DataFrame(used, index, pd.MultiIndex.from_tuples(searches, names=of))
    return Stability(
        searches=searches, jaccard=jaccard, chance=chance, frequency=frequency, features=features
    )


def _half(
    source: AuditSource, seed: int, number: int
) -> list[tuple[np.ndarray, tuple[int, ...]] | None] | None:
    """Who is inside by an audit of one half, and places of the features its rule names, per search."""
    problem = source.problem
    pair, own = divmod(number, 2)
    rng = np.random.default_rng([seed, 2, pair])
    stratum = problem.stratum.copy()
    for contrast in problem.contrasts:
        stratum = 3 * stratum + contrast.s + 1
        stratum = np.unique(stratum, return_inverse=True)[1]
    # Rows of one person stay together, as do copies: a half must not know the other half's people.
    unit = renumbered(problem.source_row) if problem.unit is None else problem.unit
    rows = np.flatnonzero(draw_folds(stratum, 2, rng, unit) == own)
    half = replace(
        problem,
        X=problem.X[rows],
        levels=None if problem.levels is None else problem.levels[rows],
        display=problem.display.iloc[rows].reset_index(drop=True),
        y=problem.y[rows],
        amount=None if problem.amount is None else problem.amount.take(rows),
        sample_weight=problem.sample_weight[rows],
        probability=None if problem.probability is None else problem.probability[rows],
        contrasts=tuple(c.take(rows) for c in problem.contrasts),
        sensitive=tuple(column.take(rows) for column in problem.sensitive),
        source_row=problem.source_row[rows],
        cluster=None if problem.cluster is None else problem.cluster[rows],
        unit=None if problem.unit is None else problem.unit[rows],
    )
    everyone = Asked(problem.encoded)
    searches = rerun(
        half,
        source.settings.reseeded(int(rng.integers(2**31 - 1))),
        lambda search: search.region.scores(everyone) >= search.region.threshold,
    )
    if searches is None:
        return None
    told: list[tuple[np.ndarray, tuple[int, ...]] | None] = []
    for search in searches:
        if not search.made:
            told.append(None)
            continue
        inside = search.told
        held = search.rows[search.data.held_out]
        inside[rows[held]] = search.held_member
        rule, _ = describe_rule(
            search.held_member,
            half.display,
            rows=held,
            displays=problem.encoder.displays_,
            sample_weight=half.sample_weight[held],
        )
        features = {c.column for conditions in rule.alternatives for c in conditions}
        told.append((inside, tuple(sorted(features))))
    return told
