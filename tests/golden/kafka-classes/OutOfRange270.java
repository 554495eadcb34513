import java.lang.reflect.Method;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import scala.Option;

/** AbstractFetcherThread.fetchOffsetAndTruncate from 2.7 on: the leader answers from two numbers. */
public class OutOfRange270 implements OutOfRange.Fetcher {
    static final TopicPartition NAME = new TopicPartition("t", 0);
    String done;

    public static void main(String[] arguments) throws Exception {
        OutOfRange.print(arguments[0], new OutOfRange270());
    }

    @Override public String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception {
        done = "keep";
        Scala.Answer leader = (method, given) -> switch (method.getName()) {
            case "fetchLatestOffset", "fetchLatestOffsetFromLeader" -> at(method.getReturnType(), leaderEnd);
            case "fetchEarliestOffset", "fetchEarliestOffsetFromLeader" -> at(method.getReturnType(), leaderStart);
            case "isTruncationOnFetchSupported" -> true;
            default -> null;
        };
        Object thread = Scala.partly("kafka.server.ReplicaFetcherThread", (method, given) -> switch (method.getName()) {
            case "logEndOffset" -> end;
            case "shouldFetchFromLastTieredOffset" -> false;
            case "latestEpoch" -> method.getReturnType() == Option.class ? Option.empty() : Optional.empty();
            case "truncate" -> noted("cut " + Bare.method(given[1].getClass(), "offset").invoke(given[1]));
            case "truncateFullyAndStartAt" -> noted("begin " + given[1]);
            default -> leader.of(method, given);
        });
        for (String kind : new String[] {"kafka.server.LeaderEndPoint", "org.apache.kafka.server.LeaderEndPoint"})
            if (Scala.exists(kind)) Bare.set(thread, "leader", Scala.mocked(kind, leader));
        Bare.set(thread, "fetcherLagStats", Scala.mocked("kafka.server.FetcherLagStats",
            (method, given) -> Scala.mocked(method.getReturnType().getName(), (other, with) -> null)));
        Method follow = Bare.method(Class.forName("kafka.server.AbstractFetcherThread"), "fetchOffsetAndTruncate");
        Object state = follow.getParameterCount() == 2 ? follow.invoke(thread, NAME, 0) : follow.invoke(thread, NAME, Option.empty(), 0);
        return done + " " + Bare.method(state.getClass(), "fetchOffset").invoke(state);
    }

    private Object noted(String what) {
        done = what;
        return Scala.NOTHING;
    }

    private static Object at(Class<?> wanted, long offset) throws Exception {
        return wanted == long.class ? offset : Bare.constructor(wanted).newInstance(offset, 0);
    }
}
