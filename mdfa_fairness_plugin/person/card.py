"""A card for one person: their place in the subgroup, how comparable people fared, how sure it is."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import numpy as np

from mdfa_fairness_plugin.describe.wording import label_text
from mdfa_fairness_plugin.numerics.rows import Asked, RowView
from mdfa_fairness_plugin.person import comparators
from mdfa_fairness_plugin.person.comparators import Comparators
from mdfa_fairness_plugin.person.find import Person, choose_search, only_match
from mdfa_fairness_plugin.person.story import as_read, tell, value_text
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.report import html, text
from mdfa_fairness_plugin.report.plain import as_json, in_print, plain_value, written
from mdfa_fairness_plugin.report.reading import held_in_part, names_of_sides
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.schema import CARD_SCHEMA
from mdfa_fairness_plugin.report.sentences import group_of, others_of
from mdfa_fairness_plugin.report.statement import published
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import check_whole

_FORMAT: Final = "mdfa-contestation-card"
_FORMAT_VERSION: Final = 1
# What a card gives of its search: nothing of single rows, no counts, which may be small.
_OF_THE_SEARCH: Final = (
    "sensitive_feature", "group", "reference", "outcome", "verdict", "reason", "delta", "interval",
    "ratio", "ratio_interval", "confidence_level", "p_value_adjusted", "rule", "rule_precision",
    "rule_recall",
)  # fmt: skip
_OF_A_NUMBER: Final = (
    "measure", "outcome_scale", "outcome_sd", "difference", "difference_interval",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class ContestationCard:
    """Where one person stands in an audit.

    Parameters
    ----------
    violation : Violation
        The search the card is about.
    told : Violation
        The same as it may be printed: without what would tell of fewer than ``min_cell`` people.
    outcome_name, group_name, others_name : str
        Its outcome and both sides, ready to show.
    side : {"group", "others", "unknown"}
        Side the person is on.
    received : hashable or None
        Outcome the person got, or how much of it.
    has_outcome : bool or None
        Whether that is the audited outcome; None if unknown, or of a number.
    features : tuple of (str, str)
        The person's audited features, as text.
    row : int or None
        Position in the audited data, if the person is in it.
    comparable : bool
        False if the audit left the person out because nobody on the other side is like them.
    alike : bool
        False if nobody audited, of either side, is nearer than half the usual distance of two people.
    unseen : tuple of str
        Features of which nobody audited has such a value: a level of its own, or a number beyond all.
    inside : bool or None
        Whether the person is in the subgroup: by a model that had not seen them if they were
        audited (of a 70/30 split, if they were held out), by the average of all otherwise. None if
        this search kept no model.
    score, threshold : float
        The subgroup is where the score is at least the threshold.
    score_rank : float
        Share of the rows compared with a lower score.
    n_models, n_models_inside : int
        Models of the folds, and how many of them put the person inside.
    meets_rule : bool or None
        Whether the person meets the rule that describes the subgroup; None without a rule.
    subgroup : tuple of Comparators
        The group and the others in the whole subgroup; ``rate`` is the one behind the ratio, at the
        same features.
    nearest : tuple of Comparators
        The nearest of the group and of the others.
    min_cell : int
        Smaller counts of others are not shown.
    not_held_equal : tuple of str
        What people are not compared at equal values of, or only in part, if anything.
    statement : dict of str to str
        What was stated of the audit.
    """

    violation: Violation
    told: Violation
    outcome_name: str
    group_name: str
    others_name: str
    side: str
    received: Hashable | None
    has_outcome: bool | None
    features: tuple[tuple[str, str], ...]
    row: int | None
    comparable: bool
    alike: bool
    unseen: tuple[str, ...]
    inside: bool | None
    score: float
    threshold: float
    score_rank: float
    n_models: int
    n_models_inside: int
    meets_rule: bool | None
    subgroup: tuple[Comparators, Comparators]
    nearest: tuple[Comparators, Comparators]
    min_cell: int
    not_held_equal: tuple[str, ...] = ()
    statement: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        v = self.violation
        return (
            f"ContestationCard({label_text(v.sensitive_feature)}={label_text(v.group)!r}, "
            f"outcome={label_text(v.outcome)!r}, inside={self.inside}, {v.verdict})"
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return html.render_fragment(tell(self))

    def summary(self) -> str:
        """Tell where the person stands in a page of plain text."""
        return text.render(tell(self))

    def to_dict(self) -> dict[str, Any]:
        """Give everything in plain Python types, ready for strict JSON.

        The conventions are those of ``AuditResult.to_dict``, numbers in three digits where counts are
        withheld. Of the search, only what concerns the whole subgroup is given: neither its
        membership nor its counts, which may be small.
        """
        own = {
            f.name: plain_value(getattr(self, f.name))
            for f in fields(self)
            if f.name not in ("violation", "told")
        }
        v = self.violation
        told = _OF_THE_SEARCH + (_OF_A_NUMBER if v.outcome_scale or v.by_difference else ())
        told += () if math.isnan(v.per) else ("per",)
        search = {name: plain_value(getattr(self.told, name)) for name in told}
        names = comparators.numbered([name for name, _ in self.features])
        own["features"] = {n: value for n, (_, value) in zip(names, self.features, strict=True)}
        plain = {
            "schema": CARD_SCHEMA,
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            **own,
            "search": search,
        }
        every = self.min_cell <= 1 or any(len(side.records) for side in self.nearest)
        return plain if every else in_print(plain, self.min_cell, rows=False)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Give strict JSON, the same bytes for the same card; also as a file if there is a ``path``."""
        return written(as_json(self.to_dict()), path)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        source: str | None = None,
        author: str | None = None,
        date: Any = None,
    ) -> str:
        """Give one self-contained page, published as ``AuditResult.to_html`` has it."""
        told = {"title": title, "source": source, "author": author, "date": date}
        return written(html.render_page(published(tell(self), self.statement, **told)), path)


def make_card(
    result: AuditRecord,
    searches: Sequence[Search],
    person: Person,
    *,
    n_comparators: int = 5,
    show_records: bool = False,
    min_cell: int = 11,
) -> ContestationCard:
    """Make the card of one person; see ``MDFAuditor.explain_row`` for the options."""
    check_whole("n_comparators", n_comparators, 1)
    check_whole("min_cell", min_cell, 0)
    problem = result.source.problem
    features = problem.encoder.displays_
    violation, searched = choose_search(result, searches, person)
    side, has_outcome = person.side_of(violation), person.got_outcome_of(violation)
    row = person.row
    if row is None:
        row = only_match(problem, searched, person.rows, side, has_outcome)
    own = np.zeros(len(searched.rows), dtype=bool)
    if row is not None:
        own = problem.source_row[searched.rows] == row
    theirs, cluster = own, searched.data.cluster
    if cluster is not None and row is not None:
        theirs = np.isin(cluster, problem.cluster[problem.source_row == row])
    left_out = row is not None and len(violation.left_out) > 0 and bool(violation.left_out[row])
    score, by_model = _scores(searched, person.rows, own)
    inside = None if math.isnan(score) else score >= searched.threshold
    if row is not None:
        inside = bool(violation.membership[row])
    outcome_name = label_text(violation.outcome)
    names = names_of_sides(violation)
    if problem.quantity is not None:
        names = group_of(violation), others_of(violation)

    shown_cell = 0 if show_records or min_cell <= 1 else int(min_cell)
    copy = redact(result, max(shown_cell, 1)).result
    place = result.violations.index(violation)
    distance = comparators.squared_distance(problem.X[searched.rows], person.rows[0], features)
    alike = bool((distance[~theirs] <= comparators.CALIPER).any())
    pool = ~theirs
    if inside:
        pool &= comparators.around(searched.member, searched.scores)
    sides = [comparators.nearest(distance, pool & (searched.s == s), cluster) for s in (1, -1)]
    outcome = searched.positive
    if problem.amount is not None and problem.is_amount(violation.outcome):
        outcome = problem.amount.told[searched.rows]
    wholes = [np.flatnonzero(~theirs & (searched.s == s)) for s in (1, -1)]
    size = comparators.private_size(outcome, sides, int(n_comparators), shown_cell, wholes)

    def counted_nearest(i: int) -> Comparators:
        if size is None:
            return Comparators(label=names[i], suppressed=True)
        chosen = sides[i][:size]
        records = problem.display.iloc[searched.rows[chosen]] if show_records else None
        if records is not None:
            records = as_read(records, features)
        got = problem.words.outcome_name if outcome.dtype != bool else outcome_name
        return comparators.counted(names[i], distance[chosen], outcome[chosen], records, got)

    rule, told = searched.rule, copy.violations[place]
    group, others = (comparators.in_subgroup(told, i, names[i]) for i in (0, 1))
    return ContestationCard(
        violation=violation,
        told=told,
        outcome_name=outcome_name,
        group_name=names[0],
        others_name=names[1],
        side=side,
        received=person.received,
        has_outcome=has_outcome,
        features=tuple(
            (
                label_text(name, None),
                value_text(person.new.get(name, person.display.iloc[0, i]), feature.kind),
            )
            for i, (name, feature) in enumerate(zip(person.display, features, strict=True))
        ),
        row=row,
        comparable=not left_out,
        alike=alike,
        unseen=person.unseen,
        inside=inside,
        score=score,
        threshold=float(searched.threshold),
        score_rank=math.nan if math.isnan(score) else float(np.mean(searched.scores < score)),
        n_models=len(by_model),
        n_models_inside=int((by_model >= searched.threshold).sum()),
        meets_rule=bool(rule.applies(person.display)[0]) if rule.text else None,
        subgroup=(group, others),
        nearest=(counted_nearest(0), counted_nearest(1)),
        min_cell=int(min_cell),
        not_held_equal=held_in_part(copy.warnings),
        statement=result.statement,
    )


def _scores(searched: Search, person: RowView, own: np.ndarray) -> tuple[float, np.ndarray]:
    """Score of the person, NaN if no model was kept, and the scores by each model."""
    score, by_model = math.nan, np.empty(0)
    if searched.judges:
        asked = Asked(person)
        score = float(searched.region.scores(asked)[0])
        by_model = searched.region.by_model(asked)[:, 0]
    if own.any():
        score = float(searched.scores[own][0])
    return score, by_model
