import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;

/** Prints the requests, in their latest version, and the errors that a release knows, of those that a rule needs. */
public class Protocol {
    static final List<String> REQUESTS = List.of("PRODUCE", "FETCH", "LIST_OFFSETS", "OFFSET_COMMIT", "OFFSET_FETCH", "JOIN_GROUP",
        "OFFSET_FOR_LEADER_EPOCH", "DELETE_RECORDS", "INIT_PRODUCER_ID", "ADD_PARTITIONS_TO_TXN", "END_TXN",
        "ALTER_PARTITION_REASSIGNMENTS", "ALTER_ISR", "ALTER_PARTITION", "CONSUMER_GROUP_HEARTBEAT");
    static final List<String> ERRORS = List.of("KAFKA_STORAGE_ERROR", "UNKNOWN_PRODUCER_ID", "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH", "STALE_BROKER_EPOCH", "OFFSET_NOT_AVAILABLE", "MEMBER_ID_REQUIRED", "UNSTABLE_OFFSET_COMMIT",
        "NO_REASSIGNMENT_IN_PROGRESS", "PRODUCER_FENCED", "INELIGIBLE_REPLICA", "FENCED_MEMBER_EPOCH", "TRANSACTION_ABORTABLE");

    public static void main(String[] arguments) throws Exception {
        StringBuilder line = new StringBuilder();
        for (ApiKeys key : ApiKeys.values())
            if (REQUESTS.contains(key.name())) line.append(key.name()).append(':').append(latest(key)).append(' ');
        for (Errors error : Errors.values())
            if (ERRORS.contains(error.name())) line.append(error.name()).append(' ');
        System.out.println(line.toString().trim());
    }

    static short latest(ApiKeys key) throws Exception {
        if (Scala.has(ApiKeys.class, "latestVersion")) return (short) ApiKeys.class.getMethod("latestVersion").invoke(key);
        Class<?> versions = Class.forName("org.apache.kafka.common.protocol.ProtoUtils");
        return (short) versions.getMethod("latestVersion", int.class).invoke(null, (int) key.id);
    }
}
