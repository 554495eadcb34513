import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.kafka.common.utils.Time;
import org.mockito.Mockito;
import scala.Option;

/**
 * Prints what a leader knows of a follower, and whether the follower joins the ISR and whether it would leave it.
 *
 * Numbers: the follower's end, the leader's end, its high watermark, the start of its epoch, when the follower was last
 * caught up, the time, replica.lag.time.max.ms; then whether it joins, and whether it lags.
 */
public class InSync {
    static final Random RANDOM = new Random(7128);
    static final int LEADER = 1, FOLLOWER = 2;
    /** What says that a follower has all that it needs to join, in releases that ask apart. */
    static final String[] ASKED = {"isFollowerAtHighwatermark", "isFollowerInSync"};

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            long offset = RANDOM.nextInt(5), end = offset + RANDOM.nextInt(6), mark = RANDOM.nextInt((int) end + 1);
            long start = RANDOM.nextInt((int) end + 1), lag = 10 * (1 + RANDOM.nextInt(3)), time = 1000 + RANDOM.nextInt(50);
            Object follower = FollowerPositions.replica();
            Object caughtUp = FollowerPositions.fetched(follower, offset, RANDOM.nextBoolean() ? offset : offset + 1, 1000);
            String asked = offset + " " + end + " " + mark + " " + start + " " + caughtUp + " " + time + " " + lag;
            System.out.println(asked + " " + joins(follower, offset, end, mark, start) + " " + lags(follower, offset, end, time, lag));
        }
    }

    static Object leading(Object follower, long end, long mark, long start, long time) throws Exception {
        Class<?> kind = Class.forName("kafka.cluster.Partition");
        Object partition = Bare.make(kind);
        Bare.setInt(partition, "localBrokerId", LEADER);
        Bare.set(partition, "leaderReplicaIdOpt", Option.apply(LEADER));
        if (Bare.hasField(kind, "leaderEpochStartOffsetOpt")) Bare.set(partition, "leaderEpochStartOffsetOpt", Option.apply(start));
        Bare.set(partition, "leaderIsrUpdateLock", new ReentrantReadWriteLock());
        Time clock = Mockito.mock(Time.class);
        Mockito.when(clock.milliseconds()).thenReturn(time);
        Bare.set(partition, "time", clock);
        if (Bare.hasField(kind, "loggerName")) Bare.set(partition, "loggerName", "partition");
        Object known = Scala.exists("kafka.utils.Pool") ? Class.forName("kafka.utils.Pool").getConstructor(Option.class).newInstance(Option.empty())
            : new java.util.concurrent.ConcurrentHashMap<Integer, Object>();
        Bare.method(known.getClass(), "put").invoke(known, FOLLOWER, follower);
        if (!Bare.hasField(kind, "allReplicasMap") && !Bare.hasField(kind, "assignedReplicaMap")) {
            Bare.set(partition, "remoteReplicasMap", known);
            Bare.set(partition, "log", Option.apply(log(end, mark)));
            return partition;
        }
        Object leader = FollowerPositions.replica();
        Bare.setInt(leader, "brokerId", LEADER);
        Bare.set(leader, "highWatermarkMetadata", Scala.position(mark));
        Bare.set(leader, "logEndOffsetMetadata", Scala.position(end));
        Bare.method(known.getClass(), "put").invoke(known, LEADER, leader);
        Bare.set(partition, Bare.hasField(kind, "allReplicasMap") ? "allReplicasMap" : "assignedReplicaMap", known);
        Bare.set(partition, "inSyncReplicas", Scala.set(List.of(leader)));
        return partition;
    }

    /** A log that knows its end and high watermark; since 3.0 it keeps them in objects of its own. */
    static Object log(long end, long mark) throws Exception {
        if (!Scala.exists("kafka.log.Log"))
            return Scala.mocked(Scala.first(Scala.LOGS), (method, given) -> switch (method.getName()) {
                case "logEndOffset" -> end;
                case "highWatermark" -> mark;
                case "topicId" -> method.getReturnType() == Option.class ? Option.empty() : java.util.Optional.empty();
                default -> null;
            });
        Object log = Bare.make(Class.forName("kafka.log.Log"));
        Bare.set(log, "nextOffsetMetadata", Scala.position(end));
        Bare.set(log, "highWatermarkMetadata", Scala.position(mark));
        return log;
    }

    /** Up to 2.1 a leader asks and writes in one method: it joins if the leader comes as far as to write, for which it lacks ZooKeeper. */
    static boolean joins(Object follower, long offset, long end, long mark, long start) throws Exception {
        Object partition = leading(follower, end, mark, start, 0);
        Class<?> kind = partition.getClass();
        for (String asked : ASKED)
            if (has(kind, asked)) return (boolean) Bare.method(kind, asked).invoke(partition, follower);
        try {
            Bare.method(kind, "maybeExpandIsr").invoke(partition, FOLLOWER, FollowerPositions.read(Scala.position(offset), end, 0L));
            return false;
        } catch (InvocationTargetException ended) {
            for (StackTraceElement frame : ended.getCause().getStackTrace()) {
                if (frame.getMethodName().contains("updateIsr") || frame.getMethodName().equals("info")) return true;
                if (frame.getMethodName().contains("maybeIncrementLeaderHW")) return false;
            }
            throw ended;
        }
    }

    static boolean lags(Object follower, long offset, long end, long time, long lag) throws Exception {
        Object partition = leading(follower, end, 0, 0, time);
        Class<?> kind = partition.getClass();
        if (has(kind, "isFollowerOutOfSync"))
            return (boolean) Bare.method(kind, "isFollowerOutOfSync").invoke(partition, FOLLOWER, end, time, lag);
        Object leader = Bare.method(kind, "inSyncReplicas").invoke(partition);
        leader = Scala.list(leader).get(0);
        Bare.set(partition, "inSyncReplicas", Scala.set(List.of(leader, follower)));
        return !Scala.list(Bare.method(kind, "getOutOfSyncReplicas").invoke(partition, leader, lag)).isEmpty();
    }

    private static boolean has(Class<?> kind, String method) {
        for (java.lang.reflect.Method one : kind.getDeclaredMethods()) if (one.getName().equals(method)) return true;
        return false;
    }
}
