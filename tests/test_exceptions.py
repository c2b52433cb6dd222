"""Errors name the argument at fault; messages keep their counts."""

import copy
import math
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import (
    AuditWarning,
    Count,
    DataNotFoundError,
    FeatureWarning,
    InputError,
    InputTypeError,
    Message,
    NothingToAuditError,
    NothingToAuditWarning,
    OptionalDependencyError,
    OverlapError,
    WarningLog,
    nan_if_constant,
    renaming,
    visible,
)


@pytest.mark.parametrize(
    ("text", "argument", "reason"),
    [
        ("X: it has no rows.", "X", "it has no rows."),
        ("X: column 'a: b' has dtype V8.", "X", "column 'a: b' has dtype V8."),
        ("X['a: b']: 3 values.", "X", "3 values."),
        ("y_true, y_pred: neither was given.", "y_true, y_pred", "neither was given."),
        ("sensitive_features: too few rows: 3", "sensitive_features", "too few rows: 3"),
        ("nothing", "", "nothing"),
        ("no module named x; try: pip install x", "", "no module named x; try: pip install x"),
        ("", "", ""),
    ],
)
def test_an_error_knows_its_argument(text, argument, reason):
    error = InputError(text)
    assert error.argument == argument
    assert error.reason == reason
    assert str(error) == text


def test_errors_of_a_block_are_renamed_where_their_argument_is_called_otherwise():
    with pytest.raises(InputError, match=r"^prices: too few\.$"), renaming({"X": "prices"}):
        raise InputError("X: too few.")
    with pytest.raises(InputError, match=r"^y: too few\.$"), renaming({"X": "prices"}):
        raise InputError("y: too few.")
    with pytest.raises(ValueError, match="X: foreign"), renaming({"X": "prices"}):
        raise ValueError("X: foreign")


@pytest.mark.parametrize(
    "kind",
    [InputError, InputTypeError, OverlapError, OptionalDependencyError, DataNotFoundError],
)
def test_a_renamed_error_is_the_same_about_another_argument(kind):
    renamed = kind("X['a']: 3 values, X: more.").renamed("audit_features")
    assert type(renamed) is kind
    assert str(renamed) == "audit_features['a']: 3 values, X: more."
    assert renamed.argument == "audit_features"


def test_counts_survive_what_errors_do():
    message = Message("X: ", Count(3, of=20), " are late.")
    error = InputError(message)
    assert error.reason == "3 of 20 rows are late."
    assert error.reason.parts == (Count(3, of=20), " are late.")
    assert error.renamed("data").args[0].parts == ("data: ", Count(3, of=20), " are late.")
    assert InputError(error.reason).reason.parts == (Count(3, of=20), " are late.")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (Count(1234), "1,234 rows"),
        (Count(3, of=2000), "3 of 2,000 rows"),
        (Count(3, unit="levels"), "3 levels"),
        (Count(3, unit=""), "3"),
        (Count(3, said="only 3 row(s)"), "only 3 row(s)"),
    ],
)
def test_counts_in_words(count, text):
    assert str(count) == text
    assert f"{count} here" == f"{text} here"


def test_a_message_is_text_that_keeps_its_counts():
    inner = Message("'age' (", Count(2, unit=""), ")")
    message = Message("X: ", "missing in ", inner, ".")
    assert message == "X: missing in 'age' (2)."
    assert message.parts == ("X: missing in 'age' (", Count(2, unit=""), ").")
    for same in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert same == message
        assert same.parts == message.parts


def test_a_log_keeps_the_counts_and_warns_in_plain_words():
    log = WarningLog()
    with pytest.warns(FeatureWarning, match=r"^X: 3 rows are odd\.$") as caught:
        log.warn(FeatureWarning, "X: ", Count(3), " are odd.")
    log.note("Noted", "as it is {braces and all}")
    assert log.records == (
        AuditWarning("FeatureWarning", "X: 3 rows are odd."),
        AuditWarning("Noted", "as it is {braces and all}"),
    )
    assert log.records[0].message.parts[1] == Count(3)
    assert caught[0].message.args[0].parts[1] == Count(3)


def test_an_audit_speaks_of_no_row_outside_a_count(tiny_groups):
    X, y, sensitive = tiny_groups
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mdfa.audit(X, y, sensitive_features=sensitive, overlap="trim", random_state=0)
    messages = [warning.message for warning in result.warnings]
    messages += [violation.reason for violation in result.violations]
    counts = 0
    for message in messages:
        parts = getattr(message, "parts", (message,))
        counts += sum(not isinstance(part, str) for part in parts)
        words = "\N{LATIN SMALL LETTER N}".join(part for part in parts if isinstance(part, str))
        assert not re.search(r"\d rows?\b|\(\d+\)|\d levels\b", words), message
    assert counts > 6


@pytest.fixture
def tiny_groups():
    rng = np.random.default_rng(0)
    n = 600
    age = rng.normal(size=n)
    age[:7] = np.nan
    town = rng.choice(["A", "B"], n).astype(object)
    town[10:14] = ["C", "D", "E", "E"]
    X = pd.DataFrame({"age": age, "town": town, "far": rng.normal(size=n)})
    race = np.where(np.arange(n) % 2, "a", "b").astype(object)
    race[:4] = "c"
    race[4:9] = None
    X.loc[X.index % 8 == 1, "far"] += 6
    sensitive = pd.DataFrame({"race": race})
    return X, rng.choice(["no", "yes"], n), sensitive


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("d\u00e9j\u00e0 vu \u4e2d\u6587 \u2265", "d\u00e9j\u00e0 vu \u4e2d\u6587 \u2265"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x07\x9b", "\ufffd[31mred\ufffd\ufffd"),
        ("a\u202eb\u2066c\u200bd\ufeff\u2060\u00ad", "a\ufffdb\ufffdc\ufffdd" + 3 * "\ufffd"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647",
        ),
        ("male\u200c", "male\ufffd"),
        ("\U000e0041tag", "\ufffdtag"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_such(text, shown):
    """Joiners stay where a script needs them: between letters of it."""
    assert visible(text) == shown
    assert str(InputError(text)) == shown
    log = WarningLog()
    log.note("Anything", text, Count(3))
    assert log.records[0].message == f"{shown}3 rows"


def test_the_argument_of_an_error_is_found_whatever_else_it_says():
    error = InputError("X['\x1b[31m']: it is \u202ewrong")
    assert error.argument == "X"
    assert str(error.renamed("features")) == "features['\ufffd[31m']: it is \ufffdwrong"


def test_a_metric_of_a_constant_outcome_is_not_a_number():
    def raises(error):
        raise error

    with pytest.warns(NothingToAuditWarning, match=r"^y_pred: all are 1\. The metric is NaN\.$"):
        assert math.isnan(
            nan_if_constant(lambda: raises(NothingToAuditError("y_pred: all are 1.")))
        )
    with pytest.raises(InputError, match="other"):
        nan_if_constant(lambda: raises(InputError("other")))
    assert nan_if_constant(lambda: 2.0) == 2.0
