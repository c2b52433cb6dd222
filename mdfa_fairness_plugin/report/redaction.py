"""Small cells: a result without the counts that could point at single people.

A page drawn from the redacted copy cannot print what the copy does not hold. The copy starts empty
and takes only what the fields of each record permit (see ``fields``): what may always be printed,
estimates of which no cell is small, and what a rule below gives it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.balance import BalanceDiagnostics
from mdfa_fairness_plugin.describe.wording import count
from mdfa_fairness_plugin.exceptions import Count, InputError
from mdfa_fairness_plugin.fields import known
from mdfa_fairness_plugin.records import (
    AskedSubgroup,
    AuditRecord,
    GroupCounts,
    Measured,
    ModelDependence,
    Silence,
    Spread,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.report.asked import printable_asked
from mdfa_fairness_plugin.report.cells import Kept, choose
from mdfa_fairness_plugin.report.copies import (
    lower_end,
    made_of_cells,
    no_counts,
    of_few,
    permitted,
    printed,
    rough_counts,
    thin,
)
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.features import printable_features
from mdfa_fairness_plugin.report.groups import printable_groups
from mdfa_fairness_plugin.report.profile_cells import (
    ProfiledFeatures,
    printed_amounts,
    printed_profile,
)
from mdfa_fairness_plugin.report.reading import comparison, diagnostics, shown_case


@dataclass(frozen=True, kw_only=True, eq=False)
class Redaction:
    """A result as it may be printed."""

    # What is withheld is None, and a float NaN; each record names it in ``withheld``.
    result: AuditRecord
    min_cell: int
    n_withheld: int = 0  # numbers withheld
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

    Of an estimate made from protected cells only the cautious end of the interval is kept: its
    rates, its mass, and the ratio itself, which an empty cell makes infinite, would tell.
    """
    whole = isinstance(min_cell, int | np.integer) and not isinstance(min_cell, bool)
    if not whole or min_cell < 1:
        raise InputError(f"min_cell: a whole number of at least 1 expected, {min_cell!r} found.")
    if min_cell == 1:
        return Redaction(result=result, min_cell=1)
    found = _Redactor(result, int(min_cell)).redacted()
    features, n_lost = printable_features(result, found.result.violations)
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
    return (
        f"{rule}, and nothing from which one could be worked out: {number} withheld on this {where}, "
        "in tables, sentences and pictures."
    )


class _Redactor:
    """One pass over a result, counting what is withheld."""

    def __init__(self, result: AuditRecord, min_cell: int) -> None:
        self.given = result
        self.min_cell = min_cell
        self.n_withheld = 0
        self.shown = shown_case(result)
        self.kept = choose(result, self.shown, min_cell)
        self.totals_withheld = not self.kept.told("n_samples")
        self.all_told = all(self.kept.sums.values())
        self.profile = pd.DataFrame()
        if self.shown is not None:
            self.profile = printed_profile(self.shown.profile, min_cell, self.kept)

    def small(self, n: float) -> bool:
        """Whether a count of people is too small to print."""
        return 0 < n < self.min_cell

    def withhold(self, n: int = 1) -> Any:
        """Count what is withheld, and give None, which stands for it."""
        self.n_withheld += n
        return None

    def redacted(self) -> Redaction:
        """Give the copy of the result."""
        given = self.given
        draw, left_out = _overlap(given, self.shown, self.kept, self.min_cell)
        provenance = dict(given.provenance)
        if self.totals_withheld:
            provenance = {k: v for k, v in provenance.items() if not str(k).startswith("n_")}
        n_clusters = provenance.get("n_clusters")
        if n_clusters is not None:
            n_repeats = provenance.get("n_working_rows", n_clusters) - n_clusters
            if self.small(n_clusters) or self.small(n_repeats):
                provenance["n_clusters"] = self.withhold()
        copy = printed(
            AuditRecord,
            given,
            violations=tuple(map(self._violation, given.violations)),
            balance={key: self._balance(key, value) for key, value in given.balance.items()},
            excluded={
                reason: n if self.kept.told(("excluded", reason)) else self.withhold()
                for reason, n in given.excluded.items()
            },
            silence=tuple(map(self._silence, given.silence)),
            asked=self._asked(),
            groups=self._groups(),
            warnings=tuple(replace(w, message=self._masked(w.message)) for w in given.warnings),
            provenance=provenance,
            n_samples=self.withhold() if self.totals_withheld else given.n_samples,
        )
        return Redaction(
            result=copy,
            min_cell=self.min_cell,
            n_withheld=self.n_withheld,
            overlap_min_rows=self.min_cell if draw else 0,
            overlap_left_out=left_out,
        )

    def _violation(self, violation: Violation) -> Violation:
        shown = violation is self.shown
        n, n_whole = known(violation.n_rows), known(violation.population.n_rows)
        counts = profile = pd.DataFrame()
        amounts = printed_amounts(violation, self.min_cell) if shown else pd.DataFrame()
        self.withhold(int(amounts.isna().to_numpy().sum()))
        if shown and not self.profile.empty:
            profile = self.profile
            hidden = profile.isna().to_numpy() & violation.profile.notna().to_numpy()
            self.withhold(int(hidden.sum()))
        if shown and self.kept.has_table:
            counts = self._cells(violation.counts, "in")
            size_told = self.kept.told("n_rows")
        elif shown:
            counts = self._plain_counts(violation.counts)
            size_told = not self.small(n)
        else:
            size_told = self._may_print_size(n, n_whole - n)
            counts = rough_counts(violation.counts, self.min_cell)
            profile = printed_profile(violation.profile, self.min_cell).iloc[1:]
        allowed = self._estimates(
            violation, ("delta", "high", "rates", "gamma", "mass") if shown else ("delta", "high")
        )
        n_elsewhere = known(self.given.n_samples) - n_whole
        if size_told and not (self.totals_withheld and self.small(n_elsewhere)):
            allowed["share"] = violation.share
        allowed |= self._rule_shares(violation, n)
        # A tenth of those who have the outcome tells how many these are.
        asked = not isinstance(self.given.alpha, str)
        if asked or (self.all_told and not thin(violation.population.counts, self.min_cell)):
            allowed |= {name: getattr(violation, name) for name in ("alpha", "detectable_mass")}
        elif shown and not math.isnan(violation.alpha):
            self.withhold()
        n_missing = known(violation.n_missing)
        few_missing = self.small(n_missing) or self.small(
            _missing_elsewhere(self.given, violation, n_missing)
        )
        if n_missing and (few_missing or not size_told):
            allowed["n_missing"] = self.withhold()
        else:
            allowed |= {"n_missing": n_missing, "missing_bounds": violation.missing_bounds}
        depends, n_moved = _dependence(violation, self.min_cell)
        spread, n_spread = _spread(violation, self.min_cell)
        self.withhold(n_moved + n_spread if shown else 0)
        parts = ("delta", "high") if shown else ()
        return printed(
            Violation,
            violation,
            **allowed,
            reason=self._masked(violation.reason),
            n_rows=n if size_told else self.withhold(),
            counts=counts,
            profile=profile,
            amounts=amounts,
            path=_spaced_path(violation, self.min_cell),
            population=self._subgroup(violation.population, parts or ("delta",), whole=shown),
            core=self._subgroup(violation.core, parts, within=n),
            rule_subgroup=self._subgroup(violation.rule_subgroup, parts, within=n_whole),
            rule_rows=_rule_rows(violation, self.min_cell),
            searched=self._searched(violation, parts, size_told),
            depends_on_models=depends,
            spread=spread,
        )

    def _searched(self, violation: Violation, shown: tuple[str, ...], size_told: bool) -> Subgroup:
        """The region before it was held beside everybody, whose size may be the reported one's."""
        told = shown if violation.searched is violation.beside else ()
        own = self._subgroup(violation.searched, told, within=known(violation.population.n_rows))
        if size_told or own.n_rows != violation.n_rows:
            return own
        return replace(own, n_rows=None, withheld=own.withheld | {"n_rows"})

    def _may_print_size(self, n: int, rest: int) -> bool:
        """Whether the size of a subgroup beside the first may be printed."""
        if self.small(n) or self.small(abs(rest)):
            return False
        return self.kept.open_totals or rest != 0 or n == 0

    def _rule_shares(self, record: Violation | Silence, n: int) -> dict[str, float]:
        """How well the rule of so many rows describes them, unless that tells of a few."""
        shares = {"rule_precision": record.rule_precision, "rule_recall": record.rule_recall}
        told = {k: share for k, share in shares.items() if not of_few(share, n, self.min_cell)}
        self.withhold(len(shares) - len(told))
        return told

    def _estimates(self, record: Measured, shown: tuple[str, ...]) -> dict[str, Any]:
        """What is made of cells: all of it, or only the lower end of the interval.

        ``shown`` names what a page would show of it, and so withholds.
        """
        if not thin(record.counts, self.min_cell):
            return made_of_cells(record)
        _, high = record.effect_interval
        numbers = {
            "delta": (record.effect,),
            "high": (high,),
            "rates": record.rates,
            "gamma": (record.gamma,),
            "mass": (record.mass,),
        }
        self.withhold(sum(not math.isnan(x) for name in shown for x in numbers[name]))
        return lower_end(record)

    def _subgroup(
        self, subgroup: Subgroup, shown: tuple[str, ...], *, within: int = 0, whole: bool = False
    ) -> Subgroup:
        """A set of rows; ``within`` is the size of the one it is part of, ``whole`` if it is all."""
        allowed = self._estimates(subgroup, shown)
        n = known(subgroup.n_rows)
        told = not self.small(n) and not (within and self.small(abs(within - n)))
        if whole and not self.kept.has_table:
            told = told and self.kept.open_totals
        elif whole:
            allowed["counts"] = self._cells(subgroup.counts, "all")
            told = told and self.kept.told("n_all")
        if shown and not told:
            self.withhold()
        return printed(Subgroup, subgroup, **allowed, n_rows=n if told else None)

    def _cells(self, counts: pd.DataFrame, part: str) -> pd.DataFrame:
        table = counts.astype(object)
        for i, j in np.ndindex(table.shape):
            if not self.kept.told((part, i, j)):
                table.iloc[i, j] = self.withhold()
        return table

    def _plain_counts(self, counts: pd.DataFrame) -> pd.DataFrame:
        """Counts whose place among the totals is unknown: all of them if any is small."""
        if not thin(counts, self.min_cell):
            return counts
        self.withhold(counts.size)
        return no_counts(counts)

    def _told_of(self, feature: Any, group: Any) -> bool:
        """Whether the reasons for leaving rows out that concern one comparison are printed."""
        own = [r for r in self.given.excluded if r.endswith(f"({feature}={group})")]
        return all(self.kept.told(("excluded", reason)) for reason in own)

    def _balance(self, key: Any, value: Any) -> dict[str, Any]:
        found = diagnostics(value)
        copy = {n: found[n] for n in permitted(BalanceDiagnostics, "always") if n in found}
        outside = ("n_outside_support", "share_outside_support")
        n = found.get(outside[0])
        if not self._told_of(*comparison(key)) or (isinstance(n, int | float) and self.small(n)):
            copy |= dict.fromkeys(outside, self.withhold(2))
        else:
            copy |= {name: found[name] for name in outside if name in found}
        sizes = found.get("effective_sample_size")
        pair = sizes if isinstance(sizes, list | tuple) else ()
        if any(isinstance(x, int | float) and self.small(x) for x in pair):
            copy["effective_sample_size"] = self.withhold(len(pair))
        elif sizes is not None:
            copy["effective_sample_size"] = sizes
        copy |= self._differences(key, found)
        return copy | {"withheld": frozenset(name for name, v in copy.items() if v is None)}

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

    def _profiled(self, key: Any) -> ProfiledFeatures:
        """What the profile of a comparison says of its features, as far as it may be printed."""
        own = [
            v
            for v in self.given.violations
            if (v.sensitive_feature, v.group) == comparison(key) and not v.profile.empty
        ]
        if self.shown in own and self.shown is not None and not self.profile.empty:
            return ProfiledFeatures(self.given, self.shown.profile, self.profile)
        given = own[0].profile if own else pd.DataFrame()
        return ProfiledFeatures(self.given, given, printed_profile(given, self.min_cell))

    def _asked(self) -> tuple[AskedSubgroup, ...]:
        told = printable_asked(self.given, self.shown, self.min_cell, self._masked)
        lost = (own.withheld & {"n_rows", effect_of(own).fields[0]} for own in told)
        self.withhold(sum(map(len, lost)))
        return told

    def _groups(self) -> tuple[GroupCounts, ...]:
        told = printable_groups(self.given, self.shown, self.kept, self.min_cell)
        self.withhold(sum(len(own.counts) for own in told if own.withheld))
        return told

    def _silence(self, entry: Silence) -> Silence:
        n, own = known(entry.n_rows), known(entry.n_group)
        if self.small(n) or not self._told_of(entry.sensitive_feature, entry.group):
            self.withhold(2)
            return printed(Silence, entry)
        return printed(
            Silence,
            entry,
            **self._rule_shares(entry, n),
            n_rows=n,
            n_group=self.withhold() if self.small(own) or self.small(n - own) else own,
            share=entry.share,
            rule=entry.rule,
            rule_fidelity=entry.rule_fidelity,
        )

    def _masked(self, text: str) -> str:
        """Text without its small counts, and none of rows if one is small or a total withheld."""
        parts: tuple[str | Count, ...] = getattr(text, "parts", (text,))
        rows = [c for c in parts if isinstance(c, Count) and c.unit.startswith("row")]
        few = any(c.n < self.min_cell or self.small((c.of or c.n) - c.n) for c in rows)

        def shown(part: str | Count) -> str:
            if isinstance(part, str):
                return part
            hidden = few or self.totals_withheld if part in rows else self.small(part.n)
            if not hidden:
                return str(part)
            self.withhold()
            return f"a withheld number of {part.unit}" if part.unit else "withheld"

        return "".join(map(shown, parts))


def _overlap(
    given: AuditRecord, shown: Violation | None, kept: Kept, min_cell: int
) -> tuple[bool, bool]:
    """Whether the overlap histogram may be drawn, and with the rows left out."""
    if shown is None or len(shown.side) == 0:
        return False, False
    if not kept.has_table:
        return True, False
    totals = all(kept.told(("rows of all", side)) for side in (0, 1))
    left = [int((shown.left_out & (shown.side == side)).sum()) for side in (1, -1)]
    reasons = [r for r in given.excluded if "comparable" in r]
    told = all(kept.told(("excluded", reason)) for reason in reasons)
    return totals, told and not any(0 < n < min_cell for n in left)


def _rule_rows(violation: Violation, min_cell: int) -> int | None:
    """Whom the rule as printed holds for, unless a few make the difference to another size."""
    n, own = known(violation.rule_rows), known(violation.rule_subgroup.n_rows)
    others = (0, own, known(violation.n_rows), known(violation.population.n_rows))
    return None if any(0 < abs(n - other) < min_cell for other in others) else n


def _missing_elsewhere(result: AuditRecord, violation: Violation, n_missing: int) -> int:
    """Rows without a value outside the subgroup, where some are inside."""
    total = sum(
        known(n)
        for reason, n in result.excluded.items()
        if "missing" in reason and violation.sensitive_feature in reason
    )
    return total - n_missing if n_missing > 0 else 0


def _dependence(violation: Violation, min_cell: int) -> tuple[ModelDependence | None, int]:
    """How the ratio moved, where the ratio itself may be printed, and how many numbers are withheld."""
    given = violation.depends_on_models
    if given is None:
        return None, 0
    if not thin(violation.counts, min_cell):
        return printed(ModelDependence, given, **_effects(given), allowance=given.allowance), 0
    lost, n = _no_effects(given)
    return printed(ModelDependence, given, **lost), n + 1


def _effects(given: ModelDependence | Spread) -> dict[str, tuple[float, ...]]:
    return {"ratios": given.ratios, "differences": given.differences}


def _no_effects(given: ModelDependence | Spread) -> tuple[dict[str, tuple[float, ...]], int]:
    """As many as there are, none of them known."""
    lost = {name: (math.nan,) * len(own) for name, own in _effects(given).items()}
    return lost, sum(map(len, lost.values()))


def _spread(violation: Violation, min_cell: int) -> tuple[Spread | None, int]:
    """What other splits find, likewise, unless it tells of a few people; and how many are withheld.

    An infinite ratio, or none at all, tells of an empty cell among the people of another split.
    """
    given = violation.spread
    if given is None:
        return None, 0
    whole = all(0 < ratio < math.inf for ratio in given.ratios)
    if thin(violation.counts, min_cell) or not (
        whole and all(map(math.isfinite, given.differences))
    ):
        return printed(Spread, given, **_no_effects(given)[0]), 3
    few = of_few(given.shared, known(violation.n_rows), min_cell)
    shared = math.nan if few else given.shared
    return printed(Spread, given, **_effects(given), shared=shared), int(few)


def _spaced_path(violation: Violation, min_cell: int) -> WorstCasePath:
    """Regions that differ from each other and from the marked ones by enough rows and cases."""
    path = violation.path
    n = len(path)
    if n == 0 or len(path.mass) != n or len(path.n_rows) != n:
        return WorstCasePath()
    total = known(violation.population.n_rows)
    rows = np.asarray(path.n_rows, dtype=float)
    cases = np.asarray(path.mass, dtype=float) * total
    anchors = [(0.0, 0.0), (float(total), violation.population.mass * total)]
    anchors.append((float(known(violation.n_rows)), violation.mass * total))
    chosen: list[int] = []
    apart = 2 * min_cell
    for i in np.argsort(-rows, kind="stable"):
        if not np.isfinite(path.delta[i]) or not np.isfinite(cases[i]):
            continue
        spots = [*anchors, *((rows[k], cases[k]) for k in chosen)]
        gaps = [(abs(rows[i] - r), abs(cases[i] - c)) for r, c in spots if not math.isnan(c)]
        if all(r >= apart and c >= apart for r, c in gaps):
            chosen.append(int(i))
    chosen.sort()
    low, high = np.asarray(path.interval_low), np.asarray(path.interval_high)
    return WorstCasePath(
        delta=np.asarray(path.delta)[chosen],
        mass=np.asarray(path.mass)[chosen],
        interval_low=low[chosen] if len(low) == n else low,
        interval_high=high[chosen] if len(high) == n else high,
    )
