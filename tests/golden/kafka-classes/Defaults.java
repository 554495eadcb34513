import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.AbstractConfig;

/** Prints the defaults of a broker, a producer and a consumer, as their configurations give them, of those settings that are named. */
public class Defaults {
    static final List<String> CLIENTS = List.of("org.apache.kafka.clients.producer.ProducerConfig", "org.apache.kafka.clients.consumer.ConsumerConfig");

    public static void main(String[] arguments) throws Exception {
        print("broker", broker(), List.of(arguments));
        for (String client : CLIENTS) {
            String text = "org.apache.kafka.common.serialization.String";
            Map<String, Object> needed = Map.of("bootstrap.servers", "localhost:1", "key.serializer", text + "Serializer",
                "value.serializer", text + "Serializer", "key.deserializer", text + "Deserializer", "value.deserializer", text + "Deserializer", "group.id", "g");
            java.lang.reflect.Constructor<?> made = Class.forName(client).getDeclaredConstructor(Map.class);
            made.setAccessible(true);
            print(client.contains("Producer") ? "producer" : "consumer", (AbstractConfig) made.newInstance(needed), List.of(arguments));
        }
    }

    static AbstractConfig broker() throws Exception {
        Map<String, Object> needed = Scala.exists("kafka.zk.KafkaZkClient") || Scala.exists("kafka.utils.ZkUtils")
            ? Map.of("zookeeper.connect", "localhost:1")
            : Map.of("process.roles", "broker", "node.id", "1", "controller.quorum.voters", "2@localhost:2",
                "controller.listener.names", "CONTROLLER", "listeners", "PLAINTEXT://localhost:3");
        Class<?> kind = Class.forName("kafka.server.KafkaConfig");
        return (AbstractConfig) kind.getConstructor(Map.class).newInstance(needed);
    }

    static void print(String whose, AbstractConfig settings, List<String> named) {
        for (Map.Entry<String, ?> one : new TreeMap<>(settings.values()).entrySet())
            if (named.contains(whose + "." + one.getKey())) System.out.println(whose + " " + one.getKey() + " " + one.getValue());
    }
}
