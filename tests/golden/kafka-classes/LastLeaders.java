import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.controller.PartitionChangeBuilder.Election;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Prints partitions with eligible leader replicas of which nearly nobody may lead, what is asked of the controller, and what
 * it makes of it: which last leader it remembers, and whether it elects that one.
 */
public class LastLeaders {
    static final Random RANDOM = new Random(19522);
    static final Uuid DIRECTORY = Uuid.randomUuid();

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) line();
    }

    static void line() throws Exception {
        int size = 1 + RANDOM.nextInt(3), isr = RANDOM.nextInt(1 << size), elr = RANDOM.nextInt(1 << size) & ~isr & RANDOM.nextInt(1 << size);
        Election election = Election.values()[RANDOM.nextInt(3)];
        int leader = isr == 0 || RANDOM.nextInt(3) == 0 ? -1 : some(isr);
        if (leader == 0 && election == Election.PREFERRED) election = Election.ONLINE; // the preferred replica leads: nobody asks
        int lastKnown = leader < 0 && RANDOM.nextInt(4) > 0 ? RANDOM.nextInt(size) : -1;
        int target = election == Election.PREFERRED || RANDOM.nextInt(3) == 0 ? isr : isr & RANDOM.nextInt(1 << size);
        int lossy = election != Election.PREFERRED && RANDOM.nextInt(2) == 0 ? (1 << RANDOM.nextInt(size)) & ~target : 0;
        int acceptable = RANDOM.nextInt(1 << size) & RANDOM.nextInt(1 << size) & ~lossy & ~(isr & ~target), minIsr = 1 + RANDOM.nextInt(size);
        PartitionRegistration before = new PartitionRegistration.Builder()
            .setReplicas(ids((1 << size) - 1)).setDirectories(IntStream.range(0, size).mapToObj(one -> DIRECTORY).toArray(Uuid[]::new))
            .setIsr(ids(isr)).setElr(ids(elr)).setLastKnownElr(lastKnown < 0 ? new int[0] : new int[] {lastKnown}).setLeader(leader)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(0).setPartitionEpoch(0).build();
        PartitionChangeBuilder builder = builder(before, replica -> replica >= 0 && (acceptable >> replica & 1) == 1, minIsr)
            .setTargetIsr(list(target)).setElection(election).setDefaultDirProvider(replica -> DIRECTORY);
        if (lossy != 0) builder.setUncleanShutdownReplicas(list(lossy));
        PartitionRegistration after = builder.build()
            .map(record -> before.merge((PartitionChangeRecord) record.message())).orElse(before);
        System.out.println(size + " " + listed(ids(acceptable)) + " " + minIsr + " | " + state(before) + " | " + election.name().toLowerCase()
            + " " + listed(ids(target)) + " " + listed(ids(lossy)) + " | " + state(after));
    }

    static PartitionChangeBuilder builder(PartitionRegistration before, IntPredicate acceptable, int minIsr) throws Exception {
        Constructor<?> made = PartitionChangeBuilder.class.getConstructors()[0];
        List<Object> given = new ArrayList<>(List.of(before, Uuid.ONE_UUID, 0, acceptable, MetadataVersion.latestProduction(), minIsr));
        boolean told = made.getParameterCount() > given.size();
        if (told) given.add(true);
        PartitionChangeBuilder builder = (PartitionChangeBuilder) made.newInstance(given.toArray());
        if (!told) PartitionChangeBuilder.class.getMethod("setEligibleLeaderReplicasEnabled", boolean.class).invoke(builder, true);
        return builder;
    }

    static String state(PartitionRegistration one) {
        return one.leader + " " + listed(one.isr) + " " + listed(one.elr) + " " + listed(one.lastKnownElr) + " " + one.leaderEpoch
            + " " + (one.leaderRecoveryState == LeaderRecoveryState.RECOVERING);
    }

    static int some(int replicas) {
        int[] ids = ids(replicas);
        return ids[RANDOM.nextInt(ids.length)];
    }

    static List<Integer> list(int replicas) {
        return IntStream.range(0, 3).filter(replica -> (replicas >> replica & 1) == 1).boxed().collect(Collectors.toList());
    }

    static int[] ids(int replicas) {
        return list(replicas).stream().mapToInt(Integer::intValue).toArray();
    }

    static String listed(int[] ids) {
        return ids.length == 0 ? "-" : IntStream.of(ids).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }
}
