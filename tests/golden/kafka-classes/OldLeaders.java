import java.lang.reflect.Method;
import java.util.List;
import java.util.Random;
import scala.Option;

/**
 * Prints what a broker of 0.8 or 0.9 is told and hears, one after the other: `lead N` or `follow N` with a leader epoch, `fetch N`
 * by its follower; behind each lead the position of the follower that it knows.
 */
public class OldLeaders {
    static final Random RANDOM = new Random(1546);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            Object partition = partition((method, given) -> null);
            StringBuilder line = new StringBuilder();
            int epoch = 0;
            for (int step = 0; step < 6; step++) {
                boolean leads = step % 3 != 1 || RANDOM.nextBoolean();
                if (step % 3 == 2) {
                    int offset = 1 + RANDOM.nextInt(8);
                    Bare.set(replica(partition, 2), "logEndOffsetMetadata", Scala.position(offset));
                    line.append("fetch:").append(offset).append(' ');
                    continue;
                }
                epoch += 1 + RANDOM.nextInt(3);
                told(partition, leads, epoch);
                line.append(leads ? "lead:" : "follow:").append(epoch);
                if (leads) line.append(':').append(position(partition));
                line.append(' ');
            }
            System.out.println(line.toString().trim());
        }
    }

    /** A partition of broker 0 whose manager gives these answers. */
    static Object partition(Scala.Answer answers) throws Exception {
        Object log = Scala.mocked("kafka.log.Log", (method, given) -> switch (method.getName()) {
            case "convertToOffsetMetadata" -> Scala.position((long) given[0]);
            case "logEndOffsetMetadata" -> Scala.position(9);
            default -> null;
        });
        Object manager = Scala.mocked("kafka.server.ReplicaManager", (method, given) -> method.getName().equals("config") ? Scala.config(true) : answers.of(method, given));
        java.lang.reflect.Constructor<?> made = Bare.constructor(Class.forName("kafka.cluster.Partition"));
        Object partition = made.newInstance(Bare.given(made, "t", manager, time()));
        java.lang.reflect.Constructor<?> own = Class.forName("kafka.cluster.Replica").getConstructors()[0];
        Object replica = own.newInstance(Bare.given(own, partition, time(), Option.apply(log)));
        Object known = known(partition);
        Bare.method(known.getClass(), "put").invoke(known, 0, replica);
        return partition;
    }

    static Object time() throws Exception {
        return Class.forName("kafka.utils.SystemTime$").getField("MODULE$").get(null);
    }

    static Object known(Object partition) throws Exception {
        for (java.lang.reflect.Field field : partition.getClass().getDeclaredFields())
            if (field.getName().endsWith("assignedReplicaMap")) {
                field.setAccessible(true);
                return field.get(partition);
            }
        throw new NoSuchFieldException("assignedReplicaMap");
    }

    static Object replica(Object partition, int broker) throws Exception {
        Object known = known(partition);
        return Bare.method(known.getClass(), "get").invoke(known, broker);
    }

    static Object position(Object partition) throws Exception {
        Object end = Bare.method(Class.forName("kafka.cluster.Replica"), "logEndOffset").invoke(replica(partition, 2));
        return Bare.method(end.getClass(), "messageOffset").invoke(end);
    }

    static void told(Object partition, boolean leads, int epoch) throws Exception {
        Object state = Bare.constructor(Class.forName("kafka.api.LeaderAndIsr")).newInstance(leads ? 0 : 2, epoch, Scala.seq(List.of(0, 2)), epoch);
        Object info = Bare.constructor(Class.forName("kafka.api.PartitionStateInfo")).newInstance(
            Bare.constructor(Class.forName("kafka.controller.LeaderIsrAndControllerEpoch")).newInstance(state, 1), Scala.set(List.of(0, 2)));
        Method method = Bare.method(partition.getClass(), leads ? "makeLeader" : "makeFollower");
        method.invoke(partition, Bare.given(method, info));
    }
}
