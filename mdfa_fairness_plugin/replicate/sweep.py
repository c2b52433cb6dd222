"""How the worst ratio moves with the cut of a score: a full audit at every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed

from mdfa_fairness_plugin.data.containers import read_vector
from mdfa_fairness_plugin.data.leaks import best_teller
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.questions import Questioned
from mdfa_fairness_plugin.data.words import Words
from mdfa_fairness_plugin.describe.decimals import ratios_text
from mdfa_fairness_plugin.describe.wording import label_text, named, number
from mdfa_fairness_plugin.exceptions import InputError, WarningLog
from mdfa_fairness_plugin.pipeline import AuditSource, run_audit
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.records.searches import without_rows
from mdfa_fairness_plugin.replicate.repeats import quietly, repeat, source_of

_COLUMNS = (
    "threshold", "share_above", "worst", "sensitive_feature", "group", "reference", "outcome", "ratio",
    "ratio_low", "ratio_high", "ratio_everybody", "n_rows", "rule",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """What the same audit finds at every cut of a score.

    Each cut has its audit, with its own search. Which cut looks best or worst is chosen from all of
    them, and nothing here allows for that choice: so there is no verdict.

    Parameters
    ----------
    name : str
        Of the score.
    thresholds : tuple of float
        The outcome is a score of at least this.
    shares : ndarray of shape (n_thresholds,)
        Share of people with such a score, weighted.
    audits : tuple of tuple of Violation
        Of each threshold, every search without its rows; empty where no group could be compared.
    """

    name: str
    thresholds: tuple[float, ...]
    shares: np.ndarray
    audits: tuple[tuple[Violation, ...], ...]

    def __repr__(self) -> str:
        return f"Sweep({self.name}, {len(self.thresholds)} thresholds)"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per threshold and search; ``worst`` marks that with the highest lower limit."""
        rows = []
        for threshold, share, found in zip(self.thresholds, self.shares, self.audits, strict=True):
            worst = AuditRecord(violations=found).worst_case
            for own in found:
                who = (own.sensitive_feature, own.group, own.reference, own.outcome)
                ratios = (own.ratio, *own.ratio_interval, own.population.ratio)
                told = (threshold, float(share), own is worst, *who, *ratios, own.n_rows, own.rule)
                rows.append(told)
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def worst(self) -> pd.DataFrame:
        """Give the row of the worst case of every threshold that has one."""
        frame = self.to_frame()
        return frame[frame["worst"]].reset_index(drop=True)

    def summary(self) -> str:
        """Tell the worst ratio at every threshold, in plain text."""
        lines = [
            f"The same audit at every cut of {label_text(self.name)}, each with its own search. That "
            "one cut looks better or worse than another was chosen from all of them, and nothing here "
            "allows for that choice: audit new rows at the cut that was chosen."
        ]
        told = {own["threshold"]: own for own in self.worst().to_dict("records")}
        for threshold, share in zip(self.thresholds, self.shares, strict=True):
            start = f"- at least {number(threshold)} ({100 * share:.0f} % of rows): "
            if threshold not in told:
                lines.append(f"{start}not measured.")
                continue
            own = told[threshold]
            ratio, low, high = ratios_text([own[f"ratio{end}"] for end in ("", "_low", "_high")])
            lines.append(
                f"{start}{named(own['sensitive_feature'], own['group'])}, outcome "
                f"{label_text(own['outcome'])}, ratio {ratio} ({low} to {high}) in "
                f"{own['n_rows']:,} rows; {ratios_text((own['ratio_everybody'],))[0]} for everybody."
            )
        return "\n".join(lines)


def sweep(
    result: AuditRecord,
    scores: Any,
    thresholds: float | Sequence[float],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Sweep:
    """Audit the outcome "a score of at least this" at every threshold.

    Parameters
    ----------
    result : AuditResult
    scores : array-like of float of shape (n_samples,)
        What the outcome is cut from; a Series names it and is paired by index.
    thresholds : float or sequence of float
    n_jobs, progress
        Thresholds at a time; whether to show a progress bar.

    Returns
    -------
    sweep : Sweep

    Raises
    ------
    InputError
        If a score is missing or infinite; if all rows are on one side of a threshold; if an audited
        feature tells the side, as the score itself does; if the audit is of a number or an order, or
        of a sensitive quantity; if the result does not hold its data, or was given outcome
        probabilities row by row.

    Notes
    -----
    Rows, features, groups, settings and seed are the audit's; both sides of a cut are audited.

    Examples
    --------
    >>> import numpy as np
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=600, imbalance=0.3, random_state=0)
    >>> result = mdfa.audit(
    ...     data.X, data.y, sensitive_features=data.sensitive_features, n_splits=2, random_state=0
    ... )
    >>> score = data.y + np.random.default_rng(0).random(600)
    >>> result.sweep(score, [0.5, 1.0]).worst()["threshold"].tolist()
    [0.5, 1.0]
    """
    source = source_of(result)
    problem = source.problem
    if problem.amount is not None:
        raise InputError(
            f"sweep: each cut is an audit of yes and no, and this one is of {problem.outcome_type} "
            "outcomes. Audit one cut, as in audit(X, y >= threshold, ...), and sweep the scores from "
            "its result."
        )
    numbers, name = read_scores(problem, scores)
    wanted = np.atleast_1d(list(thresholds) if np.iterable(thresholds) else thresholds)
    if wanted.ndim != 1 or not len(wanted) or wanted.dtype.kind not in "iuf":
        raise InputError(f"thresholds: one number or more expected, {thresholds!r} found.")
    cuts = tuple(float(one) for one in wanted)
    problems = [_cut(problem, numbers, cut, name, source) for cut in cuts]
    audits = repeat(lambda i: delayed(_audited)(problems[i], source), len(cuts), n_jobs, progress)
    shares = [np.average(numbers >= cut, weights=problem.sample_weight) for cut in cuts]
    return Sweep(name=name, thresholds=cuts, shares=np.array(shares), audits=tuple(audits))


def read_scores(problem: AuditProblem, scores: Any) -> tuple[np.ndarray, str]:
    """Scores of the working rows, from which outcomes are cut, and what they are called."""
    if problem.given.outcome is not None:
        raise InputError(
            "outcome_probability: it was given row by row, of one outcome. Audit with the estimator "
            "itself, or with the audit's own models."
        )
    table = Questioned(problem).paired(read_vector(scores, "scores"))
    column = table.typed(0)
    if column.labels is not None or not np.isfinite(column.numbers).all():
        raise InputError("scores: finite numbers without a gap expected.")
    name = str(table.names[0])
    return column.numbers, "score" if name == "scores" else name


def answered(
    problem: AuditProblem, above: np.ndarray, labels: tuple[str, str], words: Words
) -> AuditProblem:
    """The problem with another outcome: which side of a cut a row is on, below first."""
    y = above.astype(problem.y.dtype)
    none: dict[str, Any] = {"amount": None, "cuts": {}, "outcome_name": ""}
    return replace(problem, y=y, outcome_labels=labels, outcomes=labels, words=words, **none)


def _cut(
    problem: AuditProblem, scores: np.ndarray, cut: float, name: str, source: AuditSource
) -> AuditProblem:
    """The problem with another outcome: which side of a cut a row is on."""
    above = scores >= cut
    if above.all() or not above.any():
        raise InputError(f"thresholds: at {number(cut)} all rows are on one side.")
    answer = problem.answer(above)
    teller, share = best_teller(problem.display, np.arange(problem.n_rows), answer)
    inputs = source.settings.decision_inputs
    allowed = [inputs] if isinstance(inputs, str) else list(inputs or ())
    if teller and teller not in map(str, allowed) and 1.0 - share <= answer.few:
        raise InputError(
            f"scores: the audited feature {teller!r} tells the side of {number(cut)} for "
            f"{100 * share:.1f} % of the rows, so that people alike in it get the same. "
            "Audit without it, or name it in decision_inputs."
        )
    labels = (f"{name} < {number(cut)}", f"{name} >= {number(cut)}")
    return answered(problem, above, labels, Words())


def _audited(problem: AuditProblem, source: AuditSource) -> tuple[Violation, ...]:
    """Every search of one audit, without its rows."""
    found: tuple[Violation, ...] = ()
    with quietly():
        found = run_audit(problem, source.settings, WarningLog()).violations
    return tuple(replace(without_rows(own), profile=pd.DataFrame()) for own in found)
