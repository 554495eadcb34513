"""Models of one KRaft partition by the engine's own rules, under settings that are chosen and a budget of faults."""
