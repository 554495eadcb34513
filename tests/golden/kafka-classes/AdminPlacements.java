import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;

/** Prints random clusters, and where ZooKeeper mode puts the replicas of a new topic; shift and start are one number. */
public class AdminPlacements {
    static final Random RANDOM = new Random(35);

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) line();
    }

    static void line() {
        int size = 1 + RANDOM.nextInt(8), racks = RANDOM.nextInt(4), start = RANDOM.nextInt(size);
        int partitions = 1 + RANDOM.nextInt(20), factor = 1 + RANDOM.nextInt(size);
        List<BrokerMetadata> brokers = new ArrayList<>();
        StringBuilder said = new StringBuilder(racks == 0 ? "plain |" : "racks |");
        for (int broker = 0; broker < size; broker++) {
            String rack = racks == 0 ? null : String.valueOf((char) ('a' + RANDOM.nextInt(racks)));
            brokers.add(new BrokerMetadata(broker, Optional.ofNullable(rack)));
            said.append(" ").append(broker).append(rack == null ? "" : rack);
        }
        said.append(" | ").append(partitions).append(" ").append(factor).append(" | ").append(start).append(" |");
        Map<Integer, List<Integer>> placed = AdminUtils.assignReplicasToBrokers(brokers, partitions, factor, start, 0);
        new TreeMap<>(placed).values().forEach(one -> said.append(" ").append(one.toString().replaceAll("[^0-9,]", "")));
        System.out.println(said);
    }
}
