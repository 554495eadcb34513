import java.util.List;
import org.apache.kafka.common.TopicPartition;

/** Prints whether a partition is moved while another one is not led by its preferred leader, and whether that is elected by itself. */
public class Balances {
    public static void main(String[] arguments) throws Exception {
        for (boolean moving : new boolean[] {false, true})
            for (boolean alive : new boolean[] {true, false}) System.out.println(moving + " " + alive + " | " + elects(moving, alive));
    }

    /** KafkaController.checkAndTriggerAutoLeaderRebalance: broker 1 is preferred, 2 leads. */
    static boolean elects(boolean moving, boolean alive) throws Exception {
        Class<?> kind = Class.forName("kafka.controller.KafkaController");
        List<Integer> replicas = List.of(1, 2), live = alive ? List.of(1, 2) : List.of(2);
        Object context = Elections.StateMachine.context(new Elections.Election(replicas, replicas, replicas, live, List.of(), false));
        Object leader = Elections.leaderAndIsr(new Elections.Election(replicas, replicas, replicas, live, List.of(), false));
        leader = Bare.method(leader.getClass(), "newLeader").invoke(leader, 2);
        Object known = Bare.constructor(Class.forName("kafka.controller.LeaderIsrAndControllerEpoch")).newInstance(leader, 1);
        Bare.method(context.getClass(), "putPartitionLeadershipInfo").invoke(context, Elections.NAME, known);
        Object topics = Bare.method(context.getClass(), "allTopics").invoke(context);
        Bare.method(topics.getClass(), "add").invoke(topics, "t");
        Object moved = Bare.method(context.getClass(), "partitionsBeingReassigned").invoke(context);
        if (moving) Bare.method(moved.getClass(), "add").invoke(moved, new TopicPartition("other", 0));
        boolean[] elected = {false};
        Object controller = Scala.partly("kafka.controller.KafkaController", (method, given) -> null);
        Bare.set(controller, "controllerContext", context);
        Bare.set(controller, "topicDeletionManager", Scala.mocked("kafka.controller.TopicDeletionManager", (method, given) -> null));
        Bare.set(controller, "config", Scala.mocked("kafka.server.KafkaConfig",
            (method, given) -> method.getName().equals("leaderImbalancePerBrokerPercentage") ? 10 : null));
        Bare.set(controller, "partitionStateMachine", Scala.mocked("kafka.controller.PartitionStateMachine", (method, given) -> {
            if (method.getName().equals("handleStateChanges") && !Scala.list(given[0]).isEmpty()) elected[0] = true;
            return method.getReturnType().isInterface() ? new scala.collection.immutable.HashMap<>() : null;
        }));
        Bare.method(kind, "checkAndTriggerAutoLeaderRebalance").invoke(controller);
        return elected[0];
    }
}
