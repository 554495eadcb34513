import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.coordinator.transaction.CoordinatorEpochAndTxnMetadata;
import kafka.coordinator.transaction.TransactionConfig;
import kafka.coordinator.transaction.TransactionCoordinator;
import kafka.coordinator.transaction.TransactionStateManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.transaction.ProducerIdManager;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.coordinator.transaction.TxnTransitMetadata;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import scala.Function1;
import scala.Function3;
import scala.Option;
import scala.runtime.BoxedUnit;
import scala.util.Either;
import scala.util.Right;

/** Prints random states of a transaction and requests to end it, and what Kafka's transaction coordinator decides. */
public class EndTransactions {
    static final Random RANDOM = new Random(890);
    static final long NOW = 1000, FRESH = 99;
    static TransactionMetadata held;
    static TxnTransitMetadata target;
    static Errors error;

    public static void main(String[] arguments) throws Exception {
        Time time = time();
        ProducerIdManager ids = () -> FRESH;
        TransactionCoordinator coordinator = started(new TransactionCoordinator(
            config(), null, () -> ids, new Told(config(), time), null, time, new LogContext()));
        Method end = null;
        for (Method one : TransactionCoordinator.class.getDeclaredMethods()) if (one.getName().equals("endTransaction")) end = one;
        end.setAccessible(true);
        for (int left = Integer.parseInt(arguments[0]); left > 0; ) if (line(coordinator, end)) left--;
    }

    /** A clock that stands still. */
    static Time time() {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, given) -> method.getName().equals("milliseconds") ? (Object) NOW : Time.SYSTEM.getClass()
                .getMethod(method.getName(), method.getParameterTypes()).invoke(Time.SYSTEM, given));
    }

    static TransactionConfig config() {
        return new TransactionConfig(604800000, 900000, 50, (short) 3, 104857600, 5242880, 2, 10000, 3600000, false, 30000);
    }

    /** As after its start, without the threads. */
    static TransactionCoordinator started(TransactionCoordinator coordinator) throws Exception {
        for (Field field : TransactionCoordinator.class.getDeclaredFields())
            if (field.getName().endsWith("isActive")) {
                field.setAccessible(true);
                ((AtomicBoolean) field.get(coordinator)).set(true);
            }
        return coordinator;
    }

    /** One case, unless Kafka says that no coordinator can be in that state: then nothing is printed. */
    static boolean line(TransactionCoordinator coordinator, Method end) throws Exception {
        TransactionState state = TransactionState.values()[RANDOM.nextInt(6)];
        TransactionState pending = pending(state);
        boolean second = RANDOM.nextBoolean(), commit = RANDOM.nextBoolean(), client = RANDOM.nextInt(4) > 0;
        short[] epochs = {0, 1, 5, 6, Short.MAX_VALUE - 1, Short.MAX_VALUE};
        short epoch = epochs[RANDOM.nextInt(6)], last = (short) (RANDOM.nextBoolean() ? -1 : epoch - 1);
        long previous = RANDOM.nextInt(3) == 0 ? 9 : -1, next = RANDOM.nextInt(6) == 0 ? 11 : -1;
        long asked = RANDOM.nextInt(10) == 0 ? 9 : 10;
        int at = RANDOM.nextInt(8) == 0 ? Short.MAX_VALUE - 1 : epoch + (RANDOM.nextInt(3) > 0 ? 0 : RANDOM.nextInt(3) - 1);
        if (at < 0 || at > Short.MAX_VALUE) return false;
        TransactionVersion before = TransactionVersion.fromFeatureLevel((short) RANDOM.nextInt(3));
        Set<TopicPartition> partitions = new HashSet<>(
            state == TransactionState.EMPTY ? List.of() : List.of(new TopicPartition("t", 0)));
        held = new TransactionMetadata("id", 10, previous, next, epoch, last, 60000, state, partitions, 400, 700, before);
        held.pendingState(Optional.ofNullable(pending));
        String said = state.id() + " " + (pending == null ? "-" : pending.id()) + " " + previous + " " + next + " " + epoch + " "
            + last + " " + before.featureLevel() + " | " + (second ? 2 : 1) + " " + (client ? "client" : "coordinator") + " "
            + (commit ? "commit" : "abort") + " " + asked + " " + at + " | ";
        target = null;
        error = null;
        Function3<Errors, Object, Object, BoxedUnit> answer = (found, id, number) -> {
            error = found;
            return BoxedUnit.UNIT;
        };
        try {
            end.invoke(coordinator, "id", asked, (short) at, commit ? TransactionResult.COMMIT : TransactionResult.ABORT,
                client, second ? TransactionVersion.TV_2 : TransactionVersion.TV_1, answer, RequestLocal.noCaching());
        } catch (java.lang.reflect.InvocationTargetException impossible) {
            return false;
        }
        System.out.println(said + (target == null ? error : written()));
        return true;
    }

    static String written() {
        return target.txnState().id() + " " + target.producerId() + " " + target.nextProducerId() + " " + target.producerEpoch()
            + " " + target.lastProducerEpoch() + " " + target.txnStartTimestamp() + " " + target.txnLastUpdateTimestamp() + " "
            + target.clientTransactionVersion().featureLevel() + " " + target.topicPartitions().size();
    }

    static TransactionState pending(TransactionState state) {
        if (state == TransactionState.ONGOING && RANDOM.nextInt(3) == 0) return TransactionState.PREPARE_EPOCH_FENCE;
        if (RANDOM.nextInt(8) > 0) return null;
        return state == TransactionState.ONGOING ? TransactionState.PREPARE_ABORT : TransactionState.ONGOING;
    }

    /** Knows one transactional id, and keeps what is to be written instead of writing it. */
    static class Told extends TransactionStateManager {
        Told(TransactionConfig config, Time time) {
            super(0, null, null, null, config, time, new Metrics());
        }

        @Override
        public Either<Errors, Option<CoordinatorEpochAndTxnMetadata>> getTransactionState(String id) {
            return new Right<>(Option.apply(new CoordinatorEpochAndTxnMetadata(1, held)));
        }

        @Override
        public void appendTransactionToLog(String id, int epoch, TxnTransitMetadata metadata, Function1<Errors, BoxedUnit> then,
                Function1<Errors, Object> again, RequestLocal local) {
            target = metadata;
        }
    }
}
