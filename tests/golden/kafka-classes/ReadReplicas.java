import java.util.HashSet;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.replica.PartitionView;
import org.apache.kafka.common.replica.RackAwareReplicaSelector;
import org.apache.kafka.common.replica.ReplicaView;

/** Prints random sets of readable replicas, and which one Kafka's rack-aware selector names to a consumer in rack a. */
public class ReadReplicas {
    static final Random RANDOM = new Random(392);

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) line();
    }

    static void line() {
        int size = 1 + RANDOM.nextInt(5), leader = RANDOM.nextInt(size), first = 10 + RANDOM.nextInt(5) * size;
        Set<ReplicaView> replicas = new HashSet<>();
        ReplicaView leads = null;
        StringBuilder said = new StringBuilder(String.valueOf(leader)).append(" |");
        for (int place = 0; place < size; place++) {
            int id = first + (place * 3) % size + (size == 3 ? place : 0);
            String rack = RANDOM.nextInt(3) > 0 && place != leader || RANDOM.nextInt(4) == 0 ? "a" : "b";
            long end = 7 + RANDOM.nextInt(3), behind = place == leader ? 0 : 10 * RANDOM.nextInt(3);
            boolean readable = place == leader || RANDOM.nextInt(5) > 0;
            ReplicaView view = new ReplicaView.DefaultReplicaView(new Node(id, "h", 1, rack), end, behind);
            if (readable) replicas.add(view);
            if (place == leader) leads = view;
            said.append(" ").append(id).append(rack).append(":").append(end).append(":").append(behind).append(readable ? "" : "!");
        }
        Optional<ReplicaView> found = new RackAwareReplicaSelector().select(new TopicPartition("t", 0),
            new ClientMetadata.DefaultClientMetadata("a", "c", null, null, "l"), new PartitionView.DefaultPartitionView(replicas, leads));
        System.out.println(said + " | " + (found.get() == leads ? -1 : found.get().endpoint().id()));
    }
}
