import java.io.File;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
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
    static final String STORAGE = "org.apache.kafka.storage.internals.log.", COMPRESSION = "org.apache.kafka.common.compress.Compression";

    public static void main(String[] arguments) throws Exception {
        File folder = Files.createTempDirectory("producer-states").toFile();
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) System.out.println(life(manager(folder)));
        folder.delete();
    }

    static Object manager(File folder) throws Exception {
        TopicPartition name = new TopicPartition("t", 0);
        if (Scala.exists(STORAGE + "ProducerStateManager")) {
            Object config = Bare.constructor(Class.forName(STORAGE + "ProducerStateManagerConfig")).newInstance(60000, false);
            return Bare.constructor(Class.forName(STORAGE + "ProducerStateManager")).newInstance(name, folder, 60000, config, Time.SYSTEM);
        }
        java.lang.reflect.Constructor<?> made = Bare.constructor(Class.forName("kafka.log.ProducerStateManager"));
        return made.getParameterCount() == 3 ? made.newInstance(name, folder, 60000)
            : made.newInstance(name, folder, 60000, 60000, Time.SYSTEM);
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
        Object batch = batch(sent, offset);
        Object known = given(Bare.method(manager.getClass(), "lastEntry").invoke(manager, PRODUCER));
        if (known != null) {
            Object same = same(known, batch);
            if (same != null) return String.valueOf(Bare.method(same.getClass(), "firstOffset").invoke(same));
        }
        Object info = prepared(manager, true);
        Method append = null;
        for (Method one : info.getClass().getDeclaredMethods())
            if (one.getName().equals("append") && one.getParameterTypes()[0] == record("RecordBatch")
                && (append == null || one.getParameterCount() < append.getParameterCount())) append = one;
        try {
            if (append.getParameterCount() == 1) append.invoke(info, batch);
            else append.invoke(info, batch, append.getParameterTypes()[1] == Optional.class ? Optional.empty() : Option.empty());
        } catch (InvocationTargetException refused) {
            return refused.getCause().getClass().getSimpleName();
        }
        Bare.method(manager.getClass(), "update").invoke(manager, info);
        return "ok";
    }

    private static Object batch(int[] sent, long offset) throws Exception {
        Object records = Array.newInstance(record("SimpleRecord"), sent[2]);
        for (int place = 0; place < sent[2]; place++)
            Array.set(records, place, record("SimpleRecord").getConstructor(byte[].class).newInstance((Object) ("m" + place).getBytes()));
        Object none = Class.forName(Scala.exists(COMPRESSION) ? COMPRESSION : "org.apache.kafka.common.record.CompressionType")
            .getField("NONE").get(null);
        for (Method one : record("MemoryRecords").getMethods())
            if (one.getName().equals("withIdempotentRecords") && one.getParameterCount() == 7) {
                Object made = one.invoke(null, offset, none, PRODUCER, (short) sent[0], sent[1], 0, records);
                return ((Iterable<?>) made.getClass().getMethod("batches").invoke(made)).iterator().next();
            }
        throw new AssertionError("withIdempotentRecords");
    }

    /** A class of records, wherever a release has it. */
    private static Class<?> record(String name) throws Exception {
        String moved = "org.apache.kafka.common.record.internal." + name;
        return Class.forName(Scala.exists(moved) ? moved : "org.apache.kafka.common.record." + name);
    }

    /** What an Option of Scala's or Java's has, or null. */
    private static Object given(Object option) {
        return option instanceof Optional<?> java ? java.orElse(null) : ((Option<?>) option).isDefined() ? ((Option<?>) option).get() : null;
    }

    /** What is known of the same batch; up to 0.11 the entry of a producer is its last one. */
    private static Object same(Object known, Object batch) throws Exception {
        if (Scala.has(known.getClass(), "isDuplicate"))
            return (boolean) Bare.method(known.getClass(), "isDuplicate").invoke(known, batch) ? known : null;
        return given(Bare.method(known.getClass(), "findDuplicateBatch").invoke(known, batch));
    }

    static String mark(Object manager, int epoch, long offset) throws Exception {
        Object info = prepared(manager, false);
        Class<?> kinds = record("ControlRecordType");
        Object marker = record("EndTransactionMarker").getConstructor(kinds, int.class).newInstance(kinds.getField("ABORT").get(null), 0);
        Method append = Bare.method(info.getClass(), "appendEndTxnMarker");
        if (append.getParameterCount() == 4) append.invoke(info, marker, (short) epoch, offset, 1000L);
        else append.invoke(info, marker, (short) epoch, offset, 1000L, (short) 1);
        Bare.method(manager.getClass(), "update").invoke(manager, info);
        return "ok";
    }

    /** As for a batch of a client, or for one of a coordinator. */
    static Object prepared(Object manager, boolean client) throws Exception {
        Method prepare = Bare.method(manager.getClass(), "prepareUpdate");
        if (prepare.getParameterTypes()[1] == boolean.class) return prepare.invoke(manager, PRODUCER, client);
        if (Scala.exists(STORAGE + "AppendOrigin"))
            return prepare.invoke(manager, PRODUCER, Class.forName(STORAGE + "AppendOrigin").getField(client ? "CLIENT" : "COORDINATOR").get(null));
        Class<?> from = Class.forName("kafka.log.AppendOrigin$" + (client ? "Client$" : "Coordinator$"));
        return prepare.invoke(manager, PRODUCER, from.getField("MODULE$").get(null));
    }
}
