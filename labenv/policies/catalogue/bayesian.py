"""Policy `bayesian`: a Gaussian process over the task's space and expected improvement.

The first proposals are Sobol points. After them, each proposal maximises the expected improvement
over the best *modelled* score (scores are noisy, so the best seen one flatters), among a fresh
Sobol set and perturbations of the best points. Choices enter as one column each, ranges on their
own (logarithmic) axis, each with its own length scale in a Matérn 5/2 kernel; priors on the length
scales keep some forty results from being overfitted in eleven dimensions. Proposals in flight enter
as if they had given what the model expects of them (the kriging believer), so that a parallel lab
is not sent the same experiment twice.

Scores crowd near 1 in a good campaign, where the difference between 97 % and 99 % purity is what
matters, and fall to 0 off a cliff where a charge melts. So the process models
``-log(1 + margin - score)``, and failures count as poor, not as abysmal: targets are cut off a
little below the median.

Needs scikit-learn: ``pip install 'labenv[bayesian]'``.

Source:
    Jones, Schonlau & Welch, J. Global Optim. 13, 455 (1998), doi:10.1023/A:1008306431147; believer:
    Ginsbourger, Le Riche & Carraro (2010), doi:10.1007/978-3-642-10701-6_6; priors on length
    scales: Hvarfner, Hellsten & Nardi (2024), arXiv:2402.02229.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.policies.base import SpacePolicy
from labenv.tasks.options import check_whole_number
from labenv.tasks.parameters import Categorical, Ordinal
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labenv.tasks.task import Task

    Floats = NDArray[np.float64]

_MARGIN = 0.05  # of the logarithm; about the noise of a short scan
_DEPTH = 0.7  # targets are cut this far below the median, in units of the best's height above it
_WIDTHS = (0.1, 0.3)  # of the perturbations of the best points
_FINE = 0.04  # of those of the most promising candidates
_LENGTH_BOUNDS = (0.05, 100.0)
_NOISE_BOUNDS = (1e-4, 0.5)
# Normal priors on the logarithms: length scales grow with the root of their number. The centre is
# shorter and the spread narrower than in Hvarfner et al., whose inputs are many more.
_LENGTH_CENTRE, _LENGTH_SPREAD = -0.3, 1.0
_NOISE_CENTRE, _NOISE_SPREAD = -4.0, 1.0


class BayesianPolicy(SpacePolicy):
    """Models the score with a Gaussian process and proposes where improvement is most expected.

    Args:
        initial: Sobol points before the model is trusted.
        candidates: Size of the Sobol set searched for each proposal.
        neighbours: Perturbations of each of the best points that are searched too.
        incumbents: How many best points are perturbed.
        restarts: Fits of the model from random starts, beside that from the last fit.

    Raises:
        ConfigError: If a number is not whole or too small, or scikit-learn is missing.
    """

    def __init__(
        self,
        initial: int = 10,
        candidates: int = 512,
        neighbours: int = 96,
        incumbents: int = 8,
        restarts: int = 0,
    ) -> None:
        sizes = {
            "initial": initial,
            "candidates": candidates,
            "neighbours": neighbours,
            "incumbents": incumbents,
        }
        for name, size in sizes.items():
            check_whole_number(name, size, 1)
        check_whole_number("restarts", restarts, 0)
        _scikit_learn()
        self._initial = initial
        self._candidates = candidates
        self._neighbours = neighbours
        self._incumbents = incumbents
        self._restarts = restarts

    def reset(self, task: Task, seed: int) -> None:
        """Forget everything and begin a campaign.

        Args:
            task: The task.
            seed: Of the Sobol scrambling and of the search.
        """
        from scipy.stats import qmc

        super().reset(task, seed)
        self._sequence = qmc.Sobol(task.space.n, scramble=True, rng=self._generator)
        self._units: list[Floats] = []
        self._values: list[float] = []
        self._proposed = 0
        self._theta: Floats | None = None

    def _learn(self, unit: Floats, value: float) -> None:
        self._units.append(unit)
        self._values.append(value)

    def _choose(self, waiting: list[Floats], taken: set[tuple[float, ...]]) -> Floats:
        self._proposed += 1
        if self._proposed <= self._initial or len(self._values) < 2:
            pool = np.asarray(self._sequence.random(1), dtype=np.float64)
            order = np.zeros(1, dtype=np.int64)
        else:
            model = self._fit()
            best, model = _believe(model, self._features(self._units), self._features(waiting))
            pool = self._pool(model)
            order = np.argsort(-_improvement(model, self.space.features(pool), best), kind="stable")
            near = self._around(pool[order[:3]], self._neighbours, _FINE)
            pool = self.space.snap(np.concatenate([pool[order[:64]], near]))
            order = np.argsort(-_improvement(model, self.space.features(pool), best), kind="stable")
        for index in order:
            if self.space.key(pool[index]) not in taken:
                return np.asarray(pool[index])
        return np.asarray(self._generator.random(self.space.n))

    def _features(self, units: list[Floats]) -> Floats:
        points = np.array(units) if units else np.empty((0, self.space.n))
        return self.space.features(points)

    def _fit(self) -> Any:  # noqa: ANN401 - scikit-learn is an extra
        """Return the process fitted to what was observed, starting from the last fit."""
        process, kernels = _scikit_learn()
        features = self._features(self._units)
        target = -np.log(1.0 + _MARGIN - np.array(self._values))
        middle = float(np.median(target))
        target = np.maximum(target, middle - _DEPTH * (float(np.max(target)) - middle))
        kernel = kernels.ConstantKernel(1.0, (0.05, 20.0)) * kernels.Matern(
            np.ones(features.shape[1]), _LENGTH_BOUNDS, nu=2.5
        ) + kernels.WhiteKernel(0.01, _NOISE_BOUNDS)
        if self._theta is not None:
            kernel.theta = self._theta
        model = process.GaussianProcessRegressor(
            kernel,
            alpha=1e-8,
            normalize_y=True,
            optimizer=_most_probable,
            n_restarts_optimizer=self._restarts,
            random_state=int(self._generator.integers(2**31)),
        )
        with warnings.catch_warnings():
            # An irrelevant parameter's length scale ends at its bound, as it should.
            warnings.simplefilter("ignore")
            model.fit(features, target)
        self._theta = model.kernel_.theta.copy()
        return model

    def _pool(self, model: Any) -> Floats:  # noqa: ANN401 - scikit-learn is an extra
        """Return candidate points, shape (C, n)."""
        from scipy.stats import qmc

        count = 1 << (self._candidates - 1).bit_length()
        sobol = qmc.Sobol(self.space.n, scramble=True, rng=self._generator).random(count)
        modelled = model.predict(self._features(self._units))
        best = np.argsort(-modelled, kind="stable")[: self._incumbents]
        centres = np.array([self._units[index] for index in best])
        near = [self._around(centres, self._neighbours, width) for width in _WIDTHS]
        return self.space.snap(np.concatenate([sobol, *near]))

    def _around(self, centres: Floats, count: int, width: float) -> Floats:
        """Return `count` perturbations of each centre: some numbers moved, some choices redrawn."""
        points = np.repeat(centres, count, axis=0)
        moved = self._generator.random(points.shape) < max(0.25, 2.0 / self.space.n)
        step = width * self._generator.standard_normal(points.shape)
        redrawn = self._generator.random(points.shape)
        for k, parameter in enumerate(self.space.parameters):
            if isinstance(parameter, Categorical | Ordinal):
                points[:, k] = np.where(moved[:, k], redrawn[:, k], points[:, k])
            else:
                points[:, k] += np.where(moved[:, k], step[:, k], 0.0)
        return np.clip(points, 0.0, 1.0)


def _most_probable(
    fall: Callable[..., tuple[float, Floats]], start: Floats, bounds: Floats
) -> tuple[Floats, float]:
    """Return the most probable hyperparameters: likelihood times prior; scikit-learn's optimiser.

    Args:
        fall: Negative log likelihood and its gradient at logarithms of hyperparameters.
        start: Where to begin: amplitude, length scales, noise.
        bounds: Of the logarithms, shape (H, 2).

    Returns:
        Logarithms of the hyperparameters, and the negative log posterior there.
    """
    from scipy.optimize import minimize

    lengths = start.size - 2
    centre = np.full(start.size, _LENGTH_CENTRE + 0.5 * np.log(lengths))
    spread = np.full(start.size, _LENGTH_SPREAD)
    centre[-1], spread[-1] = _NOISE_CENTRE, _NOISE_SPREAD
    centre[0], spread[0] = 0.0, 1.0

    def posterior(theta: Floats) -> tuple[float, Floats]:
        value, slope = fall(theta, eval_gradient=True)
        away = (theta - centre) / spread
        return value + 0.5 * float(away @ away), slope + away / spread

    limits = [(float(low), float(high)) for low, high in bounds]
    found = minimize(posterior, start, jac=True, method="L-BFGS-B", bounds=limits)
    return found.x, float(found.fun)


def _believe(model: Any, observed: Floats, waiting: Floats) -> tuple[float, Any]:  # noqa: ANN401
    """Return the best modelled target, and the model with what is in flight believed."""
    best = float(np.max(model.predict(observed)))
    if len(waiting) == 0:
        return best, model
    expected = model.predict(waiting)
    process, _ = _scikit_learn()
    believer = process.GaussianProcessRegressor(
        model.kernel_, alpha=1e-8, normalize_y=True, optimizer=None
    )
    targets = model.y_train_ * model._y_train_std + model._y_train_mean  # noqa: SLF001
    believer.fit(np.concatenate([observed, waiting]), np.concatenate([targets, expected]))
    return max(best, float(np.max(expected))), believer


def _improvement(model: Any, features: Floats, best: float) -> Floats:  # noqa: ANN401
    """Return the expected improvement over `best` at each row, shape (C,)."""
    from scipy.special import ndtr

    mean, deviation = model.predict(features, return_std=True)
    deviation = np.maximum(deviation, 1e-9)
    z = (mean - best) / deviation
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.asarray(deviation * (z * ndtr(z) + density))


def _scikit_learn() -> tuple[Any, Any]:
    try:
        import sklearn.gaussian_process as process
        from sklearn.gaussian_process import kernels
    except ImportError:
        raise ConfigError(
            "the Bayesian policy needs scikit-learn: pip install 'labenv[bayesian]'"
        ) from None
    return process, kernels


create = BayesianPolicy
