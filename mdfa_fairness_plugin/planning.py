"""How many rows an audit needs, before there are any."""

from __future__ import annotations

import math
import numbers
from typing import Any

from scipy.special import ndtri

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.estimates import certificate_strength
from mdfa_fairness_plugin.measure.power import Plan, first
from mdfa_fairness_plugin.settings import Settings, alpha_for, check_share, check_whole

_MOST_ROWS = 1e12


def rows_needed(
    ratio: float,
    *,
    rate: float,
    mass: float | None = None,
    group_share: float = 0.5,
    power: float = 0.8,
    n_searches: int = 3,
) -> float:
    """Tell how many rows a default audit needs to call a ratio in one subgroup a violation.

    Parameters
    ----------
    ratio : float
        How many times as often the group gets the outcome there as comparable others, above 1.
    rate : float
        The outcome's rate over everybody, between 0 and 1.
    mass : float or None, default=None
        Share of everybody who is in the subgroup and has the outcome, the paper's alpha; None: the
        smallest that audits look at by default, a tenth of the rate and at most .05.
    group_share : float, default=0.5
        The group's share of the rows.
    power : float, default=0.8
        Chance of being found.
    n_searches : int, default=3
        Hypotheses that p-values are adjusted over. With two groups and two outcomes these are the
        subgroup as it is found from either side, and that the opposite is true.

    Returns
    -------
    n_rows : float
        A whole number; ``inf`` if no number of rows would do, as for ratios below ``min_ratio``.

    See Also
    --------
    detectable_ratio : The inverse.
    rows_by_theorem : The paper's bound, for a certificate of :func:`certify`.

    Notes
    -----
    Supposes features that tell neither group nor outcome. The more they tell of the outcome, the fewer
    rows are needed; the more of the group, the more. ``Violation.detectable_ratio`` is the same formula
    with what the features of an audit tell. What a verdict allows for models that may still get better
    is not known beforehand.

    Examples
    --------
    >>> rows_needed(2.0, rate=0.3) > rows_needed(3.0, rate=0.3)
    True
    """
    delta, plans = math.log(_checked_ratio(ratio)), _Plans(rate, mass, group_share, n_searches)
    check_share("power", power)
    quantile = float(ndtri(power))
    n_rows = first(lambda n: plans.of(n).margin(delta) - quantile, 1.0, _MOST_ROWS)
    return n_rows if math.isinf(n_rows) else float(math.ceil(n_rows * (1.0 - 1e-9)))


def detectable_ratio(
    n: float,
    *,
    rate: float,
    mass: float | None = None,
    group_share: float = 0.5,
    power: float = 0.8,
    n_searches: int = 3,
) -> float:
    """Tell the smallest ratio that a default audit of ``n`` rows calls a violation.

    Parameters
    ----------
    n : int
        Rows.
    rate, mass, group_share, power, n_searches
        As in ``rows_needed``, whose inverse this is.

    Returns
    -------
    ratio : float
        ``inf`` if not even a thousandfold one would be found.

    Examples
    --------
    >>> 2.0 <= detectable_ratio(5_000, rate=0.3) <= 3.0
    True
    """
    # As ``rows_needed`` gives them.
    check_whole("n", int(n) if isinstance(n, float) and n.is_integer() else n, 1)
    plans = _Plans(rate, mass, group_share, n_searches)
    check_share("power", power)
    return math.exp(plans.of(float(n)).detectable(power))


def rows_by_theorem(ratio: float, *, mass: float, n_regions: int, power: float = 0.8) -> float:
    r"""Tell how many rows make a certificate of unfairness sure by the paper's theorem (Section 3.1).

    Its order is :math:`\epsilon^{-2} \log |C| \log(1/\eta)`. For finitely many regions Hoeffding's
    inequality gives the constant: the one that predicts ``S Y`` best on

    .. math:: n \geq \frac{\ln(2 |C| / \eta)}{8 \gamma^2}, \quad
        \gamma = \alpha \left(\frac{e^\delta}{1 + e^\delta} - \frac12\right)

    balanced rows is unfair, with probability :math:`1 - \eta`, if one of them has strength gamma.

    Parameters
    ----------
    ratio : float
        As in ``rows_needed``.
    mass : float
        Share of everybody who is in the subgroup and has the outcome.
    n_regions : int
        Regions to choose from, :math:`|C|`.
    power : float, default=0.8
        :math:`1 - \eta`.

    Returns
    -------
    n_rows : float
        A whole number.

    Notes
    -----
    It holds whatever the data are, so it asks for many rows, but only for some unfairness in the region
    chosen: not for a verdict, which has to be told from chance. Neither bounds the other.

    Examples
    --------
    >>> rows_by_theorem(3.0, mass=0.05, n_regions=60)
    5118.0
    """
    ratio = _checked_ratio(ratio)
    check_share("mass", mass)
    check_share("power", power)
    check_whole("n_regions", n_regions, 1)
    gamma = float(certificate_strength(mass, math.log(ratio)))
    return float(math.ceil(math.log(2.0 * n_regions / (1.0 - power)) / (8.0 * gamma**2)))


class _Plans:
    """Plans of any number of rows."""

    def __init__(self, rate: Any, mass: Any, group_share: Any, n_searches: Any) -> None:
        for name, value in (("rate", rate), ("group_share", group_share)):
            check_share(name, value)
        settings = Settings()
        if mass is None:
            mass = alpha_for(settings, rate)
        check_share("mass", mass, or_else="None or ")
        if mass > rate:
            raise InputError(f"mass: at most the rate, {rate:g}, expected, {mass!r} found.")
        check_whole("n_searches", n_searches, 1)
        self._shares = (float(group_share), 1.0 - float(group_share))
        self._rest: dict[str, Any] = {
            "rate": float(rate),
            "mass": float(mass),
            "level": (1.0 - settings.confidence_level) / n_searches,
            "confidence_level": settings.confidence_level,
            "least": math.log(settings.least_ratio),
        }

    def of(self, n: float) -> Plan:
        """A plan of so many rows."""
        return Plan(sizes=(self._shares[0] * n, self._shares[1] * n), **self._rest)


def _checked_ratio(ratio: Any) -> float:
    number = isinstance(ratio, numbers.Real) and not isinstance(ratio, bool)
    if not number or not 1.0 < float(ratio) < math.inf:
        raise InputError(f"ratio: a finite number above 1 expected, {ratio!r} found.")
    return float(ratio)
