"""Code that makes an audit again."""

from __future__ import annotations

import ast

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.report.rerun import rerun_code


def test_page_can_be_made_again_from_what_it_says():
    """The code names every argument that is not at its default, and can be read by Python."""
    audited = AuditResult(
        provenance={
            "seed": 7,
            "parameters": {
                "alpha": 0.02,
                "n_splits": 5,
                "n_repeats": 3,
                "outcomes": ["no"],
                "learner": object(),
                "balance": "Entropy(tol=1)",
            },
        }
    )
    code = rerun_code(audited)
    call = ast.parse(code).body[-1].value
    given = {k.arg: getattr(k.value, "value", k.value) for k in call.keywords}
    assert (given["alpha"], given["random_state"]) == (0.02, 7)
    assert "n_splits" not in given
    assert given["n_repeats"] == 3
    assert ast.literal_eval(given["outcomes"]) == ["no"]
    assert "# learner: object" in code
    assert "# balance: Entropy(tol=1)" in code
    assert "mdfa audit x.csv &lt;b&gt;" in audited.to_html(command="mdfa audit x.csv <b>")


def test_weights_and_people_that_were_given_are_asked_for():
    provenance = {"weight_type": "sampling", "n_working_rows": 90, "n_clusters": 40}
    code = rerun_code(AuditResult(provenance=provenance))
    assert "    sample_weight=w,\n    clusters=ids,\n" in code
    found = AuditWarning("RepeatedRowsWarning", "50 of 90 rows repeat others.")
    assert "clusters" not in rerun_code(AuditResult(provenance=provenance, warnings=(found,)))
    none = {"weight_type": "none", "n_working_rows": 90, "n_clusters": None}
    plain = rerun_code(AuditResult(provenance=none))
    assert "clusters" not in plain
    assert "sample_weight" not in plain
