"""Real brokers and the engine under one script: each row is played on both, and what both show is compared.

``script`` is the vocabulary, ``rows`` the catalogue, ``engine_side`` plays a row in virtual time and predicts,
``real_side`` does the same to a sandbox, ``sweep`` reads its brokers, ``reading`` compares.
"""
