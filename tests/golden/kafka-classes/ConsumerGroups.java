import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData.TopicPartitions;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetricsShard;
import org.apache.kafka.coordinator.group.modern.MemberState;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.mockito.Mockito;

/**
 * Prints groups of KIP-848's protocol: the epoch that one begins at; of a member's heartbeat and commits the error.
 *
 * heartbeat: epoch that is sent, the member's, the one before that, partitions that it says it owns ("-" where it says nothing,
 * "none"), those assigned to it. commit: members of the group, whether the sender is one, its epoch, the epoch that is sent,
 * whether a transaction carries it, the epoch since which it has had the partition, "-" where it has not.
 */
public class ConsumerGroups {
    static final Random RANDOM = new Random(19233);
    static final Uuid TOPIC = Uuid.fromString("AAAAAAAAAAAAAAAAAAAAAQ");

    public static void main(String[] arguments) throws Exception {
        System.out.println("begins | " + group().groupEpoch());
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            heartbeat();
            commit();
        }
    }

    static ConsumerGroup group() throws Exception {
        Constructor<?> made = Bare.constructor(ConsumerGroup.class);
        Object metrics = Mockito.mock(GroupCoordinatorMetricsShard.class);
        return (ConsumerGroup) made.newInstance(Bare.given(made, new LogContext(), new SnapshotRegistry(new LogContext()), "g", metrics));
    }

    /** A member that has had each of its partitions since an epoch, which releases before 4.3 do not note. */
    static ConsumerGroupMember member(int epoch, int previous, Map<Integer, Integer> assigned) throws Exception {
        ConsumerGroupMember.Builder builder = new ConsumerGroupMember.Builder("m").setMemberEpoch(epoch).setPreviousMemberEpoch(previous)
            .setState(MemberState.STABLE);
        Object held = Scala.has(ConsumerGroupMember.class, "assignmentEpoch") ? assigned : Set.copyOf(assigned.keySet());
        Bare.method(ConsumerGroupMember.Builder.class, "setAssignedPartitions").invoke(builder, Map.of(TOPIC, held));
        return builder.build();
    }

    static Map<Integer, Integer> some(int most) {
        Map<Integer, Integer> found = new HashMap<>();
        for (int partition = 0; partition < 3; partition++) if (RANDOM.nextBoolean()) found.put(partition, RANDOM.nextInt(most) + 1);
        return found;
    }

    static void heartbeat() throws Exception {
        int epoch = 1 + RANDOM.nextInt(4), previous = epoch - 1 - RANDOM.nextInt(2), sent = RANDOM.nextInt(6);
        Map<Integer, Integer> assigned = some(epoch), owned = some(epoch);
        boolean says = RANDOM.nextInt(3) > 0;
        List<TopicPartitions> told = !says ? null : owned.isEmpty() ? List.of()
            : List.of(new TopicPartitions().setTopicId(TOPIC).setPartitions(List.copyOf(owned.keySet())));
        Class<?> kind = Class.forName("org.apache.kafka.coordinator.group.GroupMetadataManager");
        Method asked = Bare.method(kind, "throwIfConsumerGroupMemberEpochIsInvalid");
        ConsumerGroupMember member = member(epoch, previous, assigned);
        String error = error(() -> asked.invoke(Bare.make(kind), member, sent, told));
        System.out.println("heartbeat " + sent + " " + epoch + " " + previous + " " + (says ? said(owned) : "-") + " " + said(assigned) + " | " + error);
    }

    static void commit() throws Exception {
        boolean transactional = RANDOM.nextBoolean(), has = RANDOM.nextInt(4) > 0;
        int epoch = 1 + RANDOM.nextInt(4), since = 1 + RANDOM.nextInt(epoch), sent = RANDOM.nextInt(7) - 1;
        int chance = RANDOM.nextInt(8);
        ConsumerGroup group = group();
        if (chance > 0) group.updateMember(member(epoch, epoch - 1, has ? Map.of(0, since) : Map.of()));
        String sender = chance > 2 ? "m" : chance == 2 ? "other" : "";
        Method asked = Bare.method(ConsumerGroup.class, "validateOffsetCommit");
        Object version = asked.getParameterTypes()[4] == short.class ? (Object) (short) 9 : (Object) 9;
        String error = error(() -> {
            Object validator = asked.invoke(group, sender, null, sent, transactional, version);
            if (validator != null) {
                Method each = validator.getClass().getMethod("validate", String.class, Uuid.class, int.class);
                each.setAccessible(true);
                each.invoke(validator, "t", TOPIC, 0);
            }
        });
        System.out.println("commit " + (chance > 0 ? 1 : 0) + " " + (sender.isEmpty() ? "-" : sender) + " " + epoch + " " + sent + " " + transactional + " "
            + (has && chance > 0 ? since : "-") + " | " + error);
    }

    static String said(Map<Integer, Integer> partitions) {
        return partitions.isEmpty() ? "none" : partitions.keySet().toString().replaceAll("[^0-9,]", "");
    }

    interface Call {
        void run() throws Exception;
    }

    static String error(Call call) throws Exception {
        try {
            call.run();
            return "NONE";
        } catch (InvocationTargetException refused) {
            if (!(refused.getCause() instanceof ApiException)) throw refused;
            return Errors.forException(refused.getCause()).name();
        }
    }
}
