import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import kafka.controller.ReplicaAssignment;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Prints random moves of replicas, one after another, and how a controller of ZooKeeper mode merges them. */
public class MergedInZooKeeper {
    static final Random RANDOM = new Random(454);

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            ReplicaAssignment before = ReplicaAssignment.apply(seq(some()));
            for (int moves = RANDOM.nextInt(3); moves > 0; moves--) before = before.reassignTo(seq(some()));
            List<Integer> target = some();
            ReplicaAssignment after = before.reassignTo(seq(target));
            System.out.println("zookeeper |" + said(before.replicas()) + said(before.addingReplicas()) + said(seq(target)) + " |"
                + said(after.replicas()) + said(after.addingReplicas()) + said(after.removingReplicas()));
        }
    }

    static Seq<Object> seq(List<Integer> brokers) {
        return CollectionConverters.asScala(new ArrayList<Object>(brokers)).toList();
    }

    static List<Integer> some() {
        List<Integer> all = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5));
        Collections.shuffle(all, RANDOM);
        return all.subList(0, 1 + RANDOM.nextInt(4));
    }

    static String said(scala.collection.Seq<Object> brokers) {
        return " " + (brokers.isEmpty() ? "-" : CollectionConverters.asJava(brokers).toString().replaceAll("[^0-9,]", ""));
    }
}
