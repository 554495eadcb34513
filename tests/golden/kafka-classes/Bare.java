import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import sun.misc.Unsafe;

/** Objects of Kafka's classes without what their constructors would open, and their private parts. */
public class Bare {
    private static final Unsafe UNSAFE = unsafe();

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
    }

    /** An object whose constructor has not run. */
    @SuppressWarnings("unchecked")
    static <T> T make(Class<T> kind) throws Exception {
        return (T) UNSAFE.allocateInstance(kind);
    }

    /** Sets a field, whoever of its classes declares it. */
    static void set(Object object, String name, Object value) throws Exception {
        for (Class<?> kind = object.getClass(); kind != null; kind = kind.getSuperclass())
            for (Field field : kind.getDeclaredFields())
                if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
                    field.setAccessible(true);
                    if (java.lang.reflect.Modifier.isFinal(field.getModifiers()))
                        UNSAFE.putObject(object, UNSAFE.objectFieldOffset(field), value);
                    else
                        field.set(object, value);
                    return;
                }
        throw new NoSuchFieldException(name);
    }

    static boolean hasField(Class<?> kind, String field) {
        for (java.lang.reflect.Field one : kind.getDeclaredFields()) if (one.getName().equals(field)) return true;
        return false;
    }

    /** Sets a field of longs. */
    static void setLong(Object object, String name, long value) throws Exception {
        UNSAFE.putLong(object, UNSAFE.objectFieldOffset(object.getClass().getDeclaredField(name)), value);
    }

    /** Sets a final field of ints. */
    static void setInt(Object object, String name, int value) throws Exception {
        UNSAFE.putInt(object, UNSAFE.objectFieldOffset(object.getClass().getDeclaredField(name)), value);
    }

    /** Sets a final field of shorts. */
    static void setShort(Object object, Field field, short value) {
        UNSAFE.putShort(object, UNSAFE.objectFieldOffset(field), value);
    }

    /** The method of that name, private ones included. */
    static Method method(Class<?> kind, String name) {
        Method found = Arrays.stream(kind.getDeclaredMethods()).filter(one -> one.getName().equals(name)).findFirst().get();
        found.setAccessible(true);
        return found;
    }

    /** The constructor with the most parameters. */
    static Constructor<?> constructor(Class<?> kind) {
        return Arrays.stream(kind.getDeclaredConstructors())
            .max((a, b) -> Integer.compare(a.getParameterCount(), b.getParameterCount())).get();
    }

    /** Values for the parameters of a method or constructor: those given, by their kind, nothing, 0 or false for the others. */
    static Object[] given(java.lang.reflect.Executable called, Object... some) {
        return Arrays.stream(called.getParameterTypes()).map(kind -> {
            for (Object one : some) if (kind.isInstance(one)) return one;
            return kind == long.class ? (Object) 0L : kind == int.class ? (Object) 0 : kind == boolean.class ? (Object) false
                : kind == scala.Option.class ? scala.Option.empty() : kind == java.util.Optional.class ? java.util.Optional.empty()
                : kind == java.util.OptionalLong.class ? java.util.OptionalLong.empty()
                : kind == java.util.OptionalInt.class ? java.util.OptionalInt.empty() : null;
        }).toArray();
    }
}
