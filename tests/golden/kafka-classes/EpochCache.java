import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;

/** LeaderEpochFileCache of any release, of a log that ends at <code>end</code>. */
public class EpochCache {
    final Object cache;
    long end;

    EpochCache() throws Exception {
        Constructor<?> made = Arrays.stream(kind().getConstructors()).findFirst().get();
        Object[] given = new Object[made.getParameterCount()];
        for (int place = 0; place < given.length; place++) given[place] = given(made.getParameterTypes()[place]);
        cache = made.newInstance(given);
    }

    static Class<?> kind() throws Exception {
        try {
            return Class.forName("kafka.server.epoch.LeaderEpochFileCache");
        } catch (ClassNotFoundException moved) {
            return Class.forName("org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache");
        }
    }

    private Object given(Class<?> kind) throws Exception {
        if (kind == TopicPartition.class) return new TopicPartition("t", 0);
        if (kind == scala.Function0.class) {
            boolean offset = Arrays.stream(kind().getDeclaredFields()).anyMatch(field -> field.getName().equals("logEndOffset"));
            scala.Function0<Object> ends = () -> offset ? (Object) end : EpochCache.at(end);
            return ends;
        }
        if (kind.isInterface())
            return Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind},
                (proxy, method, arguments) -> method.getName().equals("read") ? scala.collection.immutable.Nil$.MODULE$ : null);
        File file = File.createTempFile("leader-epoch", ".checkpoint");
        file.delete();
        file.deleteOnExit();
        return Bare.constructor(kind).newInstance(file, null);
    }

    /** Kafka's LogOffsetMetadata of an offset. */
    static Object at(long offset) {
        try {
            return Class.forName("kafka.server.LogOffsetMetadata").getConstructors()[0].newInstance(offset, 0L, 0);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
    }

    void assign(int epoch, long start) throws Exception {
        kind().getMethod("assign", int.class, long.class).invoke(cache, epoch, start);
    }

    void truncateFromEnd(long offset) throws Exception {
        call(offset, "truncateFromEnd", "truncateFromEndAsyncFlush", "clearAndFlushLatest");
        end = Math.min(end, offset);
    }

    void truncateFromStart(long offset) throws Exception {
        call(offset, "truncateFromStart", "truncateFromStartAsyncFlush", "clearAndFlushEarliest");
    }

    private void call(long offset, String... names) throws Exception {
        for (Method method : kind().getMethods())
            if (Arrays.asList(names).contains(method.getName())) {
                method.invoke(cache, offset);
                return;
            }
        throw new NoSuchMethodException(names[0]);
    }

    /** Epoch and end offset; an epoch of -2 before releases answered one. */
    long[] endOffsetFor(int epoch) throws Exception {
        Method asked = Bare.method(kind(), "endOffsetFor");
        Object answer = asked.getParameterCount() == 1 ? asked.invoke(cache, epoch) : asked.invoke(cache, epoch, end);
        if (answer instanceof scala.Tuple2<?, ?> two) return new long[] {(Integer) two._1(), (Long) two._2()};
        if (answer instanceof Map.Entry<?, ?> two) return new long[] {(Integer) two.getKey(), (Long) two.getValue()};
        return new long[] {-2, (Long) answer};
    }

    int latestEpoch() throws Exception {
        String held = toString();
        return held.equals("-") ? -1 : Integer.parseInt(held.substring(held.lastIndexOf(',') + 1, held.lastIndexOf('@')));
    }

    /** Its entries, as EPOCH@START. */
    @Override public String toString() {
        try {
            String said = Bare.method(kind(), "epochEntries").invoke(cache).toString();
            String held = Pattern.compile("(?:epoch=)?(\\d+), ?(?:startOffset=)?(\\d+)[)\\]]").matcher(said).results()
                .map(one -> one.group(1) + "@" + one.group(2)).collect(Collectors.joining(","));
            return held.isEmpty() ? "-" : held;
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }
}
