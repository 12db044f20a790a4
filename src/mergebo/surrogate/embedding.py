"""A Gaussian process on neighbouring pairs of items that have places on a map: near ones can stand in for each other.

With Phi the matrix of an order's neighbouring pairs less its mean over all orders, the kernel is `<Phi, C Phi' C>`, where
`C = (1 - g) I + g exp(-|z_i - z_j|^2 / 2)` says how alike items i and j are. With g = 0 that is the linear kernel on shared
pairs. The map z is learned: in a tour, items that are good to have next to the same others come to lie close together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from mergebo.compiled.edges import edge_norms, edge_sums
from mergebo.spaces import Rows
from mergebo.surrogate.gp import standardised
from mergebo.surrogate.similarity import Floats

SHARE_PRIOR = (0.0, 2.0)
"""Mean and standard deviation of the log odds of g. Places on the map are standard normal."""
NOISE_PRIOR = (-8.0, 3.0)
"""The same for the log of the noise's variance, in units of the kernel's."""


@dataclass(frozen=True)
class Pairs:
    """Which neighbouring pairs count: with direction or without, round or open."""

    n: int
    directed: bool
    cyclic: bool

    @property
    def mean(self) -> float:
        """How likely a pair is to be neighbours in a random order."""
        edges = self.n if self.cyclic else self.n - 1
        return edges / (self.n * (self.n - 1)) * (1 if self.directed else 2)

    def matrices(self, orders: Rows) -> Floats:
        """Phi of each order, `(count, n, n)`."""
        count = len(orders)
        out = np.zeros((count, self.n, self.n))
        first = orders if self.cyclic else orders[:, :-1]
        then = np.roll(orders, -1, axis=1) if self.cyclic else orders[:, 1:]
        which = np.arange(count)[:, None]
        out[which, first, then] = 1
        if not self.directed:
            out[which, then, first] = 1
        return out - self.mean * (1 - np.eye(self.n))


def _alike(z: Floats, share: float) -> tuple[Floats, Floats]:
    """How alike items are (C), and its part that comes from the map."""
    near = np.exp(-0.5 * ((z[:, None] - z[None]) ** 2).sum(axis=2))
    return (1 - share) * np.eye(len(z)) + share * near, near


@dataclass(frozen=True)
class _State:
    """What a vector of parameters amounts to."""

    loss: float
    gradient: Floats
    alike: Floats
    mean: float
    variance: float
    alpha: Floats
    inverse: Floats
    size: float
    """Mean of the kernel's diagonal, by which it is divided."""
    spread: Floats
    """C Phi C of each order."""


def _evaluate(parameters: Floats, phi: Floats, y: Floats) -> _State:
    """Minus the log posterior of a map, the share g and the noise, with gradient; mean and variance at their best values."""
    count, n, _ = phi.shape
    z = parameters[:-2].reshape(n, -1)
    share = 1 / (1 + np.exp(-parameters[-2]))
    noise = np.exp(parameters[-1])
    alike, near = _alike(z, share)
    half = (phi.reshape(count * n, n) @ alike).reshape(count, n, n)  # Phi C
    spread = np.matmul(alike, half)
    flat = phi.reshape(count, -1)
    kernel = flat @ spread.reshape(count, -1).T
    size = np.trace(kernel) / count
    covariance = kernel + (noise + 1e-7) * size * np.eye(count)
    factor = np.linalg.cholesky(covariance)
    whitener = np.linalg.inv(factor)
    inverse = whitener.T @ whitener
    weights = inverse.sum(axis=1)
    mean = weights @ y / weights.sum()
    alpha = inverse @ (y - mean)
    variance = max((y - mean) @ alpha / count, 1e-12)
    loss = 0.5 * count * np.log(variance) + np.log(factor.diagonal()).sum() + 0.5 * (z**2).sum()
    priors = [(parameters[-2], *SHARE_PRIOR), (parameters[-1], *NOISE_PRIOR)]
    loss += sum(0.5 * ((value - centre) / width) ** 2 for value, centre, width in priors)
    # d loss = <slope, d covariance>; the noise is relative to the kernel's size, which moves with the map.
    slope = 0.5 * (inverse - np.outer(alpha, alpha) / variance)
    trace = np.trace(slope)
    pulled = ((slope + np.eye(count) * (trace * noise / count)) @ flat).reshape(count, n, n)
    by_alike = half.transpose(1, 0, 2).reshape(n, -1) @ pulled.transpose(1, 0, 2).reshape(n, -1).T
    by_alike += phi.reshape(count * n, n).T @ np.matmul(alike, pulled).reshape(count * n, n)
    by_alike = by_alike + by_alike.T
    by_alike *= 0.5
    gradient = np.empty_like(parameters)
    through = by_alike * share * near
    gradient[:-2] = (-2 * (through.sum(axis=1)[:, None] * z - through @ z) + z).reshape(-1)
    gradient[-2] = (by_alike * (near - np.eye(n))).sum() * share * (1 - share)
    gradient[-1] = trace * noise * size
    for k, (value, centre, width) in zip((-2, -1), priors, strict=True):
        gradient[k] += (value - centre) / width**2
    return _State(float(loss), gradient, alike, float(mean), float(variance), alpha, inverse, float(size), spread)


def fit_map(pairs: Pairs, orders: Rows, y: Floats, start: Floats, *, steps: int, share: float) -> tuple[float, Floats]:
    """Parameters after so many steps of L-BFGS from `start`, with their loss; g has at most the log odds `share`."""
    phi = pairs.matrices(orders)

    def objective(parameters: Floats) -> tuple[float, Floats]:
        state = _evaluate(parameters, phi, y)
        return state.loss, state.gradient

    bounds = [(-6.0, 6.0)] * (len(start) - 2) + [(-8.0, share), (-13.0, -1.0)]
    begin = np.clip(start, *np.array(bounds).T)
    options = {"maxiter": steps, "maxfun": int(1.3 * steps) + 2}
    found = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun), np.asarray(found.x)


@dataclass(frozen=True)
class Embedded:
    """The fitted model; it predicts as a `GP` does."""

    pairs: Pairs
    rows: Rows
    y: Floats
    """Standardised values: `centre + spread * y` are the values."""
    centre: float
    spread: float
    parameters: Floats
    state: _State
    stretch: float = 1.0
    """What deviations are multiplied by."""

    @classmethod
    def of(cls, pairs: Pairs, rows: Rows, values: Floats, parameters: Floats) -> Embedded:
        """The model with these parameters."""
        y, centre, spread = standardised(np.asarray(values, np.float64))
        return cls(pairs, rows, y, centre, spread, parameters, _evaluate(parameters, pairs.matrices(rows), y))

    @property
    def map(self) -> Floats:
        """Where the items are, `(n, 2)`."""
        return self.parameters[:-2].reshape(self.pairs.n, -1)

    def with_points(self, rows: Rows) -> Embedded:
        """The model after it has seen what it expects at further rows; the map stays."""
        expected = self.centre + self.spread * self.predict_standardised(rows)[0]
        values = np.concatenate([self.centre + self.spread * self.y, expected])
        made = self.of(self.pairs, np.concatenate([self.rows, rows]), values, self.parameters)
        return replace(made, stretch=self.stretch)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.float32], Floats, NDArray[np.float32], float]:
        """Sums over neighbouring pairs give `<Phi, C Phi_t C>` and `<Phi, C J C>`; J is 1 off the diagonal.

        Phi is the pairs less their mean, so the former lacks an offset for each order t, and the norm of Phi has a linear
        part and a constant one.
        """
        other = 1 - np.eye(self.pairs.n)
        towards = self.state.spread / self.state.size
        middle = self.state.alike @ other @ self.state.alike
        offsets = -self.pairs.mean * (towards * other).sum(axis=(1, 2))
        constant = self.pairs.mean**2 * float((other * middle).sum())
        if not self.pairs.directed:  # a pair is two
            towards, middle = towards + towards.transpose(0, 2, 1), middle + middle.T
        tables = np.ascontiguousarray(towards.transpose(1, 2, 0)).astype(np.float32)
        return tables, offsets, middle[:, :, None].astype(np.float32), constant

    def predict_standardised(self, rows: Rows) -> tuple[Floats, Floats]:
        """Mean and standard deviation of noise-free standardised values."""
        rows = np.ascontiguousarray(rows)
        tables, offsets, middle, constant = self._tables
        cross, linear = np.zeros((len(rows), len(self.rows)), np.float32), np.zeros((len(rows), 1), np.float32)
        edge_sums(rows, tables, self.pairs.cyclic, cross)
        edge_sums(rows, middle, self.pairs.cyclic, linear)
        norms = np.empty(len(rows))
        edge_norms(rows, self.state.alike, self.pairs.directed, self.pairs.cyclic, norms)
        own = (norms - 2 * self.pairs.mean * linear[:, 0] + constant) / self.state.size
        whole = cross + offsets
        # The state's matrices are of the kernel itself, `cross` and `own` of the kernel divided by its size.
        mean = self.state.mean + self.state.size * (whole @ self.state.alpha)
        explained = self.state.size * np.einsum("ij,ij->i", whole @ self.state.inverse, whole)
        variance = self.state.variance * self.state.size * np.maximum(own - explained, 1e-10)
        return mean, self.stretch * np.sqrt(variance)
