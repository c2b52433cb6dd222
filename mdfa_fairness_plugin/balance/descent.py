"""How the MMD network is trained: by Adam on minibatches, then by Gauss and Newton on all rows."""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.balance.training import N_LAYERS, as_numpy

# More steps leave less imbalance in the rows fitted to but not in others, and where weights reach their
# bound gamma drifts: of 5,000 rows with mu = -0.3 it is off by .0016 after 12 and by .0065 after 30.
_STEPS = 12
_TRIES = 8
# The first layer has as many connections as features; what it gives is left as it is.
_FIRST = 1


class Adam:
    """Kingma and Ba's steps of one tensor, with their constants; torch's import takes a second."""

    def __init__(self, torch, trained):
        self._torch = torch
        self._trained = trained
        self._mean, self._square = torch.zeros_like(trained), torch.zeros_like(trained)
        self._n_steps = 0

    def __call__(self, loss, rate):
        """Take one step down."""
        torch = self._torch
        (slope,) = torch.autograd.grad(loss, self._trained)
        self._n_steps += 1
        self._mean.lerp_(slope, 0.1)
        self._square.mul_(0.999).addcmul_(slope, slope, value=0.001)
        size = (self._square / (1 - 0.999**self._n_steps)).sqrt_().add_(1e-8)
        with torch.no_grad():
            self._trained.addcdiv_(self._mean, size, value=-rate / (1 - 0.9**self._n_steps))


def finished(network, sample, penalty):
    """The network trained on all rows at once, without the risk.

    The loss is a sum of squares, of as many as features of the kernel: a few steps that take what is
    squared for linear (Levenberg and Marquardt's) lead to where hundreds down the slope do. ``phi``
    of the joint objective stays as the minibatches made it, the weights' own layer moves.
    """
    first = _FIRST if sample.label is None else N_LAYERS
    free = network.trained_from(first)
    ridge = penalty / sample.fewest * as_numpy(network.connections)[free]
    trained = network.trained.detach()

    def at(place):
        moved = trained.clone()
        moved[0, free] = moved.new_tensor(place)
        return network.having(moved)

    def loss(place):
        return float((as_numpy(sample.gaps(at(place))) ** 2).sum() + ridge @ place**2)

    place, damping = as_numpy(trained[0])[free], 1e-3
    now = loss(place)
    for _ in range(_STEPS):
        gaps, slopes = map(as_numpy, sample.gaps(at(place), first))
        curved = slopes.T @ slopes + np.diag(ridge)
        downhill = slopes.T @ gaps + ridge * place
        size = (np.diagonal(curved).mean() + 1e-12) * np.eye(len(place))
        for _ in range(_TRIES):
            moved = place - np.linalg.solve(curved + damping * size, downhill)
            then = loss(moved)
            if then < now:
                break
            damping *= 4.0
        else:
            break
        place, now, damping = moved, then, max(damping / 5.0, 1e-9)
    return at(place)
