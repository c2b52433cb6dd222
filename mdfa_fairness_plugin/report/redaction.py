"""Small cells: a result without the counts that could point at single people.

A page drawn from the redacted copy cannot print what the copy no longer holds. Counts below a
smallest one are withheld (primary suppression), and so is every number from which one of them
could be worked out (complementary suppression): totals, neighbouring cells, shares, rates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.profile import DIFFERENCE, MISSING, OTHERS, PARTS, ROWS, VALUES
from mdfa_fairness_plugin.describe.wording import count, label_text
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import AuditRecord, Silence, Subgroup, Violation, WorstCasePath
from mdfa_fairness_plugin.report.reading import comparison, diagnostics, shown_case

# Stands for a count that is not shown.
WITHHELD: Final = -1
WITHHELD_TEXT: Final = "withheld"
_UNKNOWN: Final = (math.nan, math.nan)
_COUNT_OF_ROWS: Final = re.compile(
    r"(?:only )?\b\d[\d,]*(?: of (?:the )?\d[\d,]*)?(?= rows?\b)( rows?\b)(?: \([\d.]+ ?%\))?"
)
# "2 of 5 levels", "3 nonzero values"; and "'age' (2)", as lists of features give them.
_COUNT_OF_VALUES: Final = re.compile(
    r"(?:only )?\b(\d[\d,]*)(?: of (?:the )?\d[\d,]*)?"
    r"((?: [a-z]+)? (?:values?|levels?|outcomes?|people|persons?)\b)"
)
_COUNT_IN_BRACKETS: Final = re.compile(r"\((\d[\d,]*)\)")
# Mean and deviation of fewer values than this tell how many rows have each.
_FEWEST_VALUES: Final = 6


@dataclass(frozen=True, kw_only=True, eq=False)
class Redaction:
    """A result as it may be printed.

    Parameters
    ----------
    result : AuditResult
        Counts that are withheld are -1, other numbers NaN and cells of tables ``"withheld"``.
    min_cell : int
    n_withheld : int
        Numbers withheld.
    overlap_min_rows : int
        Fewest rows in a bin of the overlap histogram; 0 if it may not be drawn at all.
    overlap_left_out : bool
        Whether it may show the rows left out.
    """

    result: AuditRecord
    min_cell: int
    n_withheld: int = 0
    overlap_min_rows: int = 1
    overlap_left_out: bool = True


def redact(result: AuditRecord, min_cell: int) -> Redaction:
    """Withhold counts below ``min_cell`` and whatever would give them away.

    Parameters
    ----------
    result : AuditResult
    min_cell : int
        Smallest count that may be printed; 1 withholds nothing.

    Returns
    -------
    redaction : Redaction

    Raises
    ------
    InputError
        If ``min_cell`` is no whole number of at least 1.

    Notes
    -----
    Protected are: the rows by sensitive value and outcome in the subgroup of the search told first,
    outside it and in both together; their totals; the size of every subgroup and of what is left
    when it is taken away; rows left out, by reason; rows by level of every feature, by sensitive
    value, inside, outside and together. A number of few values, or with nearly one value only, is
    held to the same, for its mean and deviation count them; so are the differences between the
    groups that the balance diagnostics give. A zero is protected where it tells the outcome of everyone
    in its row, and is not where it only says that there is nobody.

    Of an estimate made from protected cells only the cautious end of the interval is kept: its
    rates, its mass, and the ratio itself, which an empty cell makes infinite, would tell.
    """
    whole = isinstance(min_cell, int | np.integer) and not isinstance(min_cell, bool)
    if not whole or min_cell < 1:
        raise InputError(f"min_cell: a whole number of at least 1 expected, {min_cell!r} found.")
    if min_cell == 1:
        return Redaction(result=result, min_cell=1)
    return _Redactor(result, int(min_cell)).redacted()


def cells_sentence(redaction: Redaction, where: str = "page") -> str:
    """Say what was done about small counts.

    Parameters
    ----------
    redaction : Redaction
    where : str, default="page"
        What they are withheld from.

    Returns
    -------
    str
    """
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


def keep_safe(
    atoms: np.ndarray,
    printed: np.ndarray,
    protected: np.ndarray,
    min_cell: int,
) -> np.ndarray:
    """Choose which sums may be printed so that no protected one can be worked out.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms,)
        Counts that everything is a sum of.
    printed : ndarray of bool of shape (n_printed, n_atoms)
        Atoms in each sum that is to be printed.
    protected : ndarray of bool of shape (n_protected, n_atoms)
        Atoms in each sum that must stay unknown.
    min_cell : int

    Returns
    -------
    keep : ndarray of bool of shape (n_printed,)

    Notes
    -----
    Whoever knows the printed sums, and that counts are not negative, must find each protected sum
    possible over a range at least ``min_cell`` wide that reaches up to ``min_cell``: linear
    programs give the range. Sums are dropped, the smallest first, until that holds, and then put
    back where they do no harm.
    """
    values = printed @ atoms
    is_protected = np.array(
        [any(np.array_equal(row, other) for other in protected) for row in printed], dtype=bool
    )
    keep = ~is_protected if len(printed) else np.zeros(0, dtype=bool)
    barred = ~keep
    order = np.argsort(values, kind="stable")

    def exposed(kept: np.ndarray) -> np.ndarray | None:
        return next(
            (t for t in protected if not _uncertain(t, printed[kept], values[kept], min_cell)), None
        )

    while keep.any() and (target := exposed(keep)) is not None:
        candidates = [i for i in order if keep[i]]
        chosen = candidates[0]
        for i in candidates:
            without = keep.copy()
            without[i] = False
            if _uncertain(target, printed[without], values[without], min_cell):
                chosen = i
                break
        keep[chosen] = False
    for i in order[::-1]:
        if not keep[i] and not barred[i]:
            keep[i] = True
            if exposed(keep) is not None:
                keep[i] = False
    return keep


def _uncertain(target: np.ndarray, known: np.ndarray, values: np.ndarray, min_cell: int) -> bool:
    """Whether a sum stays open over a range wide enough, given the sums that are known."""
    from scipy.optimize import linprog

    if len(known) == 0:
        return True
    ends = []
    for sign in (1.0, -1.0):
        solved = linprog(
            sign * target.astype(float),
            A_eq=known.astype(float),
            b_eq=values.astype(float),
            bounds=(0, None),
            method="highs",
        )
        if solved.status == 3:  # unbounded
            ends.append(-sign * math.inf)
        elif solved.success:
            ends.append(sign * float(solved.fun))
        else:
            return False
    low, high = ends
    return high - low >= min_cell - 1e-6 and high >= min_cell - 1e-6


class _Redactor:
    """One pass over a result, counting what is withheld."""

    def __init__(self, result: AuditRecord, min_cell: int) -> None:
        self.given = result
        self.min_cell = min_cell
        self.n_withheld = 0
        self.shown = shown_case(result)
        self.totals_withheld = False
        self.printed_profile: pd.DataFrame | None = None
        self.owners = _owners(result)

    def small(self, n: float) -> bool:
        """Whether a count of people is too small to print."""
        return 0 < n < self.min_cell

    def redacted(self) -> Redaction:
        result = self.given
        kept = self._totals()
        violations = tuple(self._violation(v, kept) for v in result.violations)
        n_samples = result.n_samples if kept.n_samples else self._count(WITHHELD)
        draw, left_out = self._overlap(kept)
        provenance = dict(result.provenance)
        if not kept.n_samples:
            provenance = {k: v for k, v in provenance.items() if not str(k).startswith("n_")}
        excluded = {
            reason: n if kept.excluded[reason] else self._count(WITHHELD)
            for reason, n in result.excluded.items()
        }
        balance = {key: self._balance(key, value, kept) for key, value in result.balance.items()}
        silence = tuple(self._silence(entry, kept) for entry in result.silence)
        warnings = tuple(replace(w, message=self._masked(w.message)) for w in result.warnings)
        return Redaction(
            result=replace(
                result,
                violations=violations,
                n_samples=n_samples,
                excluded=excluded,
                balance=balance,
                silence=silence,
                warnings=warnings,
                provenance=provenance,
            ),
            min_cell=self.min_cell,
            n_withheld=self.n_withheld,
            overlap_min_rows=self.min_cell if draw else 0,
            overlap_left_out=left_out,
        )

    def _count(self, withheld: Any, n: int = 1) -> Any:
        self.n_withheld += n
        return withheld

    def _totals(self) -> _Kept:
        """Choose what is printed of the tables and totals that add up to each other."""
        result, shown = self.given, self.shown
        system = _System(self.min_cell)
        for reason, n in result.excluded.items():
            system.atom(("excluded", reason), int(n), printed=True)
        table = None
        if shown is not None:
            table = _Table.read(shown)
        if table is not None:
            table.enter(system)
        self._add_up(system)
        kept = system.solve()
        excluded = {reason: kept[("excluded", reason)] for reason in result.excluded}
        # With rows left out, the sizes of everybody compared give each other away.
        open_totals = kept.get("n_all", True) and not any(map(self.small, result.excluded.values()))
        sizes = {
            i: self._may_print(v, open_totals)
            for i, v in enumerate(result.violations)
            if v is not shown
        }
        n_samples = kept.get("n_samples", True)
        self.totals_withheld = not n_samples
        return _Kept(
            n_samples=n_samples,
            excluded=excluded,
            sizes=sizes,
            table=table,
            cells=kept,
        )

    def _may_print(self, violation: Violation, open_totals: bool) -> bool:
        """Whether the size of a subgroup beside the first may be printed."""
        rest = violation.population.n_rows - violation.n_rows
        if self.small(violation.n_rows) or self.small(abs(rest)):
            return False
        return open_totals or rest != 0 or violation.n_rows == 0

    def _add_up(self, system: _System) -> None:
        """Rows given = rows compared + rows left out, where that is so: one side gives the other."""
        result, shown = self.given, self.shown
        n = result.n_samples
        compared = 0 if shown is None else shown.population.n_rows
        if shown is None:
            return
        name = f"({shown.sensitive_feature}={shown.group})"
        reasons = [
            reason
            for reason, left in result.excluded.items()
            if left and (name in reason or "=" not in reason.rpartition("(")[2])
        ]
        if system.has_table:
            compared = sum(system.atoms[atom] for atom in system.table_atoms)
        rest = n - compared - sum(int(result.excluded[reason]) for reason in reasons)
        atoms: list[Any] = [("excluded", reason) for reason in reasons]
        if rest > 0:
            # Rows with another value than the two compared, or that the models learned from.
            system.atom("rest", rest)
            atoms.append("rest")
        if rest < 0:
            # Rows that stand for several do not add up to the rows given.
            return
        if system.has_table:
            system.printed("n_samples", [*atoms, *system.table_atoms])
        elif compared > 0:
            system.atom("compared", compared)
            system.printed("n_samples", [*atoms, "compared"])

    def _violation(self, violation: Violation, kept: _Kept) -> Violation:
        position = next(i for i, v in enumerate(self.given.violations) if v is violation)
        shown = violation is self.shown
        whole = violation.population
        changes: dict[str, Any] = {
            "reason": self._masked(violation.reason),
            "estimates": {},
            "membership": np.zeros(0, dtype=bool),
            "held_out": np.zeros(0, dtype=bool),
            "path": self._path(violation),
            "profile": pd.DataFrame(),
        }
        table = kept.table if shown else None
        size_kept = kept.sizes.get(position, True)
        if shown and table is not None:
            size_kept = kept.cells["n_rows"]
            changes["counts"] = self._cells(violation.counts, kept, "in")
            changes["profile"] = self._profile(violation.profile, kept)
        elif shown:
            changes["counts"] = self._plain_counts(violation.counts)
            changes["profile"] = self._profile(violation.profile, kept)
            size_kept = not self.small(violation.n_rows)
        if not size_kept:
            changes["n_rows"] = self._count(WITHHELD)
        n = whole.n_rows
        total_kept = kept.n_samples or not self.small(self.given.n_samples - n)
        if not size_kept or not total_kept:
            changes["share"] = math.nan
        for name, size in (("rule_precision", None), ("rule_recall", violation.n_rows)):
            share = getattr(violation, name)
            if self._hides(share, size if size is not None else violation.n_rows):
                changes[name] = self._count(math.nan)
        if self._thin(violation.counts):
            printed = ("delta", "high", "rates", "gamma", "mass") if shown else ("delta", "high")
            changes |= self._cautious(violation, printed)
            changes |= {"e_value": math.nan, "mass_interval": _UNKNOWN, "gamma_interval": _UNKNOWN}
            changes["gamma_lemma"] = math.nan
        few_missing = self.small(violation.n_missing) or self._missing_elsewhere(violation)
        if violation.n_missing and (few_missing or not size_kept):
            changes["n_missing"] = self._count(WITHHELD)
            changes["missing_bounds"] = _UNKNOWN
        changes["population"] = self._subgroup(
            whole,
            cells=kept if shown and table is not None else None,
            printed=("delta", "high") if shown else ("delta",),
        )
        parts = ("delta", "high") if shown else ()
        changes["core"] = self._subgroup(violation.core, within=violation.n_rows, printed=parts)
        changes["rule_subgroup"] = self._subgroup(violation.rule_subgroup, within=n, printed=parts)
        return replace(violation, **changes)

    def _hides(self, share: float, n: int) -> bool:
        """Whether a share of so many rows tells of a few of them."""
        if math.isnan(share) or n <= 0:
            return False
        few = min(share, 1 - share) * n
        return 0.5 <= few < self.min_cell

    def _missing_elsewhere(self, violation: Violation) -> bool:
        total = sum(
            int(n)
            for reason, n in self.given.excluded.items()
            if "missing" in reason and violation.sensitive_feature in reason
        )
        return self.small(total - violation.n_missing) if violation.n_missing else False

    def _thin(self, counts: pd.DataFrame) -> bool:
        """Whether any cell by sensitive value and outcome is too small to print."""
        if counts.empty:
            return False
        cells = counts.to_numpy(dtype=float)
        filled = cells.sum(axis=1, keepdims=True) > 0
        return bool(((cells < self.min_cell) & filled).any())

    def _cautious(self, estimate: Violation | Subgroup, printed: tuple[str, ...]) -> dict[str, Any]:
        """Only the lower end of the interval; ``printed`` names what a page would show."""
        numbers = {
            "delta": (estimate.delta,),
            "high": (estimate.interval[1],),
            "rates": estimate.rates,
            "gamma": (estimate.gamma,),
            "mass": (estimate.mass,),
        }
        self.n_withheld += sum(not math.isnan(x) for name in printed for x in numbers[name])
        low = estimate.interval[0]
        return {
            "delta": math.nan,
            "interval": (low if math.isfinite(low) else math.nan, math.nan),
            "rates": _UNKNOWN,
            "gamma": math.nan,
            "mass": math.nan,
        }

    def _subgroup(
        self,
        subgroup: Subgroup,
        *,
        within: int | None = None,
        cells: _Kept | None = None,
        printed: tuple[str, ...] = (),
    ) -> Subgroup:
        changes: dict[str, Any] = {}
        if self._thin(subgroup.counts):
            changes |= self._cautious(subgroup, printed)
        n = subgroup.n_rows
        rest = 0 if within is None else within - n
        if self.small(n) or self.small(rest) or self.small(-rest):
            changes["n_rows"] = WITHHELD
        if cells is not None:
            changes["counts"] = self._cells(subgroup.counts, cells, "all")
            if not cells.cells["n_all"]:
                changes["n_rows"] = WITHHELD
        if printed and "n_rows" in changes:
            self._count(WITHHELD)
        if cells is None:
            changes["counts"] = pd.DataFrame()
        return replace(subgroup, **changes)

    def _cells(self, counts: pd.DataFrame, kept: _Kept, part: str) -> pd.DataFrame:
        table = counts.astype(object).copy()
        for i in range(table.shape[0]):
            for j in range(table.shape[1]):
                if not kept.cells[(part, i, j)]:
                    table.iloc[i, j] = self._count(WITHHELD_TEXT)
        return table

    def _plain_counts(self, counts: pd.DataFrame) -> pd.DataFrame:
        """Counts whose place among the totals is unknown: all of them if any is small."""
        if not self._thin(counts):
            return counts
        table = counts.astype(object).copy()
        table.iloc[:, :] = WITHHELD_TEXT
        self.n_withheld += table.size
        return table

    def _path(self, violation: Violation) -> WorstCasePath:
        """Regions that differ from each other and from the marked ones by enough rows and cases."""
        path = violation.path
        n = len(path)
        if n == 0 or len(path.mass) != n or len(path.n_rows) != n:
            return WorstCasePath()
        total = max(violation.population.n_rows, 0)
        rows = np.asarray(path.n_rows, dtype=float)
        cases = np.asarray(path.mass, dtype=float) * total
        anchors = [(0.0, 0.0), (float(total), violation.population.mass * total)]
        anchors.append((float(violation.n_rows), violation.mass * total))
        chosen: list[int] = []
        apart = 2 * self.min_cell
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

    def _profile(self, profile: pd.DataFrame, kept: _Kept) -> pd.DataFrame:
        """Profile without small levels, nor the ones that would give these away."""
        if profile.empty or profile.index.nlevels != 3 or profile.columns.nlevels != 2:
            return pd.DataFrame()
        keys = [tuple(str(part) for part in key) for key in profile.index]
        parts = [str(label[0]) for label in profile.columns]
        own = [[i for i, p in enumerate(parts) if p == part] for part in PARTS]
        if keys[0][0] != ROWS or [len(columns) for columns in own] != [2, 2]:
            return pd.DataFrame()
        numbers = profile.to_numpy(dtype=float).copy()
        known = ~np.isnan(numbers)
        for side in (0, 1):
            whole, inside = own[0][side], own[1][side]
            self._profile_side(numbers, keys, whole, inside)
            self._few_values(numbers, keys, profile.attrs.get(VALUES, {}), side, (whole, inside))
            if kept.table is not None:
                if not kept.cells[("rows", side)]:
                    numbers[0, inside] = math.nan
                if not kept.cells[("rows of all", side)]:
                    numbers[0, whole] = math.nan
                self._outcome_share(numbers, keys, kept, side, (whole, inside))
        if DIFFERENCE in list(profile.columns):
            column = [tuple(label) for label in profile.columns].index(DIFFERENCE)
            others = [i for columns in own for i in columns]
            hidden = np.isnan(numbers[:, others]) & known[:, others]
            numbers[hidden.any(axis=1), column] = math.nan
        self.n_withheld += int((known & np.isnan(numbers)).sum())
        printed = pd.DataFrame(numbers, index=profile.index, columns=profile.columns)
        self.printed_profile = printed
        return printed

    def _outcome_share(
        self,
        numbers: np.ndarray,
        keys: list[tuple[str, ...]],
        kept: _Kept,
        side: int,
        columns: tuple[int, int],
    ) -> None:
        """Withhold the share with the outcome, unless its whole row of the counts is printed."""
        if len(keys) < 2 or keys[1][1:] != ("", "share"):
            return
        for part, column in zip(("all", "in"), columns, strict=True):
            row = [k for name, k in kept.cells.items() if _is_cell(name, part, side)]
            if not all(row):
                numbers[1, column] = math.nan

    def _profile_side(
        self, numbers: np.ndarray, keys: list[tuple[str, ...]], whole: int, inside: int
    ) -> None:
        """Withhold in two columns: everybody of one sensitive value, and those in the subgroup."""
        n, n_in = numbers[0, whole], numbers[0, inside]
        n_out = n - n_in
        if self.small(n):
            numbers[:, [whole, inside]] = math.nan
            return
        if self.small(n_in) or self.small(n_out):
            numbers[:, inside] = math.nan
        blocks: dict[tuple[str, bool], list[int]] = {}
        for i, (name, level, statistic) in enumerate(keys):
            if statistic == "share":
                # The outcome, a missing value: one share stands for two levels.
                alone = level in ("", MISSING) and self._is_alone(keys, i)
                blocks.setdefault((name, alone), []).append(i)
        for (name, alone), rows in blocks.items():
            share, share_in = numbers[rows, whole], numbers[rows, inside]
            if np.isnan(share).any():
                continue
            counts = np.round(share * n)
            counts_in = np.round(share_in * n_in) if not np.isnan(share_in).any() else None
            if alone:
                counts = np.append(counts, n - counts.sum())
                if counts_in is not None:
                    counts_in = np.append(counts_in, n_in - counts_in.sum())
            is_outcome = rows == [1] and alone
            hide = self._levels_to_hide(counts, counts_in, zeros=is_outcome)
            for place, row in enumerate(rows):
                if hide[place]:
                    numbers[row, [whole, inside]] = math.nan
            if alone and keys[rows[0]][1] == MISSING and hide.any():
                # Few recorded values: no mean of them either.
                recorded = [counts[-1]] if counts_in is None else [counts[-1], counts_in[-1]]
                if any(self.small(c) for c in recorded):
                    for i, key in enumerate(keys):
                        if key[0] == name:
                            numbers[i, [whole, inside]] = math.nan

    def _few_values(
        self,
        numbers: np.ndarray,
        keys: list[tuple[str, ...]],
        values: Mapping[str, Any],
        side: int,
        columns: tuple[int, int],
    ) -> None:
        """Withhold mean and deviation where these tell how many rows have a rare value."""
        whole, inside = columns
        for i, (name, _, statistic) in enumerate(keys):
            if not statistic.startswith(("mean", "sd")):
                continue
            counted = values.get(name)
            if counted is None:
                # Nothing is known of its values.
                numbers[i, [whole, inside]] = math.nan
                continue
            if self._tells_of_few(counted[side]):
                numbers[i, [whole, inside]] = math.nan
            elif self._tells_of_few(counted[2 + side]) or self._tells_of_few(counted[4 + side]):
                numbers[i, inside] = math.nan

    def _tells_of_few(self, counted: tuple[int, int, int]) -> bool:
        """Whether mean and deviation of a set of rows give a small count of one of its values."""
        n_values, n_others, n_rarest = counted
        if n_values == 0:
            return False
        return n_others < self.min_cell or (n_values < _FEWEST_VALUES and n_rarest < self.min_cell)

    def _is_alone(self, keys: list[tuple[str, ...]], i: int) -> bool:
        """Whether no other share belongs to the same feature."""
        return sum(key[0] == keys[i][0] and key[2] == "share" for key in keys) == 1

    def _levels_to_hide(
        self, counts: np.ndarray, counts_in: np.ndarray | None, *, zeros: bool
    ) -> np.ndarray:
        """Levels of one feature to withhold: small ones, and enough others to hide them behind."""
        parts = [counts]
        if counts_in is not None:
            parts += [counts_in, counts - counts_in]

        def small(x: np.ndarray) -> np.ndarray:
            few = (x > 0) & (x < self.min_cell)
            return few | ((x == 0) & (x.sum() > 0)) if zeros else few

        hide = np.any([small(x) for x in parts], axis=0)
        if not hide.any():
            return hide
        need = [small(x).any() for x in parts]
        for level in [None, *np.argsort(counts, kind="stable")]:
            if level is not None:
                hide[level] = True
            enough = all(
                x[hide].sum() >= self.min_cell or x[hide].sum() == 0
                for x, needed in zip(parts, need, strict=True)
                if needed
            )
            if hide.sum() >= 2 and enough:
                break
        return hide

    def _reasons(self, feature: Any, group: Any) -> list[str]:
        """Reasons for leaving rows out that concern one comparison."""
        return [r for r in self.given.excluded if r.endswith(f"({feature}={group})")]

    def _balance(self, key: Any, value: Any, kept: _Kept) -> Any:
        found = dict(diagnostics(value))
        feature, group = comparison(key)
        n = found.get("n_outside_support")
        hidden = any(not kept.excluded[name] for name in self._reasons(feature, group))
        if hidden or (isinstance(n, int | float) and self.small(n)):
            found["n_outside_support"] = WITHHELD
            found["share_outside_support"] = None
            self._count(None, 2)
        sizes = found.get("effective_sample_size")
        if isinstance(sizes, list | tuple) and any(
            isinstance(x, int | float) and self.small(x) for x in sizes
        ):
            found["effective_sample_size"] = None
            self._count(None, len(sizes))
        self._differences(key, found)
        return found

    def _differences(self, key: Any, found: dict[str, Any]) -> None:
        """Withhold the differences of features whose shares or means are withheld.

        The difference of an indicator gives the share of its level on either side.
        """
        names = [n for n in ("smd_before", "smd_after") if isinstance(found.get(n), Mapping)]
        if not names:
            return
        known, hidden = self._printed_lines(key)
        for name in names:
            given = found[name]
            found[name] = {
                k: v
                for k, v in given.items()
                if _is_printed(str(k), self.owners.get(str(k)), known, hidden)
            }
            self._count(None, len(given) - len(found[name]))
        if not any(found[name] for name in names):
            # What is left tells of the same features, all together.
            for name in ("mmd_before", "mmd_after"):
                if found.get(name) is not None:
                    found[name] = self._count(None)

    def _printed_lines(self, key: Any) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """Features and levels with a line for everybody, and those whose line is withheld."""
        feature, group = comparison(key)
        own = [
            v
            for v in self.given.violations
            if (v.sensitive_feature, v.group) == (feature, group) and not v.profile.empty
        ]
        if self.shown in own and self.printed_profile is not None:
            given, printed = self.shown.profile, self.printed_profile  # type: ignore[union-attr]
        elif own:
            given = own[0].profile
            printed = self._lines_of(given)
        else:
            return set(), set()
        if printed.empty:
            return set(), set()
        everybody = [str(label[0]) == PARTS[0] for label in given.columns]
        before = given.to_numpy(dtype=float)[:, everybody]
        after = printed.to_numpy(dtype=float)[:, everybody]
        hidden = (np.isnan(after) & ~np.isnan(before)).any(axis=1)
        keys = [(str(name), str(level)) for name, level, _ in given.index]
        return set(keys), {k for k, is_hidden in zip(keys, hidden, strict=True) if is_hidden}

    def _lines_of(self, profile: pd.DataFrame) -> pd.DataFrame:
        """Profile of another search than the one told first, by the same rules."""
        if profile.index.nlevels != 3 or profile.columns.nlevels != 2:
            return pd.DataFrame()
        keys = [tuple(str(part) for part in key) for key in profile.index]
        parts = [str(label[0]) for label in profile.columns]
        own = [[i for i, p in enumerate(parts) if p == part] for part in PARTS]
        if keys[0][0] != ROWS or [len(columns) for columns in own] != [2, 2]:
            return pd.DataFrame()
        numbers = profile.to_numpy(dtype=float).copy()
        values = profile.attrs.get(VALUES, {})
        for side in (0, 1):
            columns = own[0][side], own[1][side]
            self._profile_side(numbers, keys, *columns)
            self._few_values(numbers, keys, values, side, columns)
        return pd.DataFrame(numbers, index=profile.index, columns=profile.columns)

    def _silence(self, entry: Silence, kept: _Kept) -> Silence:
        n, own = entry.n_rows, entry.n_group
        told = all(
            kept.excluded[name] for name in self._reasons(entry.sensitive_feature, entry.group)
        )
        if self.small(n) or not told:
            self._count(None, 2)
            return replace(
                entry,
                n_rows=WITHHELD,
                n_group=WITHHELD,
                share=math.nan,
                rule="",
                rule_fidelity=math.nan,
                rule_precision=math.nan,
                rule_recall=math.nan,
            )
        changes: dict[str, Any] = {}
        if self.small(own) or self.small(n - own):
            changes["n_group"] = self._count(WITHHELD)
        for name in ("rule_precision", "rule_recall"):
            if self._hides(getattr(entry, name), n):
                changes[name] = self._count(math.nan)
        return replace(entry, **changes)

    def _masked(self, text: str) -> str:
        """Text without its small counts, and none of rows if one is small or a total withheld."""
        text = self._without_few(_COUNT_OF_VALUES, str(text), "a withheld number of{}")
        text = self._without_few(_COUNT_IN_BRACKETS, text, "(withheld)")
        counts = [
            [int(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*", match.group())]
            for match in _COUNT_OF_ROWS.finditer(str(text))
        ]
        telling = [c for c in counts if c]
        few = any(
            c[0] < self.min_cell or (len(c) > 1 and 0 < c[1] - c[0] < self.min_cell)
            for c in telling
        )
        if not telling or not (few or self.totals_withheld):
            return text
        self.n_withheld += len(telling)
        return _COUNT_OF_ROWS.sub(r"a withheld number of\1", str(text))

    def _without_few(self, pattern: re.Pattern[str], text: str, words: str) -> str:
        """Text whose counts that a pattern finds are masked where they are small."""

        def masked(match: re.Match[str]) -> str:
            if not self.small(int(match.group(1).replace(",", ""))):
                return match.group()
            self.n_withheld += 1
            return words.format(*match.groups()[1:])

        return pattern.sub(masked, text)

    def _overlap(self, kept: _Kept) -> tuple[bool, bool]:
        """Whether the overlap histogram may be drawn, and with the rows left out."""
        shown = self.shown
        if shown is None or kept.table is None or len(shown.side) == 0:
            return shown is not None and len(shown.side) > 0 and kept.table is None, False
        totals = all(kept.cells[("rows of all", side)] for side in (0, 1))
        left = [int((shown.left_out & (shown.side == side)).sum()) for side in (1, -1)]
        reasons = [r for r in self.given.excluded if "comparable" in r]
        told = all(kept.excluded[reason] for reason in reasons)
        return totals, told and not any(self.small(n) for n in left)


def _owners(result: AuditRecord) -> dict[str, str]:
    """Name in the profile of the feature each encoded column belongs to, as far as it is known."""
    encoder = getattr(getattr(result.source, "problem", None), "encoder", None)
    names = getattr(encoder, "encoded_names_", ())
    return {
        str(names[column]): label_text(display.name)
        for display in getattr(encoder, "displays_", ())
        for column in display.encoded_columns
    }


def _is_printed(
    encoded: str,
    owner: str | None,
    known: set[tuple[str, str]],
    hidden: set[tuple[str, str]],
) -> bool:
    """Whether the profile has the lines of an encoded column, and none of its feature is withheld.

    Without an owner it is found by name. Columns of levels that are not listed one by one may be of
    a few rows.
    """
    telling = {name for name, _ in hidden}
    if owner is not None and not encoded.startswith(owner):
        names = {name for name, _ in known}
        return owner in names and owner not in telling and (owner, OTHERS) not in known
    found = False
    for name in {name for name, _ in known if encoded.startswith(name)}:
        rest = encoded[len(name) :]
        if rest == "":
            own = True
        elif rest == " is missing":
            own = (name, MISSING) in known
        else:
            listed = (name, rest[1:]) in known or (name, OTHERS) not in known
            own = rest.startswith("=") and listed
        # The mean of recorded numbers says nothing of how many are missing.
        of_numbers = rest == "" and (name, "") in known
        if own and ((name, "") in hidden if of_numbers else name in telling):
            return False
        found = found or own
    return found


def _is_cell(name: Any, part: str, side: int) -> bool:
    return isinstance(name, tuple) and len(name) == 3 and name[:2] == (part, side)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Kept:
    """Which of the numbers that add up are printed."""

    n_samples: bool
    excluded: Mapping[str, bool]
    sizes: Mapping[int, bool]
    table: _Table | None
    cells: Mapping[Any, bool]


@dataclass(kw_only=True, eq=False)
class _Table:
    """Rows by sensitive value and outcome, in the subgroup and outside it.

    ``learning`` holds the rows of the profile beyond those, which a hold-out's models learned from.
    """

    inside: np.ndarray
    outside: np.ndarray
    learning: np.ndarray

    @classmethod
    def read(cls, violation: Violation) -> _Table | None:
        counts, whole = violation.counts, violation.population.counts
        if counts.empty or counts.shape[0] != 2 or whole.shape != counts.shape:
            return None
        inside, everybody = counts.to_numpy(dtype=float), whole.to_numpy(dtype=float)
        outside = everybody - inside
        if (outside < 0).any():
            return None
        learning = np.zeros((2, 2))
        profile = violation.profile
        if not profile.empty and profile.index.nlevels == 3 and profile.index[0][0] == ROWS:
            parts = [str(label[0]) for label in profile.columns]
            row = profile.iloc[0].to_numpy(dtype=float)
            own = [row[[i for i, p in enumerate(parts) if p == part]] for part in PARTS]
            if [len(x) for x in own] == [2, 2]:
                extra_in = own[1] - inside.sum(axis=1)
                extra_out = own[0] - own[1] - outside.sum(axis=1)
                learning = np.array([extra_in, extra_out])
                if not (np.isfinite(learning).all() and (learning >= 0).all()):
                    learning = np.zeros((2, 2))
        return cls(inside=inside, outside=outside, learning=learning)

    def enter(self, system: _System) -> None:
        """Give the system the cells, their totals and what is printed of them."""
        n_sides, n_outcomes = self.inside.shape
        for part, cells in (("in", self.inside), ("out", self.outside)):
            for i in range(n_sides):
                for j in range(n_outcomes):
                    # An empty cell of a row tells everybody's outcome there.
                    telling = cells[i].sum() > 0
                    system.atom(
                        (part, i, j),
                        int(cells[i, j]),
                        printed=part == "in",
                        zero=telling,
                    )
        # After cross-fitting there are none, and everybody knows.
        learned = bool(self.learning.any())
        for part, number in (("in", 0), ("out", 1)):
            for i in range(n_sides if learned else 0):
                system.atom(("learning", part, i), int(self.learning[number, i]))
        places = [(i, j) for i in range(n_sides) for j in range(n_outcomes)]
        for i, j in places:
            pair = [("in", i, j), ("out", i, j)]
            empty = self.inside[i].sum() + self.outside[i].sum() == 0
            system.printed(("all", i, j), pair, zero=not empty)
        for i in range(n_sides):
            inside = [("in", i, j) for j in range(n_outcomes)]
            outside = [("out", i, j) for j in range(n_outcomes)]
            learning = [("learning", part, i) for part in ("in", "out")] if learned else []
            system.printed(("rows", i), [*inside, *learning[:1]])
            system.printed(("rows of all", i), [*inside, *outside, *learning])
            system.protect(inside)
            system.protect(outside)
            system.protect([*inside, *outside])
            system.protect([*outside, *learning[1:]])
        system.printed("n_rows", [("in", i, j) for i, j in places])
        everybody = [(part, i, j) for part in ("in", "out") for i, j in places]
        system.printed("n_all", everybody)
        system.protect([("out", i, j) for i, j in places])
        system.has_table = True
        system.table_atoms = everybody + [n for n in system.atoms if n[0] == "learning"]


@dataclass(eq=False)
class _System:
    """Counts, and the sums of them that are to be printed or protected."""

    min_cell: int
    atoms: dict[Any, int] = field(default_factory=dict)
    sums: dict[Any, list[Any]] = field(default_factory=dict)
    guarded: list[list[Any]] = field(default_factory=list)
    has_table: bool = False
    table_atoms: list[Any] = field(default_factory=list)

    def atom(self, name: Any, n: int, *, printed: bool = False, zero: bool = False) -> None:
        """Add a count; ``zero`` protects it even if it is 0."""
        self.atoms[name] = n
        if 0 < n < self.min_cell or (zero and n == 0):
            self.guarded.append([name])
        if printed:
            self.sums[name] = [name]

    def printed(self, name: Any, parts: list[Any], *, zero: bool = False) -> None:
        """Add a sum that is to be printed."""
        self.sums[name] = parts
        self.protect(parts, zero=zero)

    def protect(self, parts: list[Any], *, zero: bool = False) -> None:
        """Protect a sum if it is small."""
        n = sum(self.atoms[part] for part in parts)
        if 0 < n < self.min_cell or (zero and n == 0):
            self.guarded.append(parts)

    def solve(self) -> dict[Any, bool]:
        """Whether each sum may be printed."""
        if not self.guarded:
            return dict.fromkeys(self.sums, True)
        place = {name: i for i, name in enumerate(self.atoms)}

        def matrix(lists: list[list[Any]]) -> np.ndarray:
            rows = np.zeros((len(lists), len(place)), dtype=bool)
            for row, parts in enumerate(lists):
                rows[row, [place[part] for part in parts]] = True
            return np.unique(rows, axis=0) if lists is self.guarded else rows

        values = np.array(list(self.atoms.values()), dtype=float)
        printed = matrix(list(self.sums.values()))
        keep = keep_safe(values, printed, matrix(self.guarded), self.min_cell)
        return {name: bool(k) for name, k in zip(self.sums, keep, strict=True)}
