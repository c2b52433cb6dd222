"""What the sums of all blocks come to: concluded as an audit in memory concludes, and returned."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.dask.groups import by_cluster, tally_by_cluster
from mdfa_fairness_plugin.dask.learning import Panel
from mdfa_fairness_plugin.dask.measuring import BlockSums, Measurement
from mdfa_fairness_plugin.dask.survey import Columns, Survey
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.contrasts import FEWEST_CLUSTERS
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.describe.subgroups import part_described
from mdfa_fairness_plugin.exceptions import (
    Count,
    FeatureWarning,
    Message,
    SmallGroupWarning,
    WarningLog,
)
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.means import Means
from mdfa_fairness_plugin.measure.measured import Measured, Widening
from mdfa_fairness_plugin.measure.power import Searching
from mdfa_fairness_plugin.measure.sums import EVERYBODY, REGION, SEARCHED, SETS
from mdfa_fairness_plugin.measure.verdicts import warn_of_models
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.pipeline import Audit
from mdfa_fairness_plugin.provenance import describe_parameter
from mdfa_fairness_plugin.records import NO_COMPARABLE_ROW, SearchKey, Silence, Violation
from mdfa_fairness_plugin.records.searches import without_rows
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.level_sets import Sweep
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.selection import path_thresholds
from mdfa_fairness_plugin.search.solver import Region
from mdfa_fairness_plugin.settings import Settings


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
        each = zip(self.violations, self.regions, strict=True)
        region = next((region for own, region in each if own is chosen), None)
        inside = functools.partial(_inside, region)
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


def _inside(told: Located | None, frame: pd.DataFrame) -> pd.Series:
    """Membership of the rows of one frame."""
    inside = np.zeros(len(frame), dtype=bool)
    if told is not None and len(frame):
        rows = Asked(told.encoder.rows(frame))
        e = rows.predict(told.propensity)
        inside = (e > told.limits[0]) & (e < told.limits[1])
        inside &= told.region.scores(rows) >= told.region.threshold
    return pd.Series(inside, index=frame.index, name="mdfa_subgroup")


def distributed(
    result: AuditResult, settings: Settings, encoder: FeatureEncoder, columns: Columns, **own: Any
) -> DaskAuditResult:
    """A result with figures of its own, without the data, and with an auditor fitted by it."""
    auditor = MDFAuditor(**{name: getattr(settings, name) for name in Settings.names()})
    found = DaskAuditResult(**(vars(result) | {"source": None, "auditor": auditor} | own))
    worst = found.worst_case
    told = None if worst is None else found.regions[found.violations.index(worst)]
    auditor.attach(found, encoder, told, [str(name) for name in columns.features])
    return found


# Sensitive feature, group and reference of a pair compared.
_Contrast = tuple[str, Hashable, Hashable]
LEARNED_FROM = "learned from, not measured"
OF_THE_LEARNED = "of a cluster learned from, not measured"


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """Both readings of the rows: what was counted, drawn, learned and measured."""

    columns: Columns
    survey: Survey
    audit: Audit  # of the rows learned from
    sample: AuditResult
    panel: Panel
    measured: Measurement

    @property
    def n_learned(self) -> int:
        """Rows learned from."""
        return self.audit.problem.n_samples


def concluded(
    reading: Reading, asked: Settings, log: WarningLog, started: float, n_blocks: int
) -> DaskAuditResult:
    """The sample's audit with the figures of all rows in the place of its own, tested as a family."""
    audit, sample, panel = reading.audit, reading.sample, reading.panel
    settings = audit.settings
    sums_of = (_by_cluster(sums, panel) for sums in reading.measured.searches)
    counted = iter(zip(panel.judges, sums_of, strict=True))
    judged = [next(counted) if search.made else None for search in audit.searches]
    reasons = [Message() if own is None else _too_few_clusters(own[1], settings) for own in judged]
    measured = [
        None if own is None or reason else _measured(search, own[1], settings)
        for search, own, reason in zip(audit.searches, judged, reasons, strict=True)
    ]
    figures = conclude(measured, settings, audit.problem.outcome_labels)
    violations: list[Violation] = []
    regions: list[Located | None] = []
    by_contrast: dict[_Contrast, BlockSums] = {}
    few: dict[_Contrast, Message] = {}
    by_search = zip(audit.searches, judged, measured, reasons, figures, strict=True)
    for (search, own, one, why, told), given in zip(by_search, sample.violations, strict=True):
        # What other splits of the sample find is not measured on the rows that the ratio is of.
        given = replace(without_rows(given), spread=None)
        if own is not None:
            by_contrast.setdefault(_contrast(search.key), own[1])
        if own is None or one is None:
            n_rows, where = reading.n_learned, " learned from, "
            if own is not None:
                n_rows, where = reading.measured.n_measured, " measured, "
                few[_contrast(search.key)] = why
                given = Violation(**{name: getattr(given, name) for name in _SAID})
            reason = Message("among the ", Count(n_rows), where, why or given.reason)
            violations.append(replace(given, reason=reason))
            regions.append(None)
            continue
        judge, sums = own
        sweep = Sweep(sums.tally, judge.bins, settings.confidence_level, one.widening.sets[REGION])
        path = sweep.at(path_thresholds(sweep, judge.region.threshold)).recorded()
        profile = _with_totals(given.profile, sums)
        told = part_described(told, search, audit.problem)
        # The rule itself, of rows not learned from.
        told["rule_rows"] = told["rule_subgroup"].n_rows
        violations.append(replace(given, **told, profile=profile, path=path))
        regions.append(located(search, audit.problem.encoder, judge.region))
    _warn_of_few(few, log)
    warn_of_models(violations, measured, log)
    _warn_of_unseen(reading, log)
    return distributed(
        sample,
        asked,
        audit.problem.encoder,
        reading.columns,
        groups=(),
        violations=tuple(violations),
        balance=_balance(sample, by_contrast),
        excluded=_excluded(reading, by_contrast),
        silence=_silence(sample, by_contrast),
        warnings=(*log.records, *sample.warnings),
        provenance=_provenance(reading, asked, started, n_blocks),
        n_samples=reading.survey.n_rows,
        regions=tuple(regions),
    )


# -- whose rows they are


def _by_cluster(sums: BlockSums, panel: Panel) -> BlockSums:
    """Sums of one search with errors that go by cluster, if rows have any."""
    if panel.grouping is None:
        return sums
    rows = sums.search
    search = by_cluster(rows, sums.groups, panel.grouping)
    by_row, squares = (np.array([own.leak.squares for own in one.sets]) for one in (rows, search))
    ratio = np.divide(squares, by_row, out=np.ones(len(SETS)), where=by_row > 0)
    return replace(
        sums,
        search=search,
        tally=tally_by_cluster(sums.tally, rows, search),
        leak_by_model=sums.leak_by_model * np.stack([np.ones(len(SETS)), ratio], axis=-1),
    )


def _too_few_clusters(sums: BlockSums, settings: Settings) -> Message:
    """Say if the clusters measured are too few, or too unequal, to compare; empty if not."""
    rates, fewest = sums.search.plain[EVERYBODY], max(settings.min_group_size, FEWEST_CLUSTERS)
    with np.errstate(invalid="ignore"):
        n = float(np.nan_to_num(rates.weight**2 / rates.clustered[0]).min())
    if not sums.clustered or n >= fewest:
        return Message()
    return Message(
        "one side is worth only ",
        Count(round(n), said=f"{n:.0f}"),
        f" equally large clusters, and at least {fewest} are needed",
    )


def _warn_of_few(few: dict[_Contrast, Message], log: WarningLog) -> None:
    """Say which contrasts have too few clusters among the rows measured."""
    for (feature, group, _), reason in few.items():
        log.warn(
            SmallGroupWarning,
            f"clusters: {feature}={group!r} is not audited: in the rows measured, ",
            *reason.parts,
            ".",
        )


# What a search says of itself, whatever it finds.
_SAID: Final = (
    *("sensitive_feature", "group", "reference", "outcome"),
    *("outcome_text", "group_text", "reference_text", "outcome_scale"),
    *("outcome_type", "measure", "outcome_sd", "per", "harm"),
    *("confidence_level", "membership", "held_out"),
)


# -- what the sample leaves open


def _measured(search: Search, sums: BlockSums, settings: Settings) -> Measured:
    """Sums of one search, and what its figures are widened by: a jackknife over the folds."""
    with np.errstate(invalid="ignore", divide="ignore"):
        each = sums.leak_by_model[..., 0] / np.sqrt(sums.leak_by_model[..., 1])
    n_repeats = 1 + len(search.data.other_folds)
    tests = tuple(math.sqrt(1.0 + jackknife_variance(own, n_repeats)) for own in each.T)
    plain = Measured(
        key=search.key,
        alpha=search.data.alpha,
        sums=sums.search,
        widening=Widening(tests=tests, sets=(1.0,) * len(SETS)),
        hypothesis=search.hypothesis,
        ladder=search.ladder,
        search=Searching(
            learned=int((search.data.folds >= 0).sum()) / max(sums.search.everybody.n_rows, 1),
            spread=tests[SEARCHED],
        ),
        everybody=search.everybody,
        clustered=sums.clustered,
        of=search.data.of,
    )
    spreads = tuple(_spread(plain, sums, place, settings, n_repeats) for place in range(len(SETS)))
    return replace(plain, widening=replace(plain.widening, sets=spreads))


def _spread(
    one: Measured, sums: BlockSums, place: int, settings: Settings, n_repeats: int
) -> float:
    """How much wider intervals in a set are for what the sample leaves open of the models."""
    with np.errstate(invalid="ignore", divide="ignore"):
        weight, hits, predicted = sums.rates_by_model[:, place].transpose(1, 2, 0)
        rates = hits / weight
        if settings.adjusts:
            rates = one.kind.moved(rates, predicted / weight)
    each = one.kind.effect(rates)
    level = settings.confidence_level
    low, high = delta_interval(
        one.sums.sets[place].rates, level, 1.0, one.leftover(place, settings)
    )
    error = (high - low) / (2.0 * ndtri(0.5 + level / 2.0))
    if not (np.isfinite(error) and error > 0):
        return 1.0
    return math.sqrt(1.0 + jackknife_variance(each, n_repeats) / error**2)


def jackknife_variance(values: np.ndarray, n_repeats: int = 1) -> float:
    """Variance over samples of what was computed without each of several parts of one.

    The mean over ``n_repeats`` ways to part it, one after the other in ``values``; of one with fewer
    than two finite values it is 0.
    """
    variances = []
    for own in np.split(values, n_repeats):
        own = own[np.isfinite(own)]
        n = len(own)
        variances.append((n - 1) / n * ((own - own.mean()) ** 2).sum() if n > 1 else 0.0)
    return float(np.mean(variances))


# -- what is said of all rows in the place of the sample


def _contrast(one: SearchKey | Silence) -> _Contrast:
    """Name of a pair compared, whatever the outcome."""
    return one.sensitive_feature, one.group, one.reference


def _balance(
    sample: AuditResult, by_contrast: dict[_Contrast, BlockSums]
) -> dict[tuple[str, Hashable], Any]:
    """Diagnostics of the sample, with the share of all rows that could not be compared."""
    balance = dict(sample.balance)
    for (feature, group, _), sums in by_contrast.items():
        balance[feature, group] = replace(
            balance[feature, group],
            n_outside_support=sum(sums.n_outside),
            share_outside_support=sums.share_outside,
        )
    return balance


def _silence(sample: AuditResult, by_contrast: dict[_Contrast, BlockSums]) -> tuple[Silence, ...]:
    told = []
    for one in sample.silence:
        own = by_contrast[_contrast(one)]
        n_rows, n_group = sum(own.n_outside), own.n_outside[0]
        told.append(replace(one, n_rows=n_rows, n_group=n_group, share=own.share_outside))
    return tuple(told)


def _excluded(reading: Reading, by_contrast: dict[_Contrast, BlockSums]) -> dict[str, int]:
    counts = reading.survey.left_out
    if reading.audit.settings.missing == "exclude":
        for position, name in enumerate(reading.columns.sensitive):
            counts[f"missing sensitive value ({name})"] = reading.survey.counted(position)[None]
    counts[LEARNED_FROM] = reading.n_learned
    counts[OF_THE_LEARNED] = reading.measured.n_learned - reading.n_learned
    for (feature, group, _), sums in by_contrast.items():
        counts[f"{NO_COMPARABLE_ROW} ({feature}={group})"] = sum(sums.n_outside)
    return {reason: count for reason, count in counts.items() if count}


def _warn_of_unseen(reading: Reading, log: WarningLog) -> None:
    if reading.measured.unseen:
        unseen = reading.measured.unseen.items()
        found = listing(
            (Message(f"{name!r} (", Count(count), ")") for name, count in unseen), len(unseen)
        )
        log.warn(
            FeatureWarning,
            "X: some rows have values that the ",
            Count(reading.n_learned),
            " learned from do not have: ",
            found,
            ". New labels are read as the rare ones are, missing numbers as the median. "
            "A larger max_learning_rows tells them apart.",
        )


def _provenance(reading: Reading, asked: Settings, started: float, n_blocks: int) -> dict[str, Any]:
    given = dict(reading.sample.provenance)
    parameters = dict(given["parameters"])
    for name in ("max_learning_rows", "n_repeats", "weight_type", "random_state"):
        parameters[name] = describe_parameter(getattr(asked, name))
    grouping = reading.panel.grouping
    return given | {
        "parameters": parameters,
        "seed": asked.seed,
        "n_samples": reading.survey.n_rows,
        "n_working_rows": reading.measured.n_measured,
        "n_clusters": None if grouping is None else grouping.n_measured,
        "weight_type": reading.panel.weight_type,
        "n_learned_rows": reading.n_learned,
        "n_partitions": n_blocks,
        "timings": {"total": time.perf_counter() - started},
    }


def _with_totals(profile: pd.DataFrame, sums: BlockSums) -> pd.DataFrame:
    """Profile of the sample, its counts and outcome rates those of all rows measured."""
    table, search = profile.copy(), sums.search
    counts = [search.sets[place].counts.sum(axis=1) for place in (EVERYBODY, REGION)]
    table.iloc[0, :4] = np.concatenate(counts).astype(float)
    if not isinstance(search.everybody.rates, Means):  # a table of numbers has no rates
        table.iloc[1, :4] = np.concatenate(
            [search.plain[place].rates for place in (EVERYBODY, REGION)]
        )
    return table
