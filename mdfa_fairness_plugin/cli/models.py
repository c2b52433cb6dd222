"""The options for what balances and what searches. Nothing here is slow to import."""

from __future__ import annotations

from click import Choice, option

# As the registries of these stages, which are slow to import.
BALANCES = ("auto", "mmd_network", "kernel_matching", "entropy", "propensity", "overlap", "none")
SOLVERS = ("auto", "orthogonal", "level_set", "iterative")
LEARNERS = (
    "auto", "random_forest", "gradient_boosting", "svm_rbf", "svm_linear", "logistic", "tree",
    "network_features",
)  # fmt: skip

# In the order in which help has them.
MODELS = (
    option("--balance", type=Choice(BALANCES), help="How the groups are made comparable."),
    option("--solver", type=Choice(SOLVERS), help="How the subgroup is searched for."),
    option("--learner", type=Choice(LEARNERS), help="Models that the subgroup is searched with."),
    option(
        "--representation",
        type=Choice(["raw", "phi"]),
        help="What these models see: the features (default), or the last layer of an MMD network, as "
        "in the paper. Needs torch, and --solver level_set or iterative.",
    ),
    option(
        "--complexity",
        type=Choice(["fixed", "cross_validated"]),
        help="Whether cross-validation chooses how large a tree or how strong a penalty these models "
        "have, with --solver level_set or iterative. Default: fixed.",
    ),
    option(
        "--device", metavar="NAME", help="Where the MMD network computes: cpu or cuda. Needs torch."
    ),
)
