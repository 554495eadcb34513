package org.apache.kafka.controller;

import java.lang.reflect.Method;
import java.util.Random;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * Prints what a KRaft controller hears of a broker, and whether its session still stands in the way of another registration:
 * {@code live} a heartbeat, {@code fenced} one of a broker that is fenced, {@code stop} a broker that stops cleanly and is
 * fenced, {@code gone} no heartbeat for a session.
 */
public class Sessions {
    static final Random RANDOM = new Random(18106);
    static final String[] HEARD = {"live", "fenced", "stop", "gone"};
    static final long SESSION = 9000;
    static long now;

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            now = 1_000_000;
            Time time = (Time) java.lang.reflect.Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
                (proxy, method, given) -> method.getName().equals("nanoseconds") ? (Object) (now * 1_000_000) : (Object) now);
            BrokerHeartbeatManager sessions = new BrokerHeartbeatManager(new LogContext(), time, SESSION * 1_000_000);
            sessions.register(1, true);
            StringBuilder line = new StringBuilder();
            for (int step = 0; step < 4; step++) {
                String heard = HEARD[step == 0 ? 0 : RANDOM.nextInt(HEARD.length)];
                now += 1000;
                switch (heard) {
                    case "live" -> heartbeat(sessions, false);
                    case "fenced" -> heartbeat(sessions, true);
                    case "stop" -> { heartbeat(sessions, true); sessions.fence(1); }
                    default -> now += SESSION + 1;
                }
                line.append(heard).append(':').append(valid(sessions)).append(' ');
            }
            System.out.println(line.toString().trim());
        }
    }

    /** Since 4.0 the controller notes it in a tracker beside the states. */
    static void heartbeat(BrokerHeartbeatManager sessions, boolean fenced) throws Exception {
        sessions.touch(1, fenced, 5);
        for (Method one : BrokerHeartbeatManager.class.getDeclaredMethods())
            if (one.getName().equals("tracker")) {
                Object tracker = one.invoke(sessions);
                java.lang.reflect.Constructor<?> made = Class.forName("org.apache.kafka.controller.BrokerIdAndEpoch").getDeclaredConstructors()[0];
                made.setAccessible(true);
                Method contact = java.util.Arrays.stream(tracker.getClass().getDeclaredMethods()).filter(it -> it.getName().equals("updateContactTime") && it.getParameterCount() == 1).findFirst().get();
                contact.setAccessible(true);
                contact.invoke(tracker, made.newInstance(1, -1L));
            }
    }

    static boolean valid(BrokerHeartbeatManager sessions) throws Exception {
        for (Method one : BrokerHeartbeatManager.class.getDeclaredMethods())
            if (one.getName().equals("hasValidSession") && one.getParameterTypes()[0] == int.class) {
                one.setAccessible(true);
                return (boolean) (one.getParameterCount() == 1 ? one.invoke(sessions, 1) : one.invoke(sessions, 1, -1L));
            }
        throw new NoSuchMethodException("hasValidSession");
    }
}
