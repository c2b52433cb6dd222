"""Every argument of an audit, with its default and its checks, in one place."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeGuard, get_args, get_origin, get_type_hints

import numpy as np

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records.statement import checked_statement

Evaluation = Literal["cross_fit", "holdout"]
Estimator = Literal["hajek", "raw", "unweighted", "doubly_robust"]
Overlap = Literal["trim", "refuse"]
WeightType = Literal["sampling", "frequency", "auto"]
Missing = Literal["exclude", "category", "raise"]
MissingOutcome = Literal["raise", "exclude"]
OutcomeType = Literal["auto", "binary", "multiclass", "numeric"]
Measure = Literal["auto", "difference", "ratio"]
SensitiveType = Literal["auto", "numeric"]

# What says something of groups alone, and what it has to be of a quantity.
_OF_GROUPS: dict[str, tuple[Any, ...]] = {
    "groups": (None,),
    "reference_group": (None,),
    "intersections": (False,),
    "missing": ("exclude", "raise"),
    "balance": ("auto", "overlap"),
    "estimator": ("doubly_robust",),
    "solver": ("auto", "orthogonal"),
    "measure": ("auto", "difference"),
    "propensity": (None,),
}
# What draws at random, each with a seed of its own.
STAGES = ("folds", "propensity", "outcome", "learner", "balance", "test")
AUTO = "auto"
# Smallest subgroups worth reporting, where none are asked for: a tenth of those who have the outcome,
# and the paper's share of all people, which is the same where every second one has it.
_SHARE_OF_OUTCOME = 0.1
ALPHA_IN_PAPER = 0.05
# A rate a twentieth higher: what black boxes that are rules of the features leave at most, once the
# models' part is allowed for, and far below what any rule of practice asks about (four fifths: 1.25).
_LEAST_RATIO = 1.05
# The same of a number, in its standard deviations: as much as that ratio is at a rate of one half.
_LEAST_DEVIATIONS = 0.05
# Cross-fitting is repeated this often where few rows make it cheap, and less where all repeats together
# would learn from more rows than any audit does by default.
_MOST_REPEATS = 3
_ROWS_OF_REPEATS = 50_000
# Of no consequence for what is found.
_OF_THE_RUN = ("n_jobs", "verbose", "statement", "feature_reasons")
# What is no argument.
_DRAWN = ("seed", "own_seeds")


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """Arguments of an audit, as ``MDFAuditor`` describes them, and the seed drawn for it."""

    alpha: float | str = AUTO
    outcomes: Any = None
    groups: Any = None
    reference_group: Any = None
    missing: Missing = "exclude"
    balance: Any = "auto"
    learner: Any = "auto"
    solver: str = "auto"
    evaluation: Evaluation = "cross_fit"
    n_splits: int = 5
    n_repeats: int | str = AUTO
    confidence_level: float = 0.95
    device: str | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    estimator: Estimator = "doubly_robust"
    min_ratio: float | str = AUTO
    xi: float = 0.1
    max_iter: int = 500
    representation: Literal["raw", "phi"] = "raw"
    complexity: Literal["fixed", "cross_validated"] = "fixed"
    overlap: Overlap = "trim"
    weight_type: str = "sampling"
    intersections: bool = False
    min_group_size: int = 30
    max_learning_rows: int | None = 50_000
    decision_inputs: Any = None
    propensity: Any = None
    outcome_probability: Any = None
    missing_outcome: MissingOutcome = "raise"
    merge_spellings: bool = False
    favorable_label: Any = None
    outcome_name: str | None = None
    outcome_names: Any = None
    group_names: Any = None
    statement: Any = None
    feature_reasons: Any = None
    outcome_type: OutcomeType = "auto"
    ordered: Any = None
    measure: Measure = "auto"
    favorable: str | None = None
    robust: float | str | None = None
    min_difference: float | str = AUTO
    sensitive_type: SensitiveType = "auto"
    per: float | None = None
    seed: int = 0
    own_seeds: Mapping[str, int] | None = None  # of the stages, where they do not follow from one

    @classmethod
    def names(cls) -> list[str]:
        """Names of the arguments."""
        return sorted(field.name for field in fields(cls) if field.name not in _DRAWN)

    @classmethod
    def checked(cls, **params: Any) -> Settings:
        """Arguments that data could be audited with; registered names are checked by ``pipeline``."""
        settings = cls(**params)
        for name, kind in get_type_hints(cls).items():
            if get_origin(kind) is Literal:
                check_choice(name, getattr(settings, name), get_args(kind))
        if not _is_auto(settings.alpha):
            check_share("alpha", settings.alpha, or_else="'auto' or ")
        check_share("confidence_level", settings.confidence_level)
        check_choice("weight_type", settings.weight_type, get_args(WeightType))
        if settings.weight_type == "auto":
            warnings.warn(
                "weight_type='auto' means 'sampling' and will be refused one day; pass 'sampling', or "
                "'frequency' if each weight counts rows that were seen.",
                FutureWarning,
                stacklevel=2,
            )
            settings = replace(settings, weight_type="sampling")
        for name in ("merge_spellings", "intersections"):
            check_choice(name, getattr(settings, name), (True, False))
        settings._check_numbers()
        if not _is_auto(settings.min_ratio):
            check_least("min_ratio", settings.min_ratio, 1, or_else="'auto' or ")
        check_whole("n_splits", settings.n_splits, 2)
        if not _is_auto(settings.n_repeats):
            check_whole("n_repeats", settings.n_repeats, 1, or_else="'auto' or ")
        check_whole("max_iter", settings.max_iter, 1)
        # Rates of fewer rows have no interval worth the name.
        check_whole("min_group_size", settings.min_group_size, 10)
        if settings.max_learning_rows is not None:
            check_whole("max_learning_rows", settings.max_learning_rows, 100)
        check_jobs(settings.n_jobs)
        if not (isinstance(settings.xi, numbers.Real) and 0 < float(settings.xi) < np.inf):
            raise InputError(f"xi: a positive number expected, {settings.xi!r} found.")
        return replace(settings, statement=checked_statement(settings.statement) or None)

    def _check_numbers(self) -> None:
        """Refuse what outcomes that are numbers could not be audited with."""
        check_choice("favorable", self.favorable, (None, "high", "low"))
        if self.per is not None:
            if not is_number(self.per) or not 0.0 < float(self.per) < np.inf:
                raise InputError(
                    f"per: a positive number, of the sensitive quantity, expected, {self.per!r} found."
                )
            if self.sensitive_type != "numeric":
                raise InputError(
                    "per: it says how much more of a sensitive quantity an outcome is told for; say "
                    "sensitive_type='numeric', too, or leave it out."
                )
        for name, known in _OF_GROUPS.items() if self.sensitive_type == "numeric" else ():
            own = getattr(self, name)
            if not any(own is one or (isinstance(own, str) and own == one) for one in known):
                raise InputError(
                    f"{name}: sensitive_type='numeric' compares a quantity, and it was given as for "
                    "groups. Leave it out, or make groups with mdfa_fairness_plugin.to_groups."
                )
        share = is_number(self.robust) and 0.0 < float(self.robust) < 0.5
        if not (share or is_choice(self.robust, (None, "rank"))):
            raise InputError(
                "robust: None, 'rank' or a share between 0 and .5 of the rows to move in at either "
                f"end expected, {shown(self.robust)} found."
            )
        if not _is_auto(self.min_difference):
            what = ", in units of y,"
            check_least("min_difference", self.min_difference, 0, or_else="'auto' or ", what=what)
        if self.ordered is not None and self.outcome_type in ("binary", "numeric"):
            raise InputError(
                f"ordered: an order of labels, but outcome_type={self.outcome_type!r} was given. Leave "
                "one of them out."
            )
        if self.ordered is not None and self.measure == "ratio":
            raise InputError("measure: steps of an order have no ratio; leave it out.")
        if self.outcome_type == "numeric" and self.favorable_label is not None:
            raise InputError(
                "favorable_label: numbers have no label. Say favorable='high' or 'low' instead."
            )
        if self.outcome_type == "numeric" and self.estimator == "raw":
            raise InputError(
                "estimator: 'raw' counts outcomes, as Algorithm 1 does; numbers have none. Use "
                "'doubly_robust', 'hajek' or 'unweighted'."
            )

    def reseeded(self, seed: int) -> Settings:
        """The same arguments with another seed."""
        return replace(self, seed=seed)

    @cached_property
    def seeds(self) -> Mapping[str, int]:
        """Seed of every stage."""
        if self.own_seeds is not None:
            return self.own_seeds
        children = np.random.SeedSequence(self.seed).spawn(len(STAGES))
        return stage_seeds([child.generate_state(1)[0] for child in children])

    def repeats_for(self, n_rows: int) -> int:
        """How often cross-fitting is repeated for so many rows, each time with other folds."""
        if isinstance(self.n_repeats, str):
            if self.evaluation == "holdout" or self.solver != "orthogonal":
                return 1
            return min(max(_ROWS_OF_REPEATS // max(n_rows, 1), 1), _MOST_REPEATS)
        return int(self.n_repeats)

    def repeated_seeds(self, stage: str, n_repeats: int) -> tuple[int, ...]:
        """Seeds of a stage for every repeat, the first its own."""
        drawn = np.random.SeedSequence(self.seeds[stage]).generate_state(n_repeats)
        return (self.seeds[stage], *(int(word >> 1) for word in drawn[1:]))

    @property
    def balances(self) -> bool:
        """Whether the weights aim to make the features of both sides alike."""
        return not (isinstance(self.balance, str) and self.balance == "none")

    @property
    def weighs_by_row(self) -> bool:
        """Whether weights were given row by row."""
        return not (isinstance(self.balance, str) or hasattr(self.balance, "fit"))

    @property
    def adjusts(self) -> bool:
        """Whether rates are those at the same features, whatever the weights leave of imbalance."""
        return self.balances and self.estimator == "doubly_robust"

    @property
    def least_ratio(self) -> float:
        """Smallest ratio that is called a violation."""
        return _LEAST_RATIO if isinstance(self.min_ratio, str) else float(self.min_ratio)

    def least_difference(self, unit: float) -> float:
        """Smallest difference that is called a violation, in units of that many of the outcome's."""
        auto = isinstance(self.min_difference, str)
        return _LEAST_DEVIATIONS if auto else float(self.min_difference) / unit

    @property
    def parameters(self) -> dict[str, Any]:
        """Arguments that decide what is found, by name."""
        return {name: getattr(self, name) for name in self.names() if name not in _OF_THE_RUN}


def alpha_for(settings: Settings, rate: float) -> float:
    """Smallest mass ``Pr_w[Y = y, x in G]`` of a subgroup, for an outcome of this rate."""
    if isinstance(settings.alpha, str):
        return min(_SHARE_OF_OUTCOME * rate, ALPHA_IN_PAPER)
    return float(settings.alpha)


def alpha_of_people(settings: Settings) -> float:
    """Smallest share of the people in a subgroup, for an outcome that is a number."""
    return ALPHA_IN_PAPER if isinstance(settings.alpha, str) else float(settings.alpha)


def refuse_unknown(
    caller: str, params: Mapping[str, Any], known: list[str], *, first: str = ""
) -> None:
    """Refuse arguments that nothing is called by; ``first`` lists the caller's own."""
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise InputError(
            f"{caller}: unknown argument(s) {', '.join(unknown)}; those known are "
            f"{first}{', '.join(sorted(known))}."
        )


def stage_seeds(words: Any) -> dict[str, int]:
    """Seed of every stage, from one random word each."""
    return {stage: int(word >> 1) for stage, word in zip(STAGES, words, strict=True)}


def draw_seed(random_state: Any) -> int:
    """Seed of the whole audit: the integer given, or drawn from a generator; 0 if none was."""
    if random_state is None:
        return 0
    if is_whole(random_state):
        if random_state < 0:
            raise InputError(f"random_state: a non-negative seed expected, {random_state} found.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InputError(
        "random_state: an integer, a numpy Generator, a RandomState or None expected, "
        f"{type(random_state).__name__} found."
    )


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, and no truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def above(name: str, value: Any, limit: int) -> float:
    """A finite number above a limit; anything else is refused."""
    if not is_number(value) or not limit < float(value) < np.inf:
        raise InputError(f"{name}: a finite number above {limit} expected, {value!r} found.")
    return float(value)


def check_least(name: str, value: Any, least: float, *, or_else: str = "", what: str = "") -> None:
    """Refuse what is no finite number of at least ``least``."""
    if not is_number(value) or not least <= float(value) < np.inf:
        raise InputError(
            f"{name}: {or_else}a number of at least {least}{what} expected, {value!r} found."
        )


def check_share(name: str, value: Any, *, or_else: str = "") -> None:
    """Refuse what is no number strictly between 0 and 1."""
    if not is_number(value) or not 0.0 < float(value) < 1.0:
        raise InputError(f"{name}: {or_else}a number between 0 and 1 expected, {value!r} found.")


def check_whole(name: str, value: Any, least: int, *, or_else: str = "") -> None:
    """Refuse what is no whole number of at least ``least``."""
    if not is_whole(value) or value < least:
        raise InputError(
            f"{name}: {or_else}a whole number of at least {least} expected, {value!r} found."
        )


def check_jobs(n_jobs: Any) -> None:
    """Refuse what is no number of processors."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(
            f"n_jobs: a whole number other than 0, or None, expected; {n_jobs!r} found."
        )


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse what is none of the choices."""
    if not is_choice(value, choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name}: one of {listed} expected, {shown(value)} found.")


def is_choice(value: Any, choices: Container[Any]) -> bool:
    """Whether a value is one of the choices; arrays and lists are none, whatever they hold."""
    return (value is None or np.isscalar(value)) and value in choices


def shown(value: Any) -> str:
    """A value as an error shows it; of arrays and tables, which take many lines, the type."""
    several = hasattr(value, "__array__") and not np.isscalar(value)
    return type(value).__name__ if several else repr(value)
