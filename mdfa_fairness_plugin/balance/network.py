r"""The paper's MMD network: bounded weights and features of the data, learned together.

Sections 3.2 and 3.4: four fully connected layers of eight neurons express the weights ``u`` as a
function of ``x`` and minimise the maximum mean discrepancy (MMD) between the weighted S = +1
sample and the S = -1 sample. The last hidden layer is the feature map ``phi`` handed to the auditor.
"""

from __future__ import annotations

import logging
import math
from contextlib import contextmanager

import numpy as np
from scipy.special import expit

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.balance.mmd import FourierFeatures, Standardiser, median_bandwidth
from mdfa_fairness_plugin.balance.propensity import draw_folds
from mdfa_fairness_plugin.exceptions import InputError

logger = logging.getLogger(__name__)

_BANDWIDTH_FACTORS = (0.5, 1.0, 2.0)
_N_LAYERS = 4
_N_NEURONS = 8
_ACT = "tanh"
_LITERAL = False
_MMD_WEIGHT = 1.0
_MINSTEPS = 10


class MMDNetwork:
    def __init__(
        self,
        regularisation_grid=(1e-4, 1e-3, 1e-2),
        n_splits=5,
        max_epochs=150,
        batch_size=500,
        patience=20,
        learning_rate=0.01,
        joint=False,
        max_weight=10.0,
        n_frequencies=128,
        n_restarts=4,
        random_state=None,
        device=None,
    ):
        self.regularisation_grid = regularisation_grid
        self.n_splits = n_splits
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.patience = patience
        self.learning_rate = learning_rate
        self.joint = joint
        self.max_weight = max_weight
        self.n_frequencies = n_frequencies
        self.n_restarts = n_restarts
        self.random_state = random_state
        self.device = device

    def fit(self, X, s, label=None, sample_weight=None):
        torch = import_optional("torch", extra="network", feature="balance='mmd_network'")
        X = np.asarray(X, dtype=float)
        s = np.asarray(s)
        base = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        rng = np.random.default_rng(self.random_state)
        self._standardise = Standardiser.fit(X, base)
        Z = self._standardise(X)
        sigma = median_bandwidth(Z, base)
        kernel = FourierFeatures.draw(
            Z.shape[1], self.n_frequencies, [sigma * f for f in _BANDWIDTH_FACTORS], rng
        )
        folds = draw_folds(s, self.n_splits, rng)
        with _one_thread(torch):
            data = _Data(torch, Z, s, label if self.joint else None, base, kernel, folds, self.device)
            grid = np.atleast_1d(np.asarray(self.regularisation_grid, dtype=float))
            penalties = np.repeat(grid, self.n_splits)
            held = np.tile(np.arange(self.n_splits), len(grid))
            nets = _Networks(torch, Z.shape[1], len(held), rng, self.max_weight, self.device)
            curve = self._train(torch, nets, data, penalties, held, rng, self.max_epochs)
            curve = curve.reshape(len(curve), len(grid), self.n_splits)
            self.curve_ = curve
            mean = curve.mean(axis=2)
            epoch, best = np.unravel_index(np.argmin(mean), mean.shape)
            self.regularisation_ = float(grid[best])
            self.n_epochs_ = int(epoch) 
            final = _Networks(torch, Z.shape[1], self.n_restarts, rng, self.max_weight, self.device)
            held = np.full(self.n_restarts, -1)
            penalties = np.full(self.n_restarts, self.regularisation_)
            self._train(torch, final, data, penalties, held, rng, self.n_epochs_, stop=False)
            with torch.no_grad():
                loss = data.loss(final, data.all_rows(), held, True)
                loss = (loss + data.penalty(final, penalties)).cpu().numpy()
            self.final_losses_=loss
            self._parameters = final.export(int(np.argmin(loss)))
        u = self._bounded(X[s > 0])
        self._scale = base[s < 0].sum() / (base[s > 0] @ u)
        self.mean_u_ = np.average(u, weights=base[s > 0])
        return self

    def _train(self, torch, nets, data, penalties, held, rng, epochs, stop=True):
        opt = torch.optim.Adam(nets.parameters(), lr=self.learning_rate)
        curve = []
        if stop:
            curve.append(data.held_out_loss(nets, held))
        for ep in range(epochs):
            lr = self.learning_rate * (0.5 * (1 + math.cos(math.pi * ep / self.max_epochs)) )
            for g in opt.param_groups: g["lr"] = lr
            for rows in data.batches(self.batch_size, rng):
                opt.zero_grad()
                loss = (data.loss(nets, rows, held, False) + data.penalty(nets, penalties)).sum()
                loss.backward()
                opt.step()
            if stop:
                curve.append(data.held_out_loss(nets, held))
                c = np.array(curve)
                c = c.reshape(len(c), -1, self.n_splits).mean(2)
                if len(c) - 1 - c.argmin(0).max() >= self.patience:
                    break
        return np.array(curve)

    def weights(self, X, s):
        s = np.asarray(s)
        w = np.ones(len(s))
        X = np.asarray(X, dtype=float)
        w[s > 0] = self._scale * self._bounded(X[s > 0])
        return w

    def features(self, X):
        H = self._standardise(X)
        for W, b in self._parameters["layers"]:
            H = _act(np, H @ W + b)
        return H

    def _bounded(self, X):
        W, b = self._parameters["output"]
        o = self.features(X) @ W + b
        return self.max_weight * expit(o - math.log(self.max_weight))


def _act(m, x):
    if _ACT == "tanh": return m.tanh(x)
    if _ACT == "relu": return m.maximum(x, x * 0)
    if _ACT == "lrelu": return m.maximum(x, x * .1)
    if _ACT == "silu": return x / (1 + m.exp(-x))


class _Networks:
    def __init__(self, torch, d, K, rng, B, device):
        gen = torch.Generator().manual_seed(int(rng.integers(2**31 - 1)))
        self.torch = torch
        self.B = B
        self.layers = []
        n_in = d
        for _ in range(_N_LAYERS):
            gain = {"tanh": 1.0 if False else 5/3, "relu": 2**.5, "lrelu": 2**.5, "silu": 1.6}[_ACT]
            W = torch.randn(K, n_in, _N_NEURONS, generator=gen) * gain / math.sqrt(n_in)
            b = torch.randn(K, 1, _N_NEURONS, generator=gen) * .1
            self.layers.append((W, b)); n_in = _N_NEURONS
        o0 = math.log(1 / (1 - 1 / B))
        self.out = (torch.randn(K, n_in, 1, generator=gen) * .1, torch.full((K, 1, 1), o0))
        self.head = (torch.randn(K, n_in, 1, generator=gen) * .1, torch.zeros(K, 1, 1))
        mv = lambda p: tuple(t.to(device or "cpu").requires_grad_() for t in p)
        self.layers = [mv(p) for p in self.layers]
        self.out = mv(self.out); self.head = mv(self.head)

    def parameters(self):
        return [t for p in [*self.layers, self.out, self.head] for t in p]

    def __call__(self, Z):
        t = self.torch
        H = Z.expand(len(self.out[0]), *Z.shape)
        for W, b in self.layers:
            H = _act(t, t.baddbmm(b, H, W))
        o = t.baddbmm(self.out[1], H, self.out[0])[..., 0]
        u = self.B * t.sigmoid(o - math.log(self.B))
        return u, t.baddbmm(self.head[1], H, self.head[0])[..., 0]

    def export(self, k):
        f = lambda t: t[k].detach().cpu().numpy().astype(float)
        return {
            "layers": [(f(W), f(b)[0]) for W, b in self.layers],
            "output": (f(self.out[0])[:, 0], float(f(self.out[1])[0, 0])),
        }


class _Data:
    def __init__(self, torch, Z, s, label, base, kernel, folds, device):
        self.torch = torch
        order = np.argsort(-s, kind="stable")
        self.n_pos = int((s > 0).sum())
        T = lambda a: torch.as_tensor(np.ascontiguousarray(a[order]), dtype=torch.float32, device=device)
        self.Z = T(Z)
        self.base = T(base)
        self.phi = T(kernel(Z))
        self.folds = torch.as_tensor(folds[order])
        self.label = None if label is None else T(np.asarray(label, float))
        self.n = len(s)
        # scale
        p = slice(0, self.n_pos); q = slice(self.n_pos, self.n)
        dm = (self.base[p] @ self.phi[p]) / self.base[p].sum() - (self.base[q] @ self.phi[q]) / self.base[q].sum()
        self.unit = float((dm ** 2).sum())

    def all_rows(self):
        return np.arange(self.n_pos), np.arange(self.n_pos, self.n)

    def batches(self, size, rng):
        half = size // 2
        npos, nneg = self.n_pos, self.n - self.n_pos
        hp, hn = min(half, npos), min(half, nneg)
        steps = max(math.ceil(npos / half), math.ceil(nneg / half), _MINSTEPS)
        P = np.concatenate([rng.permutation(npos) for _ in range(math.ceil(steps * hp / npos))])
        N = np.concatenate([rng.permutation(nneg) for _ in range(math.ceil(steps * hn / nneg))]) + npos
        for t in range(steps):
            yield P[t * hp:(t + 1) * hp], N[t * hn:(t + 1) * hn]

    def penalty(self, nets, lam):
        t = self.torch
        sq = sum((W ** 2).sum(dim=(1, 2)) for W, _ in [*nets.layers, nets.out] + ([nets.head] if self.label is not None else []))
        return t.as_tensor(lam, dtype=t.float32, device=self.Z.device) * sq

    def held_out_loss(self, nets, held):
        with self.torch.no_grad():
            return self.loss(nets, self.all_rows(), held, False, invert=True).cpu().numpy()

    def loss(self, nets, rows, held, full, invert=False):
        t = self.torch
        P, N = (t.as_tensor(r) for r in rows)
        idx = t.cat([P, N])
        u, h = nets(self.Z[idx])
        held = t.as_tensor(held)
        keep = self.folds[idx][None, :] != held[:, None]
        if invert: keep = ~keep
        b = self.base[idx] * keep
        m = len(P)
        wp = u[:, :m] * b[:, :m]
        wn = b[:, m:]
        sp = wp.sum(1, keepdim=True); sn = wn.sum(1, keepdim=True)
        vp = wp / sp; vn = wn / sn
        diff = vp @ self.phi[P] - vn @ self.phi[N]
        mmd2 = (diff ** 2).sum(1)
        # unbiased: remove the diagonal
        a = (vp ** 2).sum(1); c = (vn ** 2).sum(1)
        mu_p = ((vp @ self.phi[P]) ** 2).sum(1); mu_n = ((vn @ self.phi[N]) ** 2).sum(1)
        mmd2 = (mu_p - a) / (1 - a) + (mu_n - c) / (1 - c) - 2 * ((vp @ self.phi[P]) * (vn @ self.phi[N])).sum(1)
        mean_u = (sp / b[:, :m].sum(1, keepdim=True))[:, 0]
        loss = _MMD_WEIGHT * mmd2 / self.unit
        if not invert: loss = loss + 0.1 * (mean_u - 1) ** 2
        if self.label is not None:
            F = t.nn.functional.softplus(-self.label[idx] * h)
            vpd = vp if _LITERAL else vp.detach()
            loss = loss + ((vpd * F[:, :m]).sum(1) + (vn * F[:, m:]).sum(1)) / 2
        return loss


@contextmanager
def _one_thread(torch):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
