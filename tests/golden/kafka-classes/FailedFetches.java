import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.List;
import scala.Tuple2;

/** Prints the position that a leader of 0.8 notes of a follower whose fetch at offset 4 it answers with an error. */
public class FailedFetches {
    static Object noted;

    public static void main(String[] arguments) throws Exception {
        Object name = OutOfRange081.name();
        Constructor<?> asked = Bare.constructor(Class.forName("kafka.api.PartitionFetchInfo"));
        Object partitions = Scala.frozen(Scala.map(name, asked.newInstance(4L, 1000)));
        Object request = Scala.mocked("kafka.api.FetchRequest", (method, given) -> switch (method.getName()) {
            case "requestInfo" -> partitions;
            case "replicaId" -> 2;
            case "isFromFollower" -> true;
            default -> null;
        });
        Class<?> apis = Class.forName("kafka.server.KafkaApis"), kind = Class.forName("kafka.server.ReplicaManager");
        Object manager = Scala.partly(kind.getName(), (method, given) -> switch (method.getName()) {
            case "recordFollowerPosition" -> { noted = given[3]; yield Scala.NOTHING; }
            case "updateReplicaLEOAndPartitionHW" -> { noted = Bare.method(given[3].getClass(), "messageOffset").invoke(given[3]); yield Scala.NOTHING; }
            case "unblockDelayedProduceRequests" -> Scala.NOTHING;
            case "getLeaderReplicaIfLocal" -> throw new IllegalStateException("an error");
            default -> null;
        });
        Object api = Scala.partly(apis.getName(), (method, given) -> null);
        Bare.set(api, "replicaManager", manager);
        for (Object one : new Object[] {api, manager}) Bare.set(one, "loggerName", "broker");
        if (java.util.Arrays.stream(apis.getDeclaredMethods()).anyMatch(one -> one.getName().equals("maybeUpdatePartitionHw")))
            Bare.method(apis, "maybeUpdatePartitionHw").invoke(api, request);
        else {
            scala.collection.Map<?, ?> read = (scala.collection.Map<?, ?>) Bare.method(kind, "readMessageSets").invoke(manager, request);
            Object one = ((Tuple2<?, ?>) read.head())._2();
            Object offset = Bare.method(one.getClass(), "offset").invoke(one);
            Bare.method(apis, "recordFollowerLogEndOffsets").invoke(api, 2, Scala.frozen(Scala.map(name, offset)));
        }
        System.out.println(noted);
    }
}
