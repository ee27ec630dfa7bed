"""The errors that labenv raises, and who is at fault in each.

::

    LabEnvError
    ├ ConfigError (ValueError)          the user's file or argument
    ├ ProposalError (ValueError)        the policy's wish; becomes an Outcome `invalid`
    ├ UnknownPluginError (LookupError)  a name that no plug-in answers to
    ├ MeasurementFileError (ValueError) a file that is not what it should be
    └ BoundaryError                     the environment's fault; recorded, never scored as reward 0
      ├ InstrumentError  ├ SimulatorError  ├ PolicyError  └ StoreError

The tree lives in `labenv_schemas.errors`, because every room raises it; this module is the name by
which users import it.
"""

from labenv_schemas.errors import (
    BoundaryError,
    ConfigError,
    InstrumentError,
    LabEnvError,
    MeasurementFileError,
    PolicyError,
    ProposalError,
    SimulatorError,
    StoreError,
    UnknownPluginError,
    boundary,
)

__all__ = [
    "BoundaryError",
    "ConfigError",
    "InstrumentError",
    "LabEnvError",
    "MeasurementFileError",
    "PolicyError",
    "ProposalError",
    "SimulatorError",
    "StoreError",
    "UnknownPluginError",
    "boundary",
]
