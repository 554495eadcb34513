import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.mockito.Mockito;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.mutable.HashMap;
import scala.collection.mutable.HashSet;
import scala.collection.mutable.ListBuffer;

/** Collections of Scala 2.12 and 2.13, and stand-ins of classes that a release may have. */
public class Scala {
    static final String[] LOGS = {"kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog"};
    static final String[] POSITIONS = {"kafka.server.LogOffsetMetadata", "org.apache.kafka.storage.internals.log.LogOffsetMetadata"};

    interface Answer {
        Object of(Method method, Object[] given) throws Exception;
    }

    /** What an answer gives for a method that returns nothing, and whose own code is not to run. */
    static final Object NOTHING = new Object();

    static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException error) {
            return false;
        }
    }

    /** The one of these classes that a release has. */
    static String first(String[] names) {
        for (String name : names) if (Scala.exists(name)) return name;
        throw new AssertionError(List.of(names));
    }

    static Object position(long offset) throws Exception {
        return Class.forName(first(POSITIONS)).getConstructor(long.class, long.class, int.class).newInstance(offset, 0L, 0);
    }

    static boolean has(Class<?> kind, String method) {
        return Arrays.stream(kind.getMethods()).anyMatch(one -> one.getName().equals(method));
    }

    static scala.collection.immutable.List<Object> seq(List<?> values) {
        ListBuffer<Object> found = new ListBuffer<>();
        for (Object value : values) found.$plus$eq(value);
        return found.toList();
    }

    static HashSet<Object> mutableSet(List<?> values) {
        HashSet<Object> found = new HashSet<>();
        for (Object value : values) found.$plus$eq(value);
        return found;
    }

    static scala.collection.immutable.Set<Object> set(List<?> values) {
        return mutableSet(values).toSet();
    }

    static HashMap<Object, Object> mapOf(List<?> keys, Object value) {
        HashMap<Object, Object> found = new HashMap<>();
        for (Object key : keys) found.put(key, value);
        return found;
    }

    static HashMap<Object, Object> map(Object key, Object value) {
        return mapOf(List.of(key), value);
    }

    static Object frozen(HashMap<Object, Object> map) throws Exception {
        for (Method method : HashMap.class.getMethods())
            if (method.getName().equals("toMap") && method.getParameterCount() == 1) return method.invoke(map, sameKind());
        throw new NoSuchMethodException("toMap");
    }

    /** The evidence that a pair is a pair, under the name that a version of Scala has for it. */
    private static Object sameKind() throws Exception {
        String name = has(scala.Predef$.class, "$conforms") ? "$conforms" : "conforms";
        return scala.Predef$.class.getMethod(name).invoke(scala.Predef$.MODULE$);
    }

    static List<Object> list(Object values) throws Exception {
        List<Object> found = new ArrayList<>();
        Iterator<?> each = (Iterator<?>) values.getClass().getMethod("iterator").invoke(values);
        while (each.hasNext()) found.add(each.next());
        return found;
    }

    static Object config(boolean unclean) throws Exception {
        Properties set = new Properties();
        set.put("zookeeper.connect", "localhost");
        set.put("broker.id", "0");
        set.put("unclean.leader.election.enable", String.valueOf(unclean));
        Class<?> kind = Class.forName("kafka.server.KafkaConfig");
        return has(kind, "fromProps") ? kind.getMethod("fromProps", Properties.class).invoke(null, set)
            : kind.getConstructor(Properties.class).newInstance(set);
    }

    /** A stand-in that gives the same answer to every call; nothing where that is null. */
    static Object mocked(String kind, Answer answer) throws Exception {
        return Mockito.mock(Class.forName(kind), called -> {
            Object told = answer.of(called.getMethod(), called.getArguments());
            return told == null ? Mockito.RETURNS_DEFAULTS.answer(called) : told;
        });
    }

    /** An object of that class that runs its own code, but for the methods for which there is an answer, and for its log. */
    static Object partly(String kind, Answer answer) throws Exception {
        return Mockito.mock(Class.forName(kind), called -> {
            Object told = answer.of(called.getMethod(), called.getArguments());
            if (called.getMethod().getName().matches("trace|debug|info|warn|error")) return null;
            return told == null ? called.callRealMethod() : told == NOTHING ? null : told;
        });
    }
}
