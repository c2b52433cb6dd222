"""Prepare: folds, grounds and sides; one search per contrast and outcome."""

from __future__ import annotations

import itertools
import logging
import operator
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance.support import MANY_OUTSIDE, effective_sample_size
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.contrasts import FEWEST_CLUSTERS, Contrast
from mdfa_fairness_plugin.data.given import OUTCOME, PROPENSITY
from mdfa_fairness_plugin.data.leaks import Answer, best_teller
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import (
    Count,
    LeakWarning,
    Message,
    OverlapError,
    OverlapWarning,
    WarningLog,
    WeightWarning,
)
from mdfa_fairness_plugin.learn.given import GivenProbability
from mdfa_fairness_plugin.measure.power import FEWEST_HITS
from mdfa_fairness_plugin.measure.splitting import HELD_BACK, draw_folds, draw_holdout, draw_sample
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.search.compared import Compared
from mdfa_fairness_plugin.search.ground import Ground, Side, orientation
from mdfa_fairness_plugin.search.outcomes import Outcome, outcomes_of
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings, alpha_of_people

logger = logging.getLogger(__name__)


def prepare(
    problem: AuditProblem,
    settings: Settings,
    log: WarningLog,
    parts: tuple[int, ...],
    *,
    ladder: bool = True,
) -> Iterator[list[Search]]:
    """One search per contrast and outcome, ready to be solved; those on one ground together."""
    outcomes = outcomes_of(problem)
    looked_at: set[GivenProbability] = set()
    each = _prepared(problem, outcomes, settings, log, parts, ladder)
    for _, own in itertools.groupby(each, key=operator.itemgetter(0)):
        searches = [search for _, searches in own for search in searches]
        warn_of_seen(searches, outcomes, log, looked_at)
        yield searches


def _prepared(
    problem: AuditProblem,
    outcomes: Sequence[Outcome],
    settings: Settings,
    log: WarningLog,
    parts: tuple[int, ...],
    ladder: bool,
) -> Iterator[tuple[Ground | None, list[Search]]]:
    """Searches of every contrast, and the ground they are made on, if there is one."""
    refused: list[OverlapError] = []
    last = None
    for contrasts in by_column(problem.contrasts):
        folds = audit_folds(problem, contrasts, settings)
        grounds = Grounds(problem, contrasts, folds, parts, settings, ladder=ladder)
        for contrast in contrasts:
            reason = contrast.reason or too_few_weighted(contrast, problem, settings, log)
            ground = side = None
            if not reason:
                say(settings, "comparing %s=%s", contrast.sensitive_feature, contrast.group)
                found = grounds.of(contrast)
                if isinstance(found, OverlapError):
                    if settings.overlap == "refuse":
                        raise found
                    reason = found.reason
                    refused.append(found)
                else:
                    ground = found
                    if ground is not last:
                        warn_of_outside(contrast, ground, problem, log)
                        last = ground
                    side = side_of(contrast, ground, log)
            yield ground, searches_of(contrast, outcomes, side, reason)
        note_missed(grounds, log)
    if refused and last is None:
        raise refused[0]


def by_column(contrasts: Sequence[Contrast]) -> Iterator[list[Contrast]]:
    """Contrasts of each sensitive column."""
    for _, own in itertools.groupby(contrasts, key=lambda contrast: contrast.sensitive_feature):
        yield list(own)


def audit_folds(
    problem: AuditProblem, contrasts: Sequence[Contrast], settings: Settings
) -> np.ndarray:
    """Folds of the working rows in every repeat, shape (n_repeats, n).

    Even within every sensitive value and outcome; units stay whole. All repeats learn from the same
    rows.
    """
    unit = problem.unit
    rng = np.random.default_rng(settings.seeds["folds"])
    strata = value_of(problem, contrasts) * (len(problem.outcome_labels) or 2) + problem.stratum
    learning = np.ones(problem.n_rows, dtype=bool)
    if settings.evaluation == "holdout":
        learning = ~draw_holdout(strata, rng, unit)
    most = settings.max_learning_rows
    if most is not None and learning.sum() > most:
        rows = np.flatnonzero(learning)
        learning = np.zeros(problem.n_rows, dtype=bool)
        own = None if unit is None else unit[rows]
        learning[rows[draw_sample(strata[rows], most, rng, own)]] = True
    return np.array(
        [
            folds_of(learning, strata, settings.n_splits, rng, unit)
            for _ in range(settings.repeats_for(problem.n_rows))
        ]
    )


def value_of(problem: AuditProblem, contrasts: Sequence[Contrast]) -> np.ndarray:
    """Number of the contrast whose group each row is in; 0 for none."""
    value = np.zeros(problem.n_rows, dtype=np.intp)
    for number, contrast in enumerate(contrasts, start=1):
        value[contrast.s > 0] = number
    return value


def folds_of(
    learning: np.ndarray,
    strata: np.ndarray,
    n_splits: int,
    rng: np.random.Generator,
    unit: np.ndarray | None = None,
) -> np.ndarray:
    """Folds of the rows that are learned from, the others held back."""
    folds = np.full(len(learning), HELD_BACK, dtype=np.int32)
    own = None if unit is None else unit[learning]
    folds[learning] = draw_folds(strata[learning], n_splits, rng, own)
    return folds


def judged_parts(n_rows: int, settings: Settings) -> tuple[int, ...]:
    """Folds that are measured, and the rows no model learns from."""
    if settings.evaluation == "holdout":
        return (HELD_BACK,)
    folds = tuple(range(settings.n_splits))
    most = settings.max_learning_rows
    return (*folds, HELD_BACK) if most is not None and n_rows > most else folds


@dataclass(eq=False, repr=False)
class Grounds:
    """The grounds of one sensitive column, each made once for both of its directions."""

    problem: AuditProblem
    contrasts: Sequence[Contrast]
    folds: np.ndarray
    parts: tuple[int, ...]
    settings: Settings
    ladder: bool = True  # whether models come with lesser ones
    _compared: dict[Hashable, Compared] = field(default_factory=dict)
    _grounds: dict[Hashable, Ground | OverlapError] = field(default_factory=dict)

    def of(self, contrast: Contrast, inside: np.ndarray | None = None) -> Ground | OverlapError:
        """Ground of a pair, or why there is none.

        A pair are two values, or one value and everybody else. ``inside`` are the working rows with
        common support, where these are known.
        """
        pair: Hashable = None
        if contrast.reference is not None:
            pair = frozenset({contrast.group, contrast.reference})
        name = self.contrasts[0].sensitive_feature
        column = next(own for own in self.problem.sensitive if own.name == name)
        own = contrast.group if pair is None and len(column.labels.values) != 2 else pair
        if own not in self._grounds:
            if pair not in self._compared:
                self._compared[pair] = Compared(
                    self.problem, contrast.rows, self.folds, self.settings, self.ladder
                )
            try:
                sign = orientation(contrast.s)
                given = self.problem.given_propensity(contrast)
                if given is not None and sign < 0:
                    given = 1.0 - given
                s, quantity = sign * contrast.s, contrast.quantity
                quantity = None if quantity is None else sign * quantity
                outcomes = outcomes_of(self.problem)
                self._grounds[own] = Ground(
                    self._compared[pair], s, self.parts, outcomes, given, inside, quantity
                )
            except OverlapError as error:
                told = _told_by_one(contrast, self.problem, refused=True)
                self._grounds[own] = OverlapError(Message(error.args[0], *told))
        return self._grounds[own]

    @property
    def told(self) -> list[str]:
        """What models of any ground were told besides the features."""
        made = (one for one in self._grounds.values() if isinstance(one, Ground))
        return list(dict.fromkeys(cells.said for one in made for cells in one.cells))


def side_of(contrast: Contrast, ground: Ground, log: WarningLog) -> Side:
    """The side of its ground that a contrast looks from."""
    return Side(ground, orientation(contrast.s) < 0, log)


def warn_of_outside(
    contrast: Contrast, ground: Ground, problem: AuditProblem, log: WarningLog
) -> None:
    """Say if many rows of a ground have no counterpart."""
    share = ground.support.share_outside
    if share >= MANY_OUTSIDE:
        n, of = len(ground.outside), len(ground.compared.rows)
        log.warn(
            OverlapWarning,
            f"{contrast.sensitive_feature}: ",
            Count(n, of=of, said=f"{n} of {of} rows ({100 * share:.0f} %)"),
            " have no comparable row on the "
            f"other side of {contrast.sensitive_feature}={contrast.group!r} and were left out of "
            "the search; this audit cannot speak about them.",
            *_told_by_one(contrast, problem),
        )


def note_missed(grounds: Grounds, log: WarningLog) -> None:
    """Say what models were told besides the features."""
    if grounds.told:
        log.note(
            "ToldToModels",
            "Models of the features had missed how the outcome and "
            f"{grounds.contrasts[0].sensitive_feature} both go with ",
            listing(map(Message, grounds.told)),
            ". They were told, and fitted again.",
        )


def _told_by_one(
    contrast: Contrast, problem: AuditProblem, *, refused: bool = False
) -> tuple[str | Count, ...]:
    """Which feature tells most of a group from others; if not refused only one that tells it alone."""
    rows, answer = np.flatnonzero(contrast.rows), problem.answer(contrast.s > 0)
    name, share = best_teller(problem.display, rows, answer, however_badly=refused)
    if not name:
        return ()
    of, guess = len(rows), 1.0 - answer.take(rows).rarer
    told = Count(round(share * of), of=of, said=f"{100 * share:.0f} % of the rows")
    guessed = Count(round(guess * of), of=of, said=f"{100 * guess:.0f} %")
    return f" The feature {name!r} alone tells the side of ", told, " (a guess ", guessed, ")."


def searches_of(
    contrast: Contrast, outcomes: Sequence[Outcome], side: Side | None, reason: str
) -> list[Search]:
    """Searches of one contrast, ready to be solved, or the reason why there are none."""
    searches = []
    for outcome in outcomes:
        key = SearchKey(
            sensitive_feature=contrast.sensitive_feature,
            group=contrast.group,
            reference=contrast.reference,
            outcome=outcome.label,
        )
        if side is None:
            searches.append(Search(key=key, reason=reason, scale=outcome.scale))
        else:
            searches.append(Search(key=key, side=side, data=side.facing(outcome)))
    return searches


def warn_of_seen(
    searches: Sequence[Search],
    outcomes: Sequence[Outcome],
    log: WarningLog,
    looked_at: set[GivenProbability],
) -> None:
    """Say which of the user's probabilities seem to come from models that have seen the answers."""
    for search in (one for one in searches if one.made):
        ground, key = search.side.ground, search.key
        compared = ground.compared
        outcome = next(one for one in outcomes if one.label == key.outcome)
        group = f"who has {key.sensitive_feature}={key.group!r}"
        of_yes = outcome.yes_no or outcome
        few_of_means = None if of_yes.whole else alpha_of_people(compared.settings)
        answer, modelled = f"the outcome {key.outcome!r}", of_yes.modelled[compared.rows]
        for argument, told, model, value, few in (
            (PROPENSITY, group, ground.fitted_propensity, ground.compared_s > 0, None),
            (
                OUTCOME,
                answer,
                compared.outcome_model(outcome, ground.cells),
                modelled,
                few_of_means,
            ),
        ):
            if not isinstance(model, GivenProbability) or model in looked_at:
                continue
            looked_at.add(model)
            few = Answer(value, compared.base).few if few is None else few
            if model.has_seen(value, compared.base, few):
                log.warn(
                    LeakWarning,
                    f"{argument}: the probabilities given tell {told} far better than models of the "
                    "features do that have not seen a row, as they do if they were fitted to these "
                    "very rows. Then a violation is hidden. Pass every row's probability by a model "
                    "fitted without it, or the estimator itself.",
                )


def too_few_weighted(
    contrast: Contrast, problem: AuditProblem, settings: Settings, log: WarningLog
) -> str:
    """Say if a few heavy sampling weights or clusters leave too little to compare; empty if not."""
    weights, cluster, fewest = problem.sample_weight, problem.cluster, settings.min_group_size
    known = contrast.s != 0
    if contrast.quantity is not None:  # so far off that all others hardly weigh
        dose = weights[known] * contrast.quantity[known] ** 2
        if (n := effective_sample_size(dose)) < FEWEST_HITS:
            return (
                "a few values are so far from all others that a slope rests on what "
                f"{n:.1f} people have, and at least {FEWEST_HITS} are needed; groups can be compared"
            )
    if cluster is None and np.ptp(weights[known]) == 0:
        return ""
    if problem.probability is not None:
        expected = min(problem.probability[contrast.s == side].sum() for side in (1, -1))
        if expected < fewest:
            return (
                f"its probabilities add up to only {expected:.0f} people on one side, and at least "
                f"{fewest} are needed"
            )
    cause = ("its sampling weights are so unequal", "equally weighted rows", "sample_weight")
    sizes = []
    for side in (contrast.s == 1, contrast.s == -1):
        own = weights[side]
        if cluster is not None:
            cause = ("its clusters are so unequal", "equally large clusters", "clusters")
            own = np.bincount(cluster[side], own)
            fewest = max(fewest, FEWEST_CLUSTERS)
        sizes.append(effective_sample_size(own))
    if min(sizes) >= fewest:
        return ""
    reason = (
        f"{cause[0]} that one side is worth only {min(sizes):.0f} {cause[1]}, and at least {fewest} "
        "are needed"
    )
    log.warn(
        WeightWarning,
        f"{cause[2]}: {contrast.sensitive_feature}={contrast.group!r} is not audited: {reason}.",
    )
    return reason


def say(settings: Settings, message: str, *arguments: Any, share: float | None = None) -> None:
    """Tell how far the audit is, if asked to, and the share of its work that is done."""
    level = logging.INFO if settings.verbose else logging.DEBUG
    logger.log(level, message, *arguments, extra={"share": share})
