"""Structure discovery: crystals of a chemical system, judged by energy above its hull."""

from labenv.tasks.structure_discovery.judge import Judge, Verdict
from labenv.tasks.structure_discovery.oracle import known_compounds, oracle_actions, oracle_score
from labenv.tasks.structure_discovery.prototypes import PROTOTYPES, DiscoverySpace
from labenv.tasks.structure_discovery.systems import DEFAULT_SYSTEMS, ChemicalSystem

__all__ = [
    "DEFAULT_SYSTEMS",
    "PROTOTYPES",
    "ChemicalSystem",
    "DiscoverySpace",
    "Judge",
    "Verdict",
    "known_compounds",
    "oracle_actions",
    "oracle_score",
]
