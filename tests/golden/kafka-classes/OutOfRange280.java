import kafka.server.AbstractFetcherThread;
import kafka.server.FetcherLagStats;
import kafka.server.OffsetAndEpoch;
import kafka.server.OffsetTruncationState;
import kafka.server.PartitionFetchState;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.collection.Map;

/** AbstractFetcherThread.fetchOffsetAndTruncate of 2.8: the leader answers from two numbers. */
public class OutOfRange280 implements OutOfRange.Fetcher {
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static long end, leaderStart, leaderEnd;
    static String done;

    public static void main(String[] arguments) throws Exception {
        OutOfRange.print(Integer.parseInt(arguments[0]), new OutOfRange280());
    }

    @Override public String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        OutOfRange280.end = end;
        OutOfRange280.leaderStart = leaderStart;
        OutOfRange280.leaderEnd = leaderEnd;
        done = "keep";
        Thread280 fetcher = Bare.make(Thread280.class);
        Bare.set(fetcher, "fetcherLagStats", new FetcherLagStats(new kafka.common.ClientIdAndBroker("c", "h", 1)));
        PartitionFetchState state = fetcher.fetchOffsetAndTruncate(NAME, 0);
        return done + " " + state.fetchOffset();
    }

    static class Thread280 extends AbstractFetcherThread {
        Thread280() { super(null, null, null, null, 0, false, null); }
        @Override public void truncate(TopicPartition name, OffsetTruncationState to) { done = "cut " + to.offset(); }
        @Override public void truncateFullyAndStartAt(TopicPartition name, long offset) { done = "begin " + offset; }
        @Override public Option<Object> latestEpoch(TopicPartition name) { return Option.empty(); }
        @Override public long logStartOffset(TopicPartition name) { return 0; }
        @Override public long logEndOffset(TopicPartition name) { return end; }
        @Override public long fetchEarliestOffsetFromLeader(TopicPartition name, int epoch) { return leaderStart; }
        @Override public long fetchLatestOffsetFromLeader(TopicPartition name, int epoch) { return leaderEnd; }
        @Override public Option<OffsetAndEpoch> endOffsetForEpoch(TopicPartition name, int epoch) { return Option.empty(); }
        @Override public boolean isOffsetForLeaderEpochSupported() { return true; }
        @Override public boolean isTruncationOnFetchSupported() { return true; }
        @Override public Option processPartitionData(TopicPartition name, long offset, org.apache.kafka.common.requests.FetchResponse.PartitionData data) { return Option.empty(); }
        @Override public AbstractFetcherThread.ResultWithPartitions buildFetch(Map partitions) { return null; }
        @Override public Map fetchEpochEndOffsets(Map partitions) { return null; }
        @Override public Map fetchFromLeader(org.apache.kafka.common.requests.FetchRequest.Builder request) { return null; }
    }
}
