import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.ListOffsetRequest;
import org.apache.kafka.common.requests.ListOffsetResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.SystemTime;
import scala.Option;

/** ReplicaFetcherThread.handleOffsetOutOfRange of 0.10.0: the leader answers from two numbers, ends of the process are caught. */
public class OutOfRange0100 implements OutOfRange.Fetcher {
    static final TopicPartition NAME = new TopicPartition("t", 0);
    private String done;
    private ClientRequest pending;

    public static void main(String[] arguments) throws Exception {
        OutOfRange.catchEnds();
        OutOfRange.print(arguments[0], new OutOfRange0100());
    }

    @Override public String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        done = "keep";
        try {
            Object next = Bare.method(Class.forName("kafka.server.ReplicaFetcherThread"), "handleOffsetOutOfRange")
                .invoke(fetcher(end, leaderStart, leaderEnd, unclean), OutOfRange081.name());
            return done + " " + next;
        } catch (java.lang.reflect.InvocationTargetException ended) {
            if (ended.getCause() instanceof SecurityException) return "ends";
            throw ended;
        }
    }

    private Object fetcher(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        Object replica = Scala.mocked("kafka.cluster.Replica", (method, given) -> method.getName().equals("logEndOffset") ? Scala.position(end) : null);
        Object logs = Scala.mocked("kafka.log.LogManager", (method, given) -> {
            if (method.getName().equals("truncateTo")) done = "cut " + ((scala.collection.Map<?, ?>) given[0]).values().head();
            if (method.getName().equals("truncateFullyAndStartAt")) done = "begin " + given[1];
            return null;
        });
        String config = "{\"version\":1,\"config\":{\"unclean.leader.election.enable\":\"" + unclean + "\"}}";
        Object settings = Scala.mocked("org.I0Itec.zkclient.ZkClient", (method, given) -> method.getName().equals("readData") ? config : null);
        Object znodes = Scala.mocked("kafka.utils.ZkUtils", (method, given) -> method.getName().equals("zkClient") ? settings : null);
        Object fetcher = Bare.make(Class.forName("kafka.server.ReplicaFetcherThread"));
        Bare.set(fetcher, "brokerConfig", Scala.config(true));
        Bare.set(fetcher, "replicaMgr", Scala.mocked("kafka.server.ReplicaManager", (method, given) -> switch (method.getName()) {
            case "getReplica" -> Option.apply(replica);
            case "getReplica$default$3" -> 0;
            case "logManager" -> logs;
            case "zkUtils" -> znodes;
            default -> null;
        }));
        Bare.set(fetcher, "networkClient", Scala.mocked("org.apache.kafka.clients.NetworkClient", (method, given) -> switch (method.getName()) {
            case "isReady", "ready" -> true;
            case "nextRequestHeader" -> new RequestHeader((short) 2, "c", 1);
            case "send" -> { pending = (ClientRequest) given[0]; yield null; }
            case "poll" -> List.of(answer(leaderStart, leaderEnd));
            default -> null;
        }));
        Bare.set(fetcher, "sourceBroker", new kafka.cluster.BrokerEndPoint(1, "localhost", 1));
        Bare.set(fetcher, "sourceNode", new org.apache.kafka.common.Node(1, "localhost", 1));
        Bare.set(fetcher, "time", new SystemTime());
        Bare.set(fetcher, "loggerName", "fetcher");
        return fetcher;
    }

    private ClientResponse answer(long leaderStart, long leaderEnd) {
        ListOffsetRequest asked = new ListOffsetRequest(pending.request().body());
        long time = asked.offsetData().get(NAME).timestamp;
        ListOffsetResponse told = new ListOffsetResponse(Map.of(NAME, new ListOffsetResponse.PartitionData((short) 0, List.of(time == -1 ? leaderEnd : leaderStart))));
        return new ClientResponse(pending, 0, false, told.toStruct());
    }
}
