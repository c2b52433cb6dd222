"""The CycloneDX document: shapes of the published schema, numbers of the result, no small counts."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from scipy.stats import binomtest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.records import AskedSubgroup, GroupCounts
from mdfa_fairness_plugin.records.statement import checked_statement

# A folder with bom-1.6.schema.json and the two schemas that it refers to, as published.
PUBLISHED = os.environ.get("MDFA_CYCLONEDX", "")
STATED = {
    "system": "Loans",
    "version": 3,
    "purpose": "Whom to lend",
    "data_source": "Branches",
    "data_kind": "historical",
    "auditor": "Auditors Ltd",
    "audit_date": "2026-02-01",
    "threshold": 0.8,
    "signed_by": ["A. Name", "B. Name"],
}
TEXT = {"type": "string"}


def exactly(required=(), **properties):
    """An object with these properties and no others."""
    own = {"type": "object", "additionalProperties": False}
    return {**own, "properties": properties, "required": list(required)}


def several(items):
    return {"type": "array", "items": items}


NAMED = several(exactly(["name"], name=TEXT, value=TEXT))
METRIC = exactly(
    type=TEXT,
    value=TEXT,
    slice=TEXT,
    confidenceInterval=exactly(lowerBound=TEXT, upperBound=TEXT),
)
ASSESSMENT = exactly(groupAtRisk=TEXT, benefits=TEXT, harms=TEXT, mitigationStrategy=TEXT)
DATASET = exactly(
    ["type"],
    type={"const": "dataset"},
    name=TEXT,
    description=TEXT,
    sensitiveData=several(TEXT),
    contents=exactly(properties=NAMED),
)
CARD = exactly(
    modelParameters=exactly(datasets=several(DATASET)),
    quantitativeAnalysis=exactly(performanceMetrics=several(METRIC)),
    considerations=exactly(
        useCases=several(TEXT),
        technicalLimitations=several(TEXT),
        fairnessAssessments=several(ASSESSMENT),
    ),
    properties=NAMED,
)
TOOL = exactly(["type", "name"], type={"const": "application"}, name=TEXT, version=TEXT)
MODEL = exactly(
    ["type", "name"],
    type={"const": "machine-learning-model"},
    name=TEXT,
    version=TEXT,
    modelCard=CARD,
)
# What is used of the published schema, which allows more.
USED = exactly(
    ["bomFormat", "specVersion"],
    **{"$schema": TEXT},
    bomFormat={"const": "CycloneDX"},
    specVersion={"const": "1.6"},
    version={"type": "integer", "minimum": 1},
    metadata=exactly(
        tools=exactly(components=several(TOOL)),
        timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        manufacturer=exactly(name=TEXT),
        authors=several(exactly(name=TEXT)),
    ),
    components=several(MODEL),
)


@pytest.fixture(scope="module")
def result():
    data = mdfa.datasets.make_synthetic(n_samples=400, delta=1.5, random_state=0)
    return mdfa.audit(
        data.X,
        data.y,
        sensitive_features=data.sensitive_features,
        favorable_label=0,
        statement=STATED,
        learner="tree",
        n_splits=2,
        n_repeats=1,
    )


def document(result, **how):
    return json.loads(result.to_cyclonedx(**how))


def card(result, **how):
    return document(result, **how)["components"][0]["modelCard"]


def metrics(result, **how):
    return card(result, **how)["quantitativeAnalysis"]["performanceMetrics"]


def test_it_has_the_shapes_of_the_schema(result, tmp_path):
    for own in (result, replace(result, statement={}, favorable_label=None), AuditResult()):
        jsonschema.Draft7Validator(USED).validate(document(own))
    path = tmp_path / "bom.json"
    assert result.to_cyclonedx(path) == path.read_text(encoding="utf-8")
    result.to_json(tmp_path / "audit.json")
    again = AuditResult.from_json(tmp_path / "audit.json")
    assert again.to_cyclonedx() == path.read_text(encoding="utf-8")


@pytest.mark.skipif(not PUBLISHED, reason="MDFA_CYCLONEDX names no folder of CycloneDX's schemas")
def test_it_is_valid_by_the_published_schema(result):
    from referencing import Registry, Resource

    files = {path.name: json.loads(path.read_text()) for path in Path(PUBLISHED).glob("*.json")}
    known = Registry().with_resources(
        (f"http://cyclonedx.org/schema/{name}", Resource.from_contents(own))
        for name, own in files.items()
    )
    validator = jsonschema.Draft7Validator(files["bom-1.6.schema.json"], registry=known)
    for own in (result, replace(result, statement={}, favorable_label=None), AuditResult()):
        validator.validate(document(own))


def test_what_is_stated_is_where_the_format_has_a_place(result):
    told = document(result)
    model, made = told["components"][0], told["metadata"]
    assert (model["name"], model["version"]) == ("Loans", "3")
    assert model["modelCard"]["considerations"]["useCases"] == ["Whom to lend"]
    (rows,) = model["modelCard"]["modelParameters"]["datasets"]
    assert rows["name"] == "Branches"
    assert rows["contents"]["properties"] == [{"name": "data_kind", "value": "historical"}]
    assert made["timestamp"] == "2026-02-01T00:00:00Z"
    assert made["manufacturer"] == {"name": "Auditors Ltd"}
    assert made["authors"] == [{"name": "A. Name"}, {"name": "B. Name"}]
    own = {one["name"]: one["value"] for one in model["modelCard"]["properties"]}
    assert own["mdfa:threshold"] == "0.8"
    plain = document(replace(result, statement=checked_statement({"audit_date": "in spring"})))
    assert "timestamp" not in plain["metadata"]
    assert {"name": "mdfa:audit_date", "value": "in spring"} in plain["components"][0]["modelCard"][
        "properties"
    ]


def test_nothing_is_told_twice(result):
    told = [(one["type"], one["slice"]) for one in metrics(result, min_cell=1)]
    assert len(told) == len(set(told))


def test_numbers_are_the_results_with_their_intervals(result):
    worst = result.worst_case
    told = metrics(result, min_cell=1)
    name = f"{worst.sensitive_feature} = {worst.group}"
    asked = f"ratio of rates of {result.outcome_name} = {worst.outcome} at equal features"
    who = f"{name} against everyone else, "
    own = [one for one in told if one["type"] == asked and one["slice"].startswith(who)]
    assert float(own[-1]["value"]) == pytest.approx(worst.ratio, rel=1e-5)
    ends = own[-1]["confidenceInterval"]
    assert [float(ends["lowerBound"]), float(ends["upperBound"])] == pytest.approx(
        worst.ratio_interval, rel=1e-5
    )
    assert own[0]["slice"] == f"{who}everybody compared"
    assert float(own[0]["value"]) == pytest.approx(worst.population.ratio, rel=1e-5)


def test_groups_are_told_by_a_table_made_by_hand_and_not_where_few_would_be_known():
    """40 of 100 beside 60 of 200: 4 tenths, 3 tenths, and a ratio of three quarters."""

    def told_of(n_few, min_cell):
        counts = {"a": (60, 40), "b": (140, 60), "c": (30, n_few)}
        groups = tuple(
            GroupCounts(
                sensitive_feature="race",
                group=group,
                counts=own,
                rates=[k / sum(own) for k in own],
            )
            for group, own in counts.items()
        )
        made = AuditResult(
            groups=groups,
            outcome_labels=("no", "yes"),
            favorable_label="yes",
            n_samples=330 + n_few,
        )
        told = metrics(made, min_cell=min_cell)
        if min_cell == 1:
            (own,) = (
                one for one in told if (one["type"], one["slice"]) == ("rate of yes", "race = a")
            )
            ends = binomtest(40, 100).proportion_ci(0.95, method="wilson")
            found = own["confidenceInterval"]
            assert (float(found["lowerBound"]), float(found["upperBound"])) == pytest.approx(
                ends, rel=1e-5
            )
        return {
            (own["type"][:12], own["slice"]): own["value"]
            for own in told
            if "no" not in own["type"]
        }

    told = told_of(5, 1)
    assert told["rate of yes", "race = b"] == "0.3"
    assert told["impact ratio", "race = b"] == "0.75"
    assert told["impact ratio", "race = a"] == "1"
    assert {who for _, who in told} == {"race = a", "race = b", "race = c"}
    assert told_of(5, 11) == {("rate of yes", "race = b"): "0.3"}


def test_findings_are_harm_or_advantage_by_group(result):
    told = card(result)["considerations"]
    every = {own["groupAtRisk"]: own for own in told["fairnessAssessments"]}
    worst = result.worst_case
    found = every[f"{worst.sensitive_feature} = {worst.group}"]
    assert set(found) == {"groupAtRisk", "benefits", "harms", "mitigationStrategy"}
    assert found["mitigationStrategy"] == "not stated"
    assert "for others to judge" in told["technicalLimitations"][-1]
    unsaid = replace(result, violations=tuple(replace(own, harm=None) for own in result.violations))
    for own in card(unsaid)["considerations"]["fairnessAssessments"]:
        assert own["harms"].endswith("Which outcome is favourable is not stated.")


def test_more_of_the_favourable_outcome_is_an_advantage_everywhere(result):
    (*_, own) = sorted(result.violations, key=lambda v: v.verdict == "violation")
    same = {"delta": 0.7, "interval": (0.4, 0.9), "verdict": own.verdict, "harm": False}
    answer = AskedSubgroup(**vars(own.key), label="x1 > 0", **same)
    one = replace(result, violations=(replace(own, harm=False),), asked=(answer,))
    assert own.verdict == "violation"
    for text in (one.to_cyclonedx(), one.summary(), one.to_html()):
        told = " ".join(text.split())
        assert "Finding: advantage beyond chance" in told
        assert "Finding: unequal beyond chance" not in told
