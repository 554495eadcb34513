import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;

/** Prints random states of a partition, and whom a controller in ZooKeeper mode elects, for four reasons. */
public class Elections {
    static final Random RANDOM = new Random(3670);
    static final TopicPartition NAME = new TopicPartition("t", 0);
    static final String[] REASONS = {"Offline", "Reassign", "PreferredReplica", "ControlledShutdown"};

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            List<Integer> all = shuffled(List.of(0, 1, 2, 3, 4)), replicas = all.subList(0, 1 + RANDOM.nextInt(4));
            List<Integer> isr = shuffled(replicas).subList(0, 1 + RANDOM.nextInt(replicas.size()));
            List<Integer> target = replicas.subList(0, 1 + RANDOM.nextInt(replicas.size()));
            List<Integer> live = some(all, 2), stopping = some(live, 1);
            boolean unclean = RANDOM.nextBoolean();
            for (String reason : REASONS)
                System.out.println(reason + " " + said(replicas) + " " + said(isr) + " " + said(target) + " " + said(live) + " "
                    + said(stopping) + " " + unclean + " | "
                    + elected(reason, new Election(replicas, isr, target, live, stopping, unclean)));
        }
    }

    record Election(List<Integer> replicas, List<Integer> isr, List<Integer> target, List<Integer> live,
                    List<Integer> stopping, boolean unclean) {}

    static String elected(String reason, Election state) throws Exception {
        Object found = Scala.exists("kafka.controller.PartitionLeaderSelector") ? Selectors.elected(reason, state)
            : StateMachine.elected(reason, state);
        if (found == null) return "-";
        List<?> isr = Scala.list(Bare.method(found.getClass(), "isr").invoke(found));
        return Bare.method(found.getClass(), "leader").invoke(found) + " " + said(isr);
    }

    static List<Integer> shuffled(List<Integer> brokers) {
        List<Integer> copy = new ArrayList<>(brokers);
        Collections.shuffle(copy, RANDOM);
        return copy;
    }

    static List<Integer> some(List<Integer> brokers, int ofThree) {
        return brokers.stream().filter(broker -> RANDOM.nextInt(3) < ofThree).collect(Collectors.toList());
    }

    static String said(List<?> brokers) {
        return brokers.isEmpty() ? "-" : brokers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    static Object leaderAndIsr(Election state) throws Exception {
        Class<?> kind = Class.forName("kafka.api.LeaderAndIsr");
        Object isr = Scala.seq(state.isr);
        for (Method method : kind.getMethods())
            if (method.getName().equals("apply") && method.getParameterCount() == 2) return method.invoke(null, -1, isr);
        for (Constructor<?> one : kind.getConstructors()) if (one.getParameterCount() == 2) return one.newInstance(-1, isr);
        return kind.getConstructors()[0].newInstance(-1, 0, isr, 0);
    }

    /** Brokers by their ids alone. */
    static List<Object> brokers(List<Integer> ids) throws Exception {
        Constructor<?> made = Arrays.stream(Class.forName("kafka.cluster.Broker").getConstructors())
            .filter(one -> one.getParameterCount() == 5).findFirst().get();
        @SuppressWarnings({"unchecked", "rawtypes"})
        Object plain = Enum.valueOf((Class) made.getParameterTypes()[4], "PLAINTEXT");
        Object listener = made.getParameterTypes()[3].getConstructor(String.class).newInstance("PLAINTEXT");
        List<Object> found = new ArrayList<>();
        for (int id : ids) found.add(made.newInstance(id, "localhost", 9092, listener, plain));
        return found;
    }

    /** Selectors of leaders, up to 0.11: the controller's context holds what they ask. */
    static class Selectors {
        static Object elected(String reason, Election state) throws Exception {
            Object context = Bare.make(Class.forName("kafka.controller.ControllerContext"));
            Object name = Class.forName("kafka.common.TopicAndPartition").getConstructor(String.class, int.class).newInstance("t", 0);
            Object leader = leaderAndIsr(state);
            Bare.set(context, "liveBrokerIdsUnderlying", Scala.set(state.live));
            Bare.set(context, "shuttingDownBrokerIds", Scala.mutableSet(state.stopping));
            Bare.set(context, "partitionReplicaAssignment", Scala.map(name, Scala.seq(state.replicas)));
            Bare.set(context, "partitionsBeingReassigned", Scala.map(name, moved(state.target)));
            Bare.set(context, "partitionLeadershipInfo", Scala.map(name, Bare.constructor(
                Class.forName("kafka.controller.LeaderIsrAndControllerEpoch")).newInstance(leader, 0)));
            String config = "{\"version\":1,\"config\":{}}";
            Scala.Answer read = (method, given) -> method.getReturnType() == Tuple2.class
                ? new Tuple2<>(Option.apply(config), null) : method.getReturnType().isPrimitive() ? null : config;
            if (!Scala.has(context.getClass(), "zkUtils")) Bare.set(context, "zkClient", Scala.mocked("org.I0Itec.zkclient.ZkClient", read));
            else Bare.set(context, "zkUtils", Scala.mocked("kafka.utils.ZkUtils", (method, given) -> method.getName().equals("zkClient")
                ? Scala.mocked("org.I0Itec.zkclient.ZkClient", read) : read.of(method, given)));
            if (Scala.has(context.getClass(), "stats"))
                Bare.set(context, "stats", Class.forName("kafka.controller.ControllerStats").getConstructor().newInstance());
            String selects = reason.equals("Reassign") ? "ReassignedPartition" : reason.replace("Offline", "OfflinePartition")
                .replace("PreferredReplica", "PreferredReplicaPartition");
            Constructor<?> made = Bare.constructor(Class.forName("kafka.controller." + selects + "LeaderSelector"));
            Object selector = made.getParameterCount() == 1 ? made.newInstance(context)
                : made.newInstance(context, Scala.config(state.unclean));
            try {
                return ((Tuple2<?, ?>) Bare.method(selector.getClass(), "selectLeader").invoke(selector, name, leader))._1();
            } catch (java.lang.reflect.InvocationTargetException refused) {
                if (refused.getCause().getClass().getName().startsWith("kafka.common.")) return null;
                throw refused;
            }
        }
    }

    static Object moved(List<Integer> target) throws Exception {
        return Bare.constructor(Class.forName("kafka.controller.ReassignedPartitionsContext")).newInstance(Scala.seq(target), null);
    }

    /** PartitionStateMachine.leaderFor..., from 2.4 on in Election. */
    static class StateMachine {
        static Object elected(String reason, Election state) throws Exception {
            Object context = context(state), leader = leaderAndIsr(state), answer;
            if (Scala.exists("kafka.controller.Election")) {
                boolean offline = reason.equals("Offline");
                Object asked = Scala.seq(List.of(offline ? new Tuple3<>(NAME, Option.apply(leader), state.unclean) : new Tuple2<>(NAME, leader)));
                Method method = Arrays.stream(Class.forName("kafka.controller.Election").getMethods())
                    .filter(one -> one.getName().equals("leaderFor" + reason)).findFirst().get();
                answer = method.getParameterCount() == 3 ? method.invoke(null, context, true, asked) : method.invoke(null, context, asked);
                Object result = Scala.list(answer).get(0);
                answer = Bare.method(result.getClass(), "leaderAndIsr").invoke(result);
            } else {
                Object machine = Bare.make(Class.forName("kafka.controller.PartitionStateMachine"));
                Bare.set(machine, "controllerContext", context);
                Bare.set(machine, "config", Scala.config(state.unclean));
                Bare.set(machine, "zkClient", Scala.mocked("kafka.zk.KafkaZkClient", (method, given) -> configs(state.unclean)));
                Object asked = Scala.seq(List.of(new Tuple2<>(NAME, Bare.constructor(
                    Class.forName("kafka.controller.LeaderIsrAndControllerEpoch")).newInstance(leader, 0))));
                Method method = Bare.method(machine.getClass(), "leaderFor" + reason);
                answer = method.getParameterCount() == 2 ? method.invoke(machine, asked, Scala.set(state.stopping)) : method.invoke(machine, asked);
                answer = ((Tuple3<?, ?, ?>) Scala.list(answer).get(0))._2();
            }
            return ((Option<?>) answer).isEmpty() ? null : ((Option<?>) answer).get();
        }

        static Object context(Election state) throws Exception {
            Object context = Class.forName("kafka.controller.ControllerContext").getConstructor().newInstance();
            Class<?> kind = context.getClass();
            List<Object> live = brokers(state.live);
            if (Scala.has(kind, "setLiveBrokerAndEpochs")) Bare.method(kind, "setLiveBrokerAndEpochs").invoke(context, Scala.frozen(Scala.mapOf(live, 1L)));
            else if (Scala.has(kind, "setLiveBrokers")) Bare.method(kind, "setLiveBrokers").invoke(context, Scala.mapOf(live, 1L));
            else Bare.method(kind, "liveBrokers_$eq").invoke(context, Scala.set(live));
            Bare.set(context, "shuttingDownBrokerIds", Scala.mutableSet(state.stopping));
            Object replicas = Scala.seq(state.replicas);
            if (Scala.has(kind, "updatePartitionFullReplicaAssignment")) {
                List<Integer> leaving = state.replicas.stream().filter(broker -> !state.target.contains(broker)).toList();
                Object moving = Bare.constructor(Class.forName("kafka.controller.ReplicaAssignment"))
                    .newInstance(replicas, Scala.seq(List.of()), Scala.seq(leaving));
                Bare.method(kind, "updatePartitionFullReplicaAssignment").invoke(context, NAME, moving);
                return context;
            }
            if (Scala.has(kind, "updatePartitionReplicaAssignment"))
                Bare.method(kind, "updatePartitionReplicaAssignment").invoke(context, NAME, replicas);
            else Bare.set(context, "partitionReplicaAssignment", Scala.map(NAME, replicas));
            Bare.set(context, "partitionsBeingReassigned", Scala.map(NAME, moved(state.target)));
            return context;
        }

        static Object configs(boolean unclean) throws Exception {
            java.util.Properties topic = new java.util.Properties();
            topic.put("unclean.leader.election.enable", String.valueOf(unclean));
            Object config = Class.forName("kafka.log.LogConfig").getMethod("fromProps", java.util.Map.class, java.util.Properties.class)
                .invoke(null, java.util.Map.of(), topic);
            return new Tuple2<>(Scala.frozen(Scala.map("t", config)), Scala.frozen(Scala.map("none", null)));
        }
    }
}
