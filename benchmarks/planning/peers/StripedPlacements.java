import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Scanner;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/**
 * Places every topic anew, as kafka-reassign-partitions --generate does since 4.0.
 *
 * <p>Reads seed, brokers (id, rack), topics (partitions, factor); prints replicas, a line each, and the seconds it took.
 */
public class StripedPlacements {
    record Cluster(List<UsableBroker> brokers) implements ClusterDescriber {
        @Override
        public Iterator<UsableBroker> usableBrokers() {
            return brokers.iterator();
        }

        @Override
        public Uuid defaultDir(int broker) {
            return Uuid.ZERO_UUID;
        }
    }

    public static void main(String[] arguments) {
        Scanner in = new Scanner(System.in);
        StripedReplicaPlacer placer = new StripedReplicaPlacer(new Random(in.nextInt()));
        List<UsableBroker> brokers = new ArrayList<>();
        for (int left = in.nextInt(); left > 0; left--) brokers.add(new UsableBroker(in.nextInt(), Optional.of(in.next()), false));
        int topics = in.nextInt();
        int[] counts = new int[topics], factors = new int[topics];
        for (int topic = 0; topic < topics; topic++) {
            counts[topic] = in.nextInt();
            factors[topic] = in.nextInt();
        }
        List<List<PartitionAssignment>> placed = new ArrayList<>();
        long began = System.nanoTime();
        for (int topic = 0; topic < topics; topic++)
            placed.add(placer.place(new PlacementSpec(0, counts[topic], (short) factors[topic]), new Cluster(brokers)).assignments());
        System.err.println("seconds " + (System.nanoTime() - began) / 1e9);
        StringBuilder said = new StringBuilder();
        for (List<PartitionAssignment> topic : placed)
            for (PartitionAssignment one : topic) said.append(one.replicas().toString().replaceAll("[^0-9 ]", "")).append('\n');
        System.out.print(said);
    }
}
