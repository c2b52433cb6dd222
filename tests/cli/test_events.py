"""``--event``: answers that were wrong, by a table made by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.cli import asked
from mdfa_fairness_plugin.data.events import EVENTS, NUMBER_EVENTS, favorable_event
from mdfa_fairness_plugin.datasets import make_synthetic

# Answered, true, and whose answer that is: eight people of each kind.
KINDS = (("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no"), ("yes", None))
WITH_OUTCOME = {
    "error": ["correct", "error", "error", "correct", None],
    "false_positive": ["false_positive", "true_negative", None],
    "false_negative": ["true_positive", "false_negative", None],
    "true_positive": ["true_positive", "false_negative", None],
}


@pytest.fixture
def ask(tmp_path, mdfa, fake_audit):
    """Run an audit of this table, or one with these columns, with these options."""

    def run(*more, **columns):
        frame = pd.DataFrame([*KINDS] * 8, columns=["loan", "paid"])
        frame["race"], frame["x"] = ["a", "b"] * 20, np.arange(40) % 7
        path = tmp_path / "loans.csv"
        frame.assign(**columns).to_csv(path, index=False)
        given = ("audit", path, "--outcome", "loan", "--true", "paid", "--sensitive", "race")
        return mdfa(*given, "--drop-missing-outcomes", *more)

    return run


@pytest.mark.parametrize("event", WITH_OUTCOME)
def test_what_was_answered_and_true_makes_the_outcome(event, ask, fake_audit):
    result = ask("--event", event, *(() if event == "error" else ("--outcome-label", "yes")))
    assert result.exit_code == 0, result.stderr
    call = fake_audit.call
    assert list(call["X"]) == ["x"]
    assert call["outcomes"] == [event]
    told = call["y"].tolist()
    assert [one if isinstance(one, str) else None for one in told] == WITH_OUTCOME[event] * 8


@pytest.mark.parametrize(
    ("event", "positive", "harm", "said"),
    [
        ("false_negative", "yes", True, "wrongly refused"),
        ("false_positive", "yes", False, "wrongly approved"),
        ("true_positive", "yes", False, "rightly approved"),
        ("false_positive", "no", True, "wrongly refused"),
        ("false_negative", "no", False, "wrongly approved"),
    ],
)
def test_which_is_good_and_how_it_is_said_follows_from_the_answer(
    event, positive, harm, said, ask, fake_audit
):
    """To be refused a loan that one would pay back is harm, whatever it is called."""
    named = ("--outcome-names", "yes=approved,no=refused", "--favorable-label", "yes")
    assert ask("--event", event, "--outcome-label", positive, *named).exit_code == 0
    call = fake_audit.call
    opposite = EVENTS[event].opposite
    assert call["favorable_label"] == (opposite if harm else event)
    assert call["outcome_names"][event] == said
    assert call["y"].name == "loan against paid"


def test_of_a_condition_the_truth_says_whether_it_should_have_held(ask, fake_audit):
    paid = {"loan": [9, 9, 2, 2, 9] * 8, "paid": [1, 0, 1, 0, None] * 8}
    given = ("--outcome", "loan >= 7", "--event", "false_positive")
    result = ask(*given, **paid)
    assert result.exit_code == 0
    assert "rows are audited: paid != 1" in result.stderr
    assert fake_audit.call["y"].dropna().tolist() == ["false_positive", "true_negative"] * 8
    assert fake_audit.call["outcome_names"]["false_positive"] == 'wrongly given "loan >= 7"'
    assert list(fake_audit.call["X"]) == ["x"]


@pytest.mark.parametrize(
    ("more", "columns", "says"),
    [
        (("--event", "error", "--true", "payed"), {}, "Did you mean 'paid'"),
        ((), {}, "--true: true labels are for --event"),
        (("--event", "false_positive"), {}, "--outcome-label: the labels are"),
        (("--event", "error", "--features", "x,paid"), {}, "--features: 'paid' decides the event"),
        (
            ("--event", "error", "--favorable-label", "yes"),
            {},
            "--favorable-label: it does not say",
        ),
        (
            ("--event", "true_positive", "--outcome-label", "yes", "--outcome-label", "no"),
            {},
            "one answer is expected",
        ),
        (("--event", "error"), {"paid": ["y", "n"] * 20}, "--true: it has no label in common"),
        (
            ("--event", "false_negative", "--outcome-label", "yes"),
            {"paid": "no"},
            "so there is no rate of --event false_negative",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_audit(more, columns, says, ask, fake_audit):
    result = ask(*more, **columns)
    assert (result.exit_code, fake_audit.calls) == (2, [])
    assert says in " ".join(result.stderr.split())


def test_the_whole_way(tmp_path, mdfa):
    """Rates are counted among whom the event is about; new rows are asked the same."""
    data = make_synthetic(n_samples=900, delta=1.5, random_state=0)
    frame = data.X.assign(group=data.sensitive_features, got=data.y)
    frame["earned"] = np.random.default_rng(0).integers(0, 2, 900)
    files = {name: tmp_path / name for name in ("old.csv", "new.csv", "old.json", "again.json")}
    frame[:500].to_csv(files["old.csv"], index=False)
    frame[500:].to_csv(files["new.csv"], index=False)
    fast = ("--learner", "tree", "--solver", "level_set", "--repeats", 1)
    asked = ("--outcome", "got", "--true", "earned", "--event", "false_negative", *fast)
    named = ("--outcome-names", "1=approved,0=refused", "--favorable-label", 1)
    result = mdfa(
        *("audit", files["old.csv"], "--sensitive", "group", *asked, *named),
        *("--json", files["old.json"], "--cyclonedx", tmp_path / "bom.json"),
    )
    assert result.exit_code == 0, result.stderr
    told = json.loads(files["old.json"].read_text())
    earned = frame[:500][frame["earned"][:500] == 1]
    assert told["n_samples"] == len(earned)
    said = " ".join(result.stdout.split())
    assert "Only rows where earned == 1." in said
    assert "wrongly refused (got against earned = false_negative)" in said
    counted = {own["group"]: own["counts"] for own in told["groups"] if own["known"]}
    table = pd.crosstab(earned["group"], earned["got"])
    assert counted == {group: [table[0][group], table[1][group]] for group in table.index}
    assert "wrongly refused" in (tmp_path / "bom.json").read_text()
    result = mdfa(
        "measure", files["new.csv"], "--from", files["old.json"], "--json", files["again.json"]
    )
    assert result.exit_code == 0, result.stderr
    assert "wrongly refused" in " ".join(result.stdout.split())


def test_every_event_can_be_asked_for():
    assert (*EVENTS, *NUMBER_EVENTS) == asked.EVENTS


def test_the_good_side_of_an_event_follows_from_the_good_label():
    good = {event: favorable_event(event) for event in EVENTS}
    assert good == {event: event for event in EVENTS} | {
        "false_negative": "true_positive",
        "error": "correct",
    }
    turned = {event: favorable_event(event, False) for event in EVENTS}
    assert all(turned[event] != good[event] for event in EVENTS if event != "error")
    assert turned["error"] == "correct"


@pytest.fixture
def ask_of_scores(tmp_path, mdfa, fake_audit):
    """Run an audit of what a model said of pay, beside what was paid."""

    def run(event, *more, true="paid"):
        n = np.arange(60)
        frame = pd.DataFrame({"said": [f"{1000 + 7 * i},5" for i in n], "paid": 1000.0 + 7 * n})
        frame["paid"] += np.where(n % 3 == 0, 2.5, -1.5)
        frame["good"], frame["sex"] = np.where(n % 4 == 0, "yes", "no"), ["f", "m"] * 30
        path = tmp_path / "pay.csv"
        frame.assign(x=n % 7).to_csv(path, index=False)
        given = ("audit", path, "--outcome", "said", "--sensitive", "sex", "--event", event)
        truth = ("--true", true) if true else ()
        drop = [own for own in ("paid", "good") if own != true]
        result = mdfa(*given, *truth, *more, *(word for own in drop for word in ("--drop", own)))
        assert result.exit_code == 0, result.stderr
        return fake_audit.calls[-1]

    return run


def test_what_a_score_is_and_how_far_off_makes_the_outcome(ask_of_scores):
    """True minus predicted is 2 for every third row and -2 for the others."""
    residual = np.where(np.arange(60) % 3 == 0, 2.0, -2.0)
    call = ask_of_scores("residual", "--favorable", "high")
    assert call["y"].tolist() == residual.tolist()
    # Those who are worth more than was said of them were said too little of.
    assert (call["outcome_type"], call["favorable"]) == ("numeric", "low")
    assert list(call["X"]) == ["x"]
    call = ask_of_scores("absolute_error")
    assert call["y"].tolist() == [2.0] * 60
    assert (call["outcome_name"], call["favorable"]) == ("absolute error", "low")
    named = ("--outcome-names", "overprediction=overrated")
    call = ask_of_scores("overprediction", "--favorable", "low", *named)
    assert (call["y"] == "overprediction").tolist() == (residual < 0).tolist()
    assert call["favorable_label"] == "not overpredicted"
    assert call["outcome_names"]["overprediction"] == "overrated"
    assert call["outcome_names"]["not overpredicted"] == "not predicted too high"
    call = ask_of_scores("score", true=None)
    assert call["y"].tolist()[:2] == [1000.5, 1007.5]
    # A high score may be a loan or a risk: only the user knows.
    assert not {"favorable", "favorable_label"} & set(call)


def test_what_is_true_is_compared_at_the_same_score(ask_of_scores):
    """The score is a feature that the outcome may be told by; its truth is none."""
    options = ("--outcome-label", "yes", "--features", "x", "--favorable", "high")
    call = ask_of_scores("calibration", *options, true="good")
    assert call["X"]["said"].tolist()[:2] == [1000.5, 1007.5]
    assert list(call["X"]) == ["x", "said"]
    assert call["decision_inputs"] == ["said"]
    assert (call["y"] == "positive").tolist() == (np.arange(60) % 4 == 0).tolist()
    assert call["favorable_label"] == "negative"
    assert call["outcome_names"]["positive"] == "in truth yes at the same score"
    call = ask_of_scores("calibration", "--outcome-type", "numeric")
    assert call["y"].tolist()[0] == 1002.5
    assert list(call["X"]) == ["said", "x"]
    assert call["outcome_type"] == "numeric"


def test_events_of_numbers_say_what_is_missing(ask, tmp_path):
    """Labels have no residual, and numbers are no answers."""
    said = ask("--event", "residual").stderr
    assert "--outcome: --event residual needs numbers, and 'no', 'yes' was found" in said
    said = ask("--event", "false_positive", "--outcome-type", "numeric").stderr
    assert "--outcome-type: 'numeric' was given, and --event false_positive compares labels" in said
    said = ask("--event", "residual", "--favorable-label", "1", paid=1, loan=2).stderr
    assert "--favorable-label: --event residual is of numbers. Say which predictions are" in said
    said = ask("--event", "residual", "--features", "paid", paid=1, loan=2).stderr
    assert "--features: 'paid' decides the event 'residual'" in said
