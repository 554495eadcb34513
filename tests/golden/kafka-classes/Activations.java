package org.apache.kafka.controller;

import java.lang.reflect.Method;
import java.util.Random;

/** Prints brokers of a controller that has just taken over, whether each was fenced, and whether its session stands. */
public class Activations extends MovesInFlight {
    public static void main(String[] arguments) throws Exception {
        Random random = new Random(19);
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) new Activations(random).takeOver();
    }

    Activations(Random random) throws Exception {
        super("", random, false, false, 1, null);
    }

    @Override long session() {
        return 9_000_000_000L;
    }

    void takeOver() throws Exception {
        for (int broker = 0; broker < BROKERS; broker++) register(broker, random.nextBoolean());
        brokers.deactivate();
        brokers.activate();
        StringBuilder line = new StringBuilder();
        for (int broker = 0; broker < BROKERS; broker++) line.append(active.contains(broker) ? "live:" : "fenced:").append(valid(broker)).append(' ');
        System.out.println(line.toString().trim());
    }

    private boolean valid(int broker) throws Exception {
        BrokerHeartbeatManager sessions = (BrokerHeartbeatManager) call(brokers, "heartbeatManager");
        for (Method one : BrokerHeartbeatManager.class.getDeclaredMethods())
            if (one.getName().equals("hasValidSession") && one.getParameterTypes()[0] == int.class) {
                one.setAccessible(true);
                return (boolean) (one.getParameterCount() == 1 ? one.invoke(sessions, broker) : one.invoke(sessions, broker, epoch(broker)));
            }
        throw new NoSuchMethodException("hasValidSession");
    }
}
