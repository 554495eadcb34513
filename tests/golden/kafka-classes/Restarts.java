package org.apache.kafka.controller;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Prints what becomes of a partition as a broker registers anew, before its last life was noticed to be over. */
public class Restarts extends MovesInFlight {
    public static void main(String[] arguments) throws Exception {
        Random random = new Random(18106);
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--)
            new Restarts(random, random.nextInt(3) > 0, random.nextBoolean(), 1 + random.nextInt(3)).restart();
    }

    Restarts(Random random, boolean elr, boolean unclean, int minIsr) throws Exception {
        super(Arrays.stream(ClusterControlManager.class.getDeclaredMethods()).anyMatch(
            one -> one.getName().equals("registerBroker") && one.getParameterCount() > 3) ? "4" : "3.9", random, elr, unclean, minIsr, null);
    }

    @Override long session() {
        return 1;
    }

    @Override void said(PartitionRegistration before, int minIsr, String asked, short error) {}

    void restart() throws Exception {
        for (int steps = 2; steps > 0; steps--) {
            PartitionRegistration now = partitions.getPartition(TOPIC, 0);
            if (now.leader >= 0) alterIsr(now);
            fail(random.nextInt(BROKERS));
        }
        PartitionRegistration before = partitions.getPartition(TOPIC, 0);
        int broker = random.nextInt(BROKERS), minIsr = partitions.getTopicEffectiveMinIsr("t");
        boolean clean = random.nextBoolean(), active = this.active.contains(broker);
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker).setIncarnationId(new Uuid(9, 9))
            .setClusterId(clusterId()).setLogDirs(List.of(directory(broker)));
        request.features().add(new BrokerRegistrationRequestData.Feature().setName("metadata.version").setMinSupportedVersion((short) 1).setMaxSupportedVersion((short) 99));
        for (Method previous : BrokerRegistrationRequestData.class.getMethods())
            if (previous.getName().equals("setPreviousBrokerEpoch")) previous.invoke(request, clean ? epoch(broker) : -1L);
        FinalizedControllerFeatures features = new FinalizedControllerFeatures(Map.of("metadata.version", (short) 21), 1L);
        Method register = method(brokers, "registerBroker");
        Object result = register.getParameterCount() == 3 ? register.invoke(brokers, request, 500L, features)
            : register.invoke(brokers, request, 500L, features, true);
        List<ApiMessageAndVersion> records = new ArrayList<>(((ControllerResult<?>) result).records());
        records.removeIf(record -> !(record.message() instanceof PartitionChangeRecord));
        replay(records);
        System.out.println(listed(new ArrayList<>(this.active)) + " " + minIsr + " " + elr + " " + unclean + " | " + state(before) + " | " + broker
            + " " + clean + " " + active + " | " + state(partitions.getPartition(TOPIC, 0)));
    }

    private String clusterId() throws Exception {
        java.lang.reflect.Field field = ClusterControlManager.class.getDeclaredField("clusterId");
        field.setAccessible(true);
        return (String) field.get(brokers);
    }

    @Override void startedAnew(Object[] given) throws Exception {
        if (given.length == 2) call(partitions, "handleBrokerUncleanShutdown", given);
        else call(partitions, "handleBrokerShutdown", given);
    }
}
