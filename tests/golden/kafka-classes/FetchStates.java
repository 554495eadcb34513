import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import kafka.cluster.Partition;
import kafka.server.FetchDataInfo;
import kafka.server.LogOffsetMetadata;
import kafka.server.LogReadResult;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.message.FetchResponseData;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** ReplicaManager.updateFollowerFetchState of 2.8: of which answers it takes the follower's position. */
public class FetchStates {
    static boolean noted;

    public static void main(String[] arguments) throws Exception {
        for (boolean refused : new boolean[] {false, true})
            for (boolean diverging : new boolean[] {false, true}) {
                noted = false;
                Method update = Bare.method(ReplicaManager.class, "updateFollowerFetchState");
                Object read = new Tuple2<>(new TopicPartition("t", 0), read(refused, diverging));
                update.invoke(Bare.make(Manager.class), 2, CollectionConverters.asScala(java.util.List.of(read)).toSeq());
                System.out.println(refused + " " + diverging + " | " + noted);
            }
    }

    static LogReadResult read(boolean refused, boolean diverging) throws Exception {
        FetchDataInfo info = new FetchDataInfo(new LogOffsetMetadata(4, 0, 0), null, false, Option.empty());
        Option<FetchResponseData.EpochEndOffset> end = diverging ? Option.apply(new FetchResponseData.EpochEndOffset()) : Option.empty();
        Option<Throwable> error = refused ? Option.apply(new OffsetOutOfRangeException("")) : Option.empty();
        Constructor<?> made = Bare.constructor(LogReadResult.class);
        return (LogReadResult) made.newInstance(info, end, 3L, 0L, 3L, 0L, 1000L, Option.empty(), Option.empty(), error);
    }

    static class Manager extends ReplicaManager {
        Manager() { super(null, null, null, null, null, null, null, null, null, null, null, null, null, null); }
        @Override public Option<Partition> onlinePartition(TopicPartition name) {
            try {
                return Option.apply(Bare.make(Held.class));
            } catch (Exception error) {
                throw new AssertionError(error);
            }
        }
    }

    static class Held extends Partition {
        Held() { super(null, 0, null, 0, null, null, null, null, null, null); }
        @Override public boolean updateFollowerFetchState(int follower, LogOffsetMetadata at, long start, long time, long end) {
            noted = true;
            return true;
        }
    }
}
