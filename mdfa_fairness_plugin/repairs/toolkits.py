"""AIF360's and Fairlearn's own classes, and the data sets and random numbers they take."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.aif360.toolkit import part, quiet
from mdfa_fairness_plugin.exceptions import InputError

SENSITIVE = "sensitive"
_LABEL = "label"


def fairlearn(module: str) -> Any:
    """Import a part of Fairlearn."""
    return import_optional(
        f"fairlearn.{module}", extra="fairlearn", feature="mdfa_fairness_plugin.repairs"
    )


def aif360_dataset(Z: np.ndarray, codes: np.ndarray, sides: np.ndarray) -> Any:
    """Make AIF360's data set of columns, labels 0 and 1, and groups 0 and 1."""
    missing = int(np.isnan(Z).any(axis=1).sum())
    if missing:
        raise InputError(
            f"X: {missing:,} of {len(Z):,} rows miss a number, and AIF360 drops such rows; fill them."
        )
    frame = pd.DataFrame(Z, columns=[f"x{i}" for i in range(Z.shape[1])])
    frame[SENSITIVE] = sides.astype(float)
    frame[_LABEL] = codes.astype(float)
    with quiet():
        return part("datasets").BinaryLabelDataset(
            favorable_label=1.0,
            unfavorable_label=0.0,
            df=frame,
            label_names=[_LABEL],
            protected_attribute_names=[SENSITIVE],
        )


def group_lists(privileged: int = 1) -> dict[str, list[dict[str, int]]]:
    """Both groups in AIF360's form."""
    return {
        "unprivileged_groups": [{SENSITIVE: 1 - privileged}],
        "privileged_groups": [{SENSITIVE: privileged}],
    }


@contextmanager
def drawn(seed: int) -> Iterator[None]:
    """Seed Python's generator, and give it and NumPy's, which AIF360 seeds, back as they were."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
