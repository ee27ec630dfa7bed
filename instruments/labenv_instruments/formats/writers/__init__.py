"""Writers of diffractograms in forms that other programs open: XRDML, xye, pdCIF and NeXus."""

from __future__ import annotations

from labenv_instruments.formats.writers.nexus import write_nexus
from labenv_instruments.formats.writers.pdcif import write_pdcif
from labenv_instruments.formats.writers.xrdml import write_xrdml
from labenv_instruments.formats.writers.xye import write_xye

__all__ = ["write_nexus", "write_pdcif", "write_xrdml", "write_xye"]
