"""People of a group beside those most like them who fared better."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.person import pairs as module
from mdfa_fairness_plugin.results import AuditResult

# Ten people inside a subgroup, by hand. Ages and debts have a standard deviation of 10 and 2.
TEN = pd.DataFrame(
    {
        "age": [30, 30, 30, 42, 30, 34, 30, 50, 50, 50],
        "debt": [1.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 5.0, 5.0, 5.0],
        "sex": ["f", "f", "m", "m", "m", "f", "f", "m", "f", "f"],
        "loan": ["no", "yes", "no", "yes", "yes", "no", "no", "no", "no", "yes"],
    },
    index=[f"file {i}" for i in range(10)],
)


@pytest.fixture(scope="module")
def audited():
    """The ten and 590 others, of whom an audit is made; who is inside is then said by hand."""
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "debt": rng.choice([1.0, 3.0, 5.0], n),
            "sex": rng.choice(["f", "m"], n),
            "loan": rng.choice(["no", "yes"], n),
        },
        index=[f"file {i}" for i in range(n)],
    )
    frame.iloc[:10] = TEN
    frame = frame.iloc[rng.permutation(n)]
    audit = mdfa.audit(
        frame[["age", "debt"]],
        frame["loan"],
        sensitive_features=frame["sex"],
        favorable_label="yes",
        learner="tree",
        n_splits=2,
    )
    return audit, frame


def among(result, inside, **changed):
    """The result, its search of refused women being one of these people."""
    own = next(v for v in result.violations if (v.group, v.outcome) == ("f", "no"))
    rows = result.source.problem.index.isin(inside)
    told = {"membership": rows, "left_out": np.zeros(len(rows), dtype=bool), **changed}
    one = replace(own, **told)
    return replace(result, violations=(one,)), one


def test_ten_rows_by_hand(audited, monkeypatch):
    """A difference of 12 years is 1.2 deviations, one of 2 debts one: over two features .85, .71."""
    monkeypatch.setattr(
        module, "distance_weights", lambda X, displays: np.array([1 / 100, 1 / 4]) / 2
    )
    result, frame = audited
    assert result.source.problem.feature_names == ("age", "debt")
    result, own = among(result, TEN.index)
    pairs = result.pairs(violation=own)
    # Refused women: files 0, 5, 6 and 8. Men with a loan: files 3 and 4. File 5 is 8 years from file
    # 3, and 4 years and 2 debts from file 4; file 0 is beside file 4, as its twin file 6 is; file 8 is
    # 8 years and 4 debts from file 3, which is too far.
    assert pairs["pair"].tolist() == [1, 1, 2, 2, 3, 3]
    assert pairs["side"].tolist() == ["group", "others"] * 3
    told = dict(zip(pairs.index[::2], pairs.index[1::2], strict=True))
    assert told == {"file 5": "file 3", "file 0": "file 4", "file 6": "file 4"}
    assert pairs["distance"].iloc[::2].tolist() == pytest.approx(
        [0.8 / math.sqrt(2), 1 / math.sqrt(2), 1 / math.sqrt(2)]
    )
    assert pairs["sensitive_value"].tolist() == ["f", "m"] * 3
    assert pairs["outcome"].tolist() == ["no", "yes"] * 3
    assert pairs.columns.tolist()[5:] == ["age", "debt"]
    for name in ("age", "debt"):
        assert pairs[name].tolist() == frame.loc[pairs.index, name].tolist()
    pd.testing.assert_frame_equal(result.pairs(n=1), pairs.iloc[:2])


def test_distances_are_those_of_cards_and_nobody_is_nearer(audited):
    result, frame = audited
    result, _ = among(result, frame.index)
    pairs = result.pairs(n=1000)
    scaled = frame[["age", "debt"]] / frame[["age", "debt"]].std(ddof=0)
    better = scaled[(frame["sex"] == "m") & (frame["loan"] == "yes")]
    women = frame.index[(frame["sex"] == "f") & (frame["loan"] == "no")]
    assert len(pairs) == 2 * len(women)
    assert (np.diff(pairs["distance"]) >= 0).all()
    for (row, partner), apart in zip(
        pairs.index.to_numpy().reshape(-1, 2), pairs["distance"].iloc[::2], strict=True
    ):
        far = np.sqrt(((better - scaled.loc[row]) ** 2).mean(axis=1))
        assert apart == pytest.approx(far.min(), abs=1e-12)
        assert far[partner] == pytest.approx(far.min(), abs=1e-12)


def test_one_person_is_no_pair_and_in_one_pair_alone(audited):
    result, _ = audited
    problem = result.source.problem
    whose = np.arange(problem.n_rows)
    place = {
        name: np.flatnonzero(problem.index[problem.source_row] == name)[0] for name in TEN.index
    }
    whose[place["file 5"]] = whose[place["file 3"]]  # whose partner would be herself
    whose[place["file 6"]] = whose[place["file 0"]]
    source = replace(result.source, problem=replace(problem, cluster=whose))
    result, _ = among(replace(result, source=source), TEN.index)
    pairs = result.pairs()
    assert set(map(tuple, pairs.index.to_numpy().reshape(-1, 2))) & {("file 5", "file 3")} == set()
    assert len({"file 0", "file 6"} & set(pairs.index)) == 1


def test_only_rows_compared_and_held_out_are_paired(audited):
    result, _ = audited
    rows = result.source.problem.index
    for name in ("left_out", "held_out"):
        some = rows.isin(["file 5"]) if name == "left_out" else ~rows.isin(["file 5"])
        assert "file 5" not in among(result, TEN.index, **{name: some})[0].pairs().index
    empty = among(result, ["file 5"])[0].pairs()
    assert empty.empty
    assert empty.columns.tolist() == among(result, TEN.index)[0].pairs().columns.tolist()


def test_features_called_as_other_columns_are_numbered():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"pair": rng.random(200), "side": rng.random(200)})
    s = pd.Series(rng.choice(["a", "b"], 200))
    y = rng.random(200) < 0.5
    result = mdfa.audit(X, y, sensitive_features=s, learner="tree", n_splits=2)
    pairs = result.pairs()
    assert pairs.columns.tolist()[-2:] == ["pair (2)", "side (2)"]
    assert set(pairs["side"]) == {"group", "others"}


def test_what_cannot_be_paired_is_said(audited, tmp_path):
    result, _ = audited
    good = next(v for v in result.violations if (v.group, v.outcome) == ("f", "yes"))
    with pytest.raises(InputError, match=r"^violation: its outcome 'yes' is the favourable one"):
        result.pairs(violation=good)
    with pytest.raises(InputError, match=r"^n: a whole number of at least 1 expected, 0 found"):
        result.pairs(n=0)
    with pytest.raises(InputError, match=r"^violation: one of the result's violations expected"):
        result.pairs(violation=replace(good))
    with pytest.raises(InputError, match=r"^pairs: no group could be compared"):
        replace(result, violations=()).pairs()
    path = tmp_path / "audit.json"
    result.to_json(path)
    with pytest.raises(InputError, match=r"^pairs: this result holds no rows"):
        AuditResult.from_json(path).pairs()
