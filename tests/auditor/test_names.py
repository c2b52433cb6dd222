"""Columns may be called anything: every method works, and nothing unseen is shown."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import visible

NAMES = (
    "annual\nincome",
    " age",
    "\u00a0age",
    "Age of the applicant at the time of decision",
    "Age of the applicant at th\u2026e of decision",  # as the one before is shown
    "",
    "\x1b[31mred",
    "a\u202eb\u200b",
    3,
    ("a", "b"),
    None,
)


@pytest.fixture(scope="module")
def asked():
    """Women below 40, by the first column, are granted far less; all names and labels are odd."""
    rng = np.random.default_rng(0)
    n = 500
    X = pd.DataFrame({place: rng.integers(18, 75, n) for place in range(len(NAMES) + 1)})
    X[len(NAMES)] = rng.choice(["A", "B\x1b[2J", "C "], n)
    X.columns = pd.Index([*NAMES, "town\t"], tupleize_cols=False)
    sex = pd.Series(rng.choice(["f\n", "m"], n), name="sex\x1b")
    rate = np.where((X.iloc[:, 0] < 40) & (sex == "f\n"), 0.1, 0.7)
    y = pd.Series(np.where(rng.random(n) < rate, "grant\u200b", "deny\x1b[1m"), name="y\r")
    auditor = mdfa.MDFAuditor(learner="tree", n_splits=2, n_repeats=1, random_state=0)
    return auditor.fit(X, y, sensitive_features=sex), X


def texts(auditor, X):
    result = auditor.result_
    yield result.summary()
    yield result.to_html()
    yield result.to_json(rows=True)
    yield result.to_model_card()
    yield result.null_distribution(1).summary()
    yield auditor.explain_row(None, row=3).summary()
    yield str(result)
    yield "\n".join(violation.rule for violation in result.violations)


def test_every_method_works_and_shows_nothing_unseen(asked):
    auditor, X = asked
    for text in texts(auditor, X):
        assert text == visible(text)
    assert len(auditor.predict(X)) == len(X)


def test_stability_counts_the_features_of_rules_by_their_own_names(asked):
    """Two columns that are shown alike are two, and the one that matters is in most rules."""
    stable = asked[0].result_.stability(2)
    assert stable.summary() == visible(stable.summary())
    used = stable.features
    assert used.index.tolist() == [*map(str, NAMES), "town\t"]
    deny = used.loc[:, [label for label in used if label[1] == "f\n" and label[2].startswith("d")]]
    assert deny.iloc[0, 0] == deny.iloc[:, 0].max() > 0
