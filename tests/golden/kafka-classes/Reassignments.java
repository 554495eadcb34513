package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.DefaultDirProvider;
import org.apache.kafka.metadata.placement.PartitionAssignment;

/** Prints random moves of replicas, and how a KRaft controller merges, completes and cancels them. */
public class Reassignments {
    static final Random RANDOM = new Random(455);
    static final DefaultDirProvider DIRECTORIES = broker -> Uuid.ONE_UUID;

    public static void main(String[] arguments) {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) line();
    }

    static void line() {
        List<Integer> replicas = some(6), target = some(6);
        PartitionReassignmentReplicas move = new PartitionReassignmentReplicas(
            new PartitionAssignment(replicas, DIRECTORIES), new PartitionAssignment(target, DIRECTORIES));
        List<Integer> isr = new ArrayList<>(move.replicas());
        isr.removeIf(replica -> RANDOM.nextInt(3) == 0);
        if (isr.isEmpty()) isr.add(move.replicas().get(0));
        Optional<PartitionReassignmentReplicas.CompletedReassignment> completed = move.maybeCompleteReassignment(isr);
        String cancelled = "";
        if (!move.originalReplicas().isEmpty()) {
            PartitionReassignmentRevert revert = new PartitionReassignmentRevert(registration(move, isr));
            cancelled = said(revert.replicas()) + said(revert.isr()) + " " + revert.unclean();
        }
        System.out.println("kraft |" + said(replicas) + said(target) + said(isr) + " |" + said(move.replicas()) + said(move.adding())
            + said(move.removing()) + " |" + completed.map(one -> said(one.replicas()) + said(one.isr())).orElse("") + " |" + cancelled);
    }

    static PartitionRegistration registration(PartitionReassignmentReplicas move, List<Integer> isr) {
        Uuid[] directories = new Uuid[move.replicas().size()];
        java.util.Arrays.fill(directories, Uuid.ONE_UUID);
        return new PartitionRegistration.Builder().setReplicas(ids(move.replicas())).setDirectories(directories)
            .setIsr(ids(isr)).setAddingReplicas(ids(move.adding())).setRemovingReplicas(ids(move.removing()))
            .setLeader(isr.get(0)).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(0)
            .setPartitionEpoch(0).build();
    }

    static int[] ids(List<Integer> replicas) {
        return replicas.stream().mapToInt(Integer::intValue).toArray();
    }

    static List<Integer> some(int brokers) {
        List<Integer> all = new ArrayList<>();
        for (int broker = 0; broker < brokers; broker++) all.add(broker);
        Collections.shuffle(all, RANDOM);
        return new ArrayList<>(all.subList(0, 1 + RANDOM.nextInt(4)));
    }

    static String said(List<Integer> brokers) {
        return " " + (brokers.isEmpty() ? "-" : brokers.toString().replaceAll("[^0-9,]", ""));
    }
}
