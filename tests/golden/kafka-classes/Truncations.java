import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import scala.Option;

/** Prints a follower's leader epochs, log end and high watermark, a leader's answers, and where it then cuts its log. */
public class Truncations {
    static final Random RANDOM = new Random(6361);
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static final String THREAD = "kafka.server.ReplicaFetcherThread";

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            EpochCache log = new EpochCache();
            log.end = RANDOM.nextInt(3);
            int epochs = RANDOM.nextInt(4);
            for (int epoch = RANDOM.nextInt(4); epochs > 0; epochs--, epoch += 1 + RANDOM.nextInt(2)) {
                log.assign(epoch, log.end);
                log.end += 1 + RANDOM.nextInt(4);
            }
            StringBuilder line = new StringBuilder();
            long watermark = RANDOM.nextInt((int) log.end + 1);
            line.append(log).append(' ').append(log.end).append(' ').append(watermark).append(" |");
            for (int answers = 0; answers < 6; answers++) {
                int epoch = RANDOM.nextInt(9) - 1;
                long end = answers == 0 ? -1 : RANDOM.nextInt((int) log.end + 3);
                line.append(' ').append(epoch).append(':').append(end).append('=').append(cut(log, watermark, epoch, end));
            }
            System.out.println(line);
        }
    }

    static String cut(EpochCache log, long watermark, int epoch, long end) throws Exception {
        Class<?> kind = Class.forName("kafka.server.AbstractFetcherThread");
        boolean beside = !Scala.has(kind, "maybeTruncate") || Bare.method(kind, "maybeTruncate").getReturnType() == void.class
            && !Scala.has(Class.forName(THREAD), "maybeTruncate");
        return beside ? byItself(log, watermark, answer(epoch, end)) : withReplica(log, watermark, answer(epoch, end));
    }

    static Object answer(int epoch, long end) throws Exception {
        if (Scala.exists("org.apache.kafka.common.requests.EpochEndOffset")) {
            Class<?> kind = Class.forName("org.apache.kafka.common.requests.EpochEndOffset");
            return Bare.constructor(kind).getParameterCount() == 2 ? kind.getConstructor(Errors.class, long.class).newInstance(Errors.NONE, end)
                : Bare.constructor(kind).newInstance(Errors.NONE, epoch, end);
        }
        Class<?> kind = Class.forName("org.apache.kafka.common.message.OffsetForLeaderEpochResponseData$EpochEndOffset");
        Object told = kind.getConstructor().newInstance();
        kind.getMethod("setLeaderEpoch", int.class).invoke(told, epoch);
        return kind.getMethod("setEndOffset", long.class).invoke(told, end);
    }

    /** From 2.1 on: AbstractFetcherThread.getOffsetTruncationState asks the thread itself. */
    static String byItself(EpochCache log, long watermark, Object answer) throws Exception {
        Object thread = Scala.partly(THREAD, (method, given) -> switch (method.getName()) {
            case "logEndOffset" -> log.end;
            case "endOffsetForEpoch" -> endOf(log, (Integer) given[1], method.getReturnType());
            default -> null;
        });
        follow(thread, watermark);
        return told(Bare.method(Class.forName("kafka.server.AbstractFetcherThread"), "getOffsetTruncationState").invoke(thread, NAME, answer));
    }

    /** It fetches from its high watermark on. */
    static ReentrantLock follow(Object thread, long watermark) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Bare.set(thread, "partitionMapLock", lock);
        Constructor<?> made = Bare.constructor(Class.forName(Scala.exists("org.apache.kafka.server.PartitionFetchState")
            ? "org.apache.kafka.server.PartitionFetchState" : "kafka.server.PartitionFetchState"));
        Object[] parts = new Object[made.getParameterCount()];
        for (int place = 0; place < parts.length; place++) {
            Class<?> kind = made.getParameterTypes()[place];
            parts[place] = kind == long.class ? (Object) watermark : kind == int.class ? (Object) 0 : kind == boolean.class ? (Object) false
                : kind == Option.class ? Option.empty() : kind == Optional.class ? Optional.empty()
                : kind.getSimpleName().equals("ReplicaState") ? fetching() : null;
        }
        Object following = made.newInstance(parts);
        Bare.set(thread, "partitionStates", Scala.mocked("org.apache.kafka.common.internals.PartitionStates",
            (method, given) -> method.getName().equals("stateValue") ? following : null));
        return lock;
    }

    static Object fetching() throws Exception {
        if (Scala.exists("kafka.server.Fetching$")) return Class.forName("kafka.server.Fetching$").getField("MODULE$").get(null);
        return Class.forName("org.apache.kafka.server.ReplicaState").getField("FETCHING").get(null);
    }

    static Object endOf(EpochCache log, int epoch, Class<?> wanted) throws Exception {
        long[] found = log == null ? new long[] {2, 1} : log.endOffsetFor(epoch);
        String kind = Scala.exists("kafka.server.OffsetAndEpoch") ? "kafka.server.OffsetAndEpoch" : "org.apache.kafka.server.common.OffsetAndEpoch";
        Object both = found[1] == -1 ? null : Bare.constructor(Class.forName(kind)).newInstance(found[1], (int) found[0]);
        return wanted == Option.class ? Option.apply(both) : Optional.ofNullable(both);
    }

    /** Up to 2.0: ReplicaFetcherThread.maybeTruncate asks the replica. */
    static String withReplica(EpochCache log, long watermark, Object answer) throws Exception {
        Object replica = Scala.mocked("kafka.cluster.Replica", (method, given) -> switch (method.getName()) {
            case "epochs" -> Option.apply(log.cache);
            case "logEndOffset" -> EpochCache.at(log.end);
            case "highWatermark" -> EpochCache.at(watermark);
            default -> null;
        });
        Object partition = Scala.mocked("kafka.cluster.Partition", (method, given) -> null);
        Object manager = Scala.mocked("kafka.server.ReplicaManager", (method, given) -> switch (method.getName()) {
            case "getReplica" -> Option.apply(replica);
            case "getReplicaOrException" -> replica;
            case "getPartition" -> Option.apply(partition);
            case "logManager", "replicaAlterLogDirsManager" -> Scala.mocked(method.getReturnType().getName(), (other, with) -> null);
            default -> null;
        });
        Object thread = Scala.partly(THREAD, (method, given) -> null);
        Bare.set(thread, "partitionMapCond", follow(thread, watermark).newCondition());
        Bare.set(thread, "replicaMgr", manager);
        Bare.set(thread, "sourceBroker", Class.forName("kafka.cluster.BrokerEndPoint").getConstructor(int.class, String.class, int.class)
            .newInstance(1, "localhost", 1));
        Bare.set(thread, "brokerConfig", Scala.config(false));
        for (Method one : Class.forName(THREAD).getDeclaredMethods())
            if (one.getName().equals("maybeTruncate") && one.getParameterCount() == 1) {
                Object cut = one.invoke(thread, Scala.map(NAME, answer));
                if (!(cut instanceof scala.collection.Map<?, ?>)) cut = Bare.method(cut.getClass(), "result").invoke(cut);
                return told(((scala.Tuple2<?, ?>) Scala.list(cut).get(0))._2());
            }
        throw new NoSuchMethodException("maybeTruncate");
    }

    /** An offset, and "+" where the follower is to ask again. */
    static String told(Object state) throws Exception {
        if (state instanceof Long offset) return offset.toString();
        Object offset = Bare.method(state.getClass(), "offset").invoke(state);
        return offset + ((Boolean) Bare.method(state.getClass(), "truncationCompleted").invoke(state) ? "" : "+");
    }
}
