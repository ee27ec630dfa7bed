"""X-ray fluorescence: which photons an element sends out, and how many for what it absorbs.

Source:
    Elam, Ravel & Sieber 2002, doi:10.1016/S0969-806X(01)00227-4 (edges, jump ratios, yields, line
    strengths, attenuation), as in XrayDB, https://xraypy.github.io/XrayDB/.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import erf, log, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labenv.physics.scattering import HC_EV_A, mass_attenuation_m2_per_kg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

LEAST_EV = 2000.0
"""Softest photons that are followed, eV; softer ones do not cross the air of a diffractometer."""

_SHELLS = ("K", "L1", "L2", "L3")


class EmissionLine(NamedTuple):
    """A group of fluorescence lines of one shell.

    Attributes:
        energy_ev: Mean photon energy, eV.
        cross_section_m2_kg: Photons sent out per photon per areal mass of the element, m²/kg: its
            photoabsorption in the shell times the shell's yield and the group's share.
    """

    energy_ev: float
    cross_section_m2_kg: float


@lru_cache(maxsize=512)
def emission_lines(element: str, beam_ev: float) -> tuple[EmissionLine, ...]:
    """Return what an element sends out in a beam.

    Args:
        element: Element symbol.
        beam_ev: Photon energy of the beam, eV.

    Returns:
        Its line groups (α and β of each shell whose edge lies below the beam's energy), strongest
        first; empty if there is none that air lets through.
    """
    import xraydb  # type: ignore[import-untyped]  # the package has no types

    symbol = "H" if element in {"D", "T"} else element
    edges = xraydb.xray_edges(symbol)
    left = 0.1 * float(np.ravel(xraydb.mu_elam(symbol, beam_ev, kind="photo"))[0])
    found: list[EmissionLine] = []
    for shell in _SHELLS:
        edge = edges.get(shell)
        if edge is None or edge.energy >= beam_ev:
            continue
        absorbed = left * (1.0 - 1.0 / edge.jump_ratio)
        left -= absorbed
        found += _groups(xraydb.xray_lines(symbol, shell), absorbed * edge.fyield)
    return tuple(sorted(found, key=lambda line: -line.cross_section_m2_kg))


def _groups(lines: dict[str, Any], photons_m2_kg: float) -> list[EmissionLine]:
    """Return a shell's lines as α and the rest."""
    groups: dict[bool, list[tuple[float, float]]] = {}
    for name, line in lines.items():
        pair = (float(line.energy), float(line.intensity))
        groups.setdefault("a" in name, []).append(pair)
    total = sum(share for group in groups.values() for _, share in group)
    found: list[EmissionLine] = []
    for group in groups.values():
        share = sum(part for _, part in group)
        energy = sum(e * part for e, part in group) / max(share, 1e-30)
        if energy > LEAST_EV and share > 0.0:
            found.append(EmissionLine(energy, photons_m2_kg * share / total))
    return found


AIR = {"N": 0.755, "O": 0.232, "Ar": 0.013}
"""Mass fractions of the elements of dry air."""

_AIR_KG_M3 = 1.2
_NOTHING = 1e-6
_ERF_PER_FWHM = 2.0 * sqrt(log(2.0))


@dataclass(frozen=True)
class Detection:
    """What stands between a sample and its counts: a filter, air, and a detector's energy window.

    The defaults are those written in the files of the instrument whose brightness
    `DiffractometerSpec` has: a nickel filter of 20 µm, and a strip detector counting between 4.0
    and 11.3 keV. With `white_share` they give the background of twelve of thirteen scans of known
    mixtures with V, Cr, Mn, Fe or Ni within a factor of 1.7 (CoO-WO3 has a fifth of what is
    expected).

    Attributes:
        filter_element: Element of the filter after the sample; None for no filter.
        filter_kg_m2: Areal mass of the filter, kg/m².
        path_m: Way through air, m.
        window_ev: Lowest and highest photon energies counted, eV.
        resolution_ev: Full width at half maximum with which the detector sees an energy, eV (an
            estimate for silicon strips).
        white_share: Photons of a tube's white spectrum that excite fluorescence, per photon of its
            line, as if all had `white_ratio` times the line's energy. Fitted to five scans of
            nickel oxide, which copper Kα cannot excite; 0 for a monochromatic beam.
        white_ratio: Energy of the white photons over the line's.
    """

    filter_element: str | None = "Ni"
    filter_kg_m2: float = 0.178
    path_m: float = 0.145
    window_ev: tuple[float, float] = (4000.0, 11300.0)
    resolution_ev: float = 1000.0
    white_share: float = 0.5
    white_ratio: float = 1.106

    @classmethod
    def discriminating(cls, beam_ev: float, half_width_ev: float = 200.0) -> Detection:
        """Return a detector that tells the beam's photons from fluorescence (some 380 eV wide).

        Args:
            beam_ev: Photon energy of the beam, eV.
            half_width_ev: Half width of the window about it, eV.

        Returns:
            The detector, without a filter.
        """
        window = (beam_ev - half_width_ev, beam_ev + half_width_ev)
        return cls(filter_element=None, window_ev=window, resolution_ev=380.0)

    @classmethod
    def open(cls, beam_ev: float, *, monochromatic: bool = False) -> Detection:
        """Return a detector without a filter that counts from half to 1.4 of the beam's energy.

        Args:
            beam_ev: Photon energy of the beam, eV.
            monochromatic: Whether the beam holds no white spectrum.

        Returns:
            The detector.
        """
        window = (0.5 * beam_ev, 1.4 * beam_ev)
        share = 0.0 if monochromatic else 0.5
        return cls(filter_element=None, window_ev=window, white_share=share)

    def passed(self, energy_ev: float) -> float:
        """Return the part of photons of an energy that is counted.

        Args:
            energy_ev: Photon energy, eV.

        Returns:
            Part, 0 to 1.
        """
        wavelength_a = HC_EV_A / energy_ev
        depth = mass_attenuation_m2_per_kg(AIR, wavelength_a) * _AIR_KG_M3 * self.path_m
        if self.filter_element is not None:
            opacity = mass_attenuation_m2_per_kg({self.filter_element: 1.0}, wavelength_a)
            depth += opacity * self.filter_kg_m2
        low, high = ((edge - energy_ev) / self.resolution_ev for edge in self.window_ev)
        counted = 0.5 * (erf(high * _ERF_PER_FWHM) - erf(low * _ERF_PER_FWHM))
        return float(np.exp(-depth)) * counted


class Glow:
    """The fluorescence of mixtures of some compounds in one beam."""

    def __init__(
        self,
        compounds: Sequence[Mapping[str, float]],
        beam_ev: float,
        exciting_ev: float,
        detection: Detection,
    ) -> None:
        """Look up lines and absorption.

        Args:
            compounds: Of each of P compounds, element symbol to mass fraction, summing to 1.
            beam_ev: Photon energy of the diffracted beam, eV, to which counts are related.
            exciting_ev: Photon energy of what excites, eV.
            detection: What stands between sample and counts.
        """
        elements = sorted({element for compound in compounds for element in compound})
        lines = [(e, line) for e in elements for line in emission_lines(e, exciting_ev)]
        reference = detection.passed(beam_ev)
        passed = [detection.passed(line.energy_ev) / reference for _, line in lines]
        kept = [i for i, part in enumerate(passed) if part > _NOTHING]
        sent = [[c.get(lines[i][0], 0.0) * lines[i][1].cross_section_m2_kg for i in kept]
                for c in compounds]  # fmt: skip
        opacity = [[mass_attenuation_m2_per_kg(c, HC_EV_A / lines[i][1].energy_ev) for i in kept]
                   for c in compounds]  # fmt: skip
        shape = (len(compounds), len(kept))
        self._sent = np.reshape(sent, shape) * np.array([passed[i] for i in kept])
        self._opacity_out = np.reshape(opacity, shape)
        wavelength_a = HC_EV_A / exciting_ev
        self._opacity_in = np.array([
            mass_attenuation_m2_per_kg(c, wavelength_a) for c in compounds
        ])

    def photons(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return counted photons per photon of the beam and 4π of solid angle.

        Args:
            weights: Weight fractions, shape (N, P), rows summing to 1.

        Returns:
            Σ w σ t / (μ_in + μ_out), shape (N,).
        """
        opacity = (weights @ self._opacity_in)[:, None] + weights @ self._opacity_out
        return np.asarray((weights @ self._sent / np.maximum(opacity, 1e-9)).sum(axis=1))
