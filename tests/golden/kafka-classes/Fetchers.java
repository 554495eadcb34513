import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.common.TopicPartition;
import scala.Option;

/**
 * Prints what a follower does with the answer to a fetch: whether that tells where the log diverges; then, in order,
 * whether it takes records and high watermark from it ("takes") and whether it cuts its log ("cuts").
 */
public class Fetchers {
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static final String[] LEADERS = {"kafka.server.LeaderEndPoint", "org.apache.kafka.server.LeaderEndPoint"};

    public static void main(String[] arguments) throws Exception {
        for (boolean diverging : new boolean[] {false, true}) System.out.println(diverging + " | " + done(diverging));
    }

    static String done(boolean diverging) throws Exception {
        List<String> steps = new ArrayList<>();
        Class<?> kind = Class.forName("kafka.server.AbstractFetcherThread");
        Scala.Answer leader = (method, given) -> switch (method.getName()) {
            case "fetch", "fetchFromLeader" -> answers(method, diverging);
            case "isTruncationOnFetchSupported" -> true;
            default -> null;
        };
        Object thread = Scala.partly("kafka.server.ReplicaFetcherThread", (method, given) -> switch (method.getName()) {
            case "processPartitionData" -> noted(steps, "takes", Option.empty());
            case "truncate", "truncateOnFetchResponse" -> noted(steps, "cuts", Scala.NOTHING);
            case "logEndOffset" -> 4L;
            case "latestEpoch" -> method.getReturnType() == Option.class ? Option.apply(2) : Optional.of(2);
            case "endOffsetForEpoch" -> Truncations.endOf(null, 0, method.getReturnType());
            default -> leader.of(method, given);
        });
        for (String one : LEADERS) if (Scala.exists(one)) Bare.set(thread, "leader", Scala.mocked(one, leader));
        ReentrantLock lock = Truncations.follow(thread, 4);
        Bare.set(thread, "partitionMapCond", lock.newCondition());
        Bare.set(thread, "failedPartitions", Scala.mocked("kafka.server.FailedPartitions", (method, given) -> null));
        Bare.set(thread, "fetcherStats", Scala.mocked("kafka.server.FetcherStats", 
            (method, given) -> Scala.mocked(method.getReturnType().getName(), (other, with) -> null)));
        for (Method one : kind.getDeclaredMethods())
            if (one.getName().equals("processFetchRequest")) {
                one.setAccessible(true);
                one.invoke(thread, Map.of(NAME, asked()), null);
            }
        return String.join(" ", steps);
    }

    static Object noRecords() throws Exception {
        String named = "org.apache.kafka.common.record.MemoryRecords";
        return Class.forName(Scala.exists(named) ? named : "org.apache.kafka.common.record.internal.MemoryRecords").getField("EMPTY").get(null);
    }

    static Object noted(List<String> steps, String step, Object told) {
        steps.add(step);
        return told;
    }

    static Object asked() throws Exception {
        java.lang.reflect.Constructor<?> made = Bare.constructor(Class.forName("org.apache.kafka.common.requests.FetchRequest$PartitionData"));
        Object[] given = Bare.given(made);
        given[made.getParameterTypes()[0] == long.class ? 0 : 1] = 4L;
        return made.newInstance(given);
    }

    /** What the leader tells, in whichever map and class the release has it. */
    static Object answers(Method method, boolean diverging) throws Exception {
        Object told;
        if (Scala.exists("org.apache.kafka.common.requests.FetchResponse$PartitionData")) {
            Class<?> kind = Class.forName("org.apache.kafka.common.requests.FetchResponse$PartitionData");
            java.lang.reflect.Constructor<?> made = Bare.constructor(kind);
            Object[] given = Bare.given(made, org.apache.kafka.common.protocol.Errors.NONE, noRecords());
            if (diverging) for (int place = 0; place < given.length; place++)
                if (given[place] == Optional.empty() && place > given.length - 3) given[place] = Optional.of(end());
            told = made.newInstance(given);
        } else {
            Class<?> kind = Class.forName("org.apache.kafka.common.message.FetchResponseData$PartitionData");
            told = kind.getConstructor().newInstance();
            Bare.method(kind, "setRecords").invoke(told, noRecords());
            if (diverging) Bare.method(kind, "setDivergingEpoch").invoke(told, end());
        }
        return Map.class.isAssignableFrom(method.getReturnType()) ? Map.of(NAME, told) : Scala.map(NAME, told);
    }

    static Object end() throws Exception {
        Class<?> kind = Class.forName("org.apache.kafka.common.message.FetchResponseData$EpochEndOffset");
        Object told = kind.getConstructor().newInstance();
        kind.getMethod("setEpoch", int.class).invoke(told, 1);
        return kind.getMethod("setEndOffset", long.class).invoke(told, 2L);
    }
}
