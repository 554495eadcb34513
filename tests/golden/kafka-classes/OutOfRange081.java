import java.util.Properties;

/** ReplicaFetcherThread.handleOffsetOutOfRange of 0.8.1 and 0.8.2: the leader answers from two numbers, Runtime.halt is caught. */
public class OutOfRange081 implements OutOfRange.Fetcher {
    static final String SERVER = "kafka.server.";
    private String done;

    public static void main(String[] arguments) throws Exception {
        OutOfRange.catchEnds();
        OutOfRange.print(arguments[0], new OutOfRange081());
    }

    @Override public String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        done = "keep";
        try {
            Object next = Bare.method(Class.forName(SERVER + "ReplicaFetcherThread"), "handleOffsetOutOfRange")
                .invoke(fetcher(end, leaderStart, leaderEnd, unclean), name());
            return done + " " + next;
        } catch (java.lang.reflect.InvocationTargetException ended) {
            if (ended.getCause() instanceof SecurityException) return "ends";
            throw ended;
        }
    }

    static Object name() throws Exception {
        return Class.forName("kafka.common.TopicAndPartition").getConstructor(String.class, int.class).newInstance("t", 0);
    }

    private Object fetcher(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        Object replica = Scala.mocked("kafka.cluster.Replica", (method, given) -> !method.getName().equals("logEndOffset") ? null
            : method.getReturnType() == long.class ? (Object) end : Scala.position(end));
        Object logs = Scala.mocked("kafka.log.LogManager", (method, given) -> {
            if (method.getName().equals("truncateTo")) done = "cut " + ((scala.collection.Map<?, ?>) given[0]).values().head();
            if (method.getName().equals("truncateFullyAndStartAt")) done = "begin " + given[1];
            return null;
        });
        String config = "{\"version\":1,\"config\":{\"unclean.leader.election.enable\":\"" + unclean + "\"}}";
        Object settings = Scala.mocked("org.I0Itec.zkclient.ZkClient", (method, given) -> method.getName().equals("readData") ? config : null);
        Object fetcher = Bare.make(Class.forName(SERVER + "ReplicaFetcherThread"));
        Bare.set(fetcher, "brokerConfig", Scala.config(true));
        Bare.set(fetcher, "replicaMgr", Scala.mocked(SERVER + "ReplicaManager", (method, given) -> switch (method.getName()) {
            case "getReplica" -> scala.Option.apply(replica);
            case "getReplica$default$3" -> 0;
            case "logManager" -> logs;
            case "zkClient" -> settings;
            default -> null;
        }));
        Object latest = Class.forName("kafka.api.OffsetRequest").getMethod("LatestTime").invoke(null);
        Object leader = Scala.mocked("kafka.consumer.SimpleConsumer", (method, given) -> !method.getName().equals("earliestOrLatestOffset") ? null
            : given[1].equals(latest) ? (Object) leaderEnd : (Object) leaderStart);
        Bare.set(fetcher, "simpleConsumer", leader);
        Bare.set(fetcher, "sourceBroker", Bare.make(Class.forName(Scala.exists("kafka.cluster.BrokerEndPoint") ? "kafka.cluster.BrokerEndPoint" : "kafka.cluster.Broker")));
        Bare.set(fetcher, "loggerName", "fetcher");
        return fetcher;
    }
}
