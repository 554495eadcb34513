import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** Prints whom a broker is told to follow, one after the other, and whether Partition.makeFollower begins anew each time. */
public class Followers {
    static final Random RANDOM = new Random(7164);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            Object partition = partition();
            Method make = Bare.method(partition.getClass(), "makeFollower");
            StringBuilder line = new StringBuilder();
            int epoch = -1, leader = 1;
            for (int told = 0; told < 5; told++) {
                int later = told == 0 ? 1 : RANDOM.nextInt(4);
                epoch += later;
                if (later > 0) leader = 1 + RANDOM.nextInt(2);
                line.append(leader).append(':').append(epoch).append(':').append(follow(partition, make, leader, epoch)).append(' ');
            }
            System.out.println(line.toString().trim());
        }
    }

    /** Of broker 0, which is none of the replicas, so that no log is opened. */
    static Object partition() throws Exception {
        Class<?> kind = Class.forName("kafka.cluster.Partition");
        int parameters = Bare.constructor(kind).getParameterCount();
        if (parameters <= 5) {
            Object manager = Bare.make(Class.forName("kafka.server.ReplicaManager"));
            Bare.set(manager, "config", Bare.make(Class.forName("kafka.server.KafkaConfig")));
            return parameters == 4 ? Bare.constructor(kind).newInstance("t", 0, Time.SYSTEM, manager)
                : Bare.constructor(kind).newInstance("t", 0, Time.SYSTEM, manager, false);
        }
        List<Object> given = new ArrayList<>(List.of(new TopicPartition("t", 0), Time.SYSTEM));
        for (Class<?> wanted : Bare.constructor(kind).getParameterTypes())
            if (wanted.getSimpleName().equals("ApiVersion")) given.add(wanted.getMethod("latestVersion").invoke(null));
            else if (wanted.getSimpleName().matches("Alter(Isr|Partition)Manager")) given.add(Scala.mocked(wanted.getName(), (method, told) -> null));
        Object partition = Bare.constructor(kind).newInstance(Bare.given(Bare.constructor(kind), given.toArray()));
        if (Bare.hasField(kind, "log")) Bare.set(partition, "log", Option.apply(InSync.log(0, 0)));
        return partition;
    }

    static Object follow(Object partition, Method make, int leader, int epoch) throws Exception {
        Class<?>[] takes = make.getParameterTypes();
        Class<?> state = takes[takes[0] == int.class ? 1 : 0];
        List<Integer> replicas = List.of(1, 2, 3);
        switch (state.getSimpleName() + Bare.constructor(state).getParameterCount()) {
            case "PartitionState6":
                return make.invoke(partition, 1, Bare.constructor(state).newInstance(1, leader, epoch, replicas, 0, Set.copyOf(replicas)), 0);
            case "PartitionState7":
                return make.invoke(partition, 1, Bare.constructor(state).newInstance(1, leader, epoch, replicas, 0, replicas, false), 0);
            case "PartitionRegistration11":
                return make.invoke(partition, registration(state, leader, epoch), false, null, Option.empty(), Option.empty());
            default:
                Object told = state.getConstructor().newInstance();
                state.getMethod("setLeader", int.class).invoke(told, leader);
                state.getMethod("setLeaderEpoch", int.class).invoke(told, epoch);
                state.getMethod("setReplicas", List.class).invoke(told, replicas);
                Object[] given = Bare.given(make);
                given[0] = told;
                return make.invoke(partition, given);
        }
    }

    private static Object registration(Class<?> kind, int leader, int epoch) throws Exception {
        Class<?> builder = Class.forName(kind.getName() + "$Builder");
        Object made = builder.getConstructor().newInstance();
        int[] replicas = {1, 2, 3};
        Object directories = java.lang.reflect.Array.newInstance(Class.forName("org.apache.kafka.common.Uuid"), 3);
        for (int place = 0; place < 3; place++)
            java.lang.reflect.Array.set(directories, place, Class.forName("org.apache.kafka.common.Uuid").getField("ZERO_UUID").get(null));
        Bare.method(builder, "setReplicas").invoke(made, replicas);
        Bare.method(builder, "setDirectories").invoke(made, directories);
        Bare.method(builder, "setIsr").invoke(made, replicas);
        Bare.method(builder, "setLeader").invoke(made, leader);
        Bare.method(builder, "setLeaderEpoch").invoke(made, epoch);
        Bare.method(builder, "setPartitionEpoch").invoke(made, epoch);
        Class<?> recovery = Class.forName("org.apache.kafka.metadata.LeaderRecoveryState");
        Bare.method(builder, "setLeaderRecoveryState").invoke(made, recovery.getField("RECOVERED").get(null));
        return Bare.method(builder, "build").invoke(made);
    }
}
