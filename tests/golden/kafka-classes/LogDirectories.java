import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import scala.Option;

/** Prints whether a broker halts as one of its log directories fails, and whom it tells: ZooKeeper, the KRaft controller, nobody. */
public class LogDirectories {
    static String told;

    public static void main(String[] arguments) throws Exception {
        for (boolean zookeeper : new boolean[] {true, false}) System.out.println((zookeeper ? "zookeeper" : "kraft") + " | " + fails(zookeeper));
    }

    /** ReplicaManager.handleLogDirFailure. */
    static String fails(boolean zookeeper) throws Exception {
        Class.forName("kafka.utils.Exit$");
        org.apache.kafka.common.utils.Exit.setHaltProcedure((status, message) -> { throw new IllegalStateException("halts"); });
        told = "nobody";
        Object znodes = Scala.mocked("kafka.zk.KafkaZkClient", (method, given) -> {
            if (method.getName().equals("propagateLogDirEvent")) told = "zookeeper";
            return null;
        });
        Object logs = Scala.mocked("kafka.log.LogManager", (method, given) -> switch (method.getName()) {
            case "isLogDirOnline" -> true;
            case "directoryId" -> Option.apply(new Uuid(1, 1));
            default -> null;
        });
        Object config = Scala.mocked("kafka.server.KafkaConfig", (method, given) -> switch (method.getName()) {
            case "metadataLogDir" -> "/metadata";
            case "processRoles" -> zookeeper ? Scala.set(List.of()) : Scala.set(List.of("broker"));
            default -> null;
        });
        Object manager = Scala.partly("kafka.server.ReplicaManager", (method, given) -> switch (method.getName()) {
            case "allPartitions" -> Class.forName("kafka.utils.Pool").getConstructor(Option.class).newInstance(Option.empty());
            case "logManager" -> logs;
            case "config" -> config;
            case "replicaFetcherManager" -> Scala.mocked("kafka.server.ReplicaFetcherManager", (other, with) -> null);
            case "replicaAlterLogDirsManager" -> Scala.mocked("kafka.server.ReplicaAlterLogDirsManager", (other, with) -> null);
            case "highWatermarkCheckpoints" -> Scala.frozen(new scala.collection.mutable.HashMap<>());
            default -> null;
        });
        Class<?> kind = Class.forName("kafka.server.ReplicaManager");
        Bare.set(manager, "replicaStateChangeLock", new Object());
        Bare.set(manager, "logManager", logs);
        Bare.set(manager, "config", config);
        Bare.set(manager, "zkClient", zookeeper ? Option.apply(znodes) : Option.empty());
        Bare.set(manager, "replicaFetcherManager", Scala.mocked("kafka.server.ReplicaFetcherManager", (other, with) -> null));
        Bare.set(manager, "replicaAlterLogDirsManager", Scala.mocked("kafka.server.ReplicaAlterLogDirsManager", (other, with) -> null));
        Bare.set(manager, "highWatermarkCheckpoints", Scala.frozen(new scala.collection.mutable.HashMap<>()));
        if (Bare.hasField(kind, "directoryEventHandler")) {
            String handler = Scala.exists("kafka.server.DirectoryEventHandler") ? "kafka.server.DirectoryEventHandler" : "org.apache.kafka.server.common.DirectoryEventHandler";
            Bare.set(manager, "directoryEventHandler", Scala.mocked(handler, (method, given) -> {
                if (method.getName().equals("handleFailure")) told = "controller";
                return null;
            }));
        }
        Method fails = Bare.method(kind, "handleLogDirFailure");
        try {
            fails.invoke(manager, "/data", true);
            return "lives " + told;
        } catch (java.lang.reflect.InvocationTargetException ended) {
            if (ended.getCause() instanceof IllegalStateException) return "halts " + told;
            throw ended;
        }
    }
}
