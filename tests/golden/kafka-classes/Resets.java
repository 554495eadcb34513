import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Prints values of auto.offset.reset, and whether a consumer takes them; of those with a duration how far back, in milliseconds. */
public class Resets {
    static final List<String> VALUES = List.of("latest", "earliest", "none", "smallest", "largest", "anything", "LATEST", "by_duration", "by_duration:",
        "by_duration:P1D", "by_duration:PT1H", "by_duration:P2DT3H4M5.678S", "by_duration:PT0S", "by_duration:PT", "by_duration:P",
        "by_duration:P1M", "by_duration:P1W", "by_duration:-PT1S", "by_duration:PT-1S", "by_duration:pt90m", "by_duration:PT1.5S",
        "by_duration:PT1.5M", "by_duration:1h", "by_duration:P1DT", "BY_DURATION:PT1S", "latest:PT1S", "by_duration:PT0.000000001S");

    public static void main(String[] arguments) throws Exception {
        for (String value : VALUES) System.out.println(value + " | " + taken(value));
    }

    static String taken(String value) throws Exception {
        try {
            new ConsumerConfig(Map.of("bootstrap.servers", "localhost:1", "key.deserializer", StringDeserializer.class,
                "value.deserializer", StringDeserializer.class, "auto.offset.reset", value));
        } catch (ConfigException refused) {
            return "refused";
        }
        if (!value.startsWith("by_duration")) return "taken";
        Class<?> kind = Class.forName("org.apache.kafka.clients.consumer.internals.AutoOffsetResetStrategy");
        Object strategy = kind.getMethod("fromString", String.class).invoke(null, value);
        Object duration = kind.getMethod("duration").invoke(strategy);
        return ((java.util.Optional<?>) duration).map(one -> String.valueOf(((java.time.Duration) one).toMillis())).orElse("taken");
    }
}
