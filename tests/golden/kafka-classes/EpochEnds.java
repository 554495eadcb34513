import java.util.Random;

/** Prints what is done to a log's leader epochs, the entries after each step, and the ends of epochs it then tells. */
public class EpochEnds {
    static final Random RANDOM = new Random(101);

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            EpochCache cache = new EpochCache();
            StringBuilder line = new StringBuilder();
            for (int steps = 2 + RANDOM.nextInt(6); steps > 0; steps--) line.append(step(cache)).append('=').append(cache).append(' ');
            line.append("| ").append(cache.end);
            for (int epoch = -1; epoch < 9; epoch++) {
                long[] told = cache.endOffsetFor(epoch);
                line.append(' ').append(told[0] == -2 ? "" : told[0] + ":").append(told[1]);
            }
            System.out.println(line);
        }
    }

    static String step(EpochCache cache) throws Exception {
        int kind = RANDOM.nextInt(8), drawn = RANDOM.nextInt(4), below = RANDOM.nextInt(4), more = RANDOM.nextInt(4);
        long offset = RANDOM.nextInt((int) cache.end + 1);
        if (kind == 0) {
            cache.truncateFromStart(offset);
            return "start:" + offset;
        }
        if (kind == 1) {
            cache.truncateFromEnd(offset);
            return "end:" + offset;
        }
        // a record of an older epoch comes from a leader that missed epochs, an earlier start from none that works
        int epoch = Math.max(0, cache.latestEpoch() + (kind == 2 ? -drawn : below == 0 ? 0 : drawn));
        long start = kind == 3 ? offset : cache.end;
        cache.assign(epoch, start);
        cache.end += more;
        return "assign:" + epoch + "@" + start;
    }
}
