r"""The balance stage: one call from a method's name to weights and diagnostics (Section 3.2)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance.entropy import EntropyBalancing
from mdfa_fairness_plugin.balance.kernel_matching import KernelMeanMatching
from mdfa_fairness_plugin.balance.mmd import diagnose_mmd
from mdfa_fairness_plugin.balance.network import MMDNetwork
from mdfa_fairness_plugin.balance.overlap import effective_sample_size, support
from mdfa_fairness_plugin.balance.propensity import (
    cross_fitted_propensity,
    odds_weights,
    overlap_weights,
)
from mdfa_fairness_plugin.exceptions import BalanceWarning, InputError, WarningLog
from mdfa_fairness_plugin.fields import said
from mdfa_fairness_plugin.learn.probability import PROBABILITY_FLOOR
from mdfa_fairness_plugin.numerics.basis import Moments, Standardiser, as_rows, chunks

METHODS = ("mmd_network", "kernel_matching", "entropy", "propensity", "overlap", "none")
# Those whose weights need no features once there is a propensity.
_READ_OFF = ("propensity", "overlap", "none")


@dataclass(frozen=True, kw_only=True, eq=False)
class BalanceDiagnostics:
    """How alike the two groups' features are, before and after weighting.

    Parameters
    ----------
    method : str
        One of ``METHODS``, "given" for an array, or the class name of an object.
    mmd_before, mmd_after : float
        Maximum mean discrepancy, Gaussian kernel of median bandwidth on standardised features.
    mmd_by_chance : float
        What ``mmd_after`` would be around if only chance were left, at this effective sample size.
    smd_before, smd_after : dict of str to float
        Standardised mean difference of each encoded feature: difference of the group means over
        the pooled standard deviation before weighting.
    effective_sample_size : tuple of (float, float)
        Kish's, of S = +1 and S = -1, after weighting.
    largest_weight : float
        Relative to the mean weight of its group.
    share_outside_support : float
        Weighted share of rows without comparable rows in the other group.
    n_outside_support : int
        Their number.
    """

    method: str = field(metadata=said("always"))
    mmd_before: float = field(metadata=said("rule"))
    mmd_after: float = field(metadata=said("rule"))
    mmd_by_chance: float = field(metadata=said("never"))
    smd_before: dict[str, float] = field(metadata=said("rule"))
    smd_after: dict[str, float] = field(metadata=said("rule"))
    effective_sample_size: tuple[float, float] = field(metadata=said("rule"))
    largest_weight: float = field(metadata=said("never"))
    share_outside_support: float = field(metadata=said("rule"))
    n_outside_support: int = field(metadata=said("rule"))

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, ready for JSON."""
        plain = asdict(self)
        plain["effective_sample_size"] = list(self.effective_sample_size)
        return plain


@dataclass(frozen=True, kw_only=True, eq=False)
class Balance:
    """Weights that make the two groups comparable.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Without the sampling weights, which the caller multiplies in.
    diagnostics : BalanceDiagnostics
    details : object or None
        The fitted object (with ``weights(X, s)``), if the method has one.
    propensity : ndarray of shape (n,) or None
        The propensity that common support was judged by.
    """

    weights: np.ndarray
    diagnostics: BalanceDiagnostics
    details: Any = None
    propensity: np.ndarray | None = None


def balance(
    X,
    s,
    *,
    method="auto",
    sample_weight=None,
    propensity=None,
    random_state=None,
    device=None,
    max_weight=None,
    names=None,
    label=None,
    common_support=None,
    known_measures=None,
    log=None,
):
    r"""Weigh the rows so that the features of both groups are alike.

    The paper's ``w = Pr[S != s | x] / Pr[S = s | x]`` on S = +1 rows and 1 on S = -1 rows: everyone
    is compared as if S = s had the features of S != s (Section 3.2).

    Parameters
    ----------
    X : ndarray or RowView of shape (n, d)
        Encoded features, finite. A view is not copied by "overlap", "propensity", "none" and given
        weights, if ``propensity`` is given: only the diagnostics read it, a chunk at a time.
    s : ndarray of shape (n,)
        In {-1, +1}.
    method : str, array-like of shape (n,) or object, default="auto"
        - "mmd_network": the paper's network (needs torch);
        - "kernel_matching": bounded weights of smallest MMD;
        - "entropy": entropy balancing in random Fourier features ("auto");
        - "propensity": odds of the propensity;
        - "overlap": 1 - e on S = +1 rows and e on S = -1 rows;
        - "none": all weights 1;
        - an array of weights, one per row;
        - an object with ``fit(X, s, sample_weight)`` and ``weights(X, s)``.
    sample_weight : ndarray of shape (n,) or None, default=None
        Sampling weights, which every method takes into account.
    propensity : ndarray of shape (n,) or None, default=None
        ``Pr[S = +1 | x]`` predicted out of fold; ``None`` predicts it here.
    random_state : int, Generator or None, default=None
    device : str or None, default=None
        For the network.
    max_weight : float or None, default=None
        Largest weight as a multiple of the group's mean. ``None`` is 10 for the network (the
        paper's) and for kernel matching, and no limit for the others; a number given here also
        cuts the weights of "entropy" and "propensity".
    names : sequence of str or None, default=None
        Of the columns of ``X``, for the diagnostics.
    label : ndarray of shape (n,) or None, default=None
        ``s * y``: the network then minimises the joint objective Eq. ``risk2``.
    common_support : Support or None, default=None
        What ``check_support`` found, if the rows outside were left out before; the diagnostics
        then repeat its counts instead of looking again.
    known_measures : list or None, default=None
        What was measured before on these rows with these sampling weights; gains what is new. The
        same weights are not measured again, from whichever side: distances are the same, and
        mean differences change sign.
    log : WarningLog or None, default=None

    Returns
    -------
    balance : Balance
    """
    weighing = weigh(
        X,
        s,
        method=method,
        sample_weight=sample_weight,
        propensity=propensity,
        random_state=random_state,
        device=device,
        max_weight=max_weight,
        label=label,
        log=log,
    )
    diagnostics = diagnose(
        X,
        s,
        weighing.weights,
        method=weighing.method,
        sample_weight=sample_weight,
        propensity=weighing.propensity,
        names=names,
        common_support=common_support,
        known_measures=known_measures,
    )
    return Balance(
        weights=weighing.weights,
        diagnostics=diagnostics,
        details=weighing.details,
        propensity=weighing.propensity,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighing:
    """Weights and how they were found, without the diagnostics that take most of the time.

    Parameters
    ----------
    method : str
        One of ``METHODS``, "given" for an array, or the class name of an object.
    weights : ndarray of shape (n,)
        Without the sampling weights.
    details : object or None
        The fitted object (with ``weights(X, s)``), if the method has one.
    propensity : ndarray of shape (n,)
    """

    method: str
    weights: np.ndarray
    details: Any
    propensity: np.ndarray


def weigh(
    X,
    s,
    *,
    method="auto",
    sample_weight=None,
    propensity=None,
    random_state=None,
    device=None,
    max_weight=None,
    label=None,
    log=None,
):
    """Weigh the rows as ``balance`` does, and leave the diagnostics to ``diagnose``.

    Parameters
    ----------
    X, s, method, sample_weight, propensity, random_state, device, max_weight, label, log
        As of ``balance``.

    Returns
    -------
    weighing : Weighing
    """
    s = np.asarray(s)
    log = WarningLog() if log is None else log
    n = len(s)
    if not ((s > 0).any() and (s < 0).any()):
        raise InputError("sensitive_features: balancing needs rows of both groups.")
    base = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    seed = int(np.random.default_rng(random_state).integers(2**31 - 1))
    solves = method not in _READ_OFF if isinstance(method, str) else hasattr(method, "fit")
    if solves or propensity is None:
        X = np.asarray(X, dtype=float)
    if propensity is None:
        propensity = cross_fitted_propensity(X, s, sample_weight, random_state=seed)
    else:
        propensity = _checked_propensity(propensity, n)
    name, weights, details = _solve(
        X, s, method, base, propensity, seed, device, max_weight, label, log
    )
    if max_weight is not None and name in ("entropy", "propensity"):
        weights = _capped(weights, s, base, max_weight)
    return Weighing(method=name, weights=weights, details=details, propensity=propensity)


def diagnose(
    X,
    s,
    weights,
    *,
    method="given",
    sample_weight=None,
    propensity=None,
    names=None,
    common_support=None,
    known_measures=None,
):
    """Diagnostics of any weights.

    Parameters
    ----------
    X, s, weights : ndarray
        As in ``balance``; ``weights`` without the sampling weights.
    method : str, default="given"
    sample_weight, propensity, names, common_support, known_measures
        As in ``balance``. With neither a propensity nor a common support, no row is counted
        as outside.

    Returns
    -------
    diagnostics : BalanceDiagnostics
    """
    X = as_rows(X)
    s = np.asarray(s)
    n, d = X.shape
    base = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    names = [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]
    if len(names) != d:
        raise InputError(f"names: {len(names)} names found for {d} columns of X.")
    after = base * weights
    measured = _measured_before(known_measures, s, after)
    if measured is None:
        measured = _measure(X, s, base, after)
        if known_measures is not None:
            known_measures.append(measured)
    mmds, by_chance = measured.mmds, measured.by_chance
    smd_before, smd_after = measured.differences
    positive = s > 0
    if common_support is not None:
        n_outside, share_outside = common_support.n_outside, common_support.share_outside
    elif propensity is not None:
        outside = ~support(propensity, s, sample_weight)
        n_outside, share_outside = int(outside.sum()), float(base[outside].sum() / base.sum())
    else:
        n_outside, share_outside = 0, 0.0
    return BalanceDiagnostics(
        method=method,
        mmd_before=float(mmds[0]),
        mmd_after=float(mmds[1]),
        mmd_by_chance=by_chance,
        smd_before=dict(zip(names, smd_before.tolist(), strict=True)),
        smd_after=dict(zip(names, smd_after.tolist(), strict=True)),
        effective_sample_size=(
            effective_sample_size(after[positive]),
            effective_sample_size(after[~positive]),
        ),
        largest_weight=max(
            _largest_relative(weights[rows], base[rows]) for rows in (positive, ~positive)
        ),
        share_outside_support=share_outside,
        n_outside_support=n_outside,
    )


def _solve(X, s, method, base, propensity, seed, device, max_weight, label, log):
    """Name, weights and fitted object of the method asked for."""
    fitted: Any
    if isinstance(method, str):
        if method in ("auto", "entropy"):
            fitted = EntropyBalancing(random_state=seed)
            return _fitted("entropy", fitted, X, s, base, log)
        if method == "kernel_matching":
            fitted = KernelMeanMatching(max_weight=10.0 if max_weight is None else max_weight)
            return _fitted(method, fitted, X, s, base, log)
        if method == "mmd_network":
            fitted = MMDNetwork(
                joint=label is not None,
                max_weight=10.0 if max_weight is None else max_weight,
                random_state=seed,
                device=device,
            )
            fitted.fit(X, s, label=label, sample_weight=base)
            return method, fitted.weights(X, s), fitted
        if method == "propensity":
            return method, odds_weights(propensity, s), None
        if method == "overlap":
            return method, overlap_weights(propensity, s), None
        if method == "none":
            return method, np.ones(len(s)), None
        raise InputError(
            f"balance: one of {', '.join(METHODS)}, an array of weights or an object with fit "
            f"and weights expected, {method!r} found."
        )
    if hasattr(method, "fit") and hasattr(method, "weights"):
        # Copies: what it writes into its arguments must not reach the audit's own arrays.
        fitted = method.fit(X.copy(), s.copy(), base.copy())
        weights = _checked(fitted.weights(X.copy(), s.copy()), s)
        return type(fitted).__name__, weights, fitted
    return "given", _checked(method, s), None


def _fitted(name, balancer, X, s, base, log):
    balancer.fit(X, s, base)
    if not balancer.converged_:
        log.warn(
            BalanceWarning,
            f"balance={name!r}: the groups' features could not be matched to the tolerance asked "
            f"for within {balancer.n_iter_} iterations; the closest weights found are used. See "
            "the balance diagnostics, and audit fewer or coarser features if they are poor.",
        )
    return name, balancer.weights(X, s), balancer


def _checked(weights, s):
    """Given weights as floats, or an error that says what is wrong with them."""
    try:
        weights = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            "balance: a method's name, an array of numbers or an object with fit and weights "
            f"expected, {type(weights).__name__} found."
        ) from error
    if weights.shape != s.shape:
        raise InputError(
            f"balance: one weight per row expected, {s.shape[0]} in all; "
            f"an array of shape {weights.shape} found."
        )
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        raise InputError(
            f"balance: weights must be finite and not negative; {wrong.sum()} are not."
        )
    if weights[s > 0].sum() == 0 or weights[s < 0].sum() == 0:
        raise InputError("balance: all weights of one of the two groups are zero.")
    return weights


def _checked_propensity(propensity, n):
    """Given propensity, kept off 0 and 1."""
    propensity = np.asarray(propensity, dtype=float)
    if propensity.shape != (n,) or not ((propensity >= 0) & (propensity <= 1)).all():
        raise InputError(
            f"propensity: {n} probabilities between 0 and 1 expected, one per row; an array of "
            f"shape {propensity.shape} from {np.min(propensity, initial=np.inf):g} to "
            f"{np.max(propensity, initial=-np.inf):g} found."
        )
    return np.clip(propensity, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)


def _capped(weights, s, base, max_weight):
    """Weights of S = +1 cut at ``max_weight`` times their mean (before the cut)."""
    positive = s > 0
    limit = max_weight * np.average(weights[positive], weights=base[positive])
    return np.where(positive, np.minimum(weights, limit), weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Measured:
    """What two weightings leave between the groups; the same from either side, up to signs."""

    s: np.ndarray
    after: np.ndarray
    mmds: np.ndarray
    by_chance: float
    differences: np.ndarray  # standardised mean differences before and after, shape (2, d)


def _measured_before(known, s, after):
    """Measurements of the same weights, seen from this side; None if there are none."""
    for one in known or ():
        if all(np.allclose(one.after[own], after[own], 1e-9, 0.0) for own in chunks(len(after), 1)):
            if np.array_equal(one.s, s):
                return one
            if np.array_equal(one.s, -s):
                return replace(one, s=s, differences=0.0 - one.differences)
    return None


def _measure(X, s, base, after):
    """Distances of the groups with these weights before and after."""
    differences, standardise = _mean_differences(X, s, base, after)
    mmds, by_chance = diagnose_mmd(X, s, (base, after), base_weight=base, standardise=standardise)
    return _Measured(s=s, after=after, mmds=mmds, by_chance=by_chance, differences=differences)


def _mean_differences(X, s, before, after):
    """Standardised mean differences of every column before and after, and the overall scale."""
    n, d = len(s), X.shape[1]
    positive = s > 0
    sides = (Moments(d), Moments(d))
    sums, totals = np.zeros((2, d)), np.zeros(2)  # after weighting
    # Measured from any row: a large mean costs no digits of a small difference.
    origin = X[:1]
    for own in chunks(n, d):
        for side, moments in enumerate(sides):
            chosen = np.flatnonzero(positive[own] if side == 0 else ~positive[own]) + own.start
            block = X[chosen] - origin
            moments.add(block, before[chosen])
            sums[side] += after[chosen] @ block
            totals[side] += after[chosen].sum()
    group, reference = sides
    both = group + reference
    spread = np.sqrt((group.variance + reference.variance) / 2.0)
    # A feature constant within both groups tells them apart: fall back to its overall spread.
    spread = np.where(spread > 1e-9 * both.spread, spread, both.spread)
    after_means = sums / totals[:, None]
    found = np.stack([group.mean - reference.mean, after_means[0] - after_means[1]])
    # In a constant feature any difference is rounding.
    differences = np.divide(found, spread, out=np.zeros((2, d)), where=~both.constant)
    standardise = Standardiser.of(both)
    return differences, replace(standardise, centre=standardise.centre + origin[0])


def _largest_relative(weights, base):
    return float(weights.max() / np.average(weights, weights=base))
