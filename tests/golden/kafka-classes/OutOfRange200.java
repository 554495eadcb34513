import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Properties;
import kafka.cluster.BrokerEndPoint;
import kafka.cluster.Partition;
import kafka.cluster.Replica;
import kafka.server.BlockingSend;
import kafka.server.KafkaConfig;
import kafka.server.LogOffsetMetadata;
import kafka.server.ReplicaAlterLogDirsManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.internals.FatalExitError;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.ListOffsetRequest;
import org.apache.kafka.common.requests.ListOffsetResponse;
import scala.Option;

/** ReplicaFetcherThread.handleOffsetOutOfRange of 2.0: the leader answers from two numbers. */
public class OutOfRange200 implements OutOfRange.Fetcher {
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static long end, leaderStart, leaderEnd;
    static boolean unclean;
    static String done;

    public static void main(String[] arguments) throws Exception {
        OutOfRange.print(arguments[0], new OutOfRange200());
    }

    @Override public String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        OutOfRange200.end = end;
        OutOfRange200.leaderStart = leaderStart;
        OutOfRange200.leaderEnd = leaderEnd;
        OutOfRange200.unclean = unclean;
        done = "keep";
        try {
            long next = fetcher().handleOffsetOutOfRange(NAME);
            return done + " " + next;
        } catch (FatalExitError exit) {
            OutOfRange.how = "throws";
            return "ends";
        }
    }

    private static ReplicaFetcherThread fetcher() throws Exception {
        Properties properties = new Properties();
        properties.put("zookeeper.connect", "localhost");
        ReplicaFetcherThread fetcher = Bare.make(ReplicaFetcherThread.class);
        java.lang.reflect.Field version = ReplicaFetcherThread.class.getDeclaredField("listOffsetRequestVersion");
        Bare.setShort(fetcher, version, (short) 3);
        Bare.set(fetcher, "brokerConfig", new KafkaConfig(properties));
        Bare.set(fetcher, "replicaMgr", Bare.make(Manager.class));
        Bare.set(fetcher, "leaderEndpoint", Proxy.newProxyInstance(BlockingSend.class.getClassLoader(),
            new Class<?>[] {BlockingSend.class}, (proxy, method, given) -> told((ListOffsetRequest.Builder) given[0])));
        return fetcher;
    }

    private static ClientResponse told(ListOffsetRequest.Builder asked) {
        long time = asked.build().partitionTimestamps().get(NAME);
        long offset = time == ListOffsetRequest.LATEST_TIMESTAMP ? leaderEnd : leaderStart;
        ListOffsetResponse told = new ListOffsetResponse(Map.of(NAME, new ListOffsetResponse.PartitionData(Errors.NONE, 0L, offset)));
        return new ClientResponse(null, null, "1", 0, 0, false, null, null, told) {};
    }

    static <T> T make(Class<T> kind) {
        try {
            return Bare.make(kind);
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }

    static class Manager extends ReplicaManager {
        Manager() { super(null, null, null, null, null, null, null, null, null, null, null, null); }
        @Override public KafkaZkClient zkClient() { return make(Znodes.class); }
        @Override public Replica getReplicaOrException(TopicPartition name) { return make(Own.class); }
        @Override public Option<Partition> getPartition(TopicPartition name) { return Option.apply(make(Held.class)); }
        @Override public ReplicaAlterLogDirsManager replicaAlterLogDirsManager() { return make(Moves.class); }
    }

    static class Moves extends ReplicaAlterLogDirsManager {
        Moves() { super(null, null, null, null); }
        @Override public void markPartitionsForTruncation(int broker, TopicPartition name, long offset) {}
    }

    static class Znodes extends KafkaZkClient {
        Znodes() { super(null, false, null); }
        @Override public Properties getEntityConfigs(String kind, String name) {
            Properties set = new Properties();
            set.put("unclean.leader.election.enable", String.valueOf(unclean));
            return set;
        }
    }

    static class Own extends Replica {
        Own() { super(0, null, null, 0, null); }
        @Override public LogOffsetMetadata logEndOffset() { return new LogOffsetMetadata(end, 0, 0); }
    }

    static class Held extends Partition {
        Held() { super("t", 0, null, null, true); }
        @Override public void truncateTo(long offset, boolean future) { done = "cut " + offset; }
        @Override public void truncateFullyAndStartAt(long offset, boolean future) { done = "begin " + offset; }
    }
}
