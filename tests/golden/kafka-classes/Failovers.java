import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import scala.collection.mutable.HashMap;

/** Prints replicas of a partition, live brokers, and which replicas a new controller with ZooKeeper takes out of the ISR. */
public class Failovers {
    static final Random RANDOM = new Random(3143);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            List<Integer> replicas = Elections.shuffled(List.of(0, 1, 2, 3)).subList(0, 1 + RANDOM.nextInt(3)), live = Elections.some(List.of(0, 1, 2, 3), 2);
            System.out.println(Elections.said(replicas) + " " + Elections.said(live) + " | " + Elections.said(offline(replicas, live)));
        }
    }

    /** ReplicaStateMachine.startup: the replicas whose state changes to OfflineReplica. */
    static List<Integer> offline(List<Integer> replicas, List<Integer> live) throws Exception {
        String kind = "kafka.controller.ReplicaStateMachine";
        List<Integer> found = new ArrayList<>();
        Object machine = Scala.partly(kind, (method, given) -> {
            if (!method.getName().equals("handleStateChanges")) return null;
            if (given[1].getClass().getSimpleName().startsWith("Offline"))
                for (Object one : Scala.list(given[0])) found.add((Integer) Bare.method(one.getClass(), "replica").invoke(one));
            return Scala.NOTHING;
        });
        Bare.set(machine, "controllerContext", Elections.StateMachine.context(new Elections.Election(replicas, replicas, replicas, live, List.of(), false)));
        if (Bare.hasField(Class.forName("kafka.controller.ReplicaStateMachine"), "replicaState")) Bare.set(machine, "replicaState", new HashMap<>());
        Bare.method(Class.forName("kafka.controller.ReplicaStateMachine"), "startup").invoke(machine);
        Collections.sort(found);
        return found;
    }
}
