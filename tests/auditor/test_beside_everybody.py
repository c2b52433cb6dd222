"""A small box much worse off than everybody, who are reported: told beside them, in every report."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.level_sets import Sweep
from mdfa_fairness_plugin.search.selection import path_thresholds
from mdfa_fairness_plugin.search.solver import Solved
from mdfa_fairness_plugin.search.solvers import SOLVERS

EDGE = 0.3  # of the box: both features below it
QUICK = {"learner": "tree", "n_splits": 3, "random_state": 0}


@dataclass(frozen=True)
class Box:
    """Rows with both features below an edge; of a search that reports everybody."""

    threshold: float = -math.inf
    core_threshold: float = -math.inf

    def scores(self, rows):
        return -rows.X.max(axis=1)

    def by_model(self, rows):
        return self.scores(rows)[None]

    def unseen(self):
        return self


class BoxSolver:
    """Proposes the box and reports everybody."""

    learns = "regressor"
    threads_of_its_own = False

    def prepare(self, data):
        """Nothing is shared."""

    def solve(self, data, settings):
        scores = Box().scores(Asked(data.X))
        sweep = Sweep.of(data, scores)
        return Solved(
            region=Box(),
            threshold=-math.inf,
            proposed=-EDGE,
            scores=scores,
            member=data.held_out,
            core=data.held_out,
            searched=data.held_out & (scores >= -EDGE),
            path=sweep.at(path_thresholds(sweep, -math.inf)),
        )


@pytest.fixture(scope="module", autouse=True)
def proposes_the_box():
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(SOLVERS, "orthogonal", BoxSolver())
        yield


def drawn(in_box, elsewhere, n=3000, seed=0):
    """Decisions with these ratios, and a rate of .3 whatever the ratio."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(n), "b": rng.random(n)})
    black = rng.random(n) < 0.5
    inside = (frame < EDGE).all(axis=1)
    ratio = np.where(inside, in_box, elsewhere)
    rate = 0.6 / (1.0 + ratio) * np.where(black, ratio, 1.0)
    frame["race"] = np.where(black, "black", "white")
    frame["denied"] = np.where(rng.random(n) < rate, "yes", "no")
    return frame, inside


def audited(frame, **arguments):
    return mdfa.audit(
        frame.drop(columns=["race", "denied"]),
        frame["denied"],
        sensitive_features=frame["race"],
        **(QUICK | arguments),
    )


@pytest.fixture(scope="module")
def planted():
    return drawn(5.0, 1.6)


@pytest.fixture(scope="module")
def result(planted):
    return audited(planted[0])


def table(text):
    return text[text.index("ALL SEARCHES") : text.index("WHAT THIS AUDIT")]


def test_the_box_is_told_beside_everybody(result, planted):
    frame, inside = planted
    worst = result.worst_case
    assert (worst.group, worst.outcome, worst.rule) == ("black", "yes", "everybody")
    assert worst.n_rows == worst.population.n_rows == len(frame)
    box = worst.beside
    assert box is worst.searched
    assert box.n_rows == inside.sum()
    assert math.log(1.6) < worst.delta < box.lower < math.log(5.0) < box.interval[1]
    assert box.p_value < 1e-6
    assert box.rule in ("a at most 0.3 and b at most 0.3", "b at most 0.3 and a at most 0.3")
    assert box.rule_fidelity > 0.995
    assert not any(own.beside for own in (worst.population, worst.core, worst.rule_subgroup))


def test_every_report_says_who_they_are(result, planted):
    n = int(planted[1].sum())
    ratio = result.worst_case.beside.ratio
    told = f"of those compared), the ratio is {ratio:.1f} ("
    texts = (
        result.summary(min_cell=1),
        result.to_html(min_cell=1),
        result.to_model_card(min_cell=1),
    )
    for text in (" ".join(text.split()) for text in texts):
        assert "This is about everybody compared (3,000 rows). " in text.replace("</p> <p>", " ")
        assert "A part of them is unequal beyond chance by itself. Where " in text
        assert f"({n} rows, {n / 30:.2g} %" in text
        assert told in text
        assert "smaller subgroup was" not in text
    rows = [line.split("  ") for line in table(texts[0]).splitlines()]
    names = [row[0] for row in rows]
    assert names[3:5] == ["race = black, everybody", "a part of them"]
    assert str(n) in table(texts[0]).splitlines()[4].split()
    plain = result.to_dict()["violations"][result.to_dict()["worst_case"]]["searched"]
    assert (plain["beside"], plain["n_rows"]) == (True, n)


def test_of_few_people_no_ratio_is_printed(result, planted):
    """Fewer than eleven of the others in the box have the outcome, so that the ratio would tell."""
    box = result.worst_case.beside
    assert 0 < box.counts.loc["everyone else", "yes"] < 11 <= box.counts.loc["black"].min()
    for text in (result.to_html(), result.to_model_card()):
        text = " ".join(text.split())
        assert f"({planted[1].sum()} rows, " in text
        assert "the ratio is withheld." in text
        seen = re.sub("<svg.*?</svg>", "", text)
        assert not re.search(rf"(?<![\d.]){box.ratio:.1f}(?!\d)", seen)
        assert "withheld" in text


def test_a_box_without_discrimination_is_not_told():
    one = audited(drawn(1.0, 1.6, seed=4)[0], groups=["black"], outcomes=["yes"])
    found = one.worst_case
    assert (found.verdict, found.rule) == ("violation", "everybody")
    assert found.beside is None
    assert not found.searched.rule
    text = " ".join(one.summary().split())
    assert "This is about everybody compared (3,000 rows). Smaller subgroups were " in text
    assert "none was found whose ratio is higher beyond doubt" in text


def test_the_order_of_rows_and_columns_says_nothing(result, planted):
    mixed = planted[0].sample(frac=1.0, random_state=1)[["denied", "b", "race", "a"]]
    one, two = result.worst_case, audited(mixed, groups=["black"], outcomes=["yes"]).worst_case
    assert (one.beside.delta, one.beside.interval) == (two.beside.delta, two.beside.interval)
    assert sorted(one.beside.rule.split(" and ")) == sorted(two.beside.rule.split(" and "))


def test_a_distributed_audit_tells_of_all_rows():
    dd = pytest.importorskip("dask.dataframe")
    frame, inside = drawn(5.0, 1.6, n=4500)
    result = audit_dask(
        dd.from_pandas(frame, npartitions=3),
        outcome="denied",
        sensitive=["race"],
        groups=["black"],
        outcomes=["yes"],
        max_learning_rows=1200,
        scheduler="synchronous",
        **QUICK,
    )
    box = result.worst_case.beside
    assert result.worst_case.rule == "everybody"
    assert 0.5 * inside.sum() < box.n_rows < 0.7 * inside.sum()
    assert box.lower < math.log(5.0) < box.interval[1]
    assert re.fullmatch(r"([ab]) at most 0\.\d+ and (?!\1)[ab] at most 0\.\d+", box.rule)
    assert "A part of them is unequal beyond chance by itself." in " ".join(
        result.summary(min_cell=1).split()
    )
