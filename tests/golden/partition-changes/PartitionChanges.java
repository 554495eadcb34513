import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.controller.PartitionChangeBuilder.Election;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/** Prints random states of a partition, and what Kafka's controller makes of each. Replicas are bits of a number. */
public class PartitionChanges {
    static final Random RANDOM = new Random(966);
    static final Uuid DIRECTORY = Uuid.randomUuid();

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; ) {
            if (line()) left--;
        }
    }

    /** One case, unless no controller can meet it: then nothing is printed. */
    static boolean line() {
        int size = 1 + RANDOM.nextInt(4), isr = RANDOM.nextInt(1 << size), elr = RANDOM.nextInt(1 << size) & ~isr;
        boolean withElr = RANDOM.nextInt(4) > 0;
        Election election = Election.values()[RANDOM.nextInt(3)];
        int leader = isr == 0 || (!withElr && RANDOM.nextInt(4) == 0) ? -1 : some(isr);
        int lastKnown = leader < 0 && RANDOM.nextBoolean() ? 1 << RANDOM.nextInt(size) : 0;
        int target = election == Election.PREFERRED || RANDOM.nextInt(3) == 0 ? isr : isr & RANDOM.nextInt(1 << size);
        int lossy = election != Election.PREFERRED && RANDOM.nextInt(3) == 0 ? (1 << RANDOM.nextInt(size)) & ~target : 0;
        int acceptable = RANDOM.nextInt(1 << size) & ~lossy;
        if (!withElr) elr = lastKnown = lossy = 0;
        if (leader >= 0 && (acceptable & ~target & 1 << leader) != 0) return false; // who leaves may not lead
        int minIsr = 1 + RANDOM.nextInt(size);
        PartitionRegistration before = new PartitionRegistration.Builder()
            .setReplicas(ids((1 << size) - 1)).setDirectories(directories(size)).setIsr(ids(isr)).setElr(ids(elr))
            .setLastKnownElr(ids(lastKnown)).setLeader(leader).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(0).setPartitionEpoch(0).build();
        PartitionChangeBuilder builder = new PartitionChangeBuilder(before, Uuid.ONE_UUID, 0,
            replica -> (acceptable >> replica & 1) == 1, MetadataVersion.latestProduction(), minIsr, withElr)
            .setTargetIsr(list(target)).setElection(election).setDefaultDirProvider(replica -> DIRECTORY);
        if (lossy != 0) builder.setUncleanShutdownReplicas(list(lossy));
        PartitionRegistration after = builder.build()
            .map(record -> before.merge((PartitionChangeRecord) record.message())).orElse(before);
        if (withElr && after.leader < 0 && after.isr.length > 0) return false; // with ELRs nobody is in sync then
        System.out.println(leader + " " + isr + " " + elr + " " + lastKnown + " " + target + " " + acceptable + " " + minIsr
            + " " + withElr + " " + election + " " + lossy + " | " + after.leader + " " + set(after.isr) + " "
            + set(after.elr) + " " + set(after.lastKnownElr) + " " + after.leaderEpoch + " " + after.leaderRecoveryState);
        return true;
    }

    static int some(int replicas) {
        int[] ids = ids(replicas);
        return ids[RANDOM.nextInt(ids.length)];
    }

    static List<Integer> list(int replicas) {
        List<Integer> found = new ArrayList<>();
        for (int replica = 0; replica < 4; replica++) if ((replicas >> replica & 1) == 1) found.add(replica);
        return found;
    }

    static int[] ids(int replicas) {
        return list(replicas).stream().mapToInt(Integer::intValue).toArray();
    }

    static int set(int[] ids) {
        int found = 0;
        for (int id : ids) found |= 1 << id;
        return found;
    }

    static Uuid[] directories(int size) {
        Uuid[] found = new Uuid[size];
        java.util.Arrays.fill(found, DIRECTORY);
        return found;
    }
}
