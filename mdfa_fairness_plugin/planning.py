"""How many rows an audit needs, before there are any."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import ndtri

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.estimates import certificate_strength
from mdfa_fairness_plugin.measure.means import MeanDifference, MeanRatio
from mdfa_fairness_plugin.measure.power import Plan, first
from mdfa_fairness_plugin.settings import (
    Settings,
    above,
    alpha_for,
    alpha_of_people,
    check_share,
    check_whole,
)

_MOST_ROWS = 1e12


def rows_needed(
    ratio: float | None = None,
    *,
    rate: float | None = None,
    mass: float | None = None,
    group_share: float = 0.5,
    power: float = 0.8,
    n_searches: int = 3,
    difference: float | None = None,
    mean: float | None = None,
    sd: float | None = None,
) -> float:
    """Tell how many rows a default audit needs to call what is in one subgroup a violation.

    Parameters
    ----------
    ratio : float or None, default=None
        How many times as often the group gets the outcome there as comparable others, above 1; of a
        number how many times as much, with ``mean`` and ``sd``.
    rate : float or None, default=None
        The outcome's rate over everybody, between 0 and 1.
    mass : float or None, default=None
        Share of everybody who is in the subgroup and has the outcome, the paper's alpha; None: the
        smallest that audits look at by default, a tenth of the rate and at most .05. Of numbers the
        share of everybody who is in the subgroup, by default .05.
    group_share : float, default=0.5
        The group's share of the rows.
    power : float, default=0.8
        Chance of being found.
    n_searches : int, default=3
        Hypotheses that p-values are adjusted over. With two groups and two outcomes these are the
        subgroup as it is found from either side, and that the opposite is true.
    difference : float or None, default=None
        In the place of a ratio: how much more (or less) of a number the group gets there, with ``sd``.
    mean, sd : float or None, default=None
        Mean and standard deviation over everybody of an outcome that is a number.

    Returns
    -------
    n_rows : float
        A whole number; ``inf`` if no number of rows would do, as for ratios below ``min_ratio`` and
        differences below ``min_difference``.

    See Also
    --------
    detectable_ratio : The inverse.
    rows_by_theorem : The paper's bound, for a certificate of :func:`certify`.

    Notes
    -----
    Supposes features that tell neither group nor outcome. The more they tell of the
    outcome, the fewer rows are needed (of numbers, as if ``sd`` was that of what they leave); the
    more of the group, the more. ``Violation.detectable_ratio`` is the same formula with what the
    features of an audit tell. What a verdict allows for models that may still get better is not known
    beforehand.

    Examples
    --------
    >>> rows_needed(2.0, rate=0.3) > rows_needed(3.0, rate=0.3)
    True
    >>> rows_needed(difference=1_000, sd=4_000) > rows_needed(difference=2_000, sd=4_000)
    True
    """
    if (ratio is None) == (difference is None):
        raise InputError("ratio: either a ratio or a difference expected; pass one of the two.")
    plans = _Plans(rate, mean, sd, difference is not None, mass, group_share, n_searches)
    delta = plans.effect(ratio if difference is None else difference)
    check_share("power", power)
    quantile = float(ndtri(power))
    n_rows = first(lambda n: plans.of(n).margin(delta) - quantile, 1.0, _MOST_ROWS)
    return n_rows if math.isinf(n_rows) else float(math.ceil(n_rows * (1.0 - 1e-9)))


def detectable_ratio(
    n: float,
    *,
    rate: float | None = None,
    mass: float | None = None,
    group_share: float = 0.5,
    power: float = 0.8,
    n_searches: int = 3,
    mean: float | None = None,
    sd: float | None = None,
) -> float:
    """Tell the smallest ratio that a default audit of ``n`` rows calls a violation.

    Parameters
    ----------
    n : int
        Rows.
    rate, mass, group_share, power, n_searches, mean, sd
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
    plans = _Plans(rate, mean, sd, False, mass, group_share, n_searches)
    return math.exp(plans.detectable(n, power))


def detectable_difference(
    n: float,
    *,
    sd: float,
    mass: float | None = None,
    group_share: float = 0.5,
    power: float = 0.8,
    n_searches: int = 3,
) -> float:
    """Tell the smallest difference of means that a default audit of ``n`` rows calls a violation.

    Parameters
    ----------
    n : int
        Rows.
    sd, mass, group_share, power, n_searches
        As in ``rows_needed``, whose inverse this is.

    Returns
    -------
    difference : float
        In the units of ``sd``; ``inf`` if not even one of seven standard deviations would be found.

    Examples
    --------
    >>> detectable_difference(5_000, sd=4_000.0) < detectable_difference(1_000, sd=4_000.0)
    True
    """
    plans = _Plans(None, None, sd, True, mass, group_share, n_searches)
    return float(sd) * plans.detectable(n, power)


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
    ratio = above("ratio", ratio, 1)
    check_share("mass", mass)
    check_share("power", power)
    check_whole("n_regions", n_regions, 1)
    gamma = float(certificate_strength(mass, math.log(ratio)))
    return float(math.ceil(math.log(2.0 * n_regions / (1.0 - power)) / (8.0 * gamma**2)))


class _Plans:
    """Plans of any number of rows."""

    def __init__(
        self,
        rate: Any,
        mean: Any,
        sd: Any,
        by_difference: bool,
        mass: Any,
        group_share: Any,
        n_searches: Any,
    ) -> None:
        check_share("group_share", group_share)
        settings = Settings()
        self._unit = 1.0 if sd is None else above("sd", sd, 0)
        if sd is None:
            if by_difference or mean is not None:
                raise InputError("sd: the standard deviation of the number is needed as well.")
            check_share("rate", rate)
            mass = alpha_for(settings, rate) if mass is None else mass
            own: dict[str, Any] = {"rate": float(rate), "least": math.log(settings.least_ratio)}
        else:
            if rate is not None:
                raise InputError("rate: numbers have none; pass a mean, or leave sd out.")
            if not by_difference and mean is None:
                raise InputError("mean: a ratio of means needs the mean over everybody as well.")
            mass = alpha_of_people(settings) if mass is None else mass
            own = {"noise": 1.0, "rate": 0.0, "least": settings.least_difference(self._unit)}
            own["kind"] = MeanDifference
            if not by_difference:
                own |= {"kind": MeanRatio, "least": math.log(settings.least_ratio)}
                own["rate"] = above("mean", mean, 0) / self._unit
        check_share("mass", mass, or_else="None or ")
        if sd is None and mass > rate:
            raise InputError(f"mass: at most the rate, {rate:g}, expected, {mass!r} found.")
        check_whole("n_searches", n_searches, 1)
        self._by_difference = by_difference
        self._shares = (float(group_share), 1.0 - float(group_share))
        confidence = settings.confidence_level
        self._rest = own | {"mass": float(mass), "confidence_level": confidence}
        self._rest["level"] = (1.0 - confidence) / n_searches

    def effect(self, size: Any) -> float:
        """A ratio or a difference as plans have it."""
        if self._by_difference:
            return above("difference", size, 0) / self._unit
        return math.log(above("ratio", size, 1))

    def of(self, n: float) -> Plan:
        """A plan of so many rows."""
        return Plan(sizes=(self._shares[0] * n, self._shares[1] * n), **self._rest)

    def detectable(self, n: float, power: float) -> float:
        """Smallest effect found among so many rows."""
        # As ``rows_needed`` gives them.
        check_whole("n", int(n) if isinstance(n, float) and n.is_integer() else n, 1)
        check_share("power", power)
        return self.of(float(n)).detectable(power)
