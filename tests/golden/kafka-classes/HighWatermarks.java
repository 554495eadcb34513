import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import scala.Option;

/**
 * Prints what a leader knows of three followers, its maximal ISR, and its high watermark afterwards.
 *
 * The leader is broker 1. Columns: ISR; what the leader has asked the controller for (`+` a replica that joins, `-` those
 * that leave); log end of each replica; when each follower was last caught up; the time; replica.lag.time.max.ms;
 * brokers that are alive; min.insync.replicas; high watermark; then the maximal ISR and the high watermark.
 */
public class HighWatermarks {
    static final Random RANDOM = new Random(9952);
    static final String SERVER = "org.apache.kafka.server.partition.", RECOVERY = "org.apache.kafka.metadata.LeaderRecoveryState";
    static final String[] CACHES = {"kafka.server.metadata.ZkMetadataCache", "org.apache.kafka.metadata.MetadataCache"};

    /** One leader and what it knows. */
    static final class Known {
        final int minIsr = 1 + RANDOM.nextInt(3), mark = RANDOM.nextInt(4), lag = 30;
        final long time = 1000 + RANDOM.nextInt(60);
        final long[] ends = new long[5], caughtUp = new long[5];
        final Set<Integer> isr = some(Set.of(2, 3, 4)), live = some(Set.of(2, 3, 4));
        final String asked;
        final Set<Integer> changed;

        Known() {
            ends[1] = mark + 2 + RANDOM.nextInt(5);
            for (int broker = 2; broker < 5; broker++) ends[broker] = mark + RANDOM.nextInt((int) ends[1] - mark + 1);
            for (int broker = 2; broker < 5; broker++) caughtUp[broker] = 1000 + RANDOM.nextInt(30);
            Set<Integer> outside = new TreeSet<>(Set.of(2, 3, 4)), inside = some(isr);
            outside.removeAll(isr);
            isr.add(1);
            int chance = RANDOM.nextInt(3);
            asked = chance == 1 && !outside.isEmpty() ? "+" : chance == 2 && !inside.isEmpty() ? "-" : "";
            changed = asked.equals("+") ? new TreeSet<>(List.of(outside.iterator().next())) : inside;
        }

        private static Set<Integer> some(Set<Integer> all) {
            return new TreeSet<>(all).stream().filter(broker -> RANDOM.nextInt(3) > 0).collect(Collectors.toCollection(TreeSet::new));
        }

        @Override
        public String toString() {
            String change = asked.isEmpty() ? "none" : asked + joined(changed);
            return joined(isr) + " " + change + " " + ends[1] + ":" + ends[2] + ":" + ends[3] + ":" + ends[4] + " " + caughtUp[2]
                + ":" + caughtUp[3] + ":" + caughtUp[4] + " " + time + " " + lag + " " + joined(live) + " " + minIsr + " " + mark;
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            Known known = new Known();
            System.out.println(known + " " + answer(known));
        }
    }

    static String joined(Set<?> brokers) {
        return brokers.isEmpty() ? "-" : brokers.stream().map(String::valueOf).sorted().collect(Collectors.joining(","));
    }

    static String answer(Known known) throws Exception {
        Object partition = InSync.leading(replica(known, 2), known.ends[1], known.mark, 0, known.time);
        if (Bare.hasField(partition.getClass(), "remoteReplicasMap")) return newer(partition, known);
        return older(partition, known);
    }

    static Object replica(Known known, int broker) throws Exception {
        Object replica = FollowerPositions.replica();
        Bare.setInt(replica, "brokerId", broker);
        if (Bare.hasField(replica.getClass(), "loggerName")) Bare.set(replica, "loggerName", "replica");
        if (broker == 1) return replica;
        FollowerPositions.fetched(replica, known.ends[1], known.ends[1], known.caughtUp[broker]);
        if (known.ends[broker] < known.ends[1])
            FollowerPositions.fetched(replica, known.ends[broker], known.ends[1], known.caughtUp[broker] + 1);
        return replica;
    }

    private static void put(Object partition, String field, int broker, Object replica) throws Exception {
        Object known = Bare.method(partition.getClass(), field).invoke(partition);
        Bare.method(known.getClass(), "put").invoke(known, broker, replica);
    }

    /** Up to 2.1 the leader is a replica, too, and the ISR a set of replicas. */
    static String older(Object partition, Known known) throws Exception {
        Class<?> kind = partition.getClass();
        String field = Bare.hasField(kind, "allReplicasMap") ? "allReplicasMap" : "assignedReplicaMap";
        List<Object> isr = new ArrayList<>();
        Object leader = replica(known, 1);
        Bare.set(leader, "log", Option.apply(log(known, new long[1])));
        Bare.set(leader, "highWatermarkMetadata", Scala.position(known.mark));
        for (int broker = 1; broker < 5; broker++) {
            Object replica = broker == 1 ? leader : replica(known, broker);
            put(partition, field, broker, replica);
            if (known.isr.contains(broker)) isr.add(replica);
        }
        Bare.set(partition, "inSyncReplicas", Scala.set(isr));
        Object config = Scala.mocked("kafka.server.KafkaConfig",
            (method, given) -> method.getName().equals("replicaLagTimeMaxMs") ? (long) known.lag : null);
        Bare.set(partition, "replicaManager",
            Scala.mocked("kafka.server.ReplicaManager", (method, given) -> method.getName().equals("config") ? config : null));
        Bare.method(kind, "maybeIncrementLeaderHW").invoke(partition, leader, known.time);
        Object mark = Bare.method(leader.getClass(), "highWatermark").invoke(leader);
        return joined(known.isr) + " " + offset(mark);
    }

    static String newer(Object partition, Known known) throws Exception {
        Class<?> kind = partition.getClass();
        for (int broker = 2; broker < 5; broker++) put(partition, "remoteReplicasMap", broker, replica(known, broker));
        long[] mark = {known.mark};
        Object log = log(known, mark), state = state(known);
        Bare.set(partition, "log", Option.apply(log));
        Bare.set(partition, Bare.hasField(kind, "isrState") ? "isrState" : "partitionState", state);
        if (Bare.hasField(kind, "replicaLagTimeMaxMs")) Bare.setLong(partition, "replicaLagTimeMaxMs", known.lag);
        if (!Scala.exists("kafka.cluster.IsrState")) Bare.set(partition, "metadataCache", cache(known));
        Bare.method(kind, "maybeIncrementLeaderHW").invoke(partition, log, known.time);
        Object maximal = Bare.method(state.getClass(), "maximalIsr").invoke(state);
        Set<?> told = maximal instanceof Set<?> java ? java : new TreeSet<>(Scala.list(maximal));
        return joined(told) + " " + mark[0];
    }

    /** The log of a leader, which takes the high watermark that it is told where that is higher. */
    static Object log(Known known, long[] mark) throws Exception {
        return Scala.mocked(Scala.exists("kafka.log.Log") ? "kafka.log.Log" : Scala.first(Scala.LOGS), (method, given) -> switch (method.getName()) {
            case "logEndOffset" -> known.ends[1];
            case "logEndOffsetMetadata" -> Scala.position(known.ends[1]);
            case "highWatermark" -> mark[0];
            case "topicId" -> method.getReturnType() == Optional.class ? Optional.empty() : Option.empty();
            case "config" -> Scala.exists("org.apache.kafka.storage.internals.log.LogConfig") ? Class.forName("org.apache.kafka.storage.internals.log.LogConfig")
                .getConstructor(Map.class).newInstance(Map.of("min.insync.replicas", String.valueOf(known.minIsr))) : null;
            case "maybeIncrementHighWatermark" -> {
                mark[0] = Math.max(mark[0], offset(given[0]));
                yield method.getReturnType() == Optional.class ? Optional.empty() : Option.empty();
            }
            default -> null;
        });
    }

    private static long offset(Object position) throws Exception {
        java.lang.reflect.Field field = position.getClass().getDeclaredField("messageOffset");
        field.setAccessible(true);
        return field.getLong(position);
    }

    /** The ISR, and what the leader has asked for. */
    static Object state(Known known) throws Exception {
        Object changed = known.asked.equals("+") ? known.changed.iterator().next() : brokers(known.changed);
        String pending = known.asked.equals("+") ? "PendingExpandIsr" : "PendingShrinkIsr";
        if (Scala.exists("kafka.cluster.IsrState")) {
            if (known.asked.isEmpty()) return made("kafka.cluster.CommittedIsr").newInstance(brokers(known.isr));
            return made("kafka.cluster." + pending).newInstance(brokers(known.isr), changed);
        }
        String where = Scala.exists(SERVER + pending) ? SERVER : "kafka.cluster.";
        Object recovered = Class.forName(RECOVERY).getField("RECOVERED").get(null);
        Object committed = made(where + "CommittedPartitionState").newInstance(brokers(known.isr), recovered);
        return known.asked.isEmpty() ? committed : made(where + pending).newInstance(changed, null, committed);
    }

    private static Constructor<?> made(String kind) throws Exception {
        return Bare.constructor(Class.forName(kind));
    }

    private static Object brokers(Set<Integer> brokers) {
        return Scala.exists(SERVER + "CommittedPartitionState") ? brokers : Scala.set(new ArrayList<>(brokers));
    }

    /** What a broker knows of the others: who is alive. */
    static Object cache(Known known) throws Exception {
        return Scala.mocked(Scala.first(CACHES), (method, given) -> switch (method.getName()) {
            case "hasAliveBroker" -> known.live.contains((int) given[0]);
            case "isBrokerFenced" -> !known.live.contains((int) given[0]);
            case "isBrokerShuttingDown" -> false;
            case "getAliveBrokerEpoch" -> Optional.of(1L);
            default -> null;
        });
    }
}
