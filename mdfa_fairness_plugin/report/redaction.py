"""Small cells: a result without the counts that could point at single people.

A page drawn from the redacted copy cannot print what the copy does not hold. The copy starts empty
and takes only what the fields of each record permit (see ``fields``): what may always be printed,
estimates of which no cell is small, and what a rule below gives it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.balance import BalanceDiagnostics
from mdfa_fairness_plugin.describe.wording import count
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fields import known
from mdfa_fairness_plugin.records import (
    AskedSubgroup,
    AuditRecord,
    GroupCounts,
    Measured,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.report import copies, groups, profile_cells
from mdfa_fairness_plugin.report.asked import printable_asked
from mdfa_fairness_plugin.report.cells import grid, rounded
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.features import printable_features
from mdfa_fairness_plugin.report.reading import comparison, diagnostics, place_of, shown_case
from mdfa_fairness_plugin.report.withholding import Counts

_MOST_TRIES: Final = 4
_Set = TypeVar("_Set", Subgroup, Violation)


@dataclass(frozen=True, kw_only=True, eq=False)
class Redaction:
    """A result as it may be printed."""

    # What is withheld is None, and a float NaN; each record names it in ``withheld``.
    result: AuditRecord
    min_cell: int
    n_withheld: int = 0  # numbers withheld
    shown: Violation | None = None  # search of the result itself that the copy tells first
    # Fewest rows in a bin of the overlap histogram; 0 if it may not be drawn at all.
    overlap_min_rows: int = 1
    overlap_left_out: bool = True  # whether it may show the rows left out


def redact(result: AuditRecord, min_cell: int) -> Redaction:
    """Withhold counts below ``min_cell`` (1: nothing) and whatever would give them away.

    Protected are: the rows by sensitive value and outcome in the subgroup of the search told first,
    outside it and in both together; their totals; the size of every subgroup and of what is left
    when it is taken away; rows left out, by reason; rows by level of every feature, by sensitive
    value, inside, outside and together. A number of few values, or with nearly one value only, is
    held to the same, for its mean and deviation count them; so are the differences between the
    groups that the balance diagnostics give. A zero is protected where it tells the outcome of
    everyone in its row, and is not where it only says that there is nobody.

    What is made of a table (estimates and their limits, rates, p, what would have been found) is
    printed where every cell of it is, or no part of it is small. Else all that is told is what the
    lower limit is above whichever number a protected cell may be, so that it tells none of them. A
    large count that would give a small one away is rounded, by its total and not by itself. All that
    is printed is thus the same for every number below ``min_cell`` that a protected count may be, but
    for verdicts: next to its edge one would tell somebody who knows all else of the rows some more.
    (Of random tables 1.7 % leave fewer than five numbers so; no verdict could be told of 4.8 %, nor
    could a gate act on it.)
    """
    whole = isinstance(min_cell, int | np.integer) and not isinstance(min_cell, bool)
    if not whole or min_cell < 1:
        raise InputError(f"min_cell: a whole number of at least 1 expected, {min_cell!r} found.")
    shown = shown_case(result)
    if min_cell == 1:
        return Redaction(result=result, min_cell=1, shown=shown)
    for _ in range(_MOST_TRIES):
        found = _Redactor(result, int(min_cell), shown).redacted()
        place = place_of(found.result, shown_case(found.result))
        told = None if place is None else result.violations[place]
        if told is shown:
            break
        # What is told of searches may put another one first.
        shown = told
    features, n_lost = printable_features(result, found.shown, found.result.violations)
    copy = replace(found.result, features=features)
    return replace(found, result=copy, n_withheld=found.n_withheld + n_lost)


def cells_sentence(redaction: Redaction, where: str = "page") -> str:
    """Say what was done about small counts; ``where`` is what they are withheld from."""
    if redaction.min_cell <= 1:
        return "Every count is printed, however small."
    rule = f"Counts below {redaction.min_cell} are not printed"
    if redaction.n_withheld == 0:
        return f"{rule}; there was none on this {where}."
    number = count(redaction.n_withheld, "number is", "numbers are")
    told = "tables, sentences and pictures" if where == "page" else "tables and sentences"
    return (
        f"{rule}, and nothing from which one could be worked out: {number} withheld on this {where}, "
        f"in {told}, or rounded."
    )


class _Redactor(Counts):
    """One pass over a result, counting what is withheld."""

    def __init__(self, result: AuditRecord, min_cell: int, shown: Violation | None) -> None:
        super().__init__(result, min_cell, shown)
        self.groups_closed: frozenset[tuple[str, Any]] = frozenset()
        self.guard = self._guard()
        self.profile = pd.DataFrame()
        if self.shown is not None:
            self.profile = profile_cells.printed_profile(self.shown.profile, min_cell, self.kept)

    def redacted(self) -> Redaction:
        """Give the copy of the result."""
        given = self.given
        draw, left_out = copies.overlap(given, self.shown, self.kept, self.min_cell)
        copy = copies.printed(
            AuditRecord,
            given,
            violations=tuple(map(self._violation, given.violations)),
            balance={key: self._balance(key, value) for key, value in given.balance.items()},
            excluded={
                reason: self.count(("excluded", reason), known(n))
                for reason, n in given.excluded.items()
            },
            silence=tuple(map(self.silence, given.silence)),
            asked=self._asked(),
            groups=self._groups(),
            warnings=tuple(replace(w, message=self.masked(w.message)) for w in given.warnings),
            provenance=self.provenance(),
            n_samples=self.count("n_samples", known(given.n_samples)),
        )
        return Redaction(
            result=copy,
            min_cell=self.min_cell,
            n_withheld=self.n_withheld,
            shown=self.shown,
            overlap_min_rows=self.min_cell if draw else 0,
            overlap_left_out=left_out,
        )

    def _violation(self, violation: Violation) -> Violation:
        shown = violation is self.shown
        in_table = shown and self.kept.has_table
        n, n_whole = known(violation.n_rows), known(violation.population.n_rows)
        few = violation.sensitive_feature in self.guard.few
        few = few or profile_cells.mean_of_few(violation, self.min_cell)
        open_cells = in_table and self.told_cells("in", violation)
        closed = few or (not open_cells and self.guard.closed(violation, violation.population))
        everybody = self._closed_everybody(violation)
        n_told: int | None = n
        profile = amounts = pd.DataFrame()
        if in_table:
            n_told, counts = self.count("n_rows", n), self.cells(violation.counts, "in")
        elif shown:
            if self.small(n) or copies.thin(violation.counts, self.min_cell):
                n_told = self.withhold()
            counts = self.plain_counts(violation.counts)
        else:
            if not self.may_print_size(n, n_whole - n):
                n_told = self.withhold()
            counts = copies.no_counts(violation.counts)
            if not closed:
                counts = copies.rough_counts(violation.counts, self.min_cell)
            # Not rows and rates of both sides; shares of all others give sizes, too.
            if not everybody and n_told is not None:
                profile = profile_cells.printed_profile(violation.profile, self.min_cell)
                first = {name for name, *_ in profile.index[:2]}
                profile = profile.loc[[name not in first for name, *_ in profile.index]]
        if shown:
            amounts = profile_cells.printed_amounts(violation, self.min_cell)
            self.withhold(int(amounts.isna().to_numpy().sum()))
        if shown and not self.profile.empty:
            profile = self.profile
            hidden = profile.isna().to_numpy() & violation.profile.notna().to_numpy()
            self.withhold(int(hidden.sum()))
        size_told = n_told == n
        allowed = self._estimates(
            violation,
            ("delta", "high", "rates", "gamma", "mass") if shown else ("delta", "high"),
            closed=closed,
        )
        n_elsewhere = known(self.given.n_samples) - n_whole
        if size_told and not (self.totals_withheld and self.small(n_elsewhere)):
            allowed["share"] = violation.share
        allowed |= self.rule_shares(violation, n)
        told: tuple[str, ...] = ()
        if not (everybody or closed):
            told = ("detectable_delta", "detectable_difference")
        # A tenth of those who have the outcome tells how many these are.
        asked = not isinstance(self.given.alpha, str)
        if asked or (self.all_told and not everybody):
            told = (*told, "alpha", "detectable_mass")
        elif shown and not math.isnan(violation.alpha):
            self.withhold()
        n_missing = known(violation.n_missing)
        elsewhere = copies.missing_elsewhere(self.given, violation, n_missing)
        few_missing = self.small(n_missing) or self.small(elsewhere)
        if n_missing and (few_missing or closed or not size_told):
            allowed["n_missing"] = self.withhold()
        else:
            told = (*told, "n_missing", "missing_bounds")
        depends, n_moved = copies.dependence(violation, closed=closed, everybody=everybody)
        spreading, n_spread = copies.spread(violation, self.min_cell, closed=closed)
        self.withhold(n_moved + n_spread if shown else 0)
        path = copies.spaced_path(violation, self.min_cell)
        path = WorstCasePath() if closed or everybody else path
        parts = ("delta", "high") if shown else ()
        copy = copies.printed(
            Violation,
            violation,
            **allowed,
            **{name: getattr(violation, name) for name in told},
            reason=self.masked(violation.reason),
            n_rows=n_told,
            counts=counts,
            profile=profile,
            amounts=amounts,
            path=path,
            population=self._subgroup(
                violation.population, parts or ("delta",), whole=shown, closed=everybody
            ),
            core=self._subgroup(violation.core, parts, violation, violation.population, closed=few),
            rule_subgroup=self._subgroup(
                violation.rule_subgroup, parts, violation.population, closed=few
            ),
            rule_rows=copies.rule_rows(violation, self.min_cell),
            searched=self._searched(violation, parts, size_told, closed=few),
            depends_on_models=depends,
            spread=spreading,
        )
        if n == 0 and copy.reason != violation.reason:  # too few to be compared
            copy = replace(copy, n_rows=None, withheld=copy.withheld | {"n_rows"})
        copy = self._roughly_known(copy)
        return copy if shown or violation.outcome_scale else copies.coarse_rates(copy)

    def _roughly_known(self, own: _Set) -> _Set:
        """The set with its rows of known group rounded, but not to none."""
        if not own.n_known:
            return own
        return replace(own, n_known=rounded(max(own.n_known, grid(self.min_cell)), self.min_cell))

    def _searched(
        self, violation: Violation, shown: tuple[str, ...], size_told: bool, *, closed: bool
    ) -> Subgroup:
        """The region before it was held beside everybody, whose size may be the reported one's."""
        told = shown if violation.searched is violation.beside else ()
        own = self._subgroup(violation.searched, told, violation.population, closed=closed)
        if size_told or own.n_rows != violation.n_rows:
            return own
        return replace(own, n_rows=None, withheld=own.withheld | {"n_rows"})

    def _guard(self) -> copies.Guard:
        """Which tables are not printed in full, and whose amounts tell of a few."""
        case = self.shown
        hidden: list[Measured] = []
        if case is not None and self.kept.has_table:
            parts = (("in", case), ("all", case.population))
            hidden = [own for part, own in parts if not self.told_cells(part, own)]
        told = case is None or case.population not in hidden
        self.groups_closed = groups.closed_groups(self.given, case, self.min_cell, told=told)
        first = None if case is None else (case.sensitive_feature, case.group)
        others: list[Measured] = [
            own.population
            for own in self.given.violations
            if (own.sensitive_feature, own.group) != first
            if self.groups_closed & set(groups.sides_of(own))
        ]
        others += groups.telling_parts(self.given, case, self.min_cell)
        untold = [*map(copies.cells_of, hidden), *map(copies.table_of, others)]
        few = {
            own.sensitive_feature
            for own in self.given.groups
            if own.counted and profile_cells.tells_of_few(own.counted, self.min_cell)
        }
        return copies.Guard(min_cell=self.min_cell, untold=frozenset(untold), few=frozenset(few))

    def _closed_everybody(self, violation: Violation) -> bool:
        """Whether what is made of everybody compared by one search would tell of a few."""
        few = violation.sensitive_feature in self.guard.few
        return few or self.guard.closed(violation.population)

    def _estimates(
        self, record: Measured, shown: tuple[str, ...], *, closed: bool
    ) -> dict[str, Any]:
        """What is made of cells: all of it, or only what the lower limit is above.

        ``shown`` names what a page would show of it, and so withholds.
        """
        if not closed:
            return copies.made_of_cells(record)
        _, high = record.effect_interval
        numbers = {
            "delta": (record.effect,),
            "high": (high,),
            "rates": record.rates,
            "gamma": (record.gamma,),
            "mass": (record.mass,),
        }
        self.withhold(sum(not math.isnan(x) for name in shown for x in numbers[name]))
        counts = record.counts
        if not isinstance(record, Violation) or counts.shape[0] != 2 or counts.shape[1] < 2:
            return {}
        if record is not self.shown and not self.guard.tells(record, record.population):
            return {}  # what makes up for a few of others moves with them
        return copies.least(record, self.min_cell)

    def _subgroup(
        self,
        subgroup: Subgroup,
        shown: tuple[str, ...],
        *wholes: Measured,
        whole: bool = False,
        closed: bool = False,
    ) -> Subgroup:
        """A set of rows, part of ``wholes``; ``whole`` if it is everybody in the search told first."""
        closed = closed or self.guard.closed(subgroup, *wholes)
        allowed = self._estimates(subgroup, shown, closed=closed)
        n = known(subgroup.n_rows)
        rests = (abs(known(own.n_rows) - n) for own in wholes[:1])
        n_told: int | None = n
        if self.small(n) or any(map(self.small, rests)):
            n_told = None
        if whole and not self.kept.has_table:
            n_told = n_told if self.kept.open_totals else None
        elif whole:
            allowed["counts"] = self.cells(subgroup.counts, "all")
            n_told = self.kept.count("n_all", n) if n_told == n else None
        if shown and n_told is None:
            self.withhold()
        return self._roughly_known(copies.printed(Subgroup, subgroup, **allowed, n_rows=n_told))

    def _balance(self, key: Any, value: Any) -> dict[str, Any]:
        found = diagnostics(value)
        copy = {n: found[n] for n in copies.permitted(BalanceDiagnostics, "always") if n in found}
        outside = ("n_outside_support", "share_outside_support")
        n = found.get(outside[0])
        if not self.told_of(*comparison(key)) or (isinstance(n, int | float) and self.small(n)):
            copy |= dict.fromkeys(outside, self.withhold(2))
        else:
            copy |= {name: found[name] for name in outside if name in found}
        if (sizes := found.get("effective_sample_size")) is not None:
            copy["effective_sample_size"] = self._sizes(key, sizes)
        copy |= self._differences(key, found)
        return copy | {"withheld": frozenset(name for name, v in copy.items() if v is None)}

    def _sizes(self, key: Any, sizes: Sequence[float]) -> list[float] | None:
        """Effective rows of both sides, which are their rows where all weights are alike."""
        own = self._searches(key)
        if any(map(self.small, sizes)) or any(map(self._closed_everybody, own)):
            return self.withhold(len(sizes))
        return list(sizes) if self.shown in own else [rounded(n, self.min_cell) for n in sizes]

    def _searches(self, key: Any) -> list[Violation]:
        """Searches of a comparison."""
        every = self.given.violations
        return [v for v in every if (v.sensitive_feature, v.group) == comparison(key)]

    def _differences(self, key: Any, found: Mapping[str, Any]) -> dict[str, Any]:
        """Differences of the features of which the profile withholds nothing."""
        given = {
            n: found[n] for n in ("smd_before", "smd_after") if isinstance(found.get(n), Mapping)
        }
        distances = {n: found[n] for n in ("mmd_before", "mmd_after") if found.get(n) is not None}
        if not given:
            return distances
        features = self._profiled(key)
        kept: dict[str, Any] = {
            name: {k: v for k, v in values.items() if features.may_tell_of(str(k))}
            for name, values in given.items()
        }
        self.withhold(sum(len(given[name]) - len(kept[name]) for name in given))
        if any(kept.values()):
            return kept | distances
        # What is left tells of the same features, all together.
        self.withhold(len(distances))
        return {n: None if values else {} for n, values in given.items()} | dict.fromkeys(distances)

    def _profiled(self, key: Any) -> profile_cells.ProfiledFeatures:
        """What the profile of a comparison says of its features, as far as it may be printed."""
        own = [v for v in self._searches(key) if not v.profile.empty]
        if self.shown in own and self.shown is not None and not self.profile.empty:
            return profile_cells.ProfiledFeatures(self.given, self.shown.profile, self.profile)
        if any(map(self._closed_everybody, own)):
            own = []
        given = own[0].profile if own else pd.DataFrame()
        told = profile_cells.printed_profile(given, self.min_cell)
        return profile_cells.ProfiledFeatures(self.given, given, told)

    def _asked(self) -> tuple[AskedSubgroup, ...]:
        told = printable_asked(self.given, self.shown, self.guard, self.masked)
        lost = (own.withheld & {"n_rows", effect_of(own).fields[0]} for own in told)
        self.withhold(sum(map(len, lost)))
        return told

    def _groups(self) -> tuple[GroupCounts, ...]:
        told = groups.printable_groups(
            self.given, self.shown, self.kept, self.groups_closed, self.min_cell
        )
        self.withhold(sum(len(own.counts) for own in told if own.withheld))
        return told
