"""Data with a planted violation, and loaders of real data sets."""

from mdfa_fairness_plugin.datasets.real import (
    load_adult,
    load_compas,
    load_crimes,
    load_german,
)
from mdfa_fairness_plugin.datasets.shipped import load_arrests, load_wages
from mdfa_fairness_plugin.datasets.synthetic import make_numeric, make_shape, make_synthetic

__all__ = [
    "load_adult", "load_arrests", "load_compas", "load_crimes", "load_german", "load_wages",
    "make_numeric", "make_shape", "make_synthetic",
]  # fmt: skip
