import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import scala.Option;

/**
 * Prints the maximal ISR of a leader that is told a state of its own leader epoch: by its controller with ZooKeeper
 * (ReplicaManager.becomeLeaderOrFollower), by the metadata log in KRaft (ReplicaManager.applyLocalLeadersDelta).
 *
 * Columns: mode; the ISR that it knows; what it has asked the controller for (`+` a replica that joins, `-` those that leave);
 * whether the state's partition epoch is the leader's or the one before; then the maximal ISR before and after.
 */
public class KnownStates {
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static final int LEADER_EPOCH = 5, PARTITION_EPOCH = 7;

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            HighWatermarks.Known known = new HighWatermarks.Known();
            int told = PARTITION_EPOCH - left % 2;
            Object partition = leading(known);
            String before = maximal(partition);
            Object manager = manager(partition);
            if (arguments[1].equals("kraft")) byLog(manager, known, told); else byRequest(manager, known, told);
            String change = known.asked.isEmpty() ? "none" : known.asked + HighWatermarks.joined(known.changed);
            System.out.println(arguments[1] + " " + HighWatermarks.joined(known.isr) + " " + change + " "
                + (told == PARTITION_EPOCH ? "known" : "older") + " " + before + " | " + maximal(partition));
        }
    }

    static Object leading(HighWatermarks.Known known) throws Exception {
        Object partition = InSync.leading(HighWatermarks.replica(known, 2), known.ends[1], known.mark, 0, known.time);
        Class<?> kind = partition.getClass();
        for (int broker = 2; broker < 5; broker++) {
            Object others = Bare.method(kind, "remoteReplicasMap").invoke(partition);
            Bare.method(others.getClass(), "put").invoke(others, broker, HighWatermarks.replica(known, broker));
        }
        Bare.set(partition, "log", Option.apply(HighWatermarks.log(known, new long[] {known.mark})));
        Bare.set(partition, "partitionState", HighWatermarks.state(known));
        Bare.setLong(partition, "replicaLagTimeMaxMs", known.lag);
        Bare.set(partition, "metadataCache", HighWatermarks.cache(known));
        Bare.set(partition, "topicPartition", NAME);
        Bare.set(partition, "stateChangeLogger", Scala.mocked("kafka.controller.StateChangeLogger", (method, given) -> null));
        Bare.set(partition, "delayedOperations", Scala.mocked("kafka.cluster.DelayedOperations", (method, given) -> null));
        if (Bare.hasField(kind, "_topicId")) Bare.set(partition, "_topicId", Option.empty());
        Bare.setInt(partition, "leaderEpoch", LEADER_EPOCH);
        Bare.setInt(partition, "partitionEpoch", PARTITION_EPOCH);
        return partition;
    }

    static String maximal(Object partition) throws Exception {
        Object state = Bare.method(partition.getClass(), "partitionState").invoke(partition);
        Object isr = Bare.method(state.getClass(), "maximalIsr").invoke(state);
        return HighWatermarks.joined(new java.util.TreeSet<>(Scala.list(isr)));
    }

    static Object manager(Object partition) throws Exception {
        Object online = Bare.constructor(Class.forName("kafka.server.HostedPartition$Online")).newInstance(partition);
        Object config = Scala.mocked("kafka.server.KafkaConfig", (method, given) -> null);
        Object fetchers = Scala.mocked("kafka.server.ReplicaFetcherManager", (method, given) -> null);
        Object movers = Scala.mocked("kafka.server.ReplicaAlterLogDirsManager", (method, given) -> null);
        Object manager = Scala.partly("kafka.server.ReplicaManager", (method, given) -> switch (method.getName()) {
            case "getPartition" -> online;
            case "getOrCreatePartition" -> Option.apply(new scala.Tuple2<>(partition, false));
            case "config" -> config;
            case "replicaFetcherManager" -> fetchers;
            case "replicaAlterLogDirsManager" -> movers;
            case "updateLeaderAndFollowerMetrics", "startHighWatermarkCheckPointThread", "maybeAddLogDirFetchers" -> Scala.NOTHING;
            default -> null;
        });
        Bare.set(manager, "allPartitions", Class.forName("kafka.utils.Pool").getConstructor(Option.class).newInstance(Option.empty()));
        Bare.set(manager, "replicaStateChangeLock", new Object());
        Bare.set(manager, "time", Scala.mocked("org.apache.kafka.common.utils.Time", (method, given) -> null));
        Bare.set(manager, "stateChangeLogger", Scala.mocked("kafka.controller.StateChangeLogger", (method, given) -> null));
        Bare.set(manager, "highWatermarkCheckpoints", Scala.frozen(Scala.mapOf(List.of(), null)));
        if (Bare.hasField(manager.getClass().getSuperclass(), "remoteLogManager")) Bare.set(manager, "remoteLogManager", Option.empty());
        Bare.set(manager, "localBrokerId", 1);
        return manager;
    }

    static void byRequest(Object manager, HighWatermarks.Known known, int partitionEpoch) throws Exception {
        LeaderAndIsrPartitionState state = new LeaderAndIsrPartitionState().setTopicName("t").setPartitionIndex(0).setLeader(1)
            .setLeaderEpoch(LEADER_EPOCH).setPartitionEpoch(partitionEpoch).setIsr(new ArrayList<>(known.isr)).setReplicas(List.of(1, 2, 3, 4));
        LeaderAndIsrRequest request = new LeaderAndIsrRequest.Builder((short) 5, 1, 1, 1L, List.of(state), Map.of("t", Uuid.ZERO_UUID), List.of()).build();
        scala.Function2<Object, Object, scala.runtime.BoxedUnit> changed = (leaders, followers) -> scala.runtime.BoxedUnit.UNIT;
        Bare.method(Class.forName("kafka.server.ReplicaManager"), "becomeLeaderOrFollower").invoke(manager, 0, request, changed);
    }

    static void byLog(Object manager, HighWatermarks.Known known, int partitionEpoch) throws Exception {
        Object info = Bare.constructor(Class.forName("org.apache.kafka.image.LocalReplicaChanges$PartitionInfo"))
            .newInstance(new Uuid(1, 1), registration(known, partitionEpoch));
        java.lang.reflect.Method apply = Bare.method(Class.forName("kafka.server.ReplicaManager"), "applyLocalLeadersDelta");
        Object checkpoints = Scala.mocked("kafka.server.checkpoints.OffsetCheckpoints", (method, given) -> null);
        Object[] given = Bare.given(apply, checkpoints);
        for (int place = 0, maps = 0; place < given.length; place++) {
            Class<?> kind = apply.getParameterTypes()[place];
            if (kind == scala.collection.mutable.Set.class) given[place] = Scala.mutableSet(List.of());
            if (kind == scala.collection.mutable.Map.class) given[place] = maps++ == 0 ? Scala.map(NAME, info) : Scala.mapOf(List.of(), null);
        }
        apply.invoke(manager, given);
    }

    static Object registration(HighWatermarks.Known known, int partitionEpoch) throws Exception {
        Class<?> kind = Class.forName("org.apache.kafka.metadata.PartitionRegistration");
        Object recovered = Class.forName(HighWatermarks.RECOVERY).getField("RECOVERED").get(null);
        int[] none = {}, replicas = {1, 2, 3, 4}, isr = known.isr.stream().mapToInt(Integer::intValue).toArray();
        if (!Scala.exists("org.apache.kafka.metadata.PartitionRegistration$Builder"))
            return Bare.constructor(kind).newInstance(replicas, isr, none, none, 1, recovered, LEADER_EPOCH, partitionEpoch);
        Object builder = Class.forName(kind.getName() + "$Builder").getConstructor().newInstance();
        Map<String, Object> set = Map.of("setReplicas", replicas, "setIsr", isr, "setRemovingReplicas", none, "setAddingReplicas", none, "setLeader", 1,
            "setLeaderRecoveryState", recovered, "setLeaderEpoch", LEADER_EPOCH, "setPartitionEpoch", partitionEpoch);
        for (Map.Entry<String, Object> one : set.entrySet()) Bare.method(builder.getClass(), one.getKey()).invoke(builder, one.getValue());
        if (Scala.has(builder.getClass(), "setDirectories"))
            Bare.method(builder.getClass(), "setDirectories").invoke(builder, (Object) java.util.stream.Stream.generate(() -> new Uuid(2, 2)).limit(4).toArray(Uuid[]::new));
        return Bare.method(builder.getClass(), "build").invoke(builder);
    }
}
