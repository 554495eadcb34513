import java.lang.reflect.Method;
import org.apache.kafka.server.common.MetadataVersion;

/** Prints the features of a new cluster of a release, with their levels. */
public class Features {
    public static void main(String[] arguments) throws Exception {
        String kind = Scala.exists("org.apache.kafka.server.common.Feature") ? "Feature" : "Features";
        StringBuilder line = new StringBuilder();
        for (Object feature : Class.forName("org.apache.kafka.server.common." + kind).getEnumConstants()) {
            String name = (String) feature.getClass().getMethod("featureName").invoke(feature);
            if (name.startsWith("test.") || name.startsWith("unit.test")) continue;
            Method level = feature.getClass().getMethod(kind.equals("Feature") ? "defaultLevel" : "defaultValue", MetadataVersion.class);
            line.append(name).append(':').append(level.invoke(feature, MetadataVersion.latestProduction())).append(' ');
        }
        System.out.println(line.toString().trim());
    }
}
