"""The metadata log of a KRaft cluster as a trace: each change explained by a rule of the engine, or refused."""
