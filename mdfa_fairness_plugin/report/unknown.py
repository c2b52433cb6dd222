"""Sentences on people whose group is not known, or known by probability."""

from __future__ import annotations

import math

from mdfa_fairness_plugin.describe.decimals import ratios_text
from mdfa_fairness_plugin.describe.wording import label_text
from mdfa_fairness_plugin.records import Violation, ratio_of
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
    low, high = violation.probability_bounds
    if math.isnan(low) and math.isnan(high):
        return ""
    feature = label_text(violation.sensitive_feature)
    told = ratios_text(
        [*map(ratio_of, (*violation.probability_bounds, *violation.probability_interval))]
    )
    ends, limits = " and ".join(told[:2]), " and ".join(told[2:])
    text = (
        f"Who has which {feature} is known by probability alone, and every row counts by it: that is "
        "right where the outcome has nothing more to do with it than features and probabilities say. "
        "Whatever else they have to do with each other, the ratio of weighted counts in the subgroup "
        f"lies between {ends} (with chance, between {limits}), if the probabilities are right among "
        "those with equal audited features, too."
    )
    if violation.rows_to_know:
        text += (
            f" Knowing the {feature} of about {violation.rows_to_know:,} of these rows, drawn at "
            "random, would tell it as closely."
        )
    return text
