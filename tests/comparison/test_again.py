"""Old findings on new rows: planted ones hold there, and what only seemed to be there does not."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli import main
from mdfa_fairness_plugin.comparison import measure_again
from mdfa_fairness_plugin.exceptions import InputError

FAST = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}


def people(seed, delta, n=700):
    """Planted with this delta where x1 and x2 are small; a town that tells nothing, with blanks."""
    data = mdfa.datasets.make_synthetic(n_samples=n, delta=delta, random_state=seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(data.X)
    frame["home town"] = rng.choice(["north", "south", "O'Brien"], n)
    frame["sex"] = np.where(data.sensitive_features == 1, "f", "m")
    frame["given"] = np.where(data.y == 1, "yes", "no")
    return frame


def rows(frame):
    return {
        "X": frame[["x1", "x2", "home town"]],
        "y": frame["given"],
        "sensitive_features": frame["sex"].rename("sex"),
    }


@pytest.fixture(scope="module")
def march():
    return mdfa.audit(**rows(people(0, 1.5)), **FAST)


def again(old, frame, **changed):
    return measure_again(old, **(rows(frame) | changed), **FAST)


def test_a_planted_violation_is_confirmed_and_measured_as_asked_of_the_new_rows(march):
    """The same as an audit of the new rows says of the same condition."""
    april = people(1, 1.5)
    found = again(march, april)
    assert all(found.confirmed)
    first = march.violations[found.places[0]]
    assert first.verdict == "violation"
    inside = np.ones(len(april), dtype=bool)
    for condition in first.rule_conditions[0] if first.rule_conditions else ():
        inside &= (april[condition.name] > condition.low) & (
            april[condition.name] <= condition.high
        )
    own = mdfa.audit(**rows(april), **FAST)
    place = next(v for v in own.violations if v.key == first.key)
    (answer,) = own.measure(np.asarray(inside), violation=place)
    assert found.answers[0].n_rows == answer.n_rows
    assert found.answers[0].delta == pytest.approx(answer.delta, abs=1e-12)
    assert found.to_frame().confirmed.all()


def test_what_is_gone_is_not_confirmed(march):
    found = again(march, people(2, 0.0))
    assert not any(found.confirmed)
    assert f"0 of {len(found.answers)} finding" in found.summary()
    assert found.to_html().count("before;") == len(found.answers)
    assert not json.loads(found.to_json())["confirmed"][0]
    with pytest.raises(InputError, match=r"min_cell: .* at least 1 expected, 0 found"):
        found.to_json(min_cell=0)


def test_a_worst_case_that_was_no_finding_is_not_confirmed_as_one(march):
    place = march.violations.index(march.worst_case)
    blind = [replace(own, verdict="none_larger_than_detectable") for own in march.violations]
    found = again(replace(march, violations=tuple(blind)), people(1, 1.5))
    assert found.places == (place,)
    assert found.confirmed == (True,)
    told = " ".join(found.summary().split())
    assert "Nothing was found before; the worst case then is unequal on the new rows." in told
    assert "before; unequal beyond chance now." in told
    assert "confirmed" not in told.split("WHAT HOLDS")[0]


def test_rows_that_cannot_confirm_are_refused(march):
    with pytest.raises(InputError, match="X: these are the rows that the findings are from"):
        again(march, people(0, 1.5))
    nothing = mdfa.AuditResult(violations=(mdfa.Violation(group="f", outcome="yes"),))
    with pytest.raises(InputError, match="old: the audit found nobody"):
        again(nothing, people(1, 1.5))


def test_rows_that_are_not_comparable_are_named(march):
    named = next(own for own in march.violations if own.rule_conditions)
    name = named.rule_conditions[0][0].name
    april = people(1, 1.5)
    with pytest.raises(InputError, match=f"names '{name}', which is no audited feature"):
        again(march, april, X=april[["home town"]].assign(z=april.x1))
    with pytest.raises(InputError, match="in the new rows it is categorical"):
        again(march, april, X=april[["x1", "x2"]].map(lambda x: "low" if x < 0 else "high"))
    with pytest.raises(InputError, match="have no search of sex ="):
        again(march, april, y=np.where(april.given == "yes", "ja", "nein"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("again")
    made = (("march", 0, 1.5, ";"), ("april", 1, 1.5, ";"), ("may", 2, 0.0, "\t"))
    for name, seed, delta, mark in made:
        people(seed, delta).to_csv(folder / f"{name}.csv", index=False, sep=mark)
    asked = ["--outcome", "given", "--sensitive", "sex", "--separator", ";", "--where", "x1 < 3"]
    how = ["--learner", "tree", "--repeats", "1", "--favorable-label", "yes"]
    done = CliRunner().invoke(
        main,
        [
            *("audit", str(folder / "march.csv")),
            *asked,
            *how,
            "--json",
            str(folder / "a.json"),
            "-q",
        ],
    )
    assert done.exit_code == 0, done.output
    return folder


def measure(folder, name, *options):
    words = ["measure", str(folder / name), "--from", str(folder / "a.json"), *options]
    return CliRunner().invoke(main, words)


def test_the_command_asks_the_same_of_new_rows(files, tmp_path):
    """All but what is said of the new file is as in the old audit; the gate trips."""
    done = measure(files, "april.csv", "--fail-above", "0.2", "--junit", str(tmp_path / "m.xml"))
    assert done.exit_code == 1, done.output
    assert "confirmed on the new rows" in done.output
    assert "settings differ" not in done.output
    assert "gate: where " in done.output
    assert int(ET.parse(tmp_path / "m.xml").getroot().get("failures")) >= 1
    assert "--separator" in measure(files, "may.csv").output
    told = ("--separator", r"\t", "--fail-above", "0.2", "-q")
    assert measure(files, "may.csv", *told).exit_code == 0


def test_the_command_refuses_the_same_file_and_files_that_do_not_say_what_was_asked(
    files, tmp_path
):
    same = measure(files, "march.csv")
    assert same.exit_code == 2
    assert "this is the file that" in same.output
    told = json.loads((files / "a.json").read_text(encoding="utf-8"))
    for request, said in (
        (None, "does not say which columns"),
        ({"outcome": "given", "file": "/etc/passwd"}, "provenance.request: some of"),
        ({"outcome": 3}, "provenance.request.outcome: a text expected, 3 found"),
    ):
        told["provenance"]["request"] = request
        (tmp_path / "a.json").write_text(json.dumps(told))
        words = ["measure", str(files / "april.csv"), "--from", str(tmp_path / "a.json")]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 2
        assert said in done.output


def test_conditions_of_a_file_are_checked(files, tmp_path):
    told = json.loads((files / "a.json").read_text(encoding="utf-8"))
    found = [v for v in told["violations"] if v["verdict"] == "violation" and v["rule_conditions"]]
    assert found
    for own in found:
        own["rule_conditions"][0][0] = {"name": "x1", "low": "high"}
    (tmp_path / "a.json").write_text(json.dumps(told))
    words = ["measure", str(files / "april.csv"), "--from", str(tmp_path / "a.json")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "a.json: rule_conditions.low: a number expected, 'high' found" in done.output
