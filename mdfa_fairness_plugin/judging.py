"""What a fitted auditor says of new rows, and of one person; and the paper's configuration."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.person.card import make_card
from mdfa_fairness_plugin.person.find import find_person
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.scoring import NewRows, score_of
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.solver import Region
from mdfa_fairness_plugin.settings import ALPHA_IN_PAPER


class Judge(Protocol):
    """Has what rows are judged by."""

    @property
    def region(self) -> Region:
        """The region."""


class Judging(BaseEstimator):
    """An auditor once it is fitted; see ``MDFAuditor``."""

    @classmethod
    def as_in_paper(cls, **overrides: Any) -> Self:
        """Give the paper's own configuration (Section 3.4).

        One MMD network per search, learned on the joint objective Eq. ``risk2`` from 70 % of the rows,
        gives both the weights (predicted for the other 30 %) and the auditor's features, its last
        hidden layer; cross-validation chooses the complexity of both; Algorithm 1 with the ratio of
        its line 4; subgroups of a mass of at least .05. ``learner`` is then an auditor class on these
        features, ``representation="raw"`` one on the audited ones. Needs torch.

        Parameters
        ----------
        **overrides
            Any argument of the constructor.

        Returns
        -------
        auditor : MDFAuditor
        """
        settings: dict[str, Any] = {
            "alpha": ALPHA_IN_PAPER,
            "estimator": "raw",
            "min_ratio": 1.0,
            "balance": "mmd_network",
            "learner": "network_features",
            "representation": "phi",
            "complexity": "cross_validated",
            "solver": "iterative",
            "evaluation": "holdout",
        }
        return cls(**(settings | overrides))

    def attach(
        self,
        result: AuditResult,
        encoder: FeatureEncoder,
        judge: Judge | None,
        names: list[str] | None,
        searches: tuple[Search, ...] | None = None,
    ) -> None:
        """Become fitted, with the result of an audit made by these arguments.

        ``judge`` has the region of the worst case for new rows, None if nothing could be measured;
        ``names`` are those of the features, if they have any; cards need the searches.
        """
        self.result_ = result
        self._encoder = encoder
        self._judge = judge
        self._searches = searches
        self.n_features_in_ = len(encoder.feature_names_in_)
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def predict(self, X, violation=None):
        """Tell who is inside the worst-case subgroup.

        Parameters
        ----------
        X : table of shape (n, n_features)
            New rows, with the columns of the fit.
        violation : Violation or None, default=None
            Another search of ``result_`` whose subgroup to tell of: one that found something, or that
            of ``result_.worst_harm``.

        Returns
        -------
        inside : ndarray of bool of shape (n,)
            All False if nothing could be measured.
        """
        check_is_fitted(self, "result_")
        judge = self._judge if violation is None else self._judge_of(violation)
        rows = self._encoder.rows(X)
        if judge is None:
            return np.zeros(len(rows), dtype=bool)
        return judge.region.scores(Asked(rows)) >= judge.region.threshold

    def _judge_of(self, violation: Violation) -> Judge:
        """What rows are judged by in one search."""
        found = [one is violation for one in self.result_.violations]
        if not any(found) or self._searches is None:
            raise InputError(
                "violation: a search of this auditor's own result_ expected, made in memory."
            )
        search = self._searches[found.index(True)]
        if not search.made or not search.judges:
            raise InputError(
                "violation: this search found nothing, and its models were not kept. Pass one that "
                "found something, or audit with groups and outcomes that single it out."
            )
        return search

    def decision_function(self, X):
        """Score rows by how unequally people like them are treated, in the worst-case search.

        Parameters
        ----------
        X : table of shape (n, n_features)

        Returns
        -------
        score : ndarray of shape (n,)
            Larger is worse treated; the subgroup is ``score >= threshold``, see ``predict``. Scores
            of different audits have no common unit.
        """
        check_is_fitted(self, "result_")
        rows = self._encoder.rows(X)
        if self._judge is None:
            return np.zeros(len(rows))
        return self._judge.region.scores(Asked(rows))

    def score(self, X, y, sensitive_features=None, sample_weight=None):
        """Say how well the difference between the groups is predicted, for choosing settings.

        The negative mean squared error of the residual regression on these rows (Nie and Wager
        2021), which the true difference makes as high as it can be. It is not the size of what was
        found: settings chosen by that would hunt for a violation.

        Parameters
        ----------
        X : table of shape (n, n_features)
            Rows the audit has not seen, with the columns of the fit.
        y : array-like of shape (n,)
            Their outcomes; of counts with an exposure the rates.
        sensitive_features : array-like of shape (n,) or (n, n_sensitive)
            Rows of values that were not compared do not count.
        sample_weight : array-like of shape (n,) or None, default=None

        Returns
        -------
        score : float
            At most 0, of numbers in their units squared; NaN if nothing could be measured.

        Raises
        ------
        InputError
            If the audit compared more than one pair of groups, or more than two outcomes, whose
            errors have no common measure; or if it fitted no residual regression.
        """
        check_is_fitted(self, "result_")
        region = None if self._judge is None else self._judge.region
        rows = NewRows.read(X, y, sensitive_features, sample_weight)
        return score_of(self.result_, region, self._searches, self._encoder, rows)

    def explain_row(
        self,
        x,
        *,
        sensitive=None,
        outcome=None,
        n_comparators=5,
        show_records=False,
        min_cell=11,
        row=None,
    ):
        """Tell one person where they stand: a card to contest a decision with.

        Parameters
        ----------
        x : Series, mapping, one-row table, sequence of length n_features, or None
            The person's audited features; columns of other names are ignored. None: those of
            ``row``.
        sensitive : label, mapping of column to label, or None, default=None
            The person's sensitive value. None: that of ``row``, or unknown. Of a sensitive quantity
            None: who has more of it than people like them is known of audited rows.
        outcome : label or None, default=None
            The outcome the person got. None: that of ``row``, or unknown.
        n_comparators : int, default=5
            Nearest people of each side to count at least.
        show_records : bool, default=False
            Show the features of the ``n_comparators`` nearest audited people of each side, and
            every count however small.
        min_cell : int, default=11
            Smaller counts of other people are not shown, and more of the nearest are counted
            until none is smaller.
        row : int or None, default=None
            Position of the person in the audited data: they are then judged by the model that had
            not seen them (of a 70/30 split, if they were held out), and no row of theirs is counted
            among their own comparators.

        Returns
        -------
        card : ContestationCard
            Of the search for the person's group and outcome; of the worst case if these are
            unknown or were not searched.

        Raises
        ------
        InputError
            If ``x`` is not one person with the audited features, or a label was never seen.

        Notes
        -----
        Comparable people are the nearest rows of either side in the subgroup and its surroundings
        (in all of those compared, for a person outside it), every feature counting alike and in
        units of its standard deviation, no farther than half the mean squared distance of two
        people drawn at random. Of a person's rows (a cluster's) only the nearest is counted.

        Examples
        --------
        >>> import mdfa_fairness_plugin as mdfa
        >>> data = mdfa.datasets.make_synthetic(n_samples=2000, delta=1.5, random_state=0)
        >>> auditor = mdfa.MDFAuditor(random_state=0)
        >>> auditor = auditor.fit(data.X, data.y, sensitive_features=data.sensitive_features)
        >>> auditor.explain_row([-0.3, -0.3]).inside
        True
        """
        check_is_fitted(self, "result_")
        if self._searches is None:
            raise InputError(
                "explain_row: a distributed audit keeps no rows to compare a person with; audit a "
                "sample in memory for that."
            )
        person = find_person(self.result_, x, sensitive=sensitive, outcome=outcome, row=row)
        how = {"n_comparators": n_comparators, "show_records": show_records, "min_cell": min_cell}
        return make_card(self.result_, self._searches, person, **how)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def _more_tags(self):
        """Tags as scikit-learn before 1.6 reads them."""
        return {"X_types": ["2darray", "sparse", "string"], "allow_nan": True, "requires_y": True}
