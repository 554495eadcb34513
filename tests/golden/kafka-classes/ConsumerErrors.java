import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;

/** Prints errors that a follower answers to a consumer's fetch, and whether the consumer goes back to the leader. */
public class ConsumerErrors {
    static final String CONSUMER = "org.apache.kafka.clients.consumer.internals.";
    static final List<Errors> ANSWERS = List.of(Errors.NOT_LEADER_OR_FOLLOWER, Errors.REPLICA_NOT_AVAILABLE, Errors.KAFKA_STORAGE_ERROR,
        Errors.FENCED_LEADER_EPOCH, Errors.OFFSET_NOT_AVAILABLE, Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.OFFSET_OUT_OF_RANGE,
        Errors.UNKNOWN_LEADER_EPOCH, Errors.UNKNOWN_SERVER_ERROR);
    static boolean forgotten;

    public static void main(String[] arguments) throws Exception {
        for (Errors error : ANSWERS) System.out.println(error + " | " + forgets(error));
    }

    /** Fetcher.initializeCompletedFetch, or FetchCollector.handleInitializeErrors. */
    static boolean forgets(Errors error) throws Exception {
        forgotten = false;
        Object subscriptions = Scala.mocked(CONSUMER + "SubscriptionState", (method, given) -> switch (method.getName()) {
            case "hasValidPosition" -> true;
            case "clearPreferredReadReplica" -> { forgotten = true; yield Optional.of(2); }
            default -> null;
        });
        boolean collects = Scala.exists(CONSUMER + "FetchCollector");
        Class<?> kind = Class.forName(CONSUMER + (collects ? "FetchCollector" : "Fetcher"));
        Object fetcher = Bare.make(kind);
        Bare.set(fetcher, "log", Scala.mocked(Logger.class.getName(), (method, given) -> null));
        Bare.set(fetcher, "subscriptions", subscriptions);
        Bare.set(fetcher, "metadata", Scala.mocked(CONSUMER + "ConsumerMetadata", (method, given) -> null));
        Class<?> completed = Class.forName(CONSUMER + (collects ? "CompletedFetch" : "Fetcher$CompletedFetch"));
        Object fetch = Bare.make(completed);
        Bare.set(fetch, "partition", new TopicPartition("t", 0));
        Bare.set(fetch, "partitionData", new FetchResponseData.PartitionData().setErrorCode(error.code()));
        Bare.setLong(fetch, "nextFetchOffset", 4);
        if (collects) {
            Bare.method(kind, "handleInitializeErrors").invoke(fetcher, fetch, error);
            return forgotten;
        }
        Class<?> metrics = Class.forName(CONSUMER + "Fetcher$FetchResponseMetricAggregator");
        Object aggregator = Bare.make(metrics);
        Bare.set(aggregator, "unrecordedPartitions", new java.util.HashSet<>(List.of(new TopicPartition("t", 0), new TopicPartition("t", 1))));
        Bare.set(fetch, "metricAggregator", aggregator);
        Method read = Bare.method(kind, "initializeCompletedFetch");
        try {
            read.invoke(fetcher, fetch);
        } catch (java.lang.reflect.InvocationTargetException ended) {
            if (!(ended.getCause() instanceof NullPointerException)) throw ended;
        }
        return forgotten;
    }
}
