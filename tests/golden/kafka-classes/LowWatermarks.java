import java.util.Random;
import kafka.cluster.Partition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.Option;

/** Prints where a leader's log and its followers' begin, and Partition.lowWatermarkIfLeader of 4.3. */
public class LowWatermarks {
    static final Random RANDOM = new Random(107);

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        TopicPartition name = new TopicPartition("t", 0);
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            boolean[] alive = new boolean[5];
            MetadataCache cache = (MetadataCache) java.lang.reflect.Proxy.newProxyInstance(
                MetadataCache.class.getClassLoader(), new Class<?>[] {MetadataCache.class}, (proxy, method, given) ->
                    method.getName().equals("hasAliveBroker") ? (Object) alive[(int) given[0]] : java.util.Optional.empty());
            Partition partition = new Partition(name, 10000L, 0, null, null, null, null, cache, null, null, Option.empty());
            long start = RANDOM.nextInt(8);
            UnifiedLog log = Bare.make(UnifiedLog.class);
            Bare.setLong(log, "logStartOffset", start);
            partition.log_$eq(Option.apply(log));
            partition.leaderReplicaIdOpt_$eq(Option.apply(0));
            StringBuilder line = new StringBuilder();
            int followers = RANDOM.nextInt(5);
            for (int broker = 1; broker <= followers; broker++) {
                Replica replica = new Replica(broker, name, cache);
                alive[broker] = RANDOM.nextInt(4) > 0;
                long begins = -1;
                if (RANDOM.nextInt(4) > 0) {
                    begins = RANDOM.nextInt(8);
                    replica.updateFetchStateOrThrow(new LogOffsetMetadata(9), begins, 1000, 9, 1);
                }
                ((java.util.Map<Object, Object>) Bare.method(Partition.class, "remoteReplicasMap").invoke(partition)).put(broker, replica);
                line.append(begins).append(alive[broker] ? " " : "! ");
            }
            System.out.println(start + " | " + line.toString().trim() + " | " + partition.lowWatermarkIfLeader());
        }
    }
}
