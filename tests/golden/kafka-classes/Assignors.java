import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** Prints random groups, and what Kafka's assignors give them. Topics and members are letters. */
public class Assignors {
    static final Random RANDOM = new Random(429);
    static final String TOPICS = "tuv";

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            dealt("range", new RangeAssignor());
            dealt("roundrobin", new RoundRobinAssignor());
            kept("sticky", new Sticky());
            kept("cooperative-sticky", new CooperativeStickyAssignor());
            uniform();
        }
    }

    /** The sticky assignor, told what members own instead of reading it from their user data. */
    static class Sticky extends AbstractStickyAssignor {
        @Override
        public String name() {
            return "sticky";
        }

        @Override
        protected MemberData memberData(Subscription subscription) {
            return new MemberData(subscription.ownedPartitions(), subscription.generationId());
        }
    }

    static void dealt(String name, AbstractPartitionAssignor assignor) {
        Map<String, Integer> counts = counts();
        Map<String, Subscription> members = new LinkedHashMap<>();
        StringBuilder said = new StringBuilder();
        int size = 1 + RANDOM.nextInt(5);
        for (int member = 0; member < size; member++) {
            String id = String.valueOf((char) ('a' + member)), wanted = some(TOPICS);
            Subscription subscription = new Subscription(List.of(wanted.split("")));
            said.append(" ").append(id).append(":").append(wanted);
            if (RANDOM.nextInt(3) == 0) {
                String instance = String.valueOf((char) ('z' - member - RANDOM.nextInt(2) * 10));
                subscription.setGroupInstanceId(Optional.of(instance));
                said.append(":").append(instance);
            }
            members.put(id, subscription);
        }
        System.out.println(name + " |" + words(counts) + " |" + said + " | |" + given(assigned(assignor, counts, members)));
    }

    static void kept(String name, AbstractPartitionAssignor assignor) {
        Map<String, Integer> counts = counts();
        String all = String.join("", counts.keySet());
        Map<String, List<TopicPartition>> owned = owned(counts);
        Map<String, Subscription> members = new LinkedHashMap<>();
        owned.forEach((id, has) -> members.put(id, new Subscription(List.of(all.split("")),
            new CooperativeStickyAssignor().subscriptionUserData(Set.of()), has, 7, Optional.empty())));
        System.out.println(name + " |" + words(counts) + " | |" + given(owned) + " |" + given(assigned(assignor, counts, members)));
    }

    static Map<String, List<TopicPartition>> assigned(
            AbstractPartitionAssignor assignor, Map<String, Integer> counts, Map<String, Subscription> members) {
        Map<String, List<PartitionInfo>> partitions = new LinkedHashMap<>();
        counts.forEach((topic, count) -> {
            List<PartitionInfo> infos = new ArrayList<>();
            for (int number = 0; number < count; number++) infos.add(new PartitionInfo(topic, number, null, null, null));
            partitions.put(topic, infos);
        });
        return assignor.assignPartitions(partitions, members);
    }

    static void uniform() {
        Map<String, Integer> counts = counts();
        Map<String, List<TopicPartition>> owned = owned(counts);
        Set<Uuid> topics = new HashSet<>();
        counts.keySet().forEach(topic -> topics.add(id(topic)));
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new TreeMap<>();
        owned.forEach((member, has) -> {
            Map<Uuid, Set<Integer>> numbers = new TreeMap<>();
            for (TopicPartition one : has) {
                numbers.computeIfAbsent(id(one.topic()), topic -> new TreeSet<>()).add(one.partition());
                owners.computeIfAbsent(id(one.topic()), topic -> new TreeMap<>()).put(one.partition(), member);
            }
            members.put(member, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.empty(), topics, new Assignment(numbers)));
        });
        Map<String, MemberAssignment> found = new UniformAssignor().assign(
            new GroupSpecImpl(members, SubscriptionType.HOMOGENEOUS, owners), new Counts(counts)).members();
        Map<String, List<TopicPartition>> assigned = new TreeMap<>();
        found.forEach((member, has) -> {
            List<TopicPartition> partitions = new ArrayList<>();
            has.partitions().forEach((topic, numbers) -> numbers.forEach(
                number -> partitions.add(new TopicPartition(name(topic), number))));
            assigned.put(member, partitions);
        });
        System.out.println("uniform |" + words(counts) + " | |" + given(owned) + " |" + given(assigned));
    }

    record Counts(Map<String, Integer> counts) implements SubscribedTopicDescriber {
        @Override
        public int numPartitions(Uuid topic) {
            return counts.getOrDefault(name(topic), -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            return Set.of();
        }
    }

    static Uuid id(String topic) {
        return new Uuid(0, topic.charAt(0));
    }

    static String name(Uuid topic) {
        return String.valueOf((char) topic.getLeastSignificantBits());
    }

    static Map<String, Integer> counts() {
        Map<String, Integer> counts = new TreeMap<>();
        for (String topic : some(TOPICS).split("")) counts.put(topic, 1 + RANDOM.nextInt(7));
        return counts;
    }

    static String some(String letters) {
        StringBuilder found = new StringBuilder();
        for (char letter : letters.toCharArray()) if (RANDOM.nextInt(3) > 0) found.append(letter);
        return found.isEmpty() ? letters.substring(0, 1) : found.toString();
    }

    /** Partitions that members may have had before, one of them perhaps of a topic that is gone. */
    static Map<String, List<TopicPartition>> owned(Map<String, Integer> counts) {
        Map<String, List<TopicPartition>> owned = new LinkedHashMap<>();
        int size = 1 + RANDOM.nextInt(5), nobody = RANDOM.nextInt(5), first = RANDOM.nextInt(4);
        for (int member = 0; member < size; member++) owned.put(String.valueOf((char) ('a' + member)), new ArrayList<>());
        List<String> ids = List.copyOf(owned.keySet());
        counts.forEach((topic, count) -> {
            for (int number = 0; number < count; number++) {
                if (RANDOM.nextInt(5) < nobody) continue;
                String owner = first == 0 && RANDOM.nextBoolean() ? ids.get(0) : ids.get(RANDOM.nextInt(size));
                owned.get(owner).add(new TopicPartition(topic, number));
            }
        });
        if (RANDOM.nextInt(6) == 0) owned.get(ids.get(0)).add(new TopicPartition("x", 0));
        return owned;
    }

    static String words(Map<String, Integer> counts) {
        StringBuilder said = new StringBuilder();
        counts.forEach((topic, count) -> said.append(" ").append(topic).append(count));
        return said.toString();
    }

    static String given(Map<String, List<TopicPartition>> has) {
        StringBuilder said = new StringBuilder();
        new TreeMap<>(has).forEach((member, partitions) -> {
            List<String> names = new ArrayList<>();
            partitions.forEach(one -> names.add(one.topic() + one.partition()));
            names.sort(null);
            said.append(" ").append(member).append(":").append(String.join(",", names));
        });
        return said.toString();
    }
}
