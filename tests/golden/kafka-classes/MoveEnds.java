import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** Prints moves that go on: who decides, replicas, those that are added, those that leave, the ISR; and whether the move ends. */
public class MoveEnds {
    static final Random RANDOM = new Random(15665);
    static final TopicPartition NAME = new TopicPartition("t", 0);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            List<Integer> before = Elections.shuffled(List.of(0, 1, 2, 3, 4)).subList(0, 1 + RANDOM.nextInt(3));
            List<Integer> target = Elections.shuffled(List.of(0, 1, 2, 3, 4)).subList(0, 1 + RANDOM.nextInt(3));
            List<Integer> replicas = new ArrayList<>(target), adding = new ArrayList<>(target), removing = new ArrayList<>(before);
            removing.removeAll(target);
            adding.removeAll(before);
            replicas.addAll(removing);
            if (adding.isEmpty() && removing.isEmpty()) continue;
            List<Integer> isr = Elections.some(replicas, 2);
            if (isr.isEmpty()) isr = List.of(before.get(0));
            boolean ends = arguments[1].equals("kraft") ? kraft(replicas, adding, removing, isr) : zookeeper(replicas, adding, removing, isr);
            System.out.println(arguments[1] + " " + Elections.said(replicas) + " " + Elections.said(adding) + " " + Elections.said(removing) + " "
                + Elections.said(isr) + " | " + ends);
        }
    }

    /** PartitionReassignmentReplicas.maybeCompleteReassignment; PartitionChangeBuilder of 3.3 ends a move as it writes an ISR. */
    static boolean kraft(List<Integer> replicas, List<Integer> adding, List<Integer> removing, List<Integer> isr) throws Exception {
        Class<?> kind = Class.forName("org.apache.kafka.controller.PartitionReassignmentReplicas");
        if (Arrays.stream(kind.getDeclaredMethods()).noneMatch(one -> one.getName().equals("maybeCompleteReassignment")))
            return written(replicas, adding, removing, isr);
        Object move = kind.getDeclaredConstructor(List.class, List.class, List.class).newInstance(removing, adding, replicas);
        return ((Optional<?>) Bare.method(kind, "maybeCompleteReassignment").invoke(move, isr)).isPresent();
    }

    static boolean written(List<Integer> replicas, List<Integer> adding, List<Integer> removing, List<Integer> isr) throws Exception {
        Object recovered = Class.forName("org.apache.kafka.metadata.LeaderRecoveryState").getField("RECOVERED").get(null);
        Object partition = Class.forName("org.apache.kafka.metadata.PartitionRegistration").getConstructor(int[].class, int[].class, int[].class,
            int[].class, int.class, recovered.getClass(), int.class, int.class)
            .newInstance(ids(replicas), ids(replicas.subList(0, 1)), ids(removing), ids(adding), (int) isr.get(0), recovered, 1, 1);
        IntPredicate everybody = one -> true;
        Function<Integer, Boolean> all = one -> true;
        java.lang.reflect.Constructor<?> made = Bare.constructor(Class.forName("org.apache.kafka.controller.PartitionChangeBuilder"));
        made.setAccessible(true);
        Object builder = made.newInstance(Bare.given(made, partition, new Uuid(1, 1), everybody, all));
        Bare.method(builder.getClass(), "setTargetIsr").invoke(builder, isr);
        Optional<?> record = (Optional<?>) Bare.method(builder.getClass(), "build").invoke(builder);
        if (record.isEmpty()) return false;
        Object change = Bare.method(record.get().getClass(), "message").invoke(record.get());
        return change.getClass().getMethod("addingReplicas").invoke(change) != null || change.getClass().getMethod("removingReplicas").invoke(change) != null;
    }

    static int[] ids(List<Integer> brokers) {
        return brokers.stream().mapToInt(Integer::intValue).toArray();
    }

    /** KafkaController.isReassignmentComplete. */
    static boolean zookeeper(List<Integer> replicas, List<Integer> adding, List<Integer> removing, List<Integer> isr) throws Exception {
        Class<?> kind = Class.forName("kafka.controller.KafkaController");
        Object assignment = Bare.constructor(Class.forName("kafka.controller.ReplicaAssignment")).newInstance(Scala.seq(replicas), Scala.seq(adding), Scala.seq(removing));
        Object leader = Elections.leaderAndIsr(new Elections.Election(replicas, isr, replicas, replicas, List.of(), false));
        Object state = Bare.constructor(Class.forName("kafka.controller.LeaderIsrAndControllerEpoch")).newInstance(leader, 1);
        Object states = Scala.frozen(Scala.map(NAME, state));
        Object controller = Bare.make(kind);
        Bare.set(controller, "zkClient", Scala.mocked("kafka.zk.KafkaZkClient", (method, given) -> method.getName().equals("getTopicPartitionStates") ? states : null));
        return (boolean) Bare.method(kind, "isReassignmentComplete").invoke(controller, NAME, assignment);
    }
}
