"""Studies, which are kept in Optuna's storage, so that several machines and its dashboard can share them.

Everything that can be done with a study is here; the command line and Optuna's sampler are interfaces to it.
"""

from __future__ import annotations

from mergebo.studies.addresses import address
from mergebo.studies.storage import study_names
from mergebo.studies.study import Study, StudyConfig, create, load

__all__ = ["Study", "StudyConfig", "address", "create", "load", "study_names"]
