"""One certificate of unfairness, in one call (Section 3.1)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.arguments import checked_settings, problem_of, settled_balance
from mdfa_fairness_plugin.balance.balancer import FromNetwork, is_network, weigh
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.learners import make_classifier
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.measure.splitting import draw_folds, draw_holdout
from mdfa_fairness_plugin.search.certificate import Certificate
from mdfa_fairness_plugin.search.certificate import certify as certify_rows
from mdfa_fairness_plugin.search.input_rows import by_sample
from mdfa_fairness_plugin.settings import draw_seed


def certify(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    group: Hashable,
    outcome: Hashable,
    balance: Any = "entropy",
    learner: Any = "auto",
    sample_weight: Any = None,
    device: str | None = None,
    random_state: Any = None,
) -> Certificate:
    r"""Look for a certificate of unfairness: where a group and an outcome coincide (Lemma 1).

    A classifier learns the label ``S Y`` from 70 % of the rows, weighted so that both sides' features
    are alike; the others measure the set :math:`G = \{c = 1\}` it predicts. This is one iteration of
    Algorithm 1, as in the paper's Table 1.

    Parameters
    ----------
    X, y, sensitive_features, sample_weight
        As for :func:`audit`, of one sensitive column.
    group, outcome : label
        The sensitive value that is S = +1, compared with everybody else, and the outcome Y = +1.
    balance : str, array-like or object, default="entropy"
        As for :func:`audit`; "mmd_network" is the paper's.
    learner : str or estimator, default="auto"
        A classifier, as for :func:`audit`.
    device : str or None, default=None
    random_state : int, Generator or None, default=None

    Returns
    -------
    certificate : Certificate
        ``gamma`` (by its definition, see :func:`rows_by_theorem`), ``gamma_lemma`` (Lemma 1's form, a
        check), ``delta``, ``mass`` and ``member``, who of the input rows is in ``G`` and was held out.

    Raises
    ------
    InputError
        Naming the argument.

    See Also
    --------
    rows_by_theorem : How many rows make a certificate sure.
    rows_needed : How many rows an audit needs for a verdict.

    Notes
    -----
    A gamma above zero is evidence of a violation only beyond chance: it comes without a p-value, which
    :func:`audit` has. One of zero is no evidence of fairness.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=4000, delta=1.5, random_state=0)
    >>> found = mdfa.certify(
    ...     data.X, data.y, sensitive_features=data.sensitive_features, group=1, outcome=1
    ... )
    >>> found.gamma > 0.005
    True
    """
    settings = checked_settings(balance=balance, learner=learner, device=device)
    settings = settings.reseeded(draw_seed(random_state))
    settings = replace(settings, groups=[group], outcomes=[outcome])
    problem = problem_of(X, y, sensitive_features, sample_weight, settings)
    if len(problem.contrasts) != 1 or problem.contrasts[0].reason:
        reason = problem.contrasts[0].reason or f"{len(problem.contrasts)} columns found"
        raise InputError(f"sensitive_features: one column to compare by expected; {reason}.")
    contrast, seeds = problem.contrasts[0], settings.seeds
    make_classifier(learner, problem.n_rows, 0)  # refuses learners of the wrong kind
    rows = np.flatnonzero(contrast.rows)
    features, s = problem.encoded.take(rows)[:], contrast.s[rows]
    positive, base = problem.has(outcome)[rows], problem.sample_weight[rows]
    rng = np.random.default_rng(seeds["folds"])
    train = ~draw_holdout(2 * (s > 0) + positive, rng)
    folds = draw_folds(s, 5, rng)
    propensity = cross_fitted_probability(
        features, s > 0, folds, sample_weight=base, random_state=seeds["propensity"]
    ).out_of_fold
    method = settled_balance(settings, problem)
    if is_network(method):
        method = FromNetwork(method, train, seeds["balance"], device)
    weighing = weigh(
        features,
        s,
        method,
        propensity=propensity,
        sample_weight=base,
        rows=rows,
        random_state=seeds["balance"],
        device=device,
    )
    how = {"train": train, "learner": learner, "random_state": seeds["learner"]}
    found = certify_rows(features, s, positive, base * weighing.weights, **how)
    return replace(found, member=by_sample(rows[~train][found.member], problem))
