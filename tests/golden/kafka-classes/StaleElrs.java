package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.TopicIdPartition;

/** Prints what a KRaft controller makes of its index of ELRs once they were cleared, and of directories that are assigned. */
public class StaleElrs extends MovesInFlight {
    static final int PARTITIONS = 3;
    final int run;
    final boolean[][] second = new boolean[PARTITIONS][BROKERS];

    public static void main(String[] arguments) throws Exception {
        Random random = new Random(22);
        for (int run = 0; run < Integer.parseInt(arguments[1]); run++) {
            StaleElrs one = new StaleElrs(arguments[0], random, run);
            if (run % 3 < 2) one.leaveElrs(); else one.leaveOver();
        }
    }

    StaleElrs(String release, Random random, int run) throws Exception {
        super(release, random, run % 4 != 3 || run % 3 < 2, run % 3 > 0, run % 3 < 2 ? 3 : 1 + random.nextInt(2), run % 3 < 2 ? List.of(0, 1, 2) : null);
        this.run = run;
        for (int number = 1; number < PARTITIONS; number++) {
            List<Integer> replicas = new ArrayList<>(List.of(0, 1, 2));
            Collections.shuffle(replicas, random);
            partitions.replay(new PartitionRecord().setTopicId(TOPIC).setPartitionId(number).setReplicas(replicas).setIsr(replicas)
                .setDirectories(replicas.stream().map(MovesInFlight::directory).toList()).setLeader(replicas.get(0))
                .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED.value()));
        }
        print("start");
    }

    /** A broker joins ELRs that were cleared while it was in them, and may have lost records then. */
    void joinTwice(int broker) throws Exception {
        leaves(broker, "fail", "handleBrokerFenced");
        clear();
        back(broker);
        for (int number = random.nextInt(2); number < PARTITIONS; number++) grow(number);
        leaves(broker, "fail", "handleBrokerFenced");
        restart(broker);
    }

    void leaveElrs() throws Exception {
        if (run % 3 == 0) joinTwice(random.nextInt(3));
        for (int steps = 18; steps > 0; steps--) {
            int broker = random.nextInt(3), what = random.nextInt(9);
            if (what < 2 && active.remove(broker)) leaves(broker, "fail", "handleBrokerFenced");
            else if (what == 2) clear();
            else if (what == 3) assign(random.nextInt(PARTITIONS), broker);
            else if (what < 6) { restart(broker); register(broker, true); }
            else if (!active.contains(broker)) { if (random.nextBoolean()) back(broker); else register(broker, false); }
            else grow(random.nextInt(PARTITIONS));
        }
    }

    @Override
    void leaveOver() throws Exception {
        List<Integer> before = listOf(partitions.getPartition(TOPIC, 0).replicas);
        int added = java.util.stream.IntStream.range(0, BROKERS).filter(one -> !before.contains(one)).findFirst().getAsInt();
        ask(List.of(added, before.get(0)).subList(0, 1 + random.nextInt(2)));
        for (int broker : before) { active.remove(broker); leaves(broker, "fail", "handleBrokerFenced"); }
        elect(ElectionType.UNCLEAN);
        if (random.nextBoolean()) back(before.get(0));
        for (int steps = 3; steps > 0; steps--) {
            PartitionRegistration now = partitions.getPartition(TOPIC, 0);
            assign(0, now.replicas[random.nextInt(now.replicas.length)]);
        }
        List<Integer> replicas = listOf(partitions.getPartition(TOPIC, 0).replicas);
        for (int broker : replicas) if (active.remove(broker)) leaves(broker, "fail", "handleBrokerFenced");
        for (int broker : replicas) { register(broker, false); assign(0, broker); }
    }

    void clear() {
        partitions.replay(new ClearElrRecord().setTopicName("t"));
        print("clear -");
    }

    /** The leader asks for an ISR of all its replicas that are there. */
    void grow(int number) {
        PartitionRegistration now = partitions.getPartition(TOPIC, number);
        if (now.leader < 0) return;
        List<Integer> isr = new ArrayList<>();
        for (int replica : now.replicas) if (active.contains(replica)) isr.add(replica);
        AlterPartitionRequestData.PartitionData asked = new AlterPartitionRequestData.PartitionData().setPartitionIndex(number)
            .setLeaderEpoch(now.leaderEpoch).setPartitionEpoch(now.partitionEpoch).setNewIsrWithEpochs(isr.stream().map(
                one -> new AlterPartitionRequestData.BrokerState().setBrokerId(one).setBrokerEpoch(epoch(one))).toList());
        replay(partitions.alterPartition(new ControllerRequestContext(
            new RequestHeaderData().setRequestApiVersion((short) 3), KafkaPrincipal.ANONYMOUS, OptionalLong.empty()),
            new AlterPartitionRequestData().setBrokerId(now.leader).setBrokerEpoch(epoch(now.leader)).setTopics(List.of(
                new AlterPartitionRequestData.TopicData().setTopicId(TOPIC).setPartitions(List.of(asked))))).records());
        print("isr:" + number + " " + listed(isr));
    }

    /** A broker says that its replica is in the other one of its two directories. */
    void assign(int number, int broker) throws Exception {
        List<Integer> replicas = listOf(partitions.getPartition(TOPIC, number).replicas);
        if (!replicas.contains(broker)) return;
        second[number][broker] = !second[number][broker];
        Uuid directory = second[number][broker] ? other(broker) : directory(broker);
        var asked = new AssignReplicasToDirsRequestData().setBrokerId(broker).setBrokerEpoch(epoch(broker)).setDirectories(List.of(
            new AssignReplicasToDirsRequestData.DirectoryData().setId(directory).setTopics(List.of(
                new AssignReplicasToDirsRequestData.TopicData().setTopicId(TOPIC).setPartitions(List.of(
                    new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(number)))))));
        replay(((ControllerResult<?>) call(partitions, "handleAssignReplicasToDirs", asked)).records());
        print("assign:" + number + " " + broker);
    }

    static Uuid other(int broker) {
        return new Uuid(3, 2000 + broker);
    }

    @Override
    void register(int broker, boolean fenced) {
        brokers.replay(new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(epoch(broker)).setFenced(fenced)
            .setLogDirs(List.of(directory(broker), other(broker))).setIncarnationId(new Uuid(2, broker + 1)), epoch(broker));
        if (fenced) active.remove(broker); else active.add(broker);
    }

    @Override
    void said(PartitionRegistration before, int minIsr, String asked, short error) {
        print(asked);
    }

    void print(String asked) {
        StringBuilder told = new StringBuilder();
        for (int number = 0; number < PARTITIONS; number++) {
            PartitionRegistration one = partitions.getPartition(TOPIC, number);
            told.append(number == 0 ? "" : " ; ").append(state(one)).append(" ").append(one.leaderEpoch).append(" ").append(one.partitionEpoch);
        }
        List<String> index = new ArrayList<>();
        for (int broker = 0; broker < BROKERS; broker++) {
            List<Integer> numbers = new ArrayList<>();
            Iterator<TopicIdPartition> entries = partitions.brokersToElrs().partitionsWithBrokerInElr(broker);
            while (entries.hasNext()) numbers.add(entries.next().partitionId());
            index.add(listed(numbers));
        }
        System.out.println(run + " | " + listed(new ArrayList<>(active)) + " "
            + partitions.getTopicEffectiveMinIsr("t") + " " + elr + " " + unclean + " | " + asked + " | " + told + " | " + String.join(" ", index));
    }
}
