import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.protocol.Errors;
import scala.Option;

/**
 * Prints which position of a follower a leader notes ("-": none) of a fetch at offset 4, for which of its answers: those with
 * an error, those that name a diverging epoch.
 */
public class FetchStates {
    static final String[] READS = {"kafka.server.FetchDataInfo", "org.apache.kafka.storage.internals.log.FetchDataInfo"};
    static String noted;

    public static void main(String[] arguments) throws Exception {
        for (boolean refused : new boolean[] {false, true})
            for (boolean diverging : new boolean[] {false, true}) {
                if (diverging && !Scala.exists("org.apache.kafka.common.message.FetchResponseData$EpochEndOffset")) continue;
                System.out.println(refused + " " + diverging + " | " + noted(read(refused, diverging)));
            }
    }

    /** ReplicaManager hands the position on to the partition, of the answers that it takes it from. */
    static String noted(Object read) throws Exception {
        noted = "-";
        Object partition = Scala.mocked("kafka.cluster.Partition", (method, given) -> {
            if (method.getName().equals("updateReplicaLogReadResult"))
                noted = offset(Bare.method(info(given[1]).getClass(), "fetchOffsetMetadata").invoke(info(given[1])));
            if (method.getName().equals("updateFollowerFetchState")) noted = offset(given[1]);
            if (method.getName().equals("getReplica")) return Option.apply(Scala.mocked("kafka.cluster.Replica", (other, with) -> null));
            return method.getReturnType() == boolean.class ? true : null;
        });
        Object manager = Scala.partly("kafka.server.ReplicaManager", (method, given) -> switch (method.getName()) {
            case "getPartition", "onlinePartition", "nonOfflinePartition" -> method.getReturnType() == Option.class ? Option.apply(partition) : null;
            case "tryCompleteDelayedProduce" -> Scala.NOTHING;
            default -> null;
        });
        for (String update : new String[] {"updateFollowerFetchState", "updateFollowerLogReadResults"})
            for (Method one : Class.forName("kafka.server.ReplicaManager").getDeclaredMethods())
                if (one.getName().equals(update)) {
                    one.setAccessible(true);
                    one.invoke(manager, 2, Scala.seq(List.of(new scala.Tuple2<>(new TopicPartition("t", 0), read))));
                    return noted;
                }
        throw new NoSuchMethodException("updateFollowerFetchState");
    }

    static Object info(Object read) throws Exception {
        return Bare.method(read.getClass(), "info").invoke(read);
    }

    static String offset(Object position) throws Exception {
        return Bare.method(position.getClass(), "messageOffset").invoke(position).toString();
    }

    /** What a leader read; an answer with an error has read from no offset. */
    static Object read(boolean refused, boolean diverging) throws Exception {
        Object at = refused ? unknown() : Scala.position(4);
        Object info = filled(Bare.constructor(Class.forName(Scala.first(READS))), at, false, false);
        String kind = Scala.exists("kafka.server.LogReadResult") ? "kafka.server.LogReadResult" : "org.apache.kafka.storage.internals.log.LogReadResult";
        return filled(Bare.constructor(Class.forName(kind)), info, refused, diverging);
    }

    static Object unknown() throws Exception {
        Class<?> kind = Class.forName(Scala.first(Scala.POSITIONS));
        for (java.lang.reflect.Field one : kind.getDeclaredFields()) if (one.getName().equals("UNKNOWN_OFFSET_METADATA")) return one.get(null);
        return Scala.exists("kafka.server.LogOffsetMetadata") && Scala.has(kind, "UnknownOffsetMetadata")
            ? kind.getMethod("UnknownOffsetMetadata").invoke(null) : kind.getConstructor(long.class, long.class, int.class).newInstance(-1L, 0L, 0);
    }

    /** The first parameter is given; of the others the first optional one is the diverging epoch, where there is one, the last the error. */
    static Object filled(Constructor<?> made, Object first, boolean refused, boolean diverging) throws Exception {
        Class<?>[] kinds = made.getParameterTypes();
        Object[] given = new Object[kinds.length];
        Object end = diverging ? Class.forName("org.apache.kafka.common.message.FetchResponseData$EpochEndOffset").getConstructor().newInstance() : null;
        Object error = !refused ? null : kinds[kinds.length - 1] == Errors.class ? Errors.OFFSET_OUT_OF_RANGE : new OffsetOutOfRangeException("");
        boolean result = kinds[0].getSimpleName().equals("FetchDataInfo");
        for (int place = 0; place < kinds.length; place++) {
            Object told = place == 0 ? first : result && place == 1 ? end : result && place == kinds.length - 1 ? error : null;
            if (place == 0) given[place] = first;
            else if (kinds[place] == Option.class) given[place] = Option.apply(told);
            else if (kinds[place] == Optional.class) given[place] = Optional.ofNullable(told);
            else if (kinds[place] == OptionalLong.class) given[place] = OptionalLong.empty();
            else if (kinds[place] == OptionalInt.class) given[place] = OptionalInt.empty();
            else if (kinds[place] == Errors.class) given[place] = refused ? error : Errors.NONE;
            else if (kinds[place] == long.class) given[place] = 4L;
            else if (kinds[place] == int.class) given[place] = 0;
            else if (kinds[place] == boolean.class) given[place] = false;
        }
        return made.newInstance(given);
    }
}
