"""One protocol rule a function: integers, booleans and bitmasks in, integers and bitmasks out; no objects.

Names are Kafka's own, and each docstring names the class a rule was read in and since when it holds. A rule does not
look at the clock, asks nobody and changes nothing, so that whoever needs it calls the same function: questions over a
snapshot and the simulator. They keep to the subset of Python that numba compiles, for whoever searches states.

Two kinds are wider. Rules of coordinators and clients (groups, transactions, assignors, positions) take names, mappings
and small frozen values. ``leader_epoch_cache`` changes the two lists that it is given in place, because every append
asks it: who searches states copies them before.

The replicas of one partition are a set in one integer: bit ``i`` stands for the replica at place ``i`` of the
assignment. The lowest set bit is then the first one in the order in which controllers look for a leader. In-sync
replicas outside the assignment, which ZooKeeper mode may have (KAFKA-9672), stand above it.

    place        0    1    2
    replicas     5    1    4        assignment 5, 1, 4
    isr          1    0    1   =    0b101: brokers 5 and 4 are in sync

``replica`` and ``leader`` are places; NO_LEADER (-1) stands for none.
"""
