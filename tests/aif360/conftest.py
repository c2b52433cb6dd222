"""Data sets of AIF360 with a planted disparity, shared by the plug-in's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

WOMEN = [{"sex": 0}]
MEN = [{"sex": 1}]


@pytest.fixture(scope="session")
def lists() -> dict[str, list[dict[str, float]]]:
    """Women are unprivileged, men privileged."""
    return {"unprivileged_groups": WOMEN, "privileged_groups": MEN}


@pytest.fixture(scope="session")
def quick() -> dict[str, Any]:
    """Arguments of a quick audit."""
    return {"random_state": 0, "n_splits": 2, "n_repeats": 1, "learner": "tree"}


@pytest.fixture(scope="session")
def xor_frame() -> Callable[..., pd.DataFrame]:
    """Maker of outcomes of rate .7 where sex equals x, else .3: no disparity among everybody."""

    def make(n: int = 1000, seed: int = 0, strength: float = 0.2) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        sex, x = rng.integers(0, 2, size=(2, n))
        rate = np.where(sex == x, 0.5 + strength, 0.5 - strength)
        return pd.DataFrame(
            {
                "sex": sex,
                "x": x,
                "town=north": 0,
                "town=south": 0,
                "town=east": 0,
                "y": (rng.random(n) < rate).astype(int),
            }
        ).assign(
            **dict(
                zip(
                    ("town=north", "town=south", "town=east"),
                    np.eye(3, dtype=int)[rng.integers(0, 3, n)].T,
                    strict=True,
                )
            )
        )

    return make


@pytest.fixture(scope="session")
def dataset_of() -> Callable[..., Any]:
    """Maker of a BinaryLabelDataset of a frame with the columns sex and y (1 and 0)."""

    def make(
        frame: pd.DataFrame,
        favorable: float = 1.0,
        unfavorable: float = 0.0,
        protected: tuple[str, ...] = ("sex",),
        **arguments: Any,
    ) -> Any:
        from mdfa_fairness_plugin.aif360.toolkit import part

        labels = np.where(frame["y"] == 1, favorable, unfavorable)
        return part("datasets").BinaryLabelDataset(
            favorable_label=favorable,
            unfavorable_label=unfavorable,
            df=frame.assign(y=labels),
            label_names=["y"],
            protected_attribute_names=list(protected),
            **arguments,
        )

    return make


@pytest.fixture(scope="session")
def xor(xor_frame, dataset_of) -> Any:
    """1,000 rows with the planted disparity."""
    return dataset_of(
        xor_frame(), metadata={"protected_attribute_maps": [{0.0: "Female", 1.0: "Male"}]}
    )


@pytest.fixture(scope="session")
def xor_metric(xor, lists, quick) -> Any:
    """Metric of the planted disparity, audited once."""
    from mdfa_fairness_plugin.aif360 import MDFADatasetMetric

    metric = MDFADatasetMetric(xor, **lists, **quick)
    metric.audit()
    return metric
