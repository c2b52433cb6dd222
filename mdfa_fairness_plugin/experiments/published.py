"""Every number of the paper that is reproduced, as printed or read off its plots.

Figures 1a and 1c are drawn in the paper's source, so their points are known to about two digits;
Figures 1b and 1d are not. ``AUDITOR_GAMMA_BIAS`` is what the authors' result files say of Figure 1d.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

# Table 1: certificate strength gamma and its standard deviation over 100 splits.
_FEATURES = ("priors_count", "c_charge_degree", "age_cat", "juv_fel_count", "juv_misd_count")
FEATURE_SETS: Final = {
    "I, II, III, IV, V": _FEATURES,
    "I, II, III": _FEATURES[:3],
    "I, II": _FEATURES[:2],
}
TABLE1: Final = {
    ("I, II, III, IV, V", "race"): (0.023761, 0.004312),
    ("I, II, III", "race"): (0.023599, 0.00384),
    ("I, II", "race"): (0.027382, 0.019383),
    ("I, II, III, IV, V", "gender"): (-0.0001, 0.0006),
    ("I, II, III", "gender"): (-0.000037, 0.0002),
    ("I, II", "gender"): (-0.00005, 0.0001),
}

# Table 2: (mean, standard deviation) of African-American and other defendants.
TABLE2_ROWS: Final = {
    "priors_count": "Prior Felonies",
    "c_charge_degree": "Charge Degree",
    "juv_fel_count": "Juvenile Felonies",
    "juv_misd_count": "Juvenile Misdemeanor",
    "high_risk": "High Risk",
}
TABLE2_POPULATION: Final = {
    "priors_count": ((4.44, 5.58), (2.46, 3.76)),
    "c_charge_degree": ((0.31, 0.46), (0.40, 0.49)),
    "juv_fel_count": ((0.10, 0.49), (0.03, 0.32)),
    "juv_misd_count": ((0.14, 0.61), (0.04, 0.30)),
    "high_risk": ((0.14, 0.35), (0.05, 0.22)),
}
TABLE2_VIOLATION: Final = {
    "priors_count": ((0.79, 0.24), (0.67, 0.17)),
    "c_charge_degree": ((0.74, 0.23), (0.74, 0.20)),
    "juv_fel_count": ((0.01, 0.02), (0.00, 0.02)),
    "juv_misd_count": ((0.01, 0.02), (0.01, 0.01)),
    "high_risk": ((0.06, 0.04), (0.02, 0.01)),
}
# "African American are still three times more likely to be classified as high risk."
TABLE2_RATIO: Final = 3.0
TABLE2_POPULATION_RATIO: Final = 2.7

# Table 3: (DT_G, its standard deviation, "DI") by data set and repair.
TABLE3: Final = {
    ("Adult", "LC"): (1.88, 0.40, 1.08),
    ("Adult", "DI-LC"): (1.44, 0.32, 0.99),
    ("Adult", "Red-LC"): (1.60, 0.25, 1.03),
    ("German", "LC"): (1.26, 0.14, 1.07),
    ("German", "DI-LC"): (1.10, 0.08, 1.04),
    ("German", "Red-LC"): (1.04, 0.21, 1.01),
    ("Crimes", "LC"): (5.76, 3.16, 1.00),
    ("Crimes", "DI-LC"): (5.74, 2.19, 1.00),
    ("Crimes", "Red-LC"): (5.24, 0.89, 1.00),
}

# Table 4: (mean, standard deviation) of women and men.
TABLE4_ROWS: Final = {
    "education": "Level of Education",
    "education-num": "Years of Education",
    "hours-per-week": "Hours/week",
    "occupation": "Occupation",
    "age": "Age",
}
TABLE4_POPULATION: Final = {
    "education": ((10.41, 3.94), (10.20, 3.85)),
    "education-num": ((10.06, 2.38), (10.08, 2.66)),
    "hours-per-week": ((36.38, 12.22), (42.39, 12.12)),
    "occupation": ((6.20, 4.39), (6.78, 4.14)),
    "age": ((37.07, 14.38), (39.62, 13.50)),
}
TABLE4_VIOLATION: Final = {
    "LC": {
        "education": ((10.74, 0.11), (10.84, 0.06)),
        "education-num": ((13.74, 0.04), (13.90, 0.04)),
        "hours-per-week": ((44.77, 1.19), (48.02, 0.75)),
        "occupation": ((7.75, 0.07), (7.93, 0.11)),
        "age": ((49.72, 1.28), (50.47, 0.60)),
    },
    "Red-LC": {
        "education": ((10.31, 0.16), (10.51, 0.10)),
        "education-num": ((13.08, 0.13), (13.32, 0.08)),
        "hours-per-week": ((49.32, 0.94), (51.44, 0.51)),
        "occupation": ((6.88, 0.30), (7.65, 0.16)),
        "age": ((49.48, 1.31), (48.46, 0.88)),
    },
}

# Figure 1a: nu = k / 20 on the authors' scale, delta = ln((1 + 2 nu) / (1 - 2 nu)), k = 0, 1, ..., 9.
FIGURE1A_DELTAS: Final = np.array([math.log((1 + k / 10) / (1 - k / 10)) for k in range(10)])
# Estimate and half width of the band by k; NaN where nothing is drawn.
FIGURE1A: Final[dict[Any, tuple[np.ndarray, np.ndarray]]] = {
    5000: (
        np.array([np.nan, 0.15, 0.44, 0.83, 0.75, 1.14, 1.53, 1.73, 2.27, 2.92]),
        np.array([np.nan, np.nan, 0.17, 0.30, 0.20, 0.22, 0.59, 0.40, 0.22, np.nan]),
    ),
    1000: (
        np.array([np.nan, np.nan, 0.61, 0.24, 0.50, 1.29, 1.13, 1.63, 1.89, 2.41]),
        np.array([np.nan, np.nan, np.nan, np.nan, 0.46, 0.68, 0.72, 0.40, 0.72, 0.66]),
    ),
}

# Figure 1c: bias of gamma-hat by imbalance mu.
FIGURE1C_MU: Final = np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3])
FIGURE1C: Final = {
    "UW": np.array([0.0235, 0.0172, 0.0087, -0.0003, 0.0091, 0.0205, 0.0293]),
    "IS": np.array([0.0367, 0.0285, 0.0167, -0.0006, 0.0246, 0.0607, 0.0863]),
    "MMD": np.array([0.0050, 0.0020, -0.0003, -0.0024, 0.0029, 0.0051, 0.0076]),
}

# Figure 1d: bias of gamma-hat at gamma = 0.0125 (delta = 1.1, mass 0.05) and its deviation.
AUDITOR_GAMMA_BIAS: Final = {
    "svm_rbf": (0.0000, 0.0045),
    "svm_linear": (0.0004, 0.0053),
    "random_forest": (0.0004, 0.0041),
    "tree": (-0.0008, 0.0046),
}
