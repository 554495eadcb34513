import java.util.Random;

/** Random ranges of a follower's and its leader's log; what a release's fetcher made of them, one line each. */
public class OutOfRange {
    static final Random RANDOM = new Random(1028);

    /** A fetcher of one release. */
    interface Fetcher {
        /** Returns ``cut N``, ``begin N``, ``keep`` or ``ends``, and after it where it fetches next. */
        String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception;
    }

    static void print(int lines, Fetcher fetcher) throws Exception {
        for (; lines > 0; lines--) {
            long end = RANDOM.nextInt(12), start = RANDOM.nextInt(12), leaderEnd = start + RANDOM.nextInt(6);
            boolean unclean = RANDOM.nextBoolean();
            System.out.println(end + " " + start + " " + leaderEnd + " " + unclean + " | " + fetcher.asked(end, start, leaderEnd, unclean));
        }
    }
}
