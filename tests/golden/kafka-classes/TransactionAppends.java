import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.VerificationStateEntry;

/**
 * Prints what a leader knows of a producer (epoch, last sequence, whether a transaction is open), and its answer to a batch
 * (what waits to be verified: lowest sequence and whether the transaction is of version 2, or "-"; epoch, first sequence) or
 * to a marker (epoch, version of the transaction).
 */
public class TransactionAppends {
    static final Random RANDOM = new Random(18202);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            short epoch = (short) (RANDOM.nextInt(4) - 1);
            int last = epoch < 0 || RANDOM.nextInt(3) == 0 ? -1 : RANDOM.nextInt(3);
            boolean open = epoch >= 0 && RANDOM.nextBoolean();
            Optional<BatchMetadata> batch = last < 0 ? Optional.empty() : Optional.of(new BatchMetadata(last, 9, 0, 0));
            ProducerStateEntry known = new ProducerStateEntry(4, epoch, 0, 0, open ? OptionalLong.of(5) : OptionalLong.empty(), batch);
            int sent = Math.max(0, epoch + RANDOM.nextInt(3) - 1), first = RANDOM.nextInt(4), version = 1 + RANDOM.nextInt(2);
            boolean verified = RANDOM.nextInt(4) > 0;
            VerificationStateEntry waits = verified ? verification(RANDOM.nextInt(3), (short) sent, version == 2) : null;
            String state = epoch + " " + last + " " + open + " | ";
            System.out.println("batch " + state + (waits == null ? "-" : waits.lowestSequence() + ":" + version) + " " + sent + " " + first + " | "
                + answer(known, waits, info -> info.appendDataBatch((short) sent, first, first, 0, new LogOffsetMetadata(20), 20, true)));
            System.out.println("marker " + state + sent + " " + version + " | " + answer(known, null, info -> end(info, (short) sent, (short) version)));
        }
    }

    interface Step {
        void on(ProducerAppendInfo info) throws Exception;
    }

    static String answer(ProducerStateEntry known, VerificationStateEntry waits, Step step) throws Exception {
        try {
            step.on(new ProducerAppendInfo(new TopicPartition("t", 0), 4, known, AppendOrigin.CLIENT, waits));
            return "NONE";
        } catch (InvocationTargetException refused) {
            return Errors.forException(refused.getCause()).name();
        } catch (RuntimeException refused) {
            return Errors.forException(refused).name();
        }
    }

    static VerificationStateEntry verification(int lowest, short epoch, boolean second) throws Exception {
        Constructor<?> made = Bare.constructor(VerificationStateEntry.class);
        Object[] given = Bare.given(made);
        for (int place = 0; place < given.length; place++) {
            Class<?> kind = made.getParameterTypes()[place];
            if (kind == int.class) given[place] = lowest;
            if (kind == short.class) given[place] = epoch;
            if (kind == boolean.class) given[place] = second;
        }
        return (VerificationStateEntry) made.newInstance(given);
    }

    static void end(ProducerAppendInfo info, short epoch, short version) throws Exception {
        Method append = Bare.method(ProducerAppendInfo.class, "appendEndTxnMarker");
        Class<?> marker = append.getParameterTypes()[0], kinds = marker.getConstructors()[0].getParameterTypes()[0];
        Object abort = marker.getConstructor(kinds, int.class).newInstance(kinds.getField("ABORT").get(null), 0);
        if (append.getParameterCount() == 4) append.invoke(info, abort, epoch, 20L, 0L);
        else append.invoke(info, abort, epoch, 20L, 0L, version);
    }
}
