import java.lang.reflect.Method;
import java.util.List;
import org.mockito.Mockito;
import scala.Option;

/** Prints whether a leader that a broker is told of is alive, and whether the broker takes it: ReplicaManager.makeFollowers of 0.8. */
public class OldFollowers {
    public static void main(String[] arguments) throws Exception {
        for (boolean alive : new boolean[] {true, false}) System.out.println(alive + " | " + takes(alive));
    }

    static boolean takes(boolean alive) throws Exception {
        boolean[] taken = {false};
        Object mark = Scala.mocked("kafka.cluster.Replica", (method, given) -> method.getReturnType() == long.class ? (Object) 3L
            : method.getReturnType().isPrimitive() ? null : Scala.position(3));
        Object partition = Scala.mocked("kafka.cluster.Partition", (method, given) -> switch (method.getName()) {
            case "makeFollower" -> { taken[0] = true; yield true; }
            case "topic" -> "t";
            case "getOrCreateReplica" -> mark;
            case "getReplica" -> Option.apply(mark);
            case "leaderReplicaIdOpt" -> Option.apply(2);
            default -> null;
        });
        Object state = Bare.constructor(Class.forName("kafka.api.LeaderAndIsr")).newInstance(2, 1, Scala.seq(List.of(0, 2)), 1);
        Object info = Bare.constructor(Class.forName("kafka.api.PartitionStateInfo")).newInstance(
            Bare.constructor(Class.forName("kafka.controller.LeaderIsrAndControllerEpoch")).newInstance(state, 1), Scala.set(List.of(0, 2)));
        java.lang.reflect.Constructor<?> broker = Class.forName("kafka.cluster.Broker").getConstructor(int.class, String.class, int.class);
        Class<?> kind = Class.forName("kafka.server.ReplicaManager");
        Object manager = Scala.partly("kafka.server.ReplicaManager", (method, given) -> null);
        Bare.set(manager, "stateChangeLogger", Mockito.mock(Class.forName("kafka.controller.KafkaController$StateChangeLogger")));
        Bare.set(manager, "replicaFetcherManager", Mockito.mock(Class.forName("kafka.server.ReplicaFetcherManager")));
        Bare.set(manager, "logManager", Mockito.mock(Class.forName("kafka.log.LogManager")));
        Bare.set(manager, "isShuttingDown", new java.util.concurrent.atomic.AtomicBoolean(false));
        for (java.lang.reflect.Field field : kind.getDeclaredFields()) {
            if (field.getName().endsWith("leaderPartitionsLock")) Bare.set(manager, field.getName(), new Object());
            if (field.getName().endsWith("leaderPartitions")) Bare.set(manager, field.getName(), new scala.collection.mutable.HashSet<>());
        }
        Method make = Bare.method(kind, "makeFollowers");
        Object leaders = Scala.set(alive ? List.of(broker.newInstance(2, "localhost", 1)) : List.of());
        Object[] given = Bare.given(make, Scala.frozen(Scala.map(partition, info)), leaders);
        for (int place = 0; place < given.length; place++)
            if (make.getParameterTypes()[place] == scala.collection.mutable.Map.class) given[place] = new scala.collection.mutable.HashMap<>();
        make.invoke(manager, given);
        return taken[0];
    }
}
