"""Meanings of the fields of the answers of ``kreplica whatif`` mean; ``answer_fields`` puts them in place."""

from __future__ import annotations

_SHOW_REMARK = (
    "`scenario` beside the rows has why, source, notes, played_under, cluster, settings, plan of faults, and of each"
    " client its name, what it does and its settings."
)
SHOW_REMARKS = (_SHOW_REMARK,)
_MODEL_REMARK = (
    "`model` beside the rows has name, subject, about, mutant (whether it lacks a guard), and properties: each with"
    " name, promise, goal (whether it is one, not an invariant) and default (asked unless others are named)."
)
MODEL_REMARKS = (_MODEL_REMARK,)
_RUN_REMARK = (
    "`outcome` beside the rows says what came out: scenario, version, settings, seed, what the fields of"
    " [compare](#kreplica-whatif-compare) say, sent, non_monotonic, own_unread, differences, and findings: each breach"
    " of an invariant with time_ms, invariant, partition, offset, node, expected and found. With `--why`, `why` has"
    " value, partition, fate (lost, doubled, unseen, gone, stands), conclusion, causes: each with event (place in the"
    " run), time_ms, what, note (what it means for the record), rule and rule_source. `summary` has events, trace_hash,"
    " and the words above a picture: title, verdict, look (bad, odd, good) and story."
)
_RUNS_REMARK = (
    "With `--runs` the schema is `kreplica/whatif-runs/v1` and the rows are under `runs`, one a run: seed,"
    " acknowledged, faults, wrong (what went wrong), lost (how many), unavailable_ms, trace_hash; `outcome` has runs,"
    " failing, idle, wrong (runs by what went wrong), invariants (name, promise, and how many runs broke it) and"
    " smallest: seed, wrong, plan and leave_out."
)
_OWN_REMARK = (
    "With `--from` `outcome.partitions` lists the partitions that were played: partition, sent, lost and unseen"
    " (records), without_leader_ms and read_only_ms (below min.insync.replicas). With `--runs`, those to which anything"
    " happened: partition, runs_lost and runs_unseen (in how many runs), without_leader_ms_max and read_only_ms_max (of"
    " the worst run)."
)
_PROVE_REMARK = (
    "`verdict` beside the rows has the bounds and what was found within them: model, its bounds"
    " (replicas, records written at most; log, most records of a log, and epochs, the largest leader epoch, or of a"
    " KRaft model min_isr, isr, fences, losses, stops, shrinks, messages, or of settings acks, min_isr, unclean,"
    " faults, losses, stops, first_leader: null for any), symmetry (whether brokers were taken for each other),"
    " complete (whether all states were found),"
    " distinct (how many were), depth (levels of the search, the first state being one), holds (null if nothing was"
    " broken, but not all states were found), seconds, and invariants: name, promise, holds, counterexample_states (the"
    " first state included)."
)
_REPLAYS_REMARK = (
    "`replays` has, by invariant, the counterexamples that could be played as faults: plan (its steps in words) and"
    " runs, one under a release that is like the model and one under a release, or with a setting or another client,"
    " that mends it: kafka_version, settings, verdict (in words, as the screen has it), lost (records), broken"
    " (invariants of the run), trace_hash. `without_plan` has, by invariant or goal, why each of the others is not"
    " played."
)
_VALIDATE_REMARK = (
    "`summary` has verdict (valid, refused or incomplete), from_offset, next_offset, kafka_version (the release whose"
    " rules were taken), explained and refused (numbers of changes), checkpoints (how many were compared), rules: the"
    " number of changes by rule, and shortest: by timer, the shortest time (ms) that passed before a change that needs"
    " it, offset and change."
)
VALIDATE_REMARKS = (_VALIDATE_REMARK,)
PROVE_REMARKS = (_PROVE_REMARK, _REPLAYS_REMARK)
RUN_REMARKS = (_RUN_REMARK, _OWN_REMARK, _RUNS_REMARK)
