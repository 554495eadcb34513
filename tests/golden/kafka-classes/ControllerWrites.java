import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.TopicPartition;

/** Prints writes of a controller with ZooKeeper, and which znode's version ZooKeeper is asked to check before it takes them. */
public class ControllerWrites {
    public static void main(String[] arguments) throws Exception {
        for (String write : List.of("updateLeaderAndIsr", "setTopicPartitionStatesRaw", "createTopicPartitionStatesRaw"))
            System.out.println(write + " | " + asked(write));
    }

    static String asked(String write) throws Exception {
        List<Object> requests = new ArrayList<>();
        Object session = Scala.mocked("kafka.zookeeper.ZooKeeperClient", (method, given) -> {
            if (!method.getName().equals("handleRequests")) return null;
            requests.addAll(Scala.list(given[0]));
            throw new IllegalStateException("asked");
        });
        Object client = Scala.partly("kafka.zk.KafkaZkClient", (method, given) -> null);
        for (String field : new String[] {"zooKeeperClient", "kafka$zk$KafkaZkClient$$zooKeeperClient"})
            if (Bare.hasField(Class.forName("kafka.zk.KafkaZkClient"), field)) Bare.set(client, field, session);
        Object state = Elections.leaderAndIsr(new Elections.Election(List.of(1, 2), List.of(1, 2), List.of(), List.of(), List.of(), false));
        if (!write.equals("updateLeaderAndIsr")) state = Bare.constructor(Class.forName("kafka.controller.LeaderIsrAndControllerEpoch")).newInstance(state, 1);
        Method called = Bare.method(Class.forName("kafka.zk.KafkaZkClient"), write);
        Object[] given = Bare.given(called, Scala.frozen(Scala.map(new TopicPartition("t", 0), state)));
        for (int place = 1; place < given.length; place++) given[place] = 7;
        try {
            called.invoke(client, given);
        } catch (java.lang.reflect.InvocationTargetException ended) {
            if (!(ended.getCause() instanceof IllegalStateException)) throw ended;
        }
        return check(requests.get(0));
    }

    static String check(Object request) throws Exception {
        if (!Scala.has(request.getClass(), "zkVersionCheck")) return "-";
        Object check = ((scala.Option<?>) Bare.method(request.getClass(), "zkVersionCheck").invoke(request)).get();
        return Bare.method(check.getClass(), "checkPath").invoke(check) + " " + Bare.method(check.getClass(), "expectedZkVersion").invoke(check);
    }
}
