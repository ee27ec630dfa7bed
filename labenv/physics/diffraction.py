"""Powder patterns of mixtures: the one kernel behind the diffractometer's twin and the vector env.

`PatternBasis` holds, for each phase, its pattern per unit weight fraction on the instrument's fixed
angle grid for a ladder of crystallite sizes (and of texture strengths where a phase has a preferred
plane). `PatternBasis.mean_counts` mixes them, batched over a leading axis; every row is computed
by itself, so a row's bits do not depend on the batch it came in. `pattern` sums profiles directly
and is what the fast path is tested against.

    spec = DiffractometerSpec()
    basis = PatternBasis([phase_library().get("rutile"), phase_library().get("BaCO3")], spec)
    mean = basis.mean_counts(SampleBatch(weight_fractions, crystallite_size_m), scan)   # (N, M)
    counts = poisson_counts(mean, generators)                                       # noise.py

Agreement of the fast path with direct summation: better than 0.5 % of the strongest line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.checks import all_between
from labenv.physics.diffraction_kernel import OVERSAMPLING, TEXTURE_NODES, mix_patterns
from labenv.physics.profiles import (
    add_peaks,
    caglioti_deg2,
    combine_widths,
    lorentz_polarisation,
    march_dollase,
    scherrer_deg,
    strain_deg,
    two_theta_deg,
)
from labenv.physics.reflection_cache import reflections_of
from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from labenv.physics.reflections import ReflectionList
    from labenv.physics.structures.phase import CrystalPhase

_SOME_LINES_DEG = 60.0  # every phase has lines below this
_MARGIN_DEG = 0.6
_REACH = 25.0
_SIZE_NODES = 12


@dataclass(frozen=True)
class DiffractometerSpec:
    """A fixed-slit Bragg-Brentano diffractometer and its angle grid.

    The defaults are a benchtop instrument with a strip detector, brightness, background and widths
    read off 8-minute scans of weighed oxide mixtures on a Malvern Panalytical Aeris (Ni filter,
    40 kV, 15 mA). The strips of such a detector count at once, so a step gathers some 200 times
    what a slit would in scan time over number of steps; rates are per second of the latter.

    Attributes:
        start_deg: First angle, degrees 2θ.
        step_deg: Step, degrees 2θ.
        points: Number of steps.
        k_alpha_a: Wavelengths Kα1 and Kα2, Å.
        k_alpha2_ratio: Intensity of Kα2 relative to Kα1.
        caglioti: U, V, W of the instrument's Gaussian width, degrees².
        lorentz_deg: Lorentzian width of the instrument, degrees.
        radius_m: Goniometer radius, m.
        counts_per_second: Brightness: net counts per second and degree of line area, for a line of
            unit `unit_intensity`·LP over mass attenuation (see `labenv.physics.reflections`).
        background_per_second: Level, 1/2θ rise (× 10°) and exponential rise below 20°, counts/s.
        strain: Microstrain of every phase.
        size_range_m: Smallest and largest crystallite size, m.
        in_plane: Light polarised in the plane of scattering over that across it: 1 for a tube,
            cos²2α with a monochromator at 2α, some 0.02 for a synchrotron.
    """

    start_deg: float = 15.0
    step_deg: float = 0.03
    points: int = 2001
    k_alpha_a: tuple[float, float] = (1.5405929, 1.5444274)
    k_alpha2_ratio: float = 0.5
    caglioti: tuple[float, float, float] = (0.004, -0.002, 0.014)
    lorentz_deg: float = 0.02
    radius_m: float = 0.145
    counts_per_second: float = 7e7
    background_per_second: tuple[float, float, float] = (3800.0, 15000.0, 13000.0)
    strain: float = 3e-4
    size_range_m: tuple[float, float] = (6e-9, 600e-9)
    in_plane: float = 1.0

    @property
    def two_theta_deg(self) -> NDArray[np.float64]:
        """The angle grid, degrees, shape (points,)."""
        angle = self.start_deg + self.step_deg * np.arange(self.points)
        return np.asarray(angle, dtype=np.float64)

    def background(self) -> NDArray[np.float64]:
        """Return the background's components, counts per second, shape (3, points)."""
        angle = self.two_theta_deg
        level, rise, low = self.background_per_second
        shapes = [np.ones_like(angle), 10.0 / angle, np.exp(-(angle - 10.0) / 10.0)]
        return np.stack([level * shapes[0], rise * shapes[1], low * shapes[2]])


@dataclass(frozen=True)
class SampleBatch:
    """What lies in the beam, N samples.

    Attributes:
        weight_fractions: Weight fractions of the basis' phases, shape (N, P); a row may sum to less
            than 1, the rest being amorphous.
        crystallite_size_m: Crystallite sizes, m, shape (N, P).
        texture_r: March coefficients, shape (N, P), or None for no texture. Phases without a
            preferred plane ignore theirs.
    """

    weight_fractions: NDArray[np.float64]
    crystallite_size_m: NDArray[np.float64]
    texture_r: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class ScanBatch:
    """How N samples are scanned; each attribute has shape (N,).

    Attributes:
        seconds_per_step: Counting time per step, s.
        displacement_m: Sample displacement, m; + moves lines to lower angles.
        zero_deg: Zero error, degrees 2θ.
        brightness: Factor on the instrument's `counts_per_second`.
        background: Factor on the instrument's background.
    """

    seconds_per_step: NDArray[np.float64]
    displacement_m: NDArray[np.float64]
    zero_deg: NDArray[np.float64]
    brightness: NDArray[np.float64]
    background: NDArray[np.float64]

    @classmethod
    def plain(cls, count: int, seconds_per_step: float = 1.0) -> ScanBatch:
        """Return scans on a perfectly adjusted instrument.

        Args:
            count: Number of scans N.
            seconds_per_step: Counting time per step, s.

        Returns:
            N equal scans.
        """
        one = np.ones(count)
        return cls(seconds_per_step * one, 0.0 * one, 0.0 * one, one, one)


def line_pattern(
    lines: ReflectionList,
    spec: DiffractometerSpec,
    size_m: float,
    factor: NDArray[np.float64] | None = None,
    grid: tuple[float, float, int] | None = None,
) -> NDArray[np.float64]:
    """Sum the profiles of a phase, per unit weight fraction and before absorption.

    Args:
        lines: Reflections of the phase (for Kα1).
        spec: The instrument.
        size_m: Crystallite size, m.
        factor: Texture factors of the lines, shape (n,); None for 1.
        grid: First angle, step and number of points; None for the instrument's.

    Returns:
        Intensity per degree, shape (points,).
    """
    start, step, points = grid or (spec.start_deg, spec.step_deg, spec.points)
    out = np.zeros(points)
    weights = (1.0, spec.k_alpha2_ratio) if spec.k_alpha2_ratio > 0 else (1.0,)
    for wavelength, weight in zip(spec.k_alpha_a, weights, strict=False):
        angle = two_theta_deg(lines.d_a, wavelength)
        good = np.isfinite(angle) & (angle < 170.0)
        angle = angle[good]
        area = lines.unit_intensity[good] * lorentz_polarisation(angle, spec.in_plane) * weight
        if factor is not None:
            area = area * factor[good]
        gauss = caglioti_deg2(angle, *spec.caglioti)
        lorentz = scherrer_deg(angle, size_m, wavelength) + strain_deg(angle, spec.strain)
        width, eta = combine_widths(gauss, lorentz + spec.lorentz_deg)
        add_peaks(start, step, angle, width, eta, area / sum(weights), _REACH, out)
    return out


@dataclass(frozen=True)
class PatternBasis:
    """Patterns of phases on an instrument's grid for ladders of size and texture.

    Attributes:
        phases: The phases, P of them.
        spec: The instrument.
        preferred_planes: Phase name to the Miller indices of the plane that lies flat.
    """

    phases: tuple[CrystalPhase, ...]
    spec: DiffractometerSpec = field(default_factory=DiffractometerSpec)
    preferred_planes: Mapping[str, tuple[int, int, int]] = field(
        default_factory=dict[str, tuple[int, int, int]]
    )

    def __post_init__(self) -> None:
        """Compute the ladders."""
        spec = self.spec
        step = spec.step_deg / OVERSAMPLING
        margin = int(np.ceil(_MARGIN_DEG / step))
        fine = (
            spec.start_deg - margin * step,
            step,
            (spec.points - 1) * OVERSAMPLING + 1 + 2 * margin,
        )
        # a scan at low angles may hold no line of a phase at all
        top = max(spec.start_deg + spec.step_deg * spec.points + 2.0, _SOME_LINES_DEG)
        lines = [reflections_of(phase, spec.k_alpha_a[0], top) for phase in self.phases]
        sizes = np.geomspace(*spec.size_range_m, _SIZE_NODES)
        first: list[int] = []
        blocks: list[NDArray[np.float64]] = []
        for phase, reflections in zip(self.phases, lines, strict=True):
            first.append(len(blocks))
            for factor in self._texture_factors(phase, reflections):
                ladder = [line_pattern(reflections, spec, size, factor, fine) for size in sizes]
                blocks.append(np.stack(ladder))
        textured = np.array([phase.name in self.preferred_planes for phase in self.phases])
        object.__setattr__(self, "_ladder", np.stack(blocks).astype(np.float32))
        object.__setattr__(self, "_first", np.array(first))
        object.__setattr__(self, "_textured", textured)
        object.__setattr__(self, "_margin", margin)
        object.__setattr__(
            self, "attenuation_m2_kg", np.array([x.attenuation_m2_kg for x in lines])
        )
        object.__setattr__(self, "_background", spec.background().sum(axis=0))
        tilt_deg = -2.0 * np.degrees(np.cos(np.radians(spec.two_theta_deg) / 2.0))
        object.__setattr__(self, "_tilt_steps", tilt_deg / spec.step_deg)

    attenuation_m2_kg: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _ladder: NDArray[np.float32] = field(init=False, repr=False, compare=False)
    _first: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    _textured: NDArray[np.bool_] = field(init=False, repr=False, compare=False)
    _margin: int = field(init=False, repr=False, compare=False)
    _background: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _tilt_steps: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def _texture_factors(
        self, phase: CrystalPhase, lines: ReflectionList
    ) -> list[NDArray[np.float64] | None]:
        plane = self.preferred_planes.get(phase.name)
        if plane is None:
            return [None]
        cos2 = lines.cos2_to_axis(plane)
        return [lines.line_mean(march_dollase(cos2, r)) for r in TEXTURE_NODES]

    def mean_counts(self, sample: SampleBatch, scan: ScanBatch) -> NDArray[np.float64]:
        """Return the expected counts of N scans.

        Args:
            sample: What lies in the beam, N samples.
            scan: How they are scanned.

        Returns:
            Expected counts per step, shape (N, points).

        Raises:
            SimulatorError: If shapes disagree or a value is negative or not finite.
        """
        weights = np.ascontiguousarray(sample.weight_fractions, dtype=np.float64)
        sizes = np.ascontiguousarray(sample.crystallite_size_m, dtype=np.float64)
        texture = sample.texture_r
        texture = np.ones_like(weights) if texture is None else np.ascontiguousarray(texture)
        count, phases = weights.shape
        if phases != len(self.phases) or sizes.shape != weights.shape != texture.shape:
            raise SimulatorError(
                f"{len(self.phases)} phases in the basis, but weight fractions {weights.shape}, "
                f"sizes {sizes.shape}, texture {texture.shape}"
            )
        per_scan = np.stack(
            [
                scan.seconds_per_step,
                scan.displacement_m / self.spec.radius_m,
                scan.zero_deg,
                scan.brightness * self.spec.counts_per_second,
                scan.background,
            ],
            axis=1,
        )
        if not (all_between(per_scan) and all_between(weights, 0.0)):
            raise SimulatorError("a weight fraction or scan setting is negative or not finite")
        low, high = self.spec.size_range_m
        rung = np.log(np.clip(sizes, low, high) / low) * ((_SIZE_NODES - 1) / np.log(high / low))
        attenuation = weights @ self.attenuation_m2_kg / np.maximum(weights.sum(axis=1), 1e-12)
        out = np.empty((count, self.spec.points))
        low_r, high_r = TEXTURE_NODES[0], TEXTURE_NODES[-1]
        texture_rung = np.log(np.clip(texture, low_r, high_r) / low_r) / 0.17
        mix_patterns(
            self._ladder, self._first, self._textured, weights, rung, texture_rung, attenuation,
            per_scan, self._background, self._tilt_steps, 1.0 / self.spec.step_deg, self._margin,
            out,
        )  # fmt: skip
        return out
