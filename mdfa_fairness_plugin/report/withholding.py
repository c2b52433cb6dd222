"""Counts and texts of a result as they may be printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import Count
from mdfa_fairness_plugin.fields import known
from mdfa_fairness_plugin.records import AuditRecord, Measured, Silence, Violation
from mdfa_fairness_plugin.report.cells import choose
from mdfa_fairness_plugin.report.copies import no_counts, of_few, printed, thin


class Counts:
    """Counts and texts of a result as they may be printed, with how many numbers are withheld."""

    def __init__(self, result: AuditRecord, min_cell: int, shown: Violation | None) -> None:
        self.given = result
        self.min_cell = min_cell
        self.n_withheld = 0
        self.shown = shown
        self.kept = choose(result, self.shown, min_cell)
        self.totals_withheld = not self.kept.told("n_samples")
        self.all_told = all(map(self.kept.told, self.kept.sums))

    def small(self, n: float) -> bool:
        """Whether a count of people is too small to print."""
        return 0 < n < self.min_cell

    def withhold(self, n: int = 1) -> Any:
        """Count what is withheld, and give None, which stands for it."""
        self.n_withheld += n
        return None

    def count(self, name: Any, n: int) -> int | None:
        """A sum as it is printed, None if it is withheld."""
        told = self.kept.count(name, n)
        return self.withhold() if told is None else told

    def cells(self, counts: pd.DataFrame, part: str) -> pd.DataFrame:
        """A table of sums as it is printed."""
        table = counts.astype(object)
        for (i, j), n in np.ndenumerate(counts.to_numpy(dtype=int)):
            table.iloc[i, j] = self.count((part, i, j), int(n))
        return table

    def may_print_size(self, n: int, rest: int) -> bool:
        """Whether the size of a subgroup beside the first may be printed."""
        if self.small(n) or self.small(abs(rest)):
            return False
        return self.kept.open_totals or rest != 0 or n == 0

    def plain_counts(self, counts: pd.DataFrame) -> pd.DataFrame:
        """Counts whose place among the totals is unknown: all of them if any is small."""
        if not thin(counts, self.min_cell):
            return counts
        self.withhold(counts.size)
        return no_counts(counts)

    def told_of(self, feature: Any, group: Any) -> bool:
        """Whether the reasons for leaving rows out that concern one comparison are printed."""
        own = [r for r in self.given.excluded if r.endswith(f"({feature}={group})")]
        return all(self.kept.told(("excluded", reason)) for reason in own)

    def rule_shares(self, record: Violation | Silence, n: int) -> dict[str, float]:
        """How well the rule of so many rows describes them, unless that tells of a few."""
        shares = {"rule_precision": record.rule_precision, "rule_recall": record.rule_recall}
        told = {k: share for k, share in shares.items() if not of_few(share, n, self.min_cell)}
        self.withhold(len(shares) - len(told))
        return told

    def told_cells(self, part: str, own: Measured) -> bool:
        """Whether a table is printed in full."""
        rows, columns = own.counts.shape
        return all(self.kept.told((part, i, j)) for i in range(rows) for j in range(columns))

    def provenance(self) -> dict[str, Any]:
        """Where the result comes from, without numbers that would tell of a few."""
        provenance = dict(self.given.provenance)
        if self.totals_withheld:
            provenance = {k: v for k, v in provenance.items() if not str(k).startswith("n_")}
        n_clusters = provenance.get("n_clusters")
        if n_clusters is not None:
            n_repeats = provenance.get("n_working_rows", n_clusters) - n_clusters
            if self.small(n_clusters) or self.small(n_repeats):
                provenance["n_clusters"] = self.withhold()
        return provenance

    def masked(self, text: str) -> str:
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

    def silence(self, entry: Silence) -> Silence:
        """Who could not be compared."""
        n, own = known(entry.n_rows), known(entry.n_group)
        if self.small(n) or not self.told_of(entry.sensitive_feature, entry.group):
            self.withhold(2)
            return printed(Silence, entry)
        return printed(
            Silence,
            entry,
            **self.rule_shares(entry, n),
            n_rows=n,
            n_group=self.withhold() if self.small(own) or self.small(n - own) else own,
            share=entry.share,
            rule=entry.rule,
            rule_fidelity=entry.rule_fidelity,
        )
