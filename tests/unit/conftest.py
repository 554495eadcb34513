"""Generated examples: a loaded machine is no failure of what is tested."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("kreplica", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kreplica")
