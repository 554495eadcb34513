import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;
import scala.Option;

/**
 * Prints the batches and markers of one producer that a leader gets, one after the other, and what it makes of each.
 *
 * A batch is epoch:first sequence:records:offset, a marker marker:epoch; then ok, the offset of the same batch before, or
 * the error.
 */
public class ProducerStates {
    static final Random RANDOM = new Random(7298);
    static final long PRODUCER = 4L;

    public static void main(String[] arguments) throws Exception {
        File folder = Files.createTempDirectory("producer-states").toFile();
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) System.out.println(life(manager(folder)));
        folder.delete();
    }

    static Object manager(File folder) throws Exception {
        Class<?> kind = Class.forName("kafka.log.ProducerStateManager");
        return Bare.constructor(kind).newInstance(new TopicPartition("t", 0), folder, 60000);
    }

    static String life(Object manager) throws Exception {
        List<int[]> sent = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        int epoch = RANDOM.nextInt(2), next = RANDOM.nextInt(4) == 0 ? RANDOM.nextInt(5) : 0;
        long offset = 0;
        for (int step = 0; step < 10; step++) {
            int chance = RANDOM.nextInt(20), count = 1 + RANDOM.nextInt(2);
            int[] batch = {epoch, next, count};
            if (chance < 2) {
                int marked = epoch + RANDOM.nextInt(2);
                line.append("marker:").append(marked).append(':').append(mark(manager, marked, offset++)).append(' ');
                if (marked > epoch) next = 0;
                epoch = marked;
                continue;
            }
            if (chance < 7 && !sent.isEmpty()) batch = sent.get(Math.max(0, sent.size() - 1 - RANDOM.nextInt(7)));
            else if (chance < 9) batch[1] = next + 1 + RANDOM.nextInt(3);
            else if (chance < 11) batch = new int[] {epoch + 1, RANDOM.nextInt(3) == 0 ? 2 : 0, count};
            else if (chance < 12) batch[0] = Math.max(0, epoch - 1);
            String made = append(manager, batch, offset);
            line.append(batch[0]).append(':').append(batch[1]).append(':').append(batch[2]).append(':').append(offset)
                .append(':').append(made).append(' ');
            if (!made.equals("ok")) continue;
            sent.add(batch);
            epoch = batch[0];
            next = batch[1] + batch[2];
            offset += batch[2];
        }
        return line.toString().trim();
    }

    static String append(Object manager, int[] sent, long offset) throws Exception {
        SimpleRecord[] records = new SimpleRecord[sent[2]];
        for (int place = 0; place < records.length; place++) records[place] = new SimpleRecord(("m" + place).getBytes());
        RecordBatch batch = MemoryRecords.withIdempotentRecords(offset, CompressionType.NONE, PRODUCER, (short) sent[0], sent[1], 0, records)
            .batches().iterator().next();
        Option<?> known = (Option<?>) Bare.method(manager.getClass(), "lastEntry").invoke(manager, PRODUCER);
        if (known.isDefined()) {
            Object same = same(known.get(), batch);
            if (same != null) return String.valueOf(Bare.method(same.getClass(), "firstOffset").invoke(same));
        }
        Object info = prepared(manager, true);
        java.lang.reflect.Method append = null;
        for (java.lang.reflect.Method one : info.getClass().getDeclaredMethods())
            if (one.getName().equals("append") && one.getParameterTypes()[0] == RecordBatch.class) append = one;
        try {
            if (append.getParameterCount() == 1) append.invoke(info, batch);
            else append.invoke(info, batch, Option.empty());
        } catch (InvocationTargetException refused) {
            return refused.getCause().getClass().getSimpleName();
        }
        Bare.method(manager.getClass(), "update").invoke(manager, info);
        return "ok";
    }

    /** What is known of the same batch; up to 0.11 the entry of a producer is its last one. */
    private static Object same(Object known, RecordBatch batch) throws Exception {
        if (Scala.has(known.getClass(), "isDuplicate"))
            return (boolean) Bare.method(known.getClass(), "isDuplicate").invoke(known, batch) ? known : null;
        Option<?> found = (Option<?>) Bare.method(known.getClass(), "findDuplicateBatch").invoke(known, batch);
        return found.isDefined() ? found.get() : null;
    }

    static String mark(Object manager, int epoch, long offset) throws Exception {
        Object info = prepared(manager, false);
        EndTransactionMarker marker = new EndTransactionMarker(ControlRecordType.ABORT, 0);
        Bare.method(info.getClass(), "appendEndTxnMarker").invoke(info, marker, (short) epoch, offset, 1000L);
        Bare.method(manager.getClass(), "update").invoke(manager, info);
        return "ok";
    }

    /** As for a batch of a client, or for one of a coordinator. */
    static Object prepared(Object manager, boolean client) throws Exception {
        java.lang.reflect.Method prepare = Bare.method(manager.getClass(), "prepareUpdate");
        if (prepare.getParameterTypes()[1] == boolean.class) return prepare.invoke(manager, PRODUCER, client);
        Class<?> from = Class.forName("kafka.log.AppendOrigin$" + (client ? "Client$" : "Coordinator$"));
        return prepare.invoke(manager, PRODUCER, from.getField("MODULE$").get(null));
    }
}
