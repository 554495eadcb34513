package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Prints what a KRaft controller makes of brokers that come back with another disk: each disk has one log directory, which
 * is registered and assigned in any order; and of brokers that are unregistered.
 */
public class NewDisks extends StaleElrs {
    final int[] disks = new int[BROKERS];

    public static void main(String[] arguments) throws Exception {
        Random random = new Random(24);
        for (int run = 0; run < Integer.parseInt(arguments[1]); run++) new NewDisks(arguments[0], random, run * 3 + run % 2).play();
    }

    NewDisks(String release, Random random, int run) throws Exception {
        super(release, random, run);
    }

    void play() throws Exception {
        for (int steps = 40; steps > 0; steps--) {
            int broker = random.nextInt(3), what = random.nextInt(20);
            BrokerRegistration known = brokers.brokerRegistrations().get(broker);
            if (known == null) startAnew(broker);
            else if (what == 0) clear();
            else if (what == 1) unregister(broker);
            else if (what < 8 && placed(broker) != disks[broker]) assign(broker);
            else if (known.fenced() && what < 15) back(broker);
            else if (known.fenced()) { if (random.nextBoolean()) disks[broker]++; startAnew(broker); }
            else if (what < 10 && disks[broker] == registered(broker)) disks[broker]++;
            else if (what < 12 && active.remove(broker)) leaves(broker, "fail", "handleBrokerFenced");
            else grow(random.nextInt(PARTITIONS));
        }
    }

    /** The disk on which partitions say that the replicas of a broker are. */
    int placed(int broker) {
        PartitionRegistration one = partitions.getPartition(TOPIC, 0);
        int disk = 0;
        while (!one.directory(broker).equals(directory(broker, disk))) disk++;
        return disk;
    }

    /** A broker registers with the disk that it has, after an unclean stop. */
    void startAnew(int broker) throws Exception {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        call(partitions, "handleBrokerShutdown", broker, false, records);
        replay(records);
        register(broker, disks[broker], true);
        print("restart:" + disks[broker] + " " + broker);
    }

    /** A broker says that all its replicas are on the disk that it has. */
    void assign(int broker) throws Exception {
        List<AssignReplicasToDirsRequestData.PartitionData> all = new ArrayList<>();
        for (int number = 0; number < PARTITIONS; number++)
            if (listOf(partitions.getPartition(TOPIC, number).replicas).contains(broker))
                all.add(new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(number));
        var asked = new AssignReplicasToDirsRequestData().setBrokerId(broker).setBrokerEpoch(epoch(broker)).setDirectories(List.of(
            new AssignReplicasToDirsRequestData.DirectoryData().setId(directory(broker, disks[broker])).setTopics(List.of(
                new AssignReplicasToDirsRequestData.TopicData().setTopicId(TOPIC).setPartitions(all)))));
        replay(((ControllerResult<?>) call(partitions, "handleAssignReplicasToDirs", asked)).records());
        print("assigns:" + disks[broker] + " " + broker);
    }

    void unregister(int broker) {
        List<ApiMessageAndVersion> records = partitions.unregisterBroker(broker).records();
        UnregisterBrokerRecord last = (UnregisterBrokerRecord) records.remove(records.size() - 1).message();
        replay(records);
        brokers.replay(last);
        active.remove(broker);
        print("unregister " + broker);
    }

    @Override
    void register(int broker, boolean fenced) {
        register(broker, registered(broker), fenced);
    }

    /** The disk of a broker's registration; 0 at the start. */
    int registered(int broker) {
        BrokerRegistration known = brokers.brokerRegistrations().get(broker);
        for (int disk = 0; known != null && disk < 100; disk++) if (known.hasOnlineDir(directory(broker, disk))) return disk;
        return 0;
    }

    void register(int broker, int disk, boolean fenced) {
        brokers.replay(new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(epoch(broker)).setFenced(fenced)
            .setLogDirs(List.of(directory(broker, disk))).setIncarnationId(new Uuid(2, broker + 1)), epoch(broker));
        if (fenced) active.remove(broker); else active.add(broker);
    }

    static Uuid directory(int broker, int disk) {
        return disk == 0 ? directory(broker) : new Uuid(4 + disk, 1000 + broker);
    }

    @Override
    void replay(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion record : records)
            if (record.message() instanceof PartitionChangeRecord) partitions.replay((PartitionChangeRecord) record.message());
    }
}
