import java.util.Random;
import java.util.StringJoiner;

/** Numbers that java.util.Random draws: "random SEED|BOUND...|NUMBER...", one draw for each bound. */
public class RandomNumbers {
    private static final int[] BOUNDS = {1, 2, 3, 7, 10, 16, 100, 1000, 1024, 65536, 1000003, 1 << 30, (1 << 30) + 1, 2147483647};

    public static void main(String[] arguments) {
        for (long seed : new long[] {0, 1, 42, -1, 123456789L, 4294967296L, Long.MAX_VALUE, Long.MIN_VALUE}) {
            Random random = new Random(seed);
            StringJoiner bounds = new StringJoiner(" ");
            StringJoiner numbers = new StringJoiner(" ");
            for (int round = 0; round < 3; round++) {
                for (int bound : BOUNDS) {
                    bounds.add(Integer.toString(bound));
                    numbers.add(Integer.toString(random.nextInt(bound)));
                }
            }
            System.out.println("random " + seed + "|" + bounds + "|" + numbers);
        }
    }
}
