"""An audit as it was asked for: refused where it cannot be made, judged and folded here, then judged on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from analyzers.audit import check_free
from analyzers.fleet_audit import (
    Audited,
    HistorySelection,
    folded_here,
    judge_over_time,
    partition_rows,
    run_audit,
    select_fleet,
)
from analyzers.reading.folded import Folded
from analyzers.rows import SpanFinding
from analyzers.rules.criteria import Criteria, refuse_without_history
from analyzers.rules.over_time import refuse_without_group
from analyzers.sessions.session import settings_for, spark_session
from commands.audit.sample import with_sample
from commands.shared.options.baseline import refuse_beside_baseline
from commands.shared.options.history import WantedOptions
from commands.shared.options.judging import JudgingOptions
from commands.shared.options.spark import SparkOptions
from commands.shared.printing.progress import Progress
from kreplica.fleet.known.baseline import read_baseline
from kreplica.store.selection import Selection
from kreplica.system.packages import left_out
from kreplica.system.processes import processors


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """The options of an audit.

    Args:
        folders: The dumps or the history, as they were typed.
        wanted: Which clusters and times of them.
        judging: Rules, moments, mutes and an earlier answer.
        session: Where Spark runs.
        per_snapshot: A row for each finding and snapshot.
        counts: Rows are counts instead of findings.
        out: Folder that findings and counts are written to, if any.
        strict: Stop at a damaged file, or one of another program.
    """

    folders: Sequence[str]
    wanted: WantedOptions
    judging: JudgingOptions
    session: SparkOptions
    per_snapshot: bool
    counts: bool
    out: Path | None
    strict: bool

    @contextmanager
    def audited(self) -> Iterator[Audited]:
        """The audit, whose findings are there as long as the block runs.

        Raises:
            KreplicaError: It cannot be made as it was asked for.
        """
        beside = {"--per-snapshot": self.per_snapshot, "--counts": self.counts, "--out": self.out is not None}
        refuse_beside_baseline(self.judging.baseline, beside)
        earlier = None if self.judging.baseline is None else read_baseline(self.judging.baseline)
        mutes, every, now = self.judging.mutes(), self.judging.expect_every_ms(), self.judging.as_of_ms()
        own = self.session.settings()
        criteria = replace(self.judging.criteria(), told=not self.counts or self.out is not None)
        selection = self._selected(criteria)
        with ExitStack() as afterwards, ExitStack() as running:
            if self.session.remote is None:  # PySpark imports it where it is there, and only Connect's client needs it
                running.enter_context(left_out("pandas"))
            with Progress() as progress:
                progress.say("judging by rules over time")
                over_time = self._over_time(selection, criteria, every, now)
                progress.say("folding what stays the same")
                read = self._folded(selection, running)
            tuned = settings_for(partition_rows(read), self.session.remote, conditions=bool(criteria.custom), asked=own)
            spark = running.enter_context(spark_session(self.session.master, self.session.remote, tuned))
            with Progress() as progress:
                found = run_audit(
                    spark, read, criteria, per_snapshot=self.per_snapshot, over_time=over_time, stage=progress.say
                )
            if self.out is not None:
                found.audit.write(self.out, afterwards)
            found = found.muted_by(mutes)
            yield found if earlier is None else found.only_new(earlier)

    def _selected(self, criteria: Criteria) -> Selection | HistorySelection:
        """The snapshots to read; an audit that cannot be made of them is refused before any is read."""
        refuse_without_group(self.judging.rule or (), self.wanted.cluster_group or ())
        if self.out is not None:
            check_free(self.out)
        selection = select_fleet(with_sample(self.folders), self.wanted.wanted(), strict=self.strict)
        refuse_without_history(criteria, history=isinstance(selection, HistorySelection))
        return selection

    def _over_time(
        self, selection: Selection | HistorySelection, criteria: Criteria, every: int | None, now: int | None
    ) -> list[SpanFinding]:
        """Rows of the rules over time, found by processes of their own before Spark runs."""
        return judge_over_time(
            selection,
            () if self.per_snapshot else criteria.rules,
            now_ms=now,
            expect_every_ms=every,
            processes=processors(),
            groups=self.wanted.groups(),
        )

    def _folded(
        self, selection: Selection | HistorySelection, running: ExitStack
    ) -> Selection | HistorySelection | Folded:
        """Rows that Spark reads: large dumps folded first, unless each of their snapshots is to have rows."""
        if self.per_snapshot:
            return selection
        return running.enter_context(folded_here(selection, self.session.master, self.session.remote))
