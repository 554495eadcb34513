import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.replica.RackAwareReplicaSelector;
import scala.Option;

/** Prints followers in a consumer's rack, and which of them the leader sends it to: ISR, log starts and ends, the offset. */
public class PreferredReplicas {
    static final Random RANDOM = new Random(14372);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            List<Integer> isr = new ArrayList<>(Elections.some(List.of(2, 3), 2));
            isr.add(1);
            int offset = RANDOM.nextInt(6);
            int[] starts = {0, 0, RANDOM.nextInt(3), RANDOM.nextInt(3)}, ends = {0, 6, 2 + RANDOM.nextInt(5), 2 + RANDOM.nextInt(5)};
            System.out.println(Elections.said(isr) + " " + starts[2] + ":" + starts[3] + " " + ends[1] + ":" + ends[2] + ":" + ends[3] + " " + offset + " | "
                + found(isr, starts, ends, offset));
        }
    }

    /** ReplicaManager.findPreferredReadReplica; the leader is broker 1, in another rack. */
    static String found(List<Integer> isr, int[] starts, int[] ends, long offset) throws Exception {
        List<Object> remote = new ArrayList<>();
        for (int broker : List.of(2, 3)) remote.add(follower(broker, starts[broker], ends[broker]));
        Object log = Scala.mocked(Scala.first(Scala.LOGS), (method, given) -> method.getName().equals("logEndOffset") ? (long) ends[1] : null);
        Object partition = Scala.mocked("kafka.cluster.Partition", (method, given) -> switch (method.getName()) {
            case "leaderIdIfLocal" -> Option.apply(1);
            case "remoteReplicas" -> Scala.seq(remote);
            case "inSyncReplicaIds" -> Scala.set(isr);
            case "localLogOrException" -> log;
            default -> null;
        });
        scala.collection.mutable.HashMap<Object, Object> nodes = new scala.collection.mutable.HashMap<>();
        for (int broker = 1; broker < 4; broker++) nodes.put(broker, new Node(broker, "localhost", 1, broker == 1 ? "b" : "a"));
        Object frozen = Scala.frozen(nodes);
        Object cache = Scala.mocked("kafka.server.MetadataCache", (method, given) -> method.getName().equals("getPartitionReplicaEndpoints") ? frozen : null);
        Object manager = Scala.partly("kafka.server.ReplicaManager", (method, given) -> switch (method.getName()) {
            case "metadataCache" -> cache;
            case "replicaSelectorOpt" -> Option.apply(new RackAwareReplicaSelector());
            default -> null;
        });
        for (String field : List.of("metadataCache", "replicaSelectorOpt"))
            if (Bare.hasField(Class.forName("kafka.server.ReplicaManager"), field))
                Bare.set(manager, field, field.equals("metadataCache") ? cache : Option.apply(new RackAwareReplicaSelector()));
        ClientMetadata client = new ClientMetadata.DefaultClientMetadata("a", "c", null, null, "PLAINTEXT");
        Option<?> told = (Option<?>) Bare.method(Class.forName("kafka.server.ReplicaManager"), "findPreferredReadReplica")
            .invoke(manager, partition, client, -1, offset, 100L);
        return told.isEmpty() ? "-" : told.get().toString();
    }

    static Object follower(int broker, long start, long end) throws Exception {
        Object state = Scala.mocked("kafka.cluster.ReplicaState", (method, given) -> switch (method.getName()) {
            case "logStartOffset" -> start;
            case "logEndOffset" -> end;
            case "lastCaughtUpTimeMs" -> 50L;
            default -> null;
        });
        return Scala.mocked("kafka.cluster.Replica", (method, given) -> switch (method.getName()) {
            case "brokerId" -> broker;
            case "stateSnapshot" -> state;
            default -> null;
        });
    }
}
