import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.apache.kafka.common.utils.Time;
import org.mockito.Mockito;
import scala.Option;

/**
 * Prints what a broker finds of a log and the recovery point that it has once the log is loaded.
 *
 * Columns: records of the log, the recovery point of its checkpoint, whether the broker stopped cleanly; then the log end
 * and the recovery point.
 */
public class RecoveryPoints {
    static final Random RANDOM = new Random(10101);
    static final String[] LOGS = {"kafka.log.Log", "kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog"};
    static final String MANAGER = "org.apache.kafka.storage.internals.log.ProducerStateManagerConfig";

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            int records = 1 + RANDOM.nextInt(6), point = RANDOM.nextInt(records + 2);
            boolean clean = RANDOM.nextInt(3) == 0;
            System.out.println(records + " " + point + " " + clean + " " + loaded(records, point, clean));
        }
    }

    static String loaded(int records, int point, boolean clean) throws Exception {
        Path home = Files.createTempDirectory("recovery-points"), folder = Files.createDirectory(home.resolve("t-0"));
        try {
            Files.write(folder.resolve("00000000000000000000.log"), messages(records));
            if (clean) Files.createFile(home.resolve(".kafka_cleanshutdown"));
            Object log = log(folder.toFile(), point, clean);
            return Bare.method(log.getClass(), "logEndOffset").invoke(log) + " " + Bare.method(log.getClass(), "recoveryPoint").invoke(log);
        } finally {
            try (Stream<Path> files = Files.walk(home)) {
                files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            }
        }
    }

    /** Messages of magic 1, which every release reads: offset, size, CRC, magic, attributes, time, no key, value. */
    private static byte[] messages(int records) {
        ByteBuffer buffer = ByteBuffer.allocate(records * 36);
        for (int offset = 0; offset < records; offset++) {
            ByteBuffer message = ByteBuffer.allocate(24);
            message.putInt(0).put((byte) 1).put((byte) 0).putLong(1000L).putInt(-1).putInt(2).put((byte) 'm').put((byte) ('0' + offset));
            CRC32 sum = new CRC32();
            sum.update(message.array(), 4, 20);
            message.putInt(0, (int) sum.getValue());
            buffer.putLong(offset).putInt(24).put(message.array());
        }
        return buffer.array();
    }

    /** A log as its release makes it: each argument is told by its type, and the numbers by their order. */
    private static Object log(File folder, long point, boolean clean) throws Exception {
        Class<?> kind = Class.forName(Scala.first(LOGS));
        for (Method one : kind.getDeclaredMethods())
            if (java.lang.reflect.Modifier.isStatic(one.getModifiers()) && one.getParameterCount() > 8
                && one.getParameterTypes()[0] == File.class && one.getReturnType() == kind)
                return one.invoke(null, given(one, folder, point, clean));
        Constructor<?> made = Bare.constructor(kind);
        return made.newInstance(given(made, folder, point, clean));
    }

    private static Object[] given(Executable made, File folder, long point, boolean clean) throws Exception {
        Class<?>[] types = made.getParameterTypes();
        Object[] given = new Object[types.length];
        int longs = (int) Stream.of(types).filter(type -> type == long.class).count(), flags = 0;
        for (int place = 0; place < types.length; place++) {
            Class<?> type = types[place];
            if (type == long.class) given[place] = --longs == 0 ? point : 0L;
            else if (type == boolean.class) given[place] = flags++ == 0 && clean;
            else if (type == int.class) given[place] = 60000;
            else if (type == File.class) given[place] = folder;
            else if (type == Time.class) given[place] = Time.SYSTEM;
            else if (type == Option.class) given[place] = Option.empty();
            else if (type == Optional.class) given[place] = Optional.empty();
            else if (type.isAssignableFrom(ConcurrentHashMap.class)) given[place] = new ConcurrentHashMap<String, Integer>();
            else if (type.getSimpleName().equals("LogConfig")) given[place] = config(type);
            else if (type.getName().equals(MANAGER)) given[place] = Bare.constructor(type).newInstance(60000, false);
            else given[place] = Mockito.mock(type);
        }
        return given;
    }

    private static Object config(Class<?> kind) throws Exception {
        for (Constructor<?> made : kind.getConstructors())
            if (made.getParameterCount() == 1 && made.getParameterTypes()[0] == Map.class) return made.newInstance(Map.of());
        try {
            return kind.getConstructor(Map.class, scala.collection.immutable.Set.class).newInstance(Map.of(), Scala.set(java.util.List.of()));
        } catch (NoSuchMethodException older) {
            return kind.getMethod("fromProps", Map.class, Properties.class).invoke(null, Map.of(), new Properties());
        }
    }
}
