import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/** Prints random clusters, and where Kafka's KRaft controller puts the replicas of a new topic, with the numbers it drew. */
public class Placements {
    static final Random RANDOM = new Random(36);

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) line();
    }

    static void line() {
        int size = 1 + RANDOM.nextInt(8), racks = RANDOM.nextInt(4);
        List<UsableBroker> brokers = new ArrayList<>();
        for (int broker = 0; broker < size; broker++) {
            String rack = racks == 0 ? null : String.valueOf((char) ('a' + RANDOM.nextInt(racks)));
            brokers.add(new UsableBroker(broker, Optional.ofNullable(rack), broker > 0 && RANDOM.nextInt(4) == 0));
        }
        int partitions = 1 + RANDOM.nextInt(12), factor = 1 + RANDOM.nextInt(size);
        Drawn drawn = new Drawn();
        StringBuilder said = new StringBuilder("striped |");
        for (UsableBroker one : brokers) said.append(" ").append(one.id()).append(one.rack().orElse("")).append(one.fenced() ? "!" : "");
        String placed = placed(new StripedReplicaPlacer(drawn).place(
            new PlacementSpec(0, partitions, (short) factor), new Cluster(brokers)).assignments());
        System.out.println(said + " | " + partitions + " " + factor + " |" + drawn.said + " |" + placed);
    }

    static String placed(List<PartitionAssignment> assignments) {
        StringBuilder said = new StringBuilder();
        for (PartitionAssignment one : assignments) said.append(" ").append(one.replicas().toString().replaceAll("[^0-9,]", ""));
        return said.toString();
    }

    /** Random numbers, remembered. */
    static class Drawn extends Random {
        final StringBuilder said = new StringBuilder();

        @Override
        public int nextInt(int bound) {
            int number = RANDOM.nextInt(bound);
            said.append(" ").append(number);
            return number;
        }
    }

    record Cluster(List<UsableBroker> brokers) implements ClusterDescriber {
        @Override
        public Iterator<UsableBroker> usableBrokers() {
            return brokers.iterator();
        }

        @Override
        public Uuid defaultDir(int broker) {
            return Uuid.ONE_UUID;
        }
    }
}
