import java.lang.reflect.Method;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import scala.Option;

/** Prints replicas of a partition, those it is to have, live brokers, and whether a controller with ZooKeeper begins the move. */
public class MoveBegins {
    static final Random RANDOM = new Random(4214);
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static boolean begun;

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            List<Integer> replicas = Elections.shuffled(List.of(0, 1, 2, 3)).subList(0, 1 + RANDOM.nextInt(3));
            List<Integer> target = Elections.shuffled(List.of(0, 1, 2, 3)).subList(0, 1 + RANDOM.nextInt(3)), live = Elections.some(List.of(0, 1, 2, 3), 2);
            List<Integer> stopping = Elections.some(live, 1);
            if (target.equals(replicas)) continue;
            boolean begins = Scala.exists("kafka.controller.PartitionLeaderSelector") ? old(replicas, target, live, stopping) : since(replicas, target, live, stopping);
            System.out.println(Elections.said(replicas) + " " + Elections.said(target) + " " + Elections.said(live) + " " + Elections.said(stopping) + " | " + begins);
        }
    }

    /** KafkaController.initiateReassignReplicasForTopicPartition. */
    static boolean old(List<Integer> replicas, List<Integer> target, List<Integer> live, List<Integer> stopping) throws Exception {
        Object context = Bare.make(Class.forName("kafka.controller.ControllerContext"));
        Object name = Class.forName("kafka.common.TopicAndPartition").getConstructor(String.class, int.class).newInstance("t", 0);
        Bare.set(context, "liveBrokerIdsUnderlying", Scala.set(live));
        Bare.set(context, "shuttingDownBrokerIds", Scala.mutableSet(stopping));
        Bare.set(context, "partitionReplicaAssignment", Scala.map(name, Scala.seq(replicas)));
        Bare.set(context, "partitionsBeingReassigned", new scala.collection.mutable.HashMap<>());
        Object settings = Scala.mocked("org.I0Itec.zkclient.ZkClient", (method, given) -> null);
        Bare.set(context, "zkUtils", Scala.mocked("kafka.utils.ZkUtils", (method, given) -> method.getName().equals("zkClient") ? settings : null));
        begun = false;
        Object controller = Scala.partly("kafka.controller.KafkaController", (method, given) -> switch (method.getName()) {
            case "onPartitionReassignment" -> { begun = true; yield Scala.NOTHING; }
            case "removePartitionFromReassignedPartitions" -> Scala.NOTHING;
            case "deleteTopicManager" -> Scala.mocked("kafka.controller.TopicDeletionManager", (other, with) -> null);
            default -> null;
        });
        Bare.set(controller, "controllerContext", context);
        Bare.set(controller, "loggerName", "controller");
        Bare.set(controller, "config", Scala.config(false));
        Bare.set(controller, "zkUtils", Bare.method(context.getClass(), "zkUtils").invoke(context));
        Bare.method(Class.forName("kafka.controller.KafkaController"), "initiateReassignReplicasForTopicPartition")
            .invoke(controller, name, Elections.moved(target));
        return begun;
    }

    /** KafkaController.replicasAreValid of 2.4, validateReplicas since. */
    static boolean since(List<Integer> replicas, List<Integer> target, List<Integer> live, List<Integer> stopping) throws Exception {
        Class<?> kind = Class.forName("kafka.controller.KafkaController");
        Object controller = Bare.make(kind);
        Bare.set(controller, "controllerContext", Elections.StateMachine.context(new Elections.Election(replicas, replicas, replicas, live, stopping, false)));
        for (Method one : kind.getDeclaredMethods()) {
            one.setAccessible(true);
            if (one.getName().equals("validateReplicas")) return ((Option<?>) one.invoke(controller, NAME, Scala.seq(target))).isEmpty();
            if (one.getName().equals("replicasAreValid")) return (boolean) one.invoke(controller, NAME, Option.apply(Scala.seq(target)));
        }
        throw new NoSuchMethodException("validateReplicas");
    }
}
