import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import kafka.coordinator.transaction.InitProducerIdResult;
import kafka.coordinator.transaction.TransactionConfig;
import kafka.coordinator.transaction.TransactionCoordinator;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.transaction.ProducerIdManager;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

/** Prints random states of a transaction and InitProducerId requests, and what Kafka's transaction coordinator decides. */
public class InitProducerIds {
    static final Random RANDOM = new Random(360);
    static InitProducerIdResult answer;
    static TransactionVersion version;

    public static void main(String[] arguments) throws Exception {
        TransactionConfig config = EndTransactions.config();
        Time time = EndTransactions.time();
        ProducerIdManager ids = () -> EndTransactions.FRESH;
        TransactionCoordinator coordinator = EndTransactions.started(new TransactionCoordinator(
            config, null, () -> ids, new Versioned(config, time), null, time, new LogContext()));
        for (int left = Integer.parseInt(arguments[0]); left > 0; ) if (line(coordinator)) left--;
    }

    /** One case, unless Kafka says that no coordinator can be in that state: then nothing is printed. */
    static boolean line(TransactionCoordinator coordinator) {
        TransactionState state = TransactionState.values()[RANDOM.nextInt(6)];
        short[] epochs = {-1, 0, 1, 5, 6, Short.MAX_VALUE - 1, Short.MAX_VALUE};
        short epoch = epochs[RANDOM.nextInt(7)], last = (short) (RANDOM.nextBoolean() || epoch < 1 ? -1 : epoch - 1);
        if (epoch < 0 && state != TransactionState.EMPTY) return false;
        long previous = RANDOM.nextInt(3) == 0 ? 9 : -1, asked = RANDOM.nextInt(5) == 0 ? 9 : 10;
        int at = RANDOM.nextInt(8) == 0 ? Short.MAX_VALUE - 1 : epoch + (RANDOM.nextInt(3) > 0 ? 0 : RANDOM.nextInt(3) - 1);
        if (at < 0 || at > Short.MAX_VALUE) return false;
        boolean known = RANDOM.nextInt(3) > 0;
        version = RANDOM.nextBoolean() ? TransactionVersion.TV_2 : TransactionVersion.TV_1;
        Set<TopicPartition> partitions = new HashSet<>(
            state == TransactionState.EMPTY ? List.of() : List.of(new TopicPartition("t", 0)));
        EndTransactions.held = new TransactionMetadata(
            "id", 10, previous, -1, epoch, last, 60000, state, partitions, 400, 700, TransactionVersion.TV_0);
        String said = state.id() + " - " + previous + " -1 " + epoch + " " + last + " 0 | " + version.featureLevel() + " "
            + (known ? asked + " " + at : "- -") + " | ";
        EndTransactions.target = null;
        answer = null;
        Function1<InitProducerIdResult, BoxedUnit> told = found -> {
            answer = found;
            return BoxedUnit.UNIT;
        };
        try {
            coordinator.handleInitProducerId("id", 50000, false, false,
                known ? Option.apply(new ProducerIdAndEpoch(asked, (short) at)) : Option.empty(), told, RequestLocal.noCaching());
        } catch (IllegalStateException impossible) {
            return false;
        }
        System.out.println(said + (EndTransactions.target == null ? answer.error() : EndTransactions.written()));
        return true;
    }

    /** Says which transaction version the cluster has. */
    static class Versioned extends EndTransactions.Told {
        Versioned(TransactionConfig config, Time time) {
            super(config, time);
        }

        @Override
        public TransactionVersion transactionVersionLevel() {
            return version;
        }

        @Override
        public boolean validateTransactionTimeoutMs(boolean twoPhases, int timeout) {
            return true;
        }
    }
}
