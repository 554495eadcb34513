"""Makes tests/support importable: generated clusters, and plain-Python references to compare with."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

# A loaded machine is no failure of what is tested.
settings.register_profile("kreplica", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kreplica")
