import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/** Prints random histories of a log, and what Kafka's producer state manager says after each step. */
public class StableOffsets {
    static final Random RANDOM = new Random(98);

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("producers");
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) System.out.println(history(folder));
        Files.delete(folder);
    }

    /** Data of a producer, markers that commit or abort, and high watermarks; after each the first unstable offset. */
    static String history(Path folder) throws Exception {
        ProducerStateManager producers = new ProducerStateManager(new TopicPartition("t", 0), folder.toFile(), 900000,
            new ProducerStateManagerConfig(86400000, false), Time.SYSTEM);
        StringBuilder said = new StringBuilder();
        int[] sequences = new int[3];
        long end = 0, highWatermark = 0;
        for (int step = 0; step < 16; step++) {
            int producer = RANDOM.nextInt(3), kind = RANDOM.nextInt(6);
            String lso = "-";
            if (kind == 0) {
                highWatermark += RANDOM.nextInt((int) (end - highWatermark) + 1);
                producers.onHighWatermarkUpdated(highWatermark);
                said.append(" h").append(highWatermark);
            } else if (kind < 4 || sequences[producer] == 0) {
                int records = 1 + RANDOM.nextInt(3);
                ProducerAppendInfo append = producers.prepareUpdate(producer, AppendOrigin.CLIENT);
                append.appendDataBatch((short) 0, sequences[producer], sequences[producer] + records - 1, 1L,
                    new LogOffsetMetadata(end), end + records - 1, true);
                producers.update(append);
                sequences[producer] += records;
                said.append(" d").append(producer).append("+").append(records);
                end += records;
            } else {
                ControlRecordType type = kind == 4 ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
                ProducerAppendInfo append = producers.prepareUpdate(producer, AppendOrigin.COORDINATOR);
                Optional<CompletedTxn> completed = append.appendEndTxnMarker(
                    new EndTransactionMarker(type, 0), (short) 0, end, 1L, (short) 1);
                producers.update(append);
                if (completed.isPresent()) {
                    lso = String.valueOf(producers.lastStableOffset(completed.get()));
                    producers.completeTxn(completed.get());
                }
                said.append(kind == 4 ? " c" : " a").append(producer);
                end++;
            }
            producers.updateMapEndOffset(end);
            said.append(":").append(producers.firstUnstableOffset().map(one -> String.valueOf(one.messageOffset)).orElse("-"));
            if (!lso.equals("-")) said.append(":").append(lso);
        }
        return said.substring(1);
    }
}
