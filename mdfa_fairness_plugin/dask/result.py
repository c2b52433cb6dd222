"""What a distributed audit returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.dask.survey import Columns
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.solver import Region


@dataclass(frozen=True, kw_only=True, eq=False)
class DaskAuditResult(AuditResult):
    """What a distributed audit found.

    An ``AuditResult`` whose searches hold no row of the data (``membership`` and the like are empty);
    ``membership`` tells who is inside, for the same or other rows.

    Parameters
    ----------
    auditor : MDFAuditor or None
        Fitted: ``auditor.predict`` and ``auditor.decision_function`` take rows in memory, such as a
        partition of a Dask DataFrame.
    regions : tuple of Located or None
        What each search's subgroup is told by.
    """

    auditor: Any = None
    regions: tuple[Located | None, ...] = ()

    def membership(self, data: Any, *, violation: Violation | None = None) -> Any:
        """Tell who is inside a subgroup.

        Parameters
        ----------
        data : DataFrame or Dask DataFrame
            With the audited features.
        violation : Violation or None, default=None
            Search whose subgroup is meant; None: the worst case.

        Returns
        -------
        inside : Series of bool or Dask Series of bool
            Named "mdfa_subgroup". Rows without a comparable row on the other side are outside; all are
            if nothing could be measured.
        """
        chosen = self.worst_case if violation is None else violation
        region = None
        for own, other in zip(self.violations, self.regions, strict=True):
            if own is chosen:
                region = other
        inside = _Inside(region)
        if hasattr(data, "map_partitions"):
            meta = pd.Series([], dtype=bool, name="mdfa_subgroup")
            return data.map_partitions(inside, meta=meta)
        return inside(data)


@dataclass(frozen=True, kw_only=True, eq=False)
class Located:
    """A subgroup as rows elsewhere are told by, and the propensities that can be compared."""

    encoder: FeatureEncoder
    region: Region
    propensity: CrossFittedProbability
    limits: tuple[float, float]


def located(
    search: Search, encoder: FeatureEncoder, region: Region | None = None
) -> Located | None:
    """What the subgroup of a search is told by, with another region in the place of its own."""
    if not search.made:
        return None
    ground = search.side.ground
    return Located(
        encoder=encoder,
        region=search.region if region is None else region,
        propensity=ground.fitted_propensity.unseen,
        limits=ground.limits,
    )


@dataclass(frozen=True)
class _Inside:
    """Membership of the rows of one frame."""

    located: Located | None

    def __call__(self, frame: pd.DataFrame) -> pd.Series:
        inside = np.zeros(len(frame), dtype=bool)
        told = self.located
        if told is not None and len(frame):
            rows = Asked(told.encoder.rows(frame))
            e = rows.predict(told.propensity)
            inside = (e > told.limits[0]) & (e < told.limits[1])
            inside &= told.region.scores(rows) >= told.region.threshold
        return pd.Series(inside, index=frame.index, name="mdfa_subgroup")


def distributed(result: AuditResult, **own: Any) -> DaskAuditResult:
    """A result with figures of its own, and without the data."""
    return DaskAuditResult(**(vars(result) | {"source": None} | own))


def finished(
    result: DaskAuditResult, auditor: MDFAuditor, encoder: FeatureEncoder, columns: Columns
) -> DaskAuditResult:
    """Give the result its auditor, fitted; the auditor has the arguments of the audit."""
    worst = result.worst_case
    told = None if worst is None else result.regions[result.violations.index(worst)]
    found = replace(result, auditor=auditor)
    names = [str(name) for name in columns.features]
    auditor.attach(found, encoder, told, names)
    return found
