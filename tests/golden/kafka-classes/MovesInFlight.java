package org.apache.kafka.controller;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeSet;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/** Prints what a KRaft controller makes of reassignments that are asked for, and cancelled, while others go on. */
public class MovesInFlight {
    static final Uuid TOPIC = new Uuid(1, 1);
    static final int BROKERS = 5;

    final Random random;
    final String release;
    final boolean elr, unclean;
    final TreeSet<Integer> active = new TreeSet<>();
    final SnapshotRegistry snapshots = new SnapshotRegistry(new LogContext());
    final ClusterControlManager brokers;
    final ReplicationControlManager partitions;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 2) {
            leaveOver(arguments[0], Integer.parseInt(arguments[2]));
            return;
        }
        Random random = new Random(14);
        for (int left = Integer.parseInt(arguments[1]); left > 0; left--)
            new MovesInFlight(arguments[0], random, random.nextInt(3) > 0, random.nextInt(3) == 0, 1 + random.nextInt(3), null).play();
        new MovesInFlight(arguments[0], random, true, true, 1, List.of(0, 1, 2)).goBackToThoseWhoFailed();
        new MovesInFlight(arguments[0], random, true, false, 3, List.of(0, 1, 2)).moveUnderMinIsrTwice();
    }

    /** Nobody of the ISR is left, so that an unclean election may make a move complete; then the partition is looked at. */
    static void leaveOver(String release, int runs) throws Exception {
        Random random = new Random(15);
        for (int left = runs; left > 0; left--)
            new MovesInFlight(release, random, left % 2 == 0, true, 1 + random.nextInt(2), null).leaveOver();
    }

    void leaveOver() throws Exception {
        List<Integer> target = new ArrayList<>(), before = listOf(partitions.getPartition(TOPIC, 0).replicas);
        if (random.nextBoolean()) target.add(before.get(before.size() - 1));
        target.add(java.util.stream.IntStream.range(0, BROKERS).filter(one -> !before.contains(one)).findFirst().getAsInt());
        ask(target);
        for (int broker : before) { active.remove(broker); leaves(broker, "fail", "handleBrokerFenced"); }
        for (int steps = 6; steps > 0; steps--) {
            PartitionRegistration now = partitions.getPartition(TOPIC, 0);
            int broker = random.nextInt(BROKERS), what = random.nextInt(5);
            if (what == 0 && now.leader >= 0) { active.remove(now.leader); leaves(now.leader, "fail", "handleBrokerFenced"); }
            else if (what < 3 && !active.contains(broker)) back(broker);
            else elect(random.nextBoolean() ? ElectionType.PREFERRED : ElectionType.UNCLEAN);
        }
    }

    static List<Integer> listOf(int[] brokers) {
        return Arrays.stream(brokers).boxed().toList();
    }

    void back(int broker) throws Exception {
        PartitionRegistration before = partitions.getPartition(TOPIC, 0);
        int minIsr = partitions.getTopicEffectiveMinIsr("t");
        List<ApiMessageAndVersion> records = new ArrayList<>();
        call(partitions, "handleBrokerUnfenced", broker, epoch(broker), records);
        records.removeIf(record -> !(record.message() instanceof PartitionChangeRecord));
        register(broker, false);
        replay(records);
        said(before, minIsr, "back " + broker, (short) 0);
    }

    void elect(ElectionType kind) throws Exception {
        PartitionRegistration before = partitions.getPartition(TOPIC, 0);
        int minIsr = partitions.getTopicEffectiveMinIsr("t");
        List<ApiMessageAndVersion> records = new ArrayList<>();
        call(partitions, "electLeader", "t", 0, kind, records);
        replay(records);
        said(before, minIsr, "elect " + kind.name().toLowerCase(), (short) 0);
    }

    void goBackToThoseWhoFailed() throws Exception {
        ask(List.of(3, 4));
        alterIsr(List.of(0, 1, 2, 3));
        for (int broker = 0; broker < 3; broker++) leaves(broker, "fail", "handleBrokerFenced");
        register(1, false);
        ask(null);
    }

    void moveUnderMinIsrTwice() {
        alterIsr(List.of(0, 1));
        ask(List.of(0, 1, 3));
        alterIsr(List.of(0, 3));
        ask(List.of(0, 3));
    }

    MovesInFlight(String release, Random random, boolean wantsElr, boolean unclean, int minIsr, List<Integer> start) throws Exception {
        this.release = release;
        this.random = random;
        this.unclean = unclean;
        elr = wantsElr && release.startsWith("4");
        FeatureControlManager features = features();
        Object settings = new ConfigurationControlManager.Builder();
        call(settings, "setSnapshotRegistry", snapshots);
        call(settings, "setKafkaConfigSchema", schema());
        call(settings, "setStaticConfig", Map.of("min.insync.replicas", String.valueOf(minIsr),
            "unclean.leader.election.enable", String.valueOf(unclean)));
        if (has(settings, "setFeatureControl")) call(settings, "setFeatureControl", features);
        ConfigurationControlManager configurations = (ConfigurationControlManager) call(settings, "build");
        Object cluster = new ClusterControlManager.Builder();
        call(cluster, "setTime", Time.SYSTEM);
        call(cluster, "setSnapshotRegistry", snapshots);
        call(cluster, "setSessionTimeoutNs", session());
        call(cluster, "setReplicaPlacer", new StripedReplicaPlacer(random));
        call(cluster, "setFeatureControlManager", features);
        for (String handler : List.of("setBrokerUncleanShutdownHandler", "setBrokerShutdownHandler"))
            if (has(cluster, handler)) {
                Class<?> kind = method(cluster, handler).getParameterTypes()[0];
                call(cluster, handler, java.lang.reflect.Proxy.newProxyInstance(
                    kind.getClassLoader(), new Class<?>[]{kind}, (proxy, asked, given) -> { startedAnew(given); return null; }));
            }
        brokers = (ClusterControlManager) call(cluster, "build");
        Object replication = new ReplicationControlManager.Builder();
        call(replication, "setSnapshotRegistry", snapshots);
        call(replication, "setLogContext", new LogContext());
        call(replication, "setMaxElectionsPerImbalance", Integer.MAX_VALUE);
        call(replication, "setConfigurationControl", configurations);
        call(replication, "setClusterControl", brokers);
        call(replication, "setCreateTopicPolicy", Optional.empty());
        call(replication, "setFeatureControl", features);
        if (has(replication, "setEligibleLeaderReplicasEnabled")) call(replication, "setEligibleLeaderReplicasEnabled", elr);
        partitions = (ReplicationControlManager) call(replication, "build");
        brokers.activate();
        for (int broker = 0; broker < BROKERS; broker++) register(broker, false);
        List<Integer> replicas = start == null ? some() : start;
        partitions.replay(new TopicRecord().setName("t").setTopicId(TOPIC));
        partitions.replay(new PartitionRecord().setTopicId(TOPIC).setPartitionId(0).setReplicas(replicas).setIsr(replicas)
            .setDirectories(replicas.stream().map(MovesInFlight::directory).toList()).setLeader(replicas.get(0))
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED.value()));
    }

    void play() throws Exception {
        for (int steps = 9; steps > 0; steps--) {
            PartitionRegistration now = partitions.getPartition(TOPIC, 0);
            int what = random.nextInt(10);
            if (what < 3) ask(some());
            else if (what == 3) ask(original(now));
            else if (what == 4 && now.addingReplicas.length + now.removingReplicas.length > 0) ask(null);
            else if (what == 5) fail(random.nextInt(BROKERS));
            else if (what == 6 && elr) restart(now.elr.length > 0 ? now.elr[0] : random.nextInt(BROKERS));
            else if (now.leader >= 0) alterIsr(now);
        }
    }

    void ask(List<Integer> target) {
        PartitionRegistration before = partitions.getPartition(TOPIC, 0);
        int minIsr = partitions.getTopicEffectiveMinIsr("t");
        ControllerResult<?> result = partitions.alterPartitionReassignments(new AlterPartitionReassignmentsRequestData()
            .setTopics(List.of(new ReassignableTopic().setName("t")
                .setPartitions(List.of(new ReassignablePartition().setPartitionIndex(0).setReplicas(target))))));
        short error = ((org.apache.kafka.common.message.AlterPartitionReassignmentsResponseData) result.response())
            .responses().get(0).partitions().get(0).errorCode();
        replay(result.records());
        said(before, minIsr, target == null ? "cancel -" : "move " + listed(target), error);
    }

    void alterIsr(PartitionRegistration before) {
        List<Integer> isr = new ArrayList<>();
        for (int replica : before.replicas)
            if (replica == before.leader || active.contains(replica) && random.nextInt(4) > 0) isr.add(replica);
        Collections.shuffle(isr, random);
        alterIsr(isr);
    }

    void alterIsr(List<Integer> isr) {
        PartitionRegistration before = partitions.getPartition(TOPIC, 0);
        int minIsr = partitions.getTopicEffectiveMinIsr("t");
        AlterPartitionRequestData.PartitionData asked = new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
            .setLeaderEpoch(before.leaderEpoch).setPartitionEpoch(before.partitionEpoch);
        asked.setNewIsrWithEpochs(isr.stream().map(
            replica -> new AlterPartitionRequestData.BrokerState().setBrokerId(replica).setBrokerEpoch(epoch(replica))).toList());
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(before.leader)
            .setBrokerEpoch(epoch(before.leader)).setTopics(List.of(
                new AlterPartitionRequestData.TopicData().setTopicId(TOPIC).setPartitions(List.of(asked))));
        ControllerResult<?> result = partitions.alterPartition(new ControllerRequestContext(
            new RequestHeaderData().setRequestApiVersion((short) 3), KafkaPrincipal.ANONYMOUS, OptionalLong.empty()), request);
        replay(result.records());
        said(before, minIsr, "isr " + listed(isr), (short) 0);
    }

    /** A broker fails, and is there again before the next step in half of the cases. */
    void fail(int broker) throws Exception {
        if (active.remove(broker)) leaves(broker, "fail", "handleBrokerFenced");
        if (random.nextBoolean()) register(broker, false);
    }

    /** A broker is back after an unclean shutdown. */
    void restart(int broker) throws Exception {
        leaves(broker, "restart", has(partitions, "handleBrokerShutdown") ? "handleBrokerShutdown" : "handleBrokerUncleanShutdown");
    }

    /** Nanoseconds of a broker's session. */
    long session() {
        return Long.MAX_VALUE / 2;
    }

    /** What a registration in place of another one asks for: the broker, whether it stopped cleanly where that is told, records. */
    void startedAnew(Object[] given) throws Exception {}

    void leaves(int broker, String how, String name) throws Exception {
        PartitionRegistration before = partitions.getPartition(TOPIC, 0);
        int minIsr = partitions.getTopicEffectiveMinIsr("t");
        List<ApiMessageAndVersion> records = new ArrayList<>();
        if (name.equals("handleBrokerShutdown")) call(partitions, name, broker, false, records);
        else call(partitions, name, broker, records);
        records.removeIf(record -> !(record.message() instanceof PartitionChangeRecord));
        if (how.equals("fail")) register(broker, true);
        replay(records);
        said(before, minIsr, how + " " + broker, (short) 0);
    }

    void register(int broker, boolean fenced) {
        brokers.replay(new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(epoch(broker)).setFenced(fenced)
            .setLogDirs(List.of(directory(broker))).setIncarnationId(new Uuid(2, broker + 1)), epoch(broker));
        if (fenced) active.remove(broker); else active.add(broker);
    }

    void replay(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion record : records) partitions.replay((PartitionChangeRecord) record.message());
    }

    void said(PartitionRegistration before, int minIsr, String asked, short error) {
        System.out.println(release + " | " + listed(new ArrayList<>(active)) + " " + minIsr + " " + elr + " " + unclean + " | "
            + state(before) + " | " + asked + " | " + (error != 0 ? Errors.forCode(error).name() : state(partitions.getPartition(TOPIC, 0))));
    }

    String state(PartitionRegistration one) {
        return listed(one.replicas) + " " + listed(one.addingReplicas) + " " + listed(one.removingReplicas) + " "
            + listed(one.isr) + " " + (release.startsWith("3.7") ? "-" : listed(one.elr)) + " "
            + (release.startsWith("3.7") ? "-" : listed(one.lastKnownElr)) + " " + one.leader;
    }

    /** The replicas before the move that goes on, half of the time in another order. */
    List<Integer> original(PartitionRegistration now) {
        List<Integer> found = new ArrayList<>();
        for (int replica : now.replicas)
            if (Arrays.stream(now.addingReplicas).noneMatch(one -> one == replica)) found.add(replica);
        if (found.isEmpty()) return some();
        if (random.nextBoolean()) Collections.shuffle(found, random);
        return found;
    }

    List<Integer> some() {
        List<Integer> all = new ArrayList<>();
        for (int broker = 0; broker < BROKERS; broker++) all.add(broker);
        Collections.shuffle(all, random);
        return new ArrayList<>(all.subList(0, 1 + random.nextInt(3)));
    }

    static long epoch(int broker) {
        return 100 + broker;
    }

    static Uuid directory(int broker) {
        return new Uuid(3, 1000 + broker);
    }

    FeatureControlManager features() throws Exception {
        Object builder = new FeatureControlManager.Builder();
        call(builder, "setSnapshotRegistry", snapshots);
        Method supported = Arrays.stream(QuorumFeatures.class.getDeclaredMethods())
            .filter(one -> one.getName().startsWith("default") && one.getReturnType() == Map.class).findFirst().get();
        call(builder, "setQuorumFeatures", new QuorumFeatures(0,
            (Map) (supported.getParameterCount() == 0 ? supported.invoke(null) : supported.invoke(null, true)), List.of(0)));
        boolean given = has(builder, "setMetadataVersion");
        if (given) call(builder, "setMetadataVersion", MetadataVersion.latestProduction());
        FeatureControlManager features = (FeatureControlManager) call(builder, "build");
        if (!given) features.replay(new FeatureLevelRecord().setName("metadata.version").setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        if (elr) features.replay(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1));
        return features;
    }

    static KafkaConfigSchema schema() {
        ConfigDef settings = new ConfigDef()
            .define("unclean.leader.election.enable", ConfigDef.Type.BOOLEAN, "false", ConfigDef.Importance.HIGH, "")
            .define("min.insync.replicas", ConfigDef.Type.INT, "1", ConfigDef.Importance.HIGH, "");
        Map<String, List<org.apache.kafka.server.config.ConfigSynonym>> synonyms = Map.of(
            "unclean.leader.election.enable", List.of(new org.apache.kafka.server.config.ConfigSynonym("unclean.leader.election.enable")),
            "min.insync.replicas", List.of(new org.apache.kafka.server.config.ConfigSynonym("min.insync.replicas")));
        return new KafkaConfigSchema(Map.of(ConfigResource.Type.BROKER, settings, ConfigResource.Type.TOPIC, settings), synonyms);
    }

    static Object call(Object object, String name, Object... arguments) throws Exception {
        Method method = method(object, name);
        method.setAccessible(true);
        return method.invoke(object, arguments);
    }

    static boolean has(Object object, String name) {
        return Arrays.stream(object.getClass().getDeclaredMethods()).anyMatch(one -> one.getName().equals(name));
    }

    static Method method(Object object, String name) {
        return Arrays.stream(object.getClass().getDeclaredMethods()).filter(one -> one.getName().equals(name)).findFirst().get();
    }

    static String listed(int[] brokers) {
        return listed(listOf(brokers));
    }

    static String listed(List<Integer> brokers) {
        return brokers.isEmpty() ? "-" : brokers.toString().replaceAll("[^0-9,]", "");
    }
}
