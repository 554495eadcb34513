import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.mockito.Mockito;
import scala.Option;

/** Prints whether a consumer is to read from a follower, and the bytes that there are for it; whether it is answered at once. */
public class Redirects {
    public static void main(String[] arguments) throws Exception {
        for (boolean redirected : new boolean[] {false, true})
            for (int bytes : new int[] {0, 5}) System.out.println(redirected + " " + bytes + " | " + answered(redirected, bytes));
    }

    /** ReplicaManager.fetchMessages with fetch.min.bytes of 1. */
    static boolean answered(boolean redirected, int bytes) throws Exception {
        boolean[] at = {false};
        TopicIdPartition name = new TopicIdPartition(new Uuid(1, 1), new TopicPartition("t", 0));
        Object records = Mockito.mock(org.apache.kafka.common.record.Records.class, called -> called.getMethod().getName().equals("sizeInBytes") ? (Object) bytes : Mockito.RETURNS_DEFAULTS.answer(called));
        Object info = Scala.mocked("kafka.server.FetchDataInfo", (method, given) -> method.getName().equals("records") ? records : null);
        Object result = Scala.mocked("kafka.server.LogReadResult", (method, given) -> switch (method.getName()) {
            case "error" -> Errors.NONE;
            case "info" -> info;
            case "divergingEpoch" -> Option.empty();
            case "preferredReadReplica" -> redirected ? Option.apply(2) : Option.empty();
            default -> null;
        });
        Object read = Scala.seq(List.of(new scala.Tuple2<>(name, result)));
        Object manager = Scala.partly("kafka.server.ReplicaManager", (method, given) -> method.getName().equals("readFromLocalLog") ? read : null);
        Bare.set(manager, "brokerTopicStats", Mockito.mock(Class.forName("kafka.server.BrokerTopicStats"), Mockito.RETURNS_DEEP_STUBS));
        Bare.set(manager, "delayedFetchPurgatory", Bare.make(Class.forName("kafka.server.DelayedOperationPurgatory")));
        Object asked = Scala.seq(List.of(new scala.Tuple2<>(name, Bare.make(Class.forName("org.apache.kafka.common.requests.FetchRequest$PartitionData")))));
        scala.Function1<Object, Object> callback = new scala.runtime.AbstractFunction1<>() {
            @Override public Object apply(Object told) { at[0] = true; return null; }
        };
        Method fetch = Bare.method(Class.forName("kafka.server.ReplicaManager"), "fetchMessages");
        Object[] given = {100L, -1, 1, 1000, false, asked, null, callback, org.apache.kafka.common.IsolationLevel.READ_UNCOMMITTED,
            Option.apply(Mockito.mock(org.apache.kafka.common.replica.ClientMetadata.class))};
        try {
            fetch.invoke(manager, given);
        } catch (java.lang.reflect.InvocationTargetException ended) {
            for (StackTraceElement frame : ended.getCause().getStackTrace())  // it is to wait, and there is nothing to wait in
                if (frame.getMethodName().equals("tryCompleteElseWatch")) return at[0];
            throw ended;
        }
        return at[0];
    }
}
