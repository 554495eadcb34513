import java.util.Random;

/** Random ranges of a follower's and its leader's log; what a release's fetcher made of them, one line each. */
public class OutOfRange {
    static final Random RANDOM = new Random(1028);
    /** How a broker ended last: it halts, exits or throws. */
    static String how = "";

    /** A fetcher of one release. */
    interface Fetcher {
        /** Returns ``cut N``, ``begin N``, ``keep`` or ``ends``, and after it where it fetches next. */
        String asked(long end, long leaderStart, long leaderEnd, boolean unclean) throws Exception;
    }

    /** So many lines; for the word ``how`` one, with how the broker ends. */
    static void print(String asked, Fetcher fetcher) throws Exception {
        if (asked.equals("how")) System.out.println(fetcher.asked(5, 0, 3, false) + " " + how);
        else print(Integer.parseInt(asked), fetcher);
    }

    private static void print(int lines, Fetcher fetcher) throws Exception {
        for (; lines > 0; lines--) {
            long end = RANDOM.nextInt(12), start = RANDOM.nextInt(12), leaderEnd = start + RANDOM.nextInt(6);
            boolean unclean = RANDOM.nextBoolean();
            System.out.println(end + " " + start + " " + leaderEnd + " " + unclean + " | " + fetcher.asked(end, start, leaderEnd, unclean));
        }
    }

    /** From now on whoever ends the process throws, and it is noted how: Runtime.halt or System.exit. */
    @SuppressWarnings("removal")
    static void catchEnds() {
        System.setSecurityManager(new SecurityManager() {
            @Override public void checkPermission(java.security.Permission permission) {}
            @Override public void checkExit(int status) {
                how = "exits";
                for (StackTraceElement frame : new Throwable().getStackTrace()) if (frame.getMethodName().equals("halt")) how = "halts";
                throw new SecurityException("ends");
            }
        });
    }
}
