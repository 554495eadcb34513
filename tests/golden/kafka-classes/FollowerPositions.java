import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.mockito.Mockito;
import scala.Option;

/** Prints what a leader is told by a follower's fetches, and when the follower counts as having caught up after each. */
public class FollowerPositions {
    static final Random RANDOM = new Random(4485);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            Object replica = replica();
            StringBuilder line = new StringBuilder();
            long time = 1000, end = 0, offset = 0;
            for (int fetch = 0; fetch < 6; fetch++) {
                time += 1 + RANDOM.nextInt(50);
                end += RANDOM.nextInt(3);
                offset += RANDOM.nextInt((int) (end - offset) + 1);
                line.append(offset).append(':').append(end).append(':').append(time).append(':')
                    .append(fetched(replica, offset, end, time)).append(' ');
            }
            System.out.println(line.toString().trim());
        }
    }

    static Object replica() throws Exception {
        TopicPartition name = new TopicPartition("t", 0);
        if (is("kafka.cluster.Replica")) {
            Class<?> kind = Class.forName("kafka.cluster.Replica");
            if (Bare.constructor(kind).getParameterCount() == 2) return Bare.constructor(kind).newInstance(2, name);
            if (Bare.constructor(kind).getParameterCount() == 3)
                return Bare.constructor(kind).newInstance(2, name, Mockito.mock(Class.forName("kafka.server.MetadataCache")));
            Object second = name;
            if (Bare.constructor(kind).getParameterTypes()[1] != TopicPartition.class) {
                second = Bare.make(Class.forName("kafka.cluster.Partition"));
                Bare.set(second, "topicPartition", name);
            }
            return Bare.constructor(kind).newInstance(2, second, Time.SYSTEM, 0L, Option.empty());
        }
        Class<?> metadata = Class.forName("org.apache.kafka.metadata.MetadataCache");
        Object cache = java.lang.reflect.Proxy.newProxyInstance(metadata.getClassLoader(), new Class<?>[] {metadata},
            (proxy, method, given) -> java.util.Optional.empty());
        return Bare.constructor(Class.forName("org.apache.kafka.server.replica.Replica")).newInstance(2, name, cache);
    }

    static Object fetched(Object replica, long offset, long end, long time) throws Exception {
        Class<?> kind = replica.getClass();
        Object at = Scala.position(offset);
        if (has(kind, "updateFetchStateOrThrow")) {
            Bare.method(kind, "updateFetchStateOrThrow").invoke(replica, at, 0L, time, end, 1L);
        } else if (has(kind, "updateFetchState")) {
            Bare.method(kind, "updateFetchState").invoke(replica, at, 0L, time, end);
        } else {
            Bare.method(kind, "updateLogReadResult").invoke(replica, read(at, end, time));
        }
        Object state = has(kind, "stateSnapshot") ? Bare.method(kind, "stateSnapshot").invoke(replica) : replica;
        return Bare.method(state.getClass(), "lastCaughtUpTimeMs").invoke(state);
    }

    /** What a leader up to 2.1 read for a fetch. */
    static Object read(Object at, long end, long time) throws Exception {
        Class<?> info = Class.forName("kafka.server.FetchDataInfo"), result = Class.forName("kafka.server.LogReadResult");
        Object none = Option.empty();
        Object read = Bare.constructor(info).getParameterCount() == 3 ? Bare.constructor(info).newInstance(at, null, false)
            : Bare.constructor(info).newInstance(at, null, false, none);
        return Bare.constructor(result).getParameterCount() == 6
            ? Bare.constructor(result).newInstance(read, 0L, end, time, 0, none)
            : Bare.constructor(result).newInstance(read, 0L, 0L, end, 0L, time, 0, none, none);
    }

    static boolean is(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException error) {
            return false;
        }
    }

    static boolean has(Class<?> kind, String name) {
        for (java.lang.reflect.Method one : kind.getDeclaredMethods()) if (one.getName().equals(name)) return true;
        return false;
    }
}
