"""What audits and cards write fits the schemas that the package publishes."""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.balance import BalanceDiagnostics
from mdfa_fairness_plugin.exceptions import AuditWarning, MDFAWarning
from mdfa_fairness_plugin.records import (
    AskedSubgroup,
    AuditRecord,
    GroupCounts,
    ModelDependence,
    Silence,
    Spread,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA, CARD_SCHEMA, load_schema

HOSTILE = "</script>\x00\x1b[2J\n\u202e\ud800\"'&" + "z" * 500


def validator(name):
    schema = load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


# Only there where outcomes are numbers.
TOLD = {
    one.name
    for kind in (Violation, AskedSubgroup, ModelDependence, Spread, GroupCounts)
    for one in dataclasses.fields(kind)
    if one.metadata.get("json") == "told"
}


AUDIT, CARD = validator(AUDIT_SCHEMA), validator(CARD_SCHEMA)


def check(result: AuditResult) -> dict[str, Any]:
    told = json.loads(result.to_json(rows=True), parse_constant=lambda name: pytest.fail(name))
    AUDIT.validate(told)
    AUDIT.validate(json.loads(result.to_json()))
    return told


def violation(**fields):
    return Violation(**{"group": "a", "outcome": 1, **fields})


def rich(**fields):
    inf, nan = math.inf, math.nan
    return violation(
        **{
            "sensitive_feature": HOSTILE,
            "group": (HOSTILE, np.int64(2), None, pd.Timestamp("2020-01-31")),
            "reference": 1.5,
            "outcome": np.True_,
            "verdict": "violation",
            "delta": inf,
            "interval": (0.5, inf),
            "gamma_interval": (nan, 0.2),
            "mass_interval": (-inf, inf),
            "missing_bounds": (-inf, 2.0),
            "n_missing": 3,
            "e_value": inf,
            "e_value_limit": 1.0,
            "membership": [True, False],
            "held_out": [True, True],
            "rates": (0.5, 0.0),
            "counts": pd.DataFrame([[1, 2], [3, 4]], index=["a", None], columns=[HOSTILE, 0]),
            "profile": pd.DataFrame(
                [[1.0, np.nan], [np.inf, 2.0]],
                columns=pd.MultiIndex.from_tuples([("population", "a"), ("difference", "s")]),
            ),
            "path": WorstCasePath(
                delta=np.array([inf, nan]),
                mass=np.array([0.1, 0.2]),
                n_rows=np.array([3, 9]),
                threshold=np.array([1.0, -inf]),
                interval_low=np.array([nan, nan]),
                interval_high=np.array([inf, inf]),
            ),
            "estimates": {"raw": nan, "hajek": -inf},
            "rule": HOSTILE,
            "rule_fidelity": 0.9,
            "rule_subgroup": Subgroup(label="rule", delta=0.3, interval=(0.1, 0.5), n_rows=7),
            "core": Subgroup(label="core", delta=inf, rates=(1.0, 0.0)),
            "searched": Subgroup(
                label="searched", delta=-inf, p_value=nan, beside=np.True_, rule=HOSTILE
            ),
            "depends_on_models": ModelDependence(
                ratios=(inf, nan, 1.2),
                propensity_losses=(0.6, 0.5, nan),
                outcome_losses=(0.7, 0.6, 0.5),
                shares=(1.0,) * 3,
                allowance=inf,
                decisive=np.True_,
            ),
            "spread": Spread(ratios=(inf, nan, 1.2), shared=nan),
            **fields,
        }
    )


@pytest.mark.parametrize(
    "result",
    [
        AuditResult(),
        AuditResult(violations=(violation(),)),
        AuditResult(violations=(violation(reason=HOSTILE),), n_samples=5),
        AuditResult(violations=(rich(), violation(delta=-math.inf, interval=(-math.inf, 1.0)))),
        AuditResult(
            violations=(rich(),),
            silence=(
                Silence(sensitive_feature="race", group=("a", 1), n_rows=4, rule=HOSTILE),
                Silence(sensitive_feature="race", group=None, share=0.2, rule_fidelity=0.8),
            ),
            warnings=(AuditWarning("W", HOSTILE),),
            excluded={HOSTILE: np.int64(3)},
            balance={("race", None): {"mmd_after": math.inf, "smd_after": {HOSTILE: math.nan}}},
            outcome_labels=(None, 1.5, HOSTILE, math.inf),
            sensitive_names=(HOSTILE,),
            feature_names=(HOSTILE, "age"),
            provenance={
                "seed": np.int64(3),
                "parameters": {"learner": object(), "f": len, 1: math.nan},
                "versions": {"numpy": "2"},
                "weight_type": "frequency",
            },
        ),
    ],
)
def test_made_up_results_fit(result):
    check(result)


def properties(name, *path):
    schema = load_schema(name)
    return set((schema["$defs"][path[0]] if path else schema)["properties"])


def names(kind):
    """Fields that JSON has: what they say themselves."""
    return {one.name for one in dataclasses.fields(kind) if one.metadata["json"] != "no"}


def test_every_field_is_in_the_schema():
    assert properties(AUDIT_SCHEMA) == names(AuditRecord) | {
        "schema",
        "format",
        "format_version",
        "messages",
        "min_cell",
        "worst_case",
    }
    assert properties(AUDIT_SCHEMA, "violation") == names(Violation) | {
        "ratio",
        "ratio_interval",
        "detectable_ratio",
        "standard_deviations",
    }
    assert properties(AUDIT_SCHEMA, "subgroup") == names(Subgroup)
    assert properties(AUDIT_SCHEMA, "asked") == names(AskedSubgroup) | {
        "ratio",
        "ratio_interval",
        "detectable_ratio",
        "standard_deviations",
    }
    assert properties(AUDIT_SCHEMA, "model_dependence") == names(ModelDependence)
    assert properties(AUDIT_SCHEMA, "spread") == names(Spread)
    assert properties(AUDIT_SCHEMA, "silence") == names(Silence)
    assert properties(AUDIT_SCHEMA, "group") == names(GroupCounts)
    assert properties(AUDIT_SCHEMA, "balance") == names(BalanceDiagnostics) | {
        "sensitive_feature",
        "group",
    }


def test_everything_is_described_or_named_and_nothing_else_is_let_in():
    for kind in ("violation", "subgroup", "model_dependence", "spread", "asked", "group"):
        schema = load_schema(AUDIT_SCHEMA)["$defs"][kind]
        assert schema["additionalProperties"] is False
        by_row = {"membership", "held_out", "left_out"} & set(schema["properties"])
        told = set(schema["properties"]) - by_row - TOLD
        assert set(schema["required"]) == told


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: told.update(extra=1),
        lambda told: told.pop("violations"),
        lambda told: told.update(schema="urn:other"),
        lambda told: told.update(n_samples=1.5),
        lambda told: told.update(n_samples=-1),
        lambda told: told.update(alpha="some"),
        lambda told: told["violations"][0].pop("alpha"),
        lambda told: told["violations"][0].update(verdict="fair"),
        lambda told: told["violations"][0].update(delta="nan"),
        lambda told: told["violations"][0].update(interval=[0.1]),
        lambda told: told["violations"][0].update(interval=[0.1, 0.2, 0.3]),
        lambda told: told["violations"][0].update(membership="012"),
        lambda told: told["violations"][0].update(share=1.2),
        lambda told: told["violations"][0].pop("rule_subgroup"),
        lambda told: told["violations"][0]["core"].update(more=1),
        lambda told: told["violations"][0]["depends_on_models"].pop("ratios"),
        lambda told: told["violations"][0]["spread"].pop("shared"),
        lambda told: told["violations"][0]["spread"].update(shared=1.2),
        lambda told: told["violations"][0].pop("spread"),
        lambda told: told["violations"][0].pop("searched"),
        lambda told: told["violations"][0]["counts"].pop("index"),
        lambda told: told["warnings"].append({"category": "W"}),
    ],
)
def test_what_is_not_an_audit_is_refused(spoil):
    told = check(AuditResult(violations=(rich(),)))
    spoil(told)
    with pytest.raises(jsonschema.ValidationError):
        AUDIT.validate(told)


def of_second_schema(told: dict[str, Any]) -> dict[str, Any]:
    """What an audit of version 2 wrote: nothing of models, splits, parts of everybody, masses, harm."""
    for new in ("outcome_name", "favorable_label", "groups", "messages"):
        told.pop(new)
    for found in told["violations"]:
        for new in ("outcome_text", "group_text", "reference_text", "harm"):
            found.pop(new)
        for new in ("impact_ratio", "impact_interval", "left_out"):
            found.pop(new)
        assert found.pop("depends_on_models") is not None
        assert found.pop("spread") is not None
        of_sets = ("difference", "difference_interval")
        for name in ("searched", "population", "core", "rule_subgroup"):
            for new in ("p_value", "beside", "rule", "rule_fidelity", *of_sets):
                found[name].pop(new)
        of_all = ("searched", "rule_rows", "rule_conditions", "detectable_mass", "detectable_ratio")
        for name in (*of_all, "standard_deviations", *of_sets):
            found.pop(name)
    return told | {"schema": AUDIT_SCHEMA.replace("audit-3", "audit-2"), "format_version": 2}


def test_files_of_the_second_schema_still_fit_it():
    told = of_second_schema(check(AuditResult(violations=(rich(),), n_samples=5)))
    validator(told["schema"]).validate(told)
    with pytest.raises(jsonschema.ValidationError):
        AUDIT.validate(told)


def test_files_of_the_first_schema_still_fit_it():
    """They had one alpha for all searches, and -1 for a count that is withheld."""
    told = of_second_schema(check(AuditResult(violations=(rich(alpha=0.02),), n_samples=5)))
    assert told["alpha"] == "auto"
    assert told["violations"][0].pop("alpha") == 0.02
    first = AUDIT_SCHEMA.replace("audit-3", "audit-1")
    told |= {"schema": first, "format_version": 1, "alpha": 0.05, "n_samples": -1}
    validator(first).validate(told)
    with pytest.raises(jsonschema.ValidationError):
        AUDIT.validate(told)


def test_a_schema_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="name: 'audit-9' is not one of"):
        load_schema("audit-9")


@pytest.mark.parametrize("kind", ["plain", "odd"])
def test_real_audits_and_their_cards_fit(kind):
    """Plain data; then missing values, dates, a group too small and one without common support."""
    rng = np.random.default_rng(0)
    n = 500
    odd = HOSTILE.replace("\ud800", "")  # pandas takes no lone surrogates in names
    X = pd.DataFrame({"age": rng.integers(18, 80, n).astype(float), odd: rng.normal(size=n)})
    s = pd.Series(rng.choice(["f", "m"], n), name="sex", dtype=object)
    y = rng.random(n) < np.where((X.age < 45) & (s == "f"), 0.9, 0.3)
    if kind == "odd":
        X["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
        X.loc[::9, "age"] = np.nan
        s[:20] = None
        s[20:25] = odd
        X.loc[s == "m", odd] += 2.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MDFAWarning)
        auditor = mdfa.MDFAuditor(random_state=0, n_splits=2)
        auditor.fit(X, y, sensitive_features=s)
    told = check(auditor.result_)
    assert told["schema"] == AUDIT_SCHEMA
    assert len(told["violations"][0]["membership"]) == n
    for arguments in ({"row": 3}, {"row": 30, "show_records": True}, {"row": 40, "min_cell": 999}):
        card = auditor.explain_row(None, **arguments)
        CARD.validate(json.loads(card.to_json()))
