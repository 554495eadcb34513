package org.apache.kafka.controller;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/** Prints brokers as {@code id:epoch:contact}, in the order in which they were heard of, and those whose session is over, as they are fenced. */
public class Expiries {
    static final Random RANDOM = new Random(4);
    static final long SESSION = 9000, NANOS = 1_000_000;
    static long now;

    public static void main(String[] arguments) throws Exception {
        for (int left = Integer.parseInt(arguments[0]); left > 0; left--) {
            Time time = (Time) java.lang.reflect.Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
                (proxy, method, given) -> method.getName().equals("nanoseconds") ? (Object) (now * NANOS) : (Object) now);
            BrokerHeartbeatManager heard = new BrokerHeartbeatManager(new LogContext(), time, SESSION * NANOS);
            List<Integer> ids = IntStream.range(1, left % 2 == 0 && left % 10 != 0 ? 8 : 2000).boxed().collect(Collectors.toList());
            Collections.shuffle(ids, RANDOM);
            int number = left % 10 == 0 ? 11 + RANDOM.nextInt(20) : 2 + RANDOM.nextInt(4);
            StringBuilder line = new StringBuilder();
            for (int id : ids.subList(0, Math.min(number, ids.size()))) {
                now += 1 + RANDOM.nextInt(900);
                long epoch = left % 3 == 0 ? RANDOM.nextLong() >>> 20 : RANDOM.nextInt(4000);
                hear(heard, id, epoch);
                line.append(id).append(':').append(epoch).append(':').append(now).append(' ');
            }
            now += SESSION + 1 - RANDOM.nextInt(600);
            System.out.println(line + "| " + now + " | " + fenced(heard));
            now += 1_000_000;
        }
    }

    static void hear(BrokerHeartbeatManager heard, int id, long epoch) throws Exception {
        heard.register(id, false);
        heard.touch(id, false, 5);
        Object tracker = tracker(heard);
        if (tracker == null) return;
        Constructor<?> made = Class.forName("org.apache.kafka.controller.BrokerIdAndEpoch").getDeclaredConstructors()[0];
        made.setAccessible(true);
        method(tracker.getClass(), "updateContactTime", 1).invoke(tracker, made.newInstance(id, epoch));
    }

    static String fenced(BrokerHeartbeatManager heard) throws Exception {
        Object tracker = tracker(heard);
        StringBuilder line = new StringBuilder();
        while (true) {
            Optional<?> one = (Optional<?>) (tracker == null ? method(BrokerHeartbeatManager.class, "findOneStaleBroker", 0).invoke(heard)
                : method(tracker.getClass(), "maybeRemoveExpired", 0).invoke(tracker));
            if (one.isEmpty()) return line.toString().trim();
            int id = (int) (tracker == null ? one.get() : method(one.get().getClass(), "id", 0).invoke(one.get()));
            heard.fence(id);
            line.append(id).append(' ');
        }
    }

    static Object tracker(BrokerHeartbeatManager heard) throws Exception {
        boolean there = Arrays.stream(BrokerHeartbeatManager.class.getDeclaredMethods()).anyMatch(one -> one.getName().equals("tracker"));
        return there ? method(BrokerHeartbeatManager.class, "tracker", 0).invoke(heard) : null;
    }

    static Method method(Class<?> kind, String name, int parameters) {
        Method found = Arrays.stream(kind.getDeclaredMethods())
            .filter(one -> one.getName().equals(name) && one.getParameterCount() == parameters).findFirst().get();
        found.setAccessible(true);
        return found;
    }
}
