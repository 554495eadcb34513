import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.cluster.BrokerEndPoint;
import kafka.cluster.Replica;
import kafka.log.LogManager;
import kafka.server.KafkaConfig;
import kafka.server.LogOffsetMetadata;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.utils.ZkUtils;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.ListOffsetRequest;
import org.apache.kafka.common.requests.ListOffsetResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.Time;
import org.I0Itec.zkclient.ZkClient;
import scala.Option;

/** ReplicaFetcherThread.handleOffsetOutOfRange of 0.10.2: the leader answers from two numbers, System.exit is caught. */
public class OutOfRange010 implements OutOfRange.Fetcher {
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static long end, leaderStart, leaderEnd;
    static boolean unclean;
    static String done;

    public static void main(String[] arguments) throws Exception {
        OutOfRange.catchEnds();
        OutOfRange.print(arguments[0], new OutOfRange010());
    }

    @Override public String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        OutOfRange010.end = end;
        OutOfRange010.leaderStart = leaderStart;
        OutOfRange010.leaderEnd = leaderEnd;
        OutOfRange010.unclean = unclean;
        done = "keep";
        try {
            return done(fetcher().handleOffsetOutOfRange(NAME));
        } catch (SecurityException exit) {
            return "ends";
        }
    }

    private static String done(long next) { return done + " " + next; }

    private static ReplicaFetcherThread fetcher() throws Exception {
        Properties properties = new Properties();
        properties.put("zookeeper.connect", "localhost");
        ReplicaFetcherThread fetcher = Bare.make(ReplicaFetcherThread.class);
        Bare.set(fetcher, "brokerConfig", new KafkaConfig(properties));
        Bare.set(fetcher, "replicaMgr", Bare.make(Manager.class));
        Bare.set(fetcher, "networkClient", Bare.make(Leader.class));
        Bare.set(fetcher, "sourceBroker", new BrokerEndPoint(1, "localhost", 1));
        Bare.set(fetcher, "time", Time.SYSTEM);
        Bare.set(fetcher, "loggerName", "fetcher");
        return fetcher;
    }

    static class Manager extends ReplicaManager {
        Manager() { super(null, null, null, null, null, null, null, null, null); }
        @Override public ZkUtils zkUtils() { return make(Znodes.class); }
        @Override public LogManager logManager() { return make(Logs.class); }
        @Override public Option<Replica> getReplica(TopicPartition name, int broker) { return Option.apply(make(Own.class)); }
        @Override public int getReplica$default$2() { return 0; }
    }

    static <T> T make(Class<T> kind) {
        try {
            return Bare.make(kind);
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }

    static class Own extends Replica {
        Own() { super(0, null, null, 0, null); }
        @Override public LogOffsetMetadata logEndOffset() { return new LogOffsetMetadata(end, 0, 0); }
    }

    static class Logs extends LogManager {
        Logs() { super(null, null, null, null, 0, 0, 0, 0, null, null, null); }
        @Override public void truncateTo(scala.collection.Map<TopicPartition, Object> ends) { done = "cut " + ends.apply(NAME); }
        @Override public void truncateFullyAndStartAt(TopicPartition name, long start) { done = "begin " + start; }
    }

    static class Znodes extends ZkUtils {
        Znodes() { super(null, null, false); }
        @Override public ZkClient zkClient() { return make(Topic.class); }
    }

    static class Topic extends ZkClient {
        Topic() { super((String) null); }
        @SuppressWarnings("unchecked")
        @Override public <T> T readData(String path, boolean nullIfAbsent) {
            return (T) ("{\"version\":1,\"config\":{\"unclean.leader.election.enable\":\"" + unclean + "\"}}");
        }
    }

    static class Leader extends NetworkClient {
        private ClientRequest pending;
        Leader() { super(null, (Metadata) null, null, 0, 0, 0, 0, 0, null, false); }
        @Override public boolean isReady(Node node, long now) { return true; }
        @Override public void close(String node) {}
        @Override public ClientRequest newClientRequest(String node, AbstractRequest.Builder<?> asked, long now, boolean answered) {
            return new ClientRequest(node, asked, 1, "", now, answered, null);
        }
        @Override public void send(ClientRequest request, long now) { pending = request; }
        @Override public List<ClientResponse> poll(long timeout, long now) {
            if (pending == null) return List.of();
            long time = ((ListOffsetRequest) pending.requestBuilder().build()).partitionTimestamps().get(NAME);
            long offset = time == -1 ? leaderEnd : leaderStart;
            pending = null;
            ListOffsetResponse told = new ListOffsetResponse(Map.of(NAME, new ListOffsetResponse.PartitionData((short) 0, 0L, offset)), 1);
            return List.of(new ClientResponse(new RequestHeader((short) 2, (short) 1, "", 1), null, "1", 0, 0, false, null, told));
        }
    }
}
