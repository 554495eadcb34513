import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.Tuple2;

/**
 * Prints what a controller with ZooKeeper writes when a replica goes offline: leader, ISR, the replica that leaves it,
 * unclean.leader.election.enable; then leader and ISR as they are written, "-" where nothing is.
 */
public class IsrRemovals {
    static final Random RANDOM = new Random(497);
    static String written;

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            List<Integer> isr = new ArrayList<>();
            for (int broker = 1; broker < 4; broker++) if (RANDOM.nextBoolean()) isr.add(broker);
            if (isr.isEmpty()) isr.add(1 + RANDOM.nextInt(3));
            int leader = isr.get(RANDOM.nextInt(isr.size())), gone = 1 + RANDOM.nextInt(3);
            boolean unclean = RANDOM.nextBoolean();
            String state = "{\"controller_epoch\":1,\"leader\":" + leader + ",\"version\":1,\"leader_epoch\":0,\"isr\":" + isr + "}";
            written = "-";
            if (Scala.exists("kafka.utils.ZkUtils") && !Scala.exists("kafka.zk.KafkaZkClient")) before(state, gone, unclean);
            else since(state, gone);
            System.out.println(leader + " " + isr.toString().replaceAll("[^0-9,]", "") + " " + gone + " " + unclean + " | " + written);
        }
    }

    /** Up to 0.11: KafkaController.removeReplicaFromIsr. */
    static void before(String state, int gone, boolean unclean) throws Exception {
        Class<?> level = Class.forName("org.apache.log4j.Level");
        Object root = Class.forName("org.apache.log4j.Logger").getMethod("getRootLogger").invoke(null);
        root.getClass().getMethod("setLevel", level).invoke(root, level.getField("OFF").get(null));
        Object settings = Scala.mocked("org.I0Itec.zkclient.ZkClient", (method, given) -> null);
        Object znodes = Scala.partly("kafka.utils.ZkUtils", (method, given) -> switch (method.getName()) {
            case "zkClient" -> settings;
            case "readDataMaybeNull" -> new Tuple2<>(((String) given[0]).startsWith("/config") ? Option.empty() : Option.apply(state), new Stat());
            case "conditionalUpdatePersistentPath" -> {
                String data = (String) given[1];
                written = data.replaceAll(".*\"leader\":(-?\\d+).*", "$1") + " " + data.replaceAll(".*\"isr\":\\[([^\\]]*)\\].*", "$1");
                yield new Tuple2<>(true, 1);
            }
            default -> null;
        });
        Object controller = Scala.partly("kafka.controller.KafkaController", (method, given) -> method.getName().equals("epoch") ? 1 : null);
        if (Bare.hasField(Class.forName("kafka.controller.KafkaController"), "loggerName")) Bare.set(controller, "loggerName", "controller");
        Bare.set(controller, "zkUtils", znodes);
        Bare.set(controller, "config", Scala.config(unclean));
        Object known = new scala.collection.mutable.HashMap<>();
        Bare.set(controller, "controllerContext", Scala.mocked("kafka.controller.ControllerContext", (method, given) -> switch (method.getName()) {
            case "epoch" -> 1;
            case "partitionLeadershipInfo" -> known;
            case "zkUtils" -> znodes;
            default -> null;
        }));
        Bare.set(controller, "stateChangeLogger", Scala.mocked("kafka.controller.KafkaController$StateChangeLogger", (method, given) -> null));
        Bare.method(Class.forName("kafka.controller.KafkaController"), "removeReplicaFromIsr").invoke(controller, "t", 0, gone);
    }

    /** Since 1.1: doRemoveReplicasFromIsr of the state machine of replicas; what it writes is seen, and ends it. */
    static void since(String state, int gone) throws Exception {
        TopicPartition name = new TopicPartition("t", 0);
        String kind = Scala.exists("kafka.controller.ZkReplicaStateMachine") ? "kafka.controller.ZkReplicaStateMachine" : "kafka.controller.ReplicaStateMachine";
        Object znodes = Scala.mocked("kafka.zk.KafkaZkClient", (method, given) -> switch (method.getName()) {
            case "getTopicPartitionStatesRaw" -> {
                java.lang.reflect.Constructor<?> made = Bare.constructor(Class.forName("kafka.zookeeper.GetDataResponse"));
                yield Scala.seq(List.of(made.newInstance(Bare.given(made, KeeperException.Code.OK, Option.apply(name), state.getBytes(), new Stat()))));
            }
            case "updateLeaderAndIsr" -> {
                List<Object> all = Scala.list(given[0]);
                if (!all.isEmpty()) written = told(((Tuple2<?, ?>) all.get(0))._2());
                throw new IllegalStateException("written");
            }
            default -> null;
        });
        Object machine = Scala.partly(kind, (method, given) -> null);
        Bare.set(machine, "zkClient", znodes);
        Bare.set(machine, "controllerContext", Scala.mocked("kafka.controller.ControllerContext", (method, given) -> switch (method.getName()) {
            case "epoch" -> 1;
            case "epochZkVersion" -> 1;
            case "isTopicQueuedUpForDeletion" -> false;
            default -> null;
        }));
        try {
            Bare.method(Class.forName(kind), "doRemoveReplicasFromIsr").invoke(machine, gone, Scala.seq(List.of(name)));
        } catch (InvocationTargetException ended) {
            if (!(ended.getCause() instanceof IllegalStateException)) throw ended;
        }
    }

    static String told(Object state) throws Exception {
        Object isr = Bare.method(state.getClass(), "isr").invoke(state);
        List<?> members = isr instanceof List<?> java ? java : Scala.list(isr);
        return Bare.method(state.getClass(), "leader").invoke(state) + " " + members.toString().replaceAll("[^0-9,]", "");
    }
}
