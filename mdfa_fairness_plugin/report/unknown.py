"""Sentences on people whose group is not known, or known by probability."""

from __future__ import annotations

import math

from mdfa_fairness_plugin.describe.decimals import ratios_text
from mdfa_fairness_plugin.describe.wording import label_text
from mdfa_fairness_plugin.records import Violation, ratio_of
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.rates import BOUNDED
from mdfa_fairness_plugin.report.sentences import capital, rows_text


def missing_sentence(violation: Violation) -> str:
    """What the rows without a sensitive value could change; or nothing."""
    if violation.n_missing == 0:
        return ""
    feature = label_text(violation.sensitive_feature)
    size = capital(rows_text(violation.n_missing))
    text = f"{size} in the subgroup told of first have no known {feature}"
    low, high = violation.missing_bounds
    if math.isnan(low) or math.isnan(high):
        return f"{text} and are in none of its numbers."
    ends = " and ".join(ratios_text((ratio_of(low), ratio_of(high))))
    return f"{text}. Whatever it is, the ratio would lie between {ends}."


def probability_sentence(violation: Violation) -> str:
    """What probabilities of groups leave open, and what knowing some groups would add; or nothing."""
    if effect_of(violation) is not BOUNDED:
        return ""
    feature = label_text(violation.sensitive_feature)
    if violation.n_known:
        low, high = map(ratio_of, violation.probability_bounds)
        ends = " and ".join(ratios_text((low, high)))
        return (
            f"Every row counts by the probability of its {feature}, and what that says too much or too "
            f"little is taken off by {rows_text(violation.n_known)} in the subgroup whose {feature} is "
            "known besides: that is right if, among its rows with the same outcome, it is left to "
            f"chance whose is. Whoever they are, the ratio would lie between {ends}, chance aside."
        )
    text = (
        f"Every row counts by the probability of its {feature}, which is 1 where that is known: that "
        "is right where the outcome has nothing more to do with it than features and probabilities "
        "say. Bounds hold whatever else they have to do with each other, if the probabilities are "
        "right among those with equal audited features, too. Verdicts, intervals and p are of these."
    )
    if violation.rows_to_know:
        text += (
            f" Knowing the {feature} of about {violation.rows_to_know:,} more of these rows, drawn at "
            "random, would tell it as closely."
        )
    return text
