r"""What balances: the protocol, the methods by name, and weights from one of them (Section 3.2).

A new method is a class and its line in ``BALANCERS``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mdfa_fairness_plugin.balance.entropy import EntropyBalancing
from mdfa_fairness_plugin.balance.kernel_matching import KernelMeanMatching
from mdfa_fairness_plugin.balance.network import MMDNetwork
from mdfa_fairness_plugin.exceptions import BalanceWarning, InputError, WarningLog
from mdfa_fairness_plugin.learn.probability import PROBABILITY_FLOOR
from mdfa_fairness_plugin.numerics.basis import as_weights
from mdfa_fairness_plugin.numerics.rows import RowView


class Balancer(Protocol):
    """Makes the features of two sides alike."""

    from_propensity: bool  # the weights follow from the propensity, features are not looked at
    symmetric: bool  # seen from the other side, the weights of rows are the same

    def fit(
        self, X: np.ndarray, s: np.ndarray, sample_weight: np.ndarray, propensity: np.ndarray
    ) -> Any:
        """Learn the weights of rows whose side is known."""

    def weights(self, X: np.ndarray, s: np.ndarray, propensity: np.ndarray) -> np.ndarray:
        """Weights of any rows, also of those whose side is only assumed."""


class ClosedForm:
    """Weights that are a function of side and propensity."""

    from_propensity = True

    def __init__(
        self, formula: Callable[[np.ndarray, np.ndarray], np.ndarray], *, symmetric: bool
    ) -> None:
        self.formula = formula
        self.symmetric = symmetric

    def fit(self, X, s, sample_weight, propensity):
        """Nothing to learn."""
        return self

    def weights(self, X, s, propensity):
        """Weights of these rows, by the formula."""
        return self.formula(propensity, s)


class FromFeatures:
    """One of our objects with ``fit(X, s, sample_weight)`` and ``weights(X, s)``."""

    from_propensity = False
    symmetric = False

    def __init__(self, balancer: Any) -> None:
        self.balancer = balancer

    def fit(self, X, s, sample_weight, propensity):
        """Fit the object."""
        self.balancer.fit(X, s, sample_weight)
        return self

    def weights(self, X, s, propensity):
        """Weights of these rows."""
        return self.balancer.weights(X, s)


class FromNetwork(FromFeatures):
    """An MMD network fitted to some of the rows; weights of the others are predicted."""

    def __init__(self, method: Any, learn: np.ndarray, seed: int, device: str | None) -> None:
        super().__init__(make_network(method, seed, device))
        self.name = method if isinstance(method, str) else type(method).__name__
        self.learn = learn

    def fit(self, X, s, sample_weight, propensity):
        """Fit the network."""
        learn = self.learn
        self.balancer.fit(X[learn], s[learn], sample_weight[learn])
        return self


class Foreign(FromFeatures):
    """A user's object, given copies: what it writes must not reach the audit's own arrays."""

    def fit(self, X, s, sample_weight, propensity):
        """Fit the object."""
        self.balancer = self.balancer.fit(X.copy(), s.copy(), sample_weight.copy())
        return self

    def weights(self, X, s, propensity):
        """Weights of these rows, checked."""
        if len(s) == 0:
            return np.zeros(0)
        return checked_weights(self.balancer.weights(np.array(X), s.copy()), len(s))


def odds_weights(propensity: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Section 3.2's weights: ``(1 - e) / e`` where S = +1, 1 where S = -1."""
    with np.errstate(divide="ignore"):
        return np.where(s > 0, (1.0 - propensity) / propensity, 1.0)


def overlap_weights(propensity: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Overlap weights: ``1 - e`` where S = +1, ``e`` where S = -1.

    Both groups are weighted towards where they meet, so no weight exceeds one (Li, Morgan and
    Zaslavsky 2018).
    """
    return np.where(s > 0, 1.0 - propensity, propensity)


def unweighted(propensity: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Weights of one."""
    return np.ones(len(s))


def is_network(method: Any) -> bool:
    """Whether a method is the MMD network, which also has features to give."""
    return isinstance(method, MMDNetwork) or (isinstance(method, str) and method == "mmd_network")


def make_network(method: Any, seed: int, device: str | None) -> MMDNetwork:
    """Unfitted network with the settings of the one given, if one is; the audit's where it has none."""
    network = copy.deepcopy(method) if isinstance(method, MMDNetwork) else MMDNetwork()
    network.random_state = seed if network.random_state is None else network.random_state
    network.device = device if network.device is None else network.device
    return network


# Name to ``(seed, device) -> Balancer``.
BALANCERS: dict[str, Callable[[int, str | None], Balancer]] = {
    "mmd_network": lambda seed, device: FromFeatures(make_network(None, seed, device)),
    "kernel_matching": lambda seed, device: FromFeatures(KernelMeanMatching(max_weight=10.0)),
    "entropy": lambda seed, device: FromFeatures(EntropyBalancing(random_state=seed)),
    "propensity": lambda seed, device: ClosedForm(odds_weights, symmetric=False),
    "overlap": lambda seed, device: ClosedForm(overlap_weights, symmetric=True),
    "none": lambda seed, device: ClosedForm(unweighted, symmetric=True),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighing:
    """Weights of the rows balanced, without sampling weights, and what gives those of others."""

    method: str
    weights: np.ndarray
    balancer: Balancer | None = None  # None: the weights were given, row by row
    given: np.ndarray | None = None  # of all working rows

    @property
    def symmetric(self) -> bool:
        """Whether rows have the same weights seen from the other side."""
        return self.balancer is None or self.balancer.symmetric

    def weights_by(self, propensity: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Weights of the rows balanced if they had another propensity."""
        if self.balancer is None or not self.balancer.from_propensity:
            return self.weights
        propensity = np.clip(propensity, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
        return self.balancer.weights(np.empty((len(s), 0)), s, propensity)

    def weights_of(
        self, X: np.ndarray, s: np.ndarray, propensity: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Weights of working rows whose side is assumed."""
        if self.balancer is not None:
            return self.balancer.weights(X, s, propensity)
        assert self.given is not None
        return self.given[rows]


def weigh(
    X: RowView | np.ndarray,
    s: np.ndarray,
    method: Any,
    *,
    propensity: np.ndarray,
    sample_weight: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    random_state: Any = None,
    device: str | None = None,
    log: WarningLog | None = None,
) -> Weighing:
    """Weigh rows by a method's name, a user's object or weights given for all working rows.

    ``X`` is read only by methods that look at features; ``rows`` are the rows' places in given
    weights, None for all of them.
    """
    if not ((s > 0).any() and (s < 0).any()):
        raise InputError("sensitive_features: balancing needs rows of both groups.")
    base = as_weights(sample_weight, len(s))
    if not isinstance(method, str) and not hasattr(method, "fit"):
        own = method if rows is None else np.asarray(method)[rows]
        weights = _of_both(checked_weights(own, len(s)), s)
        return Weighing(method="given", weights=weights, given=np.asarray(method, dtype=float))
    seed = int(np.random.default_rng(random_state).integers(2**31 - 1))
    balancer, name = _balancer(method, seed, device)
    own = X if balancer.from_propensity else np.asarray(X, dtype=float)
    propensity = np.clip(propensity, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
    balancer.fit(own, s, base, propensity)  # type: ignore[arg-type]
    _warn_unless_converged(balancer, name, log)
    weights = _of_both(balancer.weights(own, s, propensity), s)  # type: ignore[arg-type]
    return Weighing(method=name, weights=weights, balancer=balancer)


def _balancer(method: Any, seed: int, device: str | None) -> tuple[Balancer, str]:
    """Unfitted balancer and its name in the diagnostics; the user's object stays as it was."""
    if isinstance(method, FromNetwork):
        return method, method.name
    if not isinstance(method, str):
        return Foreign(copy.deepcopy(method)), type(method).__name__
    if method not in BALANCERS:
        raise InputError(
            f"balance: one of {', '.join(BALANCERS)}, an array of weights or an object with fit "
            f"and weights expected, {method!r} found."
        )
    return BALANCERS[method](seed, device), method


def _warn_unless_converged(balancer: Any, name: str, log: WarningLog | None) -> None:
    solver: Any = getattr(balancer, "balancer", None)
    if name in BALANCERS and not getattr(solver, "converged_", True):
        (log or WarningLog()).warn(
            BalanceWarning,
            f"balance={name!r}: the groups' features could not be matched to the tolerance asked "
            f"for within {solver.n_iter_} iterations; the closest weights found are used. See "
            "the balance diagnostics, and audit fewer or coarser features if they are poor.",
        )


def weight_per_row(weights: Any, n_rows: int) -> np.ndarray:
    """Given weights as floats, one per row."""
    try:
        weights = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            "balance: a method's name, an array of numbers or an object with fit and weights "
            f"expected, {type(weights).__name__} found."
        ) from error
    if weights.shape != (n_rows,):
        raise InputError(
            f"balance: one weight per row expected, {n_rows} in all; "
            f"an array of shape {weights.shape} found."
        )
    return weights


def checked_weights(given: Any, n_rows: int) -> np.ndarray:
    """Given weights as floats, or an error that says what is wrong with them."""
    weights = weight_per_row(given, n_rows)
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        raise InputError(
            f"balance: weights must be finite and not negative; {wrong.sum()} are not."
        )
    return weights


def _of_both(weights: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Refuse weights that leave nobody on one side."""
    if weights[s > 0].sum() == 0 or weights[s < 0].sum() == 0:
        raise InputError("balance: all weights of one of the two groups are zero.")
    return weights
