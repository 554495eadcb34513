import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Scanner;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;

/**
 * Places every topic anew, as kafka-reassign-partitions --generate does up to 3.9.
 *
 * <p>Reads seed, brokers (id, rack), topics (partitions, factor); prints replicas, a line each, and the seconds it took.
 */
public class AdminUtilsPlacements {
    public static void main(String[] arguments) {
        Scanner in = new Scanner(System.in);
        Random random = new Random(in.nextInt());
        List<BrokerMetadata> brokers = new ArrayList<>();
        for (int left = in.nextInt(); left > 0; left--) brokers.add(new BrokerMetadata(in.nextInt(), Optional.of(in.next())));
        int topics = in.nextInt();
        int[] counts = new int[topics], factors = new int[topics];
        for (int topic = 0; topic < topics; topic++) {
            counts[topic] = in.nextInt();
            factors[topic] = in.nextInt();
        }
        List<Map<Integer, List<Integer>>> placed = new ArrayList<>();
        long began = System.nanoTime();
        for (int topic = 0; topic < topics; topic++) {
            int start = random.nextInt(brokers.size());
            placed.add(AdminUtils.assignReplicasToBrokers(brokers, counts[topic], factors[topic], start, 0));
        }
        System.err.println("seconds " + (System.nanoTime() - began) / 1e9);
        StringBuilder said = new StringBuilder();
        for (int topic = 0; topic < topics; topic++)
            for (int partition = 0; partition < counts[topic]; partition++)
                said.append(placed.get(topic).get(partition).toString().replaceAll("[^0-9 ]", "")).append('\n');
        System.out.print(said);
    }
}
