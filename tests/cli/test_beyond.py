"""Outcomes beyond yes and no on the command line: numbers, orders, counts."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin
from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.outputs import gate
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.datasets import make_numeric
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.report.junit import Case

CHEAP = ("--learner", "tree", "--repeats", 1)
NUMERIC = ("--outcome-type", "numeric")


@pytest.fixture
def pay(tmp_path):
    """Pay, its bands and complaints of 120 people."""
    n = 120
    frame = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "age": np.arange(n) % 40 + 20})
    frame["pay"] = [f"{1000 + 37 * i % 900},{i % 100:02d}" for i in range(n)]
    frame["band"] = np.array(["low", "mid", "high, or top"])[np.arange(n) % 3]
    frame["age / 3"] = (frame["age"] / 3).round(2)
    frame["complaints"], frame["years"] = np.arange(n) % 4, np.arange(n) % 5 + 1
    path = tmp_path / "pay.csv"
    frame.to_csv(path, index=False)
    return path


def asked(path, outcome, *more):
    return ("audit", path, "--outcome", outcome, "--sensitive", "sex", "--features", "age", *more)


def test_a_number_reaches_the_audit_as_it_is_written(pay, mdfa, fake_audit):
    options = ("--compare-by", "ratio", "--favorable", "high", "--robust", "0.05")
    more = ("--min-difference", "10", "--outcome-label", "less", "--outcome-names", "less=money")
    result = mdfa(*asked(pay, "pay", *NUMERIC, "--decimal", ",", *options, *more))
    assert result.exit_code == 0, result.stderr
    call = fake_audit.call
    assert call["y"].tolist()[:3] == [1000.0, 1037.01, 1074.02]
    told = {"outcome_type": "numeric", "measure": "ratio", "favorable": "high", "robust": 0.05}
    told |= {"min_difference": 10, "outcomes": ["less"], "outcome_names": {"less": "money"}}
    assert {name: call[name] for name in told} == told
    # A comma before two digits is clear by itself; a point before three is not.
    assert mdfa(*asked(pay, "pay", *NUMERIC, "--robust", "rank")).exit_code == 0
    assert fake_audit.calls[1]["y"].tolist() == call["y"].tolist()
    assert fake_audit.calls[1]["robust"] == "rank"
    told = {**pd.read_csv(pay), "pay": [f"{i % 9 + 1}.{i:03d}" for i in range(120)]}
    pd.DataFrame(told).to_csv(pay, index=False)
    result = mdfa(*asked(pay, "pay", *NUMERIC))
    assert result.exit_code == 2
    assert "Say which: --decimal '.' or --decimal ','" in result.stderr


def test_orders_and_counts_reach_the_audit(pay, mdfa, fake_audit):
    order = ("--ordered", 'low,mid,"high, or top"', "--favorable", "low")
    result = mdfa(*asked(pay, "band", *order, "--outcome-label", "mid or higher"))
    assert result.exit_code == 0, result.stderr
    assert fake_audit.call["ordered"] == ["low", "mid", "high, or top"]
    assert fake_audit.call["outcomes"] == ["mid or higher"]
    assert mdfa(*asked(pay, "complaints", *NUMERIC, "--exposure", "years")).exit_code == 0
    assert fake_audit.calls[1]["exposure"].tolist()[:6] == [1, 2, 3, 4, 5, 1]
    assert not {"outcomes", "ordered"} & set(fake_audit.calls[1])


def test_a_sensitive_quantity_reaches_the_audit(pay, mdfa, fake_audit):
    options = ("--sensitive", "years", "--sensitive-type", "numeric", "--per", 10)
    result = mdfa("audit", pay, "--outcome", "sex", "--features", "age", *options)
    assert result.exit_code == 0, result.stderr
    assert (fake_audit.call["sensitive_type"], fake_audit.call["per"]) == ("numeric", 10.0)


def test_probabilities_of_groups_reach_the_audit(pay, mdfa, fake_audit):
    frame = pd.read_csv(pay).assign(f=0.25, m=0.75)
    frame.to_csv(pay, index=False)
    given = ("audit", pay, "--outcome", "band", "--features", "age")
    names = ("--sensitive-probabilities", "f,m", "--group-names", "f=women", "--reference", "m")
    result = mdfa(*given, *names)
    assert result.exit_code == 0, result.stderr
    call = fake_audit.call
    assert call["sensitive_features"] is None
    assert call["sensitive_probabilities"].equals(frame[["f", "m"]])
    assert (call["group_names"], call["reference_group"]) == ({"f": "women"}, "m")
    assert mdfa(*given, *names, "--sensitive", "sex").exit_code == 0
    assert fake_audit.calls[1]["sensitive_features"].columns.tolist() == ["sex"]
    assert "Missing option '--sensitive'" in mdfa(*given).stderr


def test_models_that_predict_numbers_are_compared_as_they_are_written(pay, mdfa, monkeypatch):
    call = {}

    def compare(X, models, **options):
        call.update(options, models=models)
        raise InputError("outcomes_by_model: stop here.")

    monkeypatch.setattr(mdfa_fairness_plugin, "compare", compare)
    options = ("--favorable", "low", "--compare-by", "ratio", "--robust", "rank", "--decimal", ",")
    options += ("--metric", "r2", "--tolerance", 0.1, "--exposure", "years")
    given = ("compare", pay, "--outcomes", "pay,complaints", "--true", "paid", "--sensitive", "sex")
    frame = pd.read_csv(pay)
    frame.assign(paid=frame["pay"]).to_csv(pay, index=False)
    assert "--outcomes: stop here." in mdfa(*given, *NUMERIC, *options).stderr
    assert call["models"]["pay"].tolist()[:2] == call["y_true"].tolist()[:2] == [1000.0, 1037.01]
    told = {"outcome_type": "numeric", "measure": "ratio", "favorable": "low", "robust": "rank"}
    told |= {"metric": "r2", "tolerance": 0.1}
    assert call["exposure"].tolist() == frame["years"].tolist()
    assert {name: call[name] for name in told} == told


@pytest.mark.parametrize(
    ("outcome", "options", "said"),
    [
        ("complaints", ("--exposure", "years"), "--exposure: it divides counts, which need --outc"),
        ("band", NUMERIC, "--outcome: --outcome-type numeric needs numbers"),
        ("band", ("--ordered", "low,mid"), "--ordered: every outcome found in y once"),
        ("band", ("--ordered", "low,mid,top"), "--ordered: column 'band' has no value 'top'"),
        ("band", ("--favorable", "high"), "as in --favorable-label 'mid'."),
        ("age / 3", (), "or say --outcome-type numeric to audit"),
        (
            "pay",
            (*NUMERIC, "--favorable-label", "3"),
            "which end is good: --favorable high or low.",
        ),
        ("band", ("--ordered", "low,mid", "--favorable-label", "mid"), "--favorable high or low."),
        ("pay", (*NUMERIC, "--group-table", "t.csv"), "audit a cut of them, as in --outcome 'wage"),
        ("pay", (*NUMERIC, "--outcome-label", "few"), "or leave the option out for all."),
        ("pay", (*NUMERIC, "--solver", "level_set"), "Use --solver auto with"),
        ("band", ("--sensitive-type", "numeric"), "numbers, and 'sex' holds 'f', 'm'"),
        ("band", ("--sensitive-type", "numeric"), "Error: --sensitive: "),
        (
            "band",
            ("--sensitive-type", "numeric", "--solver", "level_set"),
            "or make groups with --bins",
        ),
        (
            "band",
            ("--complexity", "cross_validated"),
            "--complexity: it is chosen by cross-validation",
        ),
        ("pay", (*NUMERIC, "--robust", "0.7"), "Invalid value for '--robust'"),
    ],
)
def test_errors_say_which_option_helps(outcome, options, said, pay, mdfa):
    result = mdfa(*asked(pay, outcome, *options))
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_the_gate_is_in_units_of_what_is_compared(capsys):
    """Of a difference the outcome's, of a ratio its logarithm; never of a mean rank beside cuts."""

    def status(limit, **fields):
        told = {"sensitive_feature": "sex", "group": "f", "verdict": "violation", "reason": ""}
        told |= {"outcome": "less", "interval": (0.3, 0.4), "difference_interval": (150.0, 210.0)}
        own = SimpleNamespace(**told | fields)
        if "change" not in fields:  # whose own interval is of what changed
            own.effect_interval = own.difference_interval if own.by_difference else own.interval
        result = SimpleNamespace(cases=lambda min_cell: [Case("", own, str)])
        return gate(Request(fail_above=limit), result)

    assert status(100, by_difference=True) == 1
    err = capsys.readouterr().err
    assert "note: --fail-above 100 is a limit of the difference, in units of the outcome" in err
    assert "lower bound of the difference, in units of the outcome, 150 is above" in err
    assert status(160, by_difference=True) == 0
    assert status(0.2, by_difference=True, change=True) == 1
    assert "units of the outcome, 0.3 is above" in capsys.readouterr().err
    assert status(0.2, by_difference=False) == 1
    assert "outcome less: lower bound of delta 0.300 is above" in capsys.readouterr().err
    with pytest.raises(CommandError, match="only mean ranks are audited; audit a cut, too"):
        status(0.2, by_difference=True, outcome="lower rank")
    assert "limit of" not in capsys.readouterr().err


def test_a_numeric_audit_from_file_to_gate(tmp_path, mdfa):
    data = make_numeric(700, 1.5, random_state=0)
    path, told, cases = (tmp_path / name for name in ("pay.csv", "audit.json", "audit.xml"))
    frame = data.X.assign(pay=data.y.round(3), group=data.sensitive_features)
    frame.to_csv(path, index=False)
    given = ("audit", path, "--outcome", "pay", "--sensitive", "group", *NUMERIC, *CHEAP)
    files = ("--json", told, "--junit", cases, "--favorable", "high", "-q")
    result = mdfa(*given, *files, "--fail-above", 0.5)
    assert result.exit_code == 1, result.stderr
    assert "gate: group = 1, outcome less: lower bound of the difference" in result.stderr
    assert cases.read_text().count("<failure") == 1
    request = json.loads(told.read_text())["provenance"]["request"]
    assert request["outcome_type"] == "numeric"
    assert request["favorable"] == "high"
    found = mdfa("verify", told, path, "--again")
    assert found.exit_code == 0, found.stdout + found.stderr


@pytest.mark.parametrize("option", ["--robust", "--alpha"])
@pytest.mark.parametrize("given", ["x", "nan", ""])
def test_a_share_or_a_word_says_what_is_allowed(pay, mdfa, option, given):
    word, most = {"--robust": ("rank", "0.5"), "--alpha": ("auto", "1")}[option]
    result = mdfa(*asked(pay, "pay", *NUMERIC, option, given))
    assert result.exit_code == 2
    said = f"'{option}': '{word}' or a number above 0 and below {most} expected, {given!r} found."
    assert said in " ".join(result.stderr.split())
