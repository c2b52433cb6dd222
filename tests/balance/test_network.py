"""The paper's network: bounded, reproducible, leaving torch as it was."""

import math
import pickle
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mdfa_fairness_plugin.balance import MMDNetwork
from mdfa_fairness_plugin.balance.descent import finished
from mdfa_fairness_plugin.balance.mmd import FourierFeatures, diagnose_mmd
from mdfa_fairness_plugin.balance.training import Networks, Sample
from mdfa_fairness_plugin.exceptions import InputError, OptionalDependencyError

QUICK = {"regularisation_grid": (1e-2,), "n_splits": 2, "max_epochs": 12, "n_restarts": 2}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="the network needs torch (extra 'network')")


@pytest.fixture(scope="module")
def fitted(torch, quadratic):
    X, s, _ = quadratic
    settings = {"regularisation_grid": (0.1, 100.0), "n_splits": 3}
    return MMDNetwork(random_state=0, **settings).fit(X, s)


def test_weights_balance_and_follow_the_true_odds(fitted, quadratic):
    X, s, e = quadratic
    w = fitted.weights(X, s)
    group = s > 0
    before, after = diagnose_mmd(X, s, [np.ones(len(s)), w])[0]
    assert after < before / 3
    assert np.corrcoef(w[group], ((1 - e) / e)[group])[0, 1] > 0.85
    assert (w[~group] == 1).all()
    assert w[group].sum() == pytest.approx((~group).sum())


def test_epochs_have_the_smallest_held_out_loss(fitted):
    loss = fitted.held_out_loss_
    best = list(fitted.regularisation_grid).index(fitted.regularisation_)
    assert loss[fitted.n_epochs_, best] == loss[:, best].min()
    assert loss.min() < loss[0].min()


@pytest.mark.parametrize(("apart", "chosen"), [(0.05, 0.01), (0.5, 1.0)])
def test_the_smallest_regularisation_is_chosen_of_those_as_good(torch, monkeypatch, apart, chosen):
    """Of two, held out by five folds: a difference within its standard error (.1) is none."""
    differences = apart + 0.1 * math.sqrt(5) * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) / 0.79
    loss = np.concatenate([1.0 + differences, np.ones(5)])
    monkeypatch.setattr(Sample, "held_out_loss", lambda *arguments: loss)
    settings = {"regularisation_grid": (0.01, 1.0), "max_epochs": 1, "n_restarts": 1}
    X = np.random.default_rng(0).normal(size=(40, 1))
    s = np.where(np.arange(40) % 2, 1, -1)
    assert MMDNetwork(random_state=0, **settings).fit(X, s).regularisation_ == chosen


def test_training_stops_early(fitted):
    assert len(fitted.held_out_loss_) - 1 <= fitted.max_epochs
    stopped = len(fitted.held_out_loss_) - 1
    assert stopped == fitted.max_epochs or stopped - fitted.n_epochs_ >= fitted.patience


def test_weights_are_bounded(torch):
    """An odds ratio far beyond ten in one corner: u = e^o / (1 + e^o / 10) stops at ten."""
    rng = np.random.default_rng(0)
    corner = rng.random(1_000) < 0.3
    s = np.where(rng.random(1_000) < np.where(corner, 0.01, 0.7), 1, -1)
    X = corner[:, None].astype(float)
    fitted = MMDNetwork(random_state=0, **QUICK).fit(X, s)
    u = fitted.weights(X, s)[s > 0] / fitted.weights(X, s)[s > 0].mean()
    assert u.max() <= 10.0 * 1.3  # the average of u is near one, not exactly one
    extreme = fitted.weights(np.array([[1e6], [-1e6]]), np.ones(2)) / fitted._scale
    assert (extreme <= 10.0).all()
    assert (extreme >= 0.0).all()


def test_rare_groups_are_weighted_up_as_a_whole(torch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 2))
    s = np.where(np.arange(1_200) < 60, 1, -1)
    w = MMDNetwork(random_state=0, **QUICK).fit(X, s).weights(X, s)
    assert w[s > 0].sum() == pytest.approx(1_140)


def test_features_are_the_last_hidden_layer(fitted, quadratic):
    X = quadratic[0][:20]
    phi = fitted.features(X)
    assert phi.shape == (20, 8)
    matrix, offset = fitted._parameters["weight"]
    o = phi @ matrix + offset
    expected = np.exp(o) / (1 + np.exp(o) / 10)
    assert fitted.weights(X, np.ones(20)) == pytest.approx(fitted._scale * expected, rel=1e-10)


def test_layers_start_with_features_of_every_size(torch):
    """Untrained, the last layer of twenty networks spreads as the features they are given do."""
    networks = Networks(torch, 5, 20, 0, 10.0, "cpu")
    Z = torch.as_tensor(np.random.default_rng(0).normal(size=(500, 5)), dtype=torch.float32)
    hidden = Z.expand(20, 500, 5)
    for matrix, offset in networks.pairs()[:-2]:
        hidden = torch.nn.functional.silu(hidden @ matrix + offset)
    spread = hidden.std(dim=1).mean()
    assert 0.25 < spread < 1.5
    with torch.no_grad():
        u, _ = networks(Z)
    assert float(u.mean()) == pytest.approx(1.0, abs=0.15)


def test_the_answer_depends_on_the_seed_alone(torch, quadratic):
    """Not on torch's global seed or threads, which stay as they were."""
    X, s, _ = quadratic
    X, s = X[:400], s[:400]
    threads = torch.get_num_threads()
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = MMDNetwork(random_state=5, **QUICK).fit(X, s).weights(X, s)
    assert (torch.get_rng_state() == before).all()
    torch.manual_seed(2)
    again = MMDNetwork(random_state=5, **QUICK).fit(X, s).weights(X, s)
    other = MMDNetwork(random_state=6, **QUICK).fit(X, s).weights(X, s)
    assert (first == again).all()
    assert (first != other).any()
    assert torch.get_num_threads() == threads


def test_units_of_the_features_do_not_matter(torch, quadratic):
    X, s, _ = quadratic
    X, s = X[:400], s[:400]
    moved = X * [1e3, 1e-2] + 7.0
    w = MMDNetwork(random_state=5, **QUICK).fit(X, s).weights(X, s)
    assert MMDNetwork(random_state=5, **QUICK).fit(moved, s).weights(moved, s) == pytest.approx(
        w, rel=1e-3
    )


def test_sample_weights_say_which_rows_count(torch):
    """Two halves with opposite imbalance; weights of nearly zero hide the second."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, size=1_600)
    half = np.arange(1_600) < 800
    share = np.where(half == (x == 1), 0.75, 0.25)
    s = np.where(rng.random(1_600) < share, 1, -1)
    X = x[:, None].astype(float)
    settings = {**QUICK, "max_epochs": 40}
    fitted = MMDNetwork(random_state=0, **settings).fit(
        X, s, sample_weight=np.where(half, 1.0, 1e-6)
    )
    w = fitted.weights(np.array([[0.0], [1.0]]), np.ones(2))
    # True odds in the first half: 3 where x = 0, 1/3 where x = 1.
    assert w[0] / w[1] == pytest.approx(9.0, rel=0.35)


def test_joint_objective_also_learns_the_certifying_label(torch, quadratic):
    """s * y = +1 mostly where x1 > 0: features tell where, and the weights still balance."""
    X, s, _ = quadratic
    rng = np.random.default_rng(0)
    label = np.where((X[:, 0] > 0) == (rng.random(len(s)) < 0.9), 1, -1)
    settings = {**QUICK, "max_epochs": 40}
    fitted = MMDNetwork(joint=True, random_state=0, **settings).fit(X, s, label=label)
    certificate = LogisticRegression(C=1e6, max_iter=1_000).fit(fitted.features(X), label)
    assert ((certificate.predict(fitted.features(X)) > 0) == (X[:, 0] > 0)).mean() > 0.95
    before, after = diagnose_mmd(X, s, [np.ones(len(s)), fitted.weights(X, s)])[0]
    assert after < before / 2


def _sample_and_networks(torch, *, label=None, base=None):
    """Forty rows in two folds, and two networks of which each leaves one fold out."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 2))
    sample = Sample(
        torch,
        Z=Z,
        positive=np.arange(40) % 2 == 0,
        base=np.ones(40) if base is None else base,
        embedding=FourierFeatures.draw(2, 16, 1.0, 0)(Z),
        folds=np.arange(40) // 20,
        label=label,
        device="cpu",
    )
    return sample, Networks(torch, 2, 2, 0, 10.0, "cpu")


def test_the_risk_reaches_the_weights_through_shared_layers_only(torch):
    """With or without the risk, the weights' own layer has the same gradient.

    To the letter Eq. risk2 would let the risk lower the weights of rows it finds hard.
    """
    label = np.where(np.arange(40) < 15, 1, -1)
    rows = np.arange(20), np.arange(20, 40)
    gradients = []
    for given in (None, label):
        sample, networks = _sample_and_networks(torch, label=given)
        sample.training_loss(networks, rows, np.zeros(2), np.full(2, -1)).sum().backward()
        pairs = networks.having(networks.trained.grad).pairs()
        gradients.append([pairs[-2][0], pairs[0][0]])
    assert torch.allclose(gradients[0][0], gradients[1][0], atol=1e-7)
    assert not torch.allclose(gradients[0][1], gradients[1][1], atol=1e-4)


@pytest.mark.parametrize("joint", [False, True])
def test_all_is_computed_on_the_device_asked_for(torch, monkeypatch, joint):
    """On a stand-in that has shapes but no numbers: a tensor left behind on the CPU would not do."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 2))
    sample = Sample(
        torch,
        Z=Z,
        positive=np.arange(40) % 2 == 0,
        base=np.ones(40),
        embedding=FourierFeatures.draw(2, 16, 1.0, 0)(Z),
        folds=np.arange(40) // 20,
        label=np.where(np.arange(40) < 15, 1, -1) if joint else None,
        device="meta",
    )
    networks = Networks(torch, 2, 2, 0, 10.0, "meta")
    (rows,) = {tuple(map(len, rows)): rows for rows in sample.batches(16, rng)}.values()
    sample.training_loss(networks, rows, np.ones(2), np.array([0, 1])).sum().backward()
    with torch.no_grad():
        gaps, slopes = sample.gaps(networks.some([1]), 1)
    assert slopes.shape == (33, 233 - 8)
    assert {one.device.type for one in (networks.trained.grad, gaps, slopes)} == {"meta"}
    # What comes back to the CPU is asked for by name.
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: torch.zeros(self.shape))
    assert sample.held_out_loss(networks, np.array([0, 1])).shape == (2,)


def test_loss_of_a_minibatch_worked_by_hand(torch):
    """Unbiased MMD over that of equal weights, a penalty on connections, 10 on the scale.

    The penalty is of 0.4 over the 20 rows of a group. What is finished has the diagonal.
    """
    base = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    sample, networks = _sample_and_networks(torch, base=base)
    Z = np.random.default_rng(0).normal(size=(40, 2))
    with torch.no_grad():
        u = networks(torch.as_tensor(Z, dtype=torch.float32))[0].numpy()[0]
        found = sample.final_loss(networks, np.array([0.4, 0.0])).numpy()[0]
        in_sample = float((sample.gaps(networks.some([0])) ** 2).sum())
        connections = sum((pair[0][0] ** 2).sum() for pair in networks.pairs()).item()
    waves, group = FourierFeatures.draw(2, 16, 1.0, 0)(Z), np.arange(40) % 2 == 0
    gram = waves @ waves.T

    def within(shares):
        apart = np.outer(shares, shares)
        np.fill_diagonal(apart, 0.0)
        return (apart * gram).sum() / apart.sum()

    one = np.where(group, u * base, 0.0) / (u * base)[group].sum()
    two = np.where(group, 0.0, base) / base[~group].sum()
    equal = np.where(group, base, 0.0) / base[group].sum() - two
    mmd2 = (within(one) + within(two) - 2 * one @ gram @ two) / (equal @ gram @ equal)
    scale = np.average(u[group], weights=base[group])
    assert found == pytest.approx(mmd2 + 0.02 * connections + 10 * (scale - 1) ** 2, rel=1e-4)
    plain = (one - two) @ gram @ (one - two) / (equal @ gram @ equal)
    assert in_sample == pytest.approx(plain + 10 * (scale - 1) ** 2, rel=1e-4)


@pytest.mark.parametrize("first", [1, 4])
def test_slopes_are_those_of_small_steps(torch, first):
    sample, networks = _sample_and_networks(torch)
    free = networks.trained_from(first)
    network = networks.having(networks.trained.detach()[:1].double())
    for name in ("_Z", "_base", "_embedding", "_targets"):
        of = getattr(sample, name)
        setattr(sample, name, [one.double() for one in of] if name == "_targets" else of.double())
    gaps, slopes = sample.gaps(network, first)
    assert torch.allclose(gaps, sample.gaps(network))
    for k, place in list(enumerate(range(free.start, free.stop)))[::5]:
        moved = network.trained.clone()
        moved[0, place] += 1e-6
        small = (sample.gaps(network.having(moved)) - gaps) / 1e-6
        assert torch.allclose(slopes[:, k], small, atol=1e-4)


def test_finishing_leaves_phi_of_the_joint_objective(torch):
    """And every layer but the first moves where there is no risk; the loss goes down in both."""
    for label in (None, np.where(np.arange(40) < 15, 1, -1)):
        sample, networks = _sample_and_networks(torch, label=label)
        before = networks.some([0])
        after = finished(before, sample, 0.0)
        moved = [bool((one[0] != other[0]).any()) for one, other in _layers(before, after)]
        assert moved == ([False] * 4 if label is not None else [False] + [True] * 3)
        with torch.no_grad():
            assert (sample.gaps(after) ** 2).sum() < (sample.gaps(before) ** 2).sum()


def _layers(*networks):
    return list(zip(*(network.pairs()[:-2] for network in networks), strict=True))


def test_training_does_not_see_the_fold_held_out(torch):
    """Weights changed in fold 0 change the held-out loss of the first network only."""
    heavier = np.ones(40)
    heavier[:6] = 5.0
    rows = np.arange(20), np.arange(20, 40)
    held_out = np.array([0, 1])
    training, left_out = [], []
    for base in (None, heavier):
        sample, networks = _sample_and_networks(torch, base=base)
        sample._unit = 1.0
        with torch.no_grad():
            loss = sample.training_loss(networks, rows, np.zeros(2), held_out)
        training.append(loss.numpy())
        left_out.append(sample.held_out_loss(networks, held_out))
    changed_in_training = np.abs(training[0] - training[1]) > 1e-6
    changed_left_out = np.abs(left_out[0] - left_out[1]) > 1e-6
    assert changed_in_training.tolist() == [False, True]
    assert changed_left_out.tolist() == [True, False]


def test_survives_pickling(fitted, quadratic):
    X, s, _ = quadratic
    assert (pickle.loads(pickle.dumps(fitted)).weights(X, s) == fitted.weights(X, s)).all()


def test_a_handful_of_rows_is_enough_to_run(torch):
    X = np.arange(8.0)[:, None]
    s = np.array([1, -1, -1, 1, -1, -1, 1, -1])
    w = MMDNetwork(random_state=0, max_epochs=3).fit(X, s).weights(X, s)
    assert np.isfinite(w).all()


def test_wrong_arguments_are_named(torch):
    X, s = np.zeros((6, 1)), np.array([1, -1] * 3)
    with pytest.raises(InputError, match="label"):
        MMDNetwork(joint=True).fit(X, s)
    with pytest.raises(InputError, match="regularisation_grid"):
        MMDNetwork(regularisation_grid=(-1.0,)).fit(X, s)
    with pytest.raises(InputError, match="device"):
        MMDNetwork(device="nonsense").fit(X, s)
    with pytest.raises(InputError, match="max_weight"):
        MMDNetwork(max_weight=1.0).fit(X, s)


def test_without_torch_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OptionalDependencyError, match=r"\[network\]"):
        MMDNetwork().fit(np.zeros((4, 1)), np.array([1, -1, 1, -1]))
