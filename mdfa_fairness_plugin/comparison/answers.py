"""What the models answered: outcome arrays as given, or asked of fitted models, row by row."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.amounts import (
    NEEDS_NUMBERS,
    per_exposure,
    read_exposure,
    read_numbers,
)
from mdfa_fairness_plugin.data.columns import (
    Labels,
    find_label,
    listing,
    natural_order,
    objects,
    read_labels,
)
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.decisions import read_decisions, refuse_scores
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.data.sensitive import UNNAMED
from mdfa_fairness_plugin.data.spelling import (
    ADVICE,
    MERGED,
    commonest_spellings,
    reading_as,
    respelled,
    told_apart_by,
)
from mdfa_fairness_plugin.data.weights import weight_numbers
from mdfa_fairness_plugin.exceptions import (
    InputError,
    InputTypeError,
    NothingToAuditError,
    WarningLog,
)
from mdfa_fairness_plugin.settings import Settings

_ALL_ALIKE: Final = (
    "outcomes_by_model: every model answers everybody alike, so there is nothing to audit. Pass "
    "outcomes that differ between people."
)
_NO_ROW: Final = "outcomes_by_model: no row has an outcome of every model. Compare fewer models."


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Outcomes of every model in one coding."""

    models: tuple[Hashable, ...]  # names, as the user gave them
    labels: tuple[Hashable, ...]  # every outcome any model gives; none of numbers
    # (n_models, n_samples); position in ``labels``, in the order of the rows of ``X``, or which of all
    # different numbers; -1 in rows where some model gave no outcome.
    codes: np.ndarray
    # (n_samples,); true labels in the same coding, -1 where unknown, or true numbers.
    truth: np.ndarray | None
    pairing: Pairing  # by which other arguments follow
    numbers: np.ndarray | None = None  # (n_models, n_samples); NaN where a code is -1
    weight: np.ndarray | None = None  # (n_samples,); sampling weights times the exposure, if any

    def of(self, model: Hashable) -> np.ndarray:
        """What a model answered, (n_samples,); None or NaN in rows without an outcome."""
        place = self.models.index(model)
        if self.numbers is not None:
            return self.numbers[place]
        return objects([*self.labels, None])[self.codes[place]]

    def constant(self, model: Hashable) -> str:
        """Why a model cannot be audited, if it answers everybody alike."""
        codes = self.codes[self.models.index(model)]
        given = codes[codes >= 0]
        if (given != given[0]).any():
            return ""
        answer = self.of(model)[codes >= 0][0]
        answer = repr(answer) if self.numbers is None else f"{answer:g}"
        return f"every one of the {len(given):,} outcomes is {answer}"

    def aligned(self, given: Any, argument: str) -> Table:
        """One value per row, in the order of the rows of ``X``."""
        vector = read_vector(given, argument)
        check_length(vector, self.codes.shape[1], "X")
        return self.pairing.align(vector)

    @property
    def known_truth(self) -> np.ndarray:
        """Rows whose true label or number is known."""
        assert self.truth is not None
        return self.truth >= 0 if self.numbers is None else ~np.isnan(self.truth)

    @property
    def patterns(self) -> np.ndarray:
        """One label per combination of the models' answers, shape (n_samples,); None for none."""
        _, pattern = np.unique(self.codes, axis=1, return_inverse=True)
        return np.where(self.codes[0] < 0, np.array(None), pattern.reshape(-1).astype(object))


def read_answers(
    outcomes_by_model: Any,
    *,
    X: Any,
    sensitive_features: Any,
    by_row: Mapping[str, Any],
    y_true: Any,
    model_features: Any,
    settings: Settings,
    log: WarningLog,
) -> Answers:
    """Read, align and check the answers of every model."""
    given = _as_mapping(outcomes_by_model)
    table = read_table(X, "X")
    vectors: list[Table] = []
    for name, value in given.items():
        argument = f"outcomes_by_model[{name!r}]"
        if hasattr(value, "predict"):
            frame = _features_of(name, model_features, X)
            value = _predicted(value, frame, sensitive_features, settings.seed, argument)
        vectors.append(read_vector(value, argument))
    if y_true is not None:
        vectors.append(read_vector(y_true, "y_true"))
    pairing = _pairing(table, sensitive_features, by_row, vectors)
    for vector in vectors:
        check_length(vector, table.n_rows, "X")
    arrays = {own.argument: pairing.align(own).array(0) for own in vectors}
    exposed = by_row["exposure"] is not None
    if settings.outcome_type == "numeric":
        numbers = _numbers(tuple(given), arrays, settings.missing_outcome, pairing)
        return _exposed(numbers, by_row, settings) if exposed else numbers
    if exposed:
        raise InputError(NEEDS_NUMBERS)
    true, missing = arrays.pop("y_true", None), settings.missing_outcome
    labels = {name: read_decisions(own, name, missing=missing) for name, own in arrays.items()}
    truth = None if y_true is None else read_labels(true, "y_true").used()  # some may be missing
    if truth is not None:
        refuse_scores(truth.values, "y_true")
    if settings.merge_spellings:
        labels, truth = _merged(labels, truth, log)
    return _coded(tuple(given), labels, truth, settings, pairing)


def _exposed(answers: Answers, by_row: Mapping[str, Any], settings: Settings) -> Answers:
    """Counts per exposure, which rows count by."""
    if settings.weight_type == "frequency":
        raise InputError(
            "exposure: rows count by it, and weight_type='frequency' needs whole rows. Repeat the rows "
            "instead."
        )
    times = answers.aligned(by_row["exposure"], "exposure")
    exposed = read_exposure(times.array(0), times.n_rows)
    numbers, truth = answers.numbers, answers.truth
    assert numbers is not None
    rates = per_exposure(numbers, exposed)
    weight = exposed
    if by_row["sample_weight"] is not None:
        own = answers.aligned(by_row["sample_weight"], "sample_weight")
        weight = weight_numbers(own.array(0)) * exposed
    truth = None if truth is None else truth / exposed
    return replace(answers, numbers=rates, codes=_places(rates), truth=truth, weight=weight)


def _places(numbers: np.ndarray) -> np.ndarray:
    """Which of all different numbers each is, -1 in rows where some model has none."""
    known = ~np.isnan(numbers).any(axis=0)
    codes = np.full(numbers.shape, -1, dtype=np.intp)
    codes[:, known] = np.unique(numbers[:, known], return_inverse=True)[1].reshape(len(codes), -1)
    return codes


def _numbers(
    models: tuple[Hashable, ...], arrays: dict[str, Any], missing: str, pairing: Pairing
) -> Answers:
    """Numbers of every model, and the true ones, which may be missing."""
    read = {
        name: read_numbers(array, name, "exclude" if name == "y_true" else missing)
        for name, array in arrays.items()
    }
    truth = read.pop("y_true", None)
    numbers = np.stack(list(read.values()))
    unknown = np.isnan(numbers).any(axis=0)
    numbers[:, unknown] = np.nan
    if unknown.all():
        raise InputError(_NO_ROW)
    if (np.ptp(numbers[:, ~unknown], axis=1) == 0).all():
        raise NothingToAuditError(_ALL_ALIKE)
    codes = _places(numbers)
    return Answers(
        models=models, labels=(), codes=codes, truth=truth, pairing=pairing, numbers=numbers
    )


def _as_mapping(outcomes_by_model: Any) -> dict[Hashable, Any]:
    if isinstance(outcomes_by_model, pd.DataFrame):
        outcomes_by_model = dict(outcomes_by_model.items())
    if not isinstance(outcomes_by_model, Mapping):
        raise InputTypeError(
            "outcomes_by_model: a mapping of model name to outcomes expected, as in "
            f"{{'A': y_a, 'B': y_b}}; {type(outcomes_by_model).__name__} found."
        )
    if not outcomes_by_model:
        raise InputError("outcomes_by_model: it is empty; pass at least one model's outcomes.")
    return dict(outcomes_by_model)


def _features_of(name: Hashable, model_features: Any, X: Any) -> Any:
    """Table one model predicts on: a plain dictionary holds a table per model."""
    if not isinstance(model_features, Mapping):
        return X if model_features is None else model_features
    if name not in model_features:
        raise InputError(
            f"model_features: it has no table for the model {name!r}; it has "
            f"{listing(list(model_features))}."
        )
    return model_features[name]


def _predicted(model: Any, frame: Any, sensitive_features: Any, seed: int, argument: str) -> Any:
    """Ask a fitted model; some want the sensitive features too, some draw at random."""
    options: dict[str, Any] = {}
    try:
        accepted = inspect.signature(model.predict).parameters
    except (TypeError, ValueError):
        accepted = {}  # type: ignore[assignment]
    if "sensitive_features" in accepted:
        options["sensitive_features"] = sensitive_features
    if "random_state" in accepted:
        options["random_state"] = seed
    try:
        outcome = model.predict(frame, **options)
    except Exception as error:
        raise InputError(
            f"{argument}: its predict failed on the features given "
            f"({type(error).__name__}: {error}). A model that was fitted to other columns than the "
            "audited ones needs its own table in model_features; or pass its outcomes instead."
        ) from error
    outcome = np.asarray(outcome)
    if outcome.ndim == 2 and outcome.shape[1] == 1:
        outcome = outcome[:, 0]
    index = getattr(frame, "index", None)
    if isinstance(index, pd.Index) and outcome.shape == (len(index),):
        return pd.Series(outcome, index=index)
    return outcome


def _pairing(
    X: Table, sensitive_features: Any, by_row: Mapping[str, Any], answers: Iterable[Table]
) -> Pairing:
    """Follow the first index among the arguments, in the order an audit looks for it."""
    pairing = Pairing(WarningLog())
    pairing.lead(X, read_table(sensitive_features, "sensitive_features", column_name=UNNAMED))
    given = {name: value for name, value in by_row.items() if value is not None}
    pairing.lead(*(read_vector(value, name) for name, value in given.items()), *answers)
    return pairing


def _merged(
    labels: dict[str, Labels], truth: Labels | None, log: WarningLog
) -> tuple[dict[str, Labels], Labels | None]:
    """Every model's labels, and the true ones, with one spelling of each word."""
    values = list(dict.fromkeys(value for own in labels.values() for value in own.values))
    distinct = [values[place] for place in natural_order(values)]
    counts: Counter[Hashable] = Counter()
    for own in labels.values():
        counts.update(dict(zip(own.values, own.counts.tolist(), strict=True)))
    spellings = commonest_spellings(distinct, [counts[value] for value in distinct])
    if spellings:
        n_rows = sum(counts[value] for value in spellings)
        said = reading_as(spellings, n_rows)
        log.note(MERGED, "outcomes_by_model: spellings read as one: ", said, ".")
    known = [value for value in distinct if value not in spellings]
    labels = {name: respelled(own, known).used() for name, own in labels.items()}
    return labels, truth if truth is None else respelled(truth, known).used()


def _coded(
    models: tuple[Hashable, ...],
    labels: dict[str, Labels],
    truth: Labels | None,
    settings: Settings,
    pairing: Pairing,
) -> Answers:
    """Bring every model's labels into one coding."""
    values: list[Hashable] = []
    for own in labels.values():
        values += [value for value in own.values if find_label(value, values) is None]
    values = [values[place] for place in natural_order(values)]
    # Models of two outcomes each that have more together do not mean the same by them.
    coded = len(values) > 2 and all(len(own.values) <= 2 for own in labels.values())
    difference, apart = told_apart_by(values)
    several = settings.outcome_type == "multiclass" or settings.ordered is not None
    named = several or settings.outcomes is not None
    if len(values) > 2 and (not named or (coded and not several) or apart):
        each = "; ".join(f"{argument}: {listing(own.values)}" for argument, own in labels.items())
        advice = ", or name the ones to audit in outcomes; of more say outcome_type='multiclass', "
        advice += "of numbers outcome_type='numeric'"
        advice = "" if coded or apart else advice
        raise InputError(
            f"outcomes_by_model: {len(values)} different outcomes were found, and a comparison needs "
            f"the same two from every model ({each})."
            + (f" Some differ only in {difference}: {apart}. {ADVICE}" if apart else "")
            + f" Recode them alike{advice}."
        )
    if all(len(own.values) == 1 for own in labels.values()):
        raise NothingToAuditError(_ALL_ALIKE)
    codes = np.stack([_recoded(own, values) for own in labels.values()])
    codes[:, (codes < 0).any(axis=0)] = -1
    if not (codes >= 0).any():
        raise InputError(_NO_ROW)
    true = None
    if truth is not None:
        strange = [value for value in truth.values if find_label(value, values) is None]
        if strange:
            raise InputError(
                f"y_true: its labels {listing(truth.values)} are not those of the models, "
                f"{listing(values)}. Recode them alike."
            )
        true = _recoded(truth, values)
    return Answers(models=models, labels=tuple(values), codes=codes, truth=true, pairing=pairing)


def _recoded(labels: Labels, values: list[Hashable]) -> np.ndarray:
    places = [find_label(value, values) for value in labels.values]
    return np.array([*places, -1], dtype=np.intp)[labels.codes]
