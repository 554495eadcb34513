import java.util.HashSet;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.server.common.TransactionVersion;

/** Prints random transactions whose end is decided, and what Kafka's coordinator writes once the markers are. */
public class CompletedTransactions {
    static final Random RANDOM = new Random(891);

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            TransactionState state = RANDOM.nextBoolean() ? TransactionState.PREPARE_COMMIT : TransactionState.PREPARE_ABORT;
            short epoch = (short) RANDOM.nextInt(9), last = (short) (RANDOM.nextBoolean() ? -1 : epoch - 1), version = (short) RANDOM.nextInt(3);
            long previous = RANDOM.nextInt(3) == 0 ? 9 : -1, next = RANDOM.nextInt(3) == 0 ? 11 : -1;
            TransactionMetadata held = new TransactionMetadata("id", 10, previous, next, epoch, last, 60000, state,
                new HashSet<>(List.of(new TopicPartition("t", 0))), 400, 700, TransactionVersion.fromFeatureLevel(version));
            EndTransactions.target = held.prepareComplete(EndTransactions.NOW);
            System.out.println(state.id() + " - " + previous + " " + next + " " + epoch + " " + last + " " + version + " | "
                + EndTransactions.target.prevProducerId() + " | " + EndTransactions.written());
        }
    }
}
