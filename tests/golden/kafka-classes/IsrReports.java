import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.apache.zookeeper.data.Stat;
import scala.Tuple2;

/** Prints whether a leader of 0.8 or 0.9 that has written another ISR to ZooKeeper notes that the controller is to hear of it. */
public class IsrReports {
    public static void main(String[] arguments) throws Exception {
        boolean[] noted = {false};
        Object client = Scala.mocked("org.I0Itec.zkclient.ZkClient", (method, given) -> method.getName().equals("writeDataReturnStat") ? new Stat() : null);
        Object partition = OldLeaders.partition((method, given) -> switch (method.getName()) {
            case "zkClient" -> client;
            case "zkUtils" -> Scala.mocked("kafka.utils.ZkUtils",
                (other, with) -> other.getName().equals("conditionalUpdatePersistentPath") ? new Tuple2<>(true, 2) : null);
            case "recordIsrChange" -> { noted[0] = true; yield null; }
            default -> null;
        });
        Method update = Arrays.stream(partition.getClass().getDeclaredMethods()).filter(one -> one.getName().endsWith("updateIsr")).findFirst().get();
        update.setAccessible(true);
        update.invoke(partition, Scala.set(List.of(OldLeaders.replica(partition, 0))));
        System.out.println(noted[0]);
    }
}
