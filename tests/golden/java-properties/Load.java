import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Properties;
import java.util.Random;
import java.util.StringJoiner;
import java.util.TreeSet;

/** Random texts and the pairs that java.util.Properties.load makes of each: text, keys and values in base64, or refused. */
public class Load {
    static final String[] PARTS = {
        "a", "b", "key", "=", ":", " ", "\t", "\f", "\n", "\r", "\r\n", "\\", "\\\\", "#", "!", "\\n", "\\t", "\\:", "\\=", "\\ ",
        "\\u0041", "\\u00e9", "\\u00E9", "\\u12", "\\uzzzz", "é", "\\é", "\\\n", "\\\r\n", "\\\r", "\\\n  ", "password", "1", "\u0000", "\u0085", "\u2028", "\u000b", "\u001c",
    };

    static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    public static void main(String[] arguments) throws Exception {
        Random random = new Random(20261123);
        StringBuilder out = new StringBuilder();
        for (int number = 0; number < 4000; number++) {
            StringBuilder text = new StringBuilder();
            for (int count = random.nextInt(14); count >= 0; count--) text.append(PARTS[random.nextInt(PARTS.length)]);
            StringJoiner line = new StringJoiner("\t");
            line.add(base64(text.toString()));
            try {
                Properties found = new Properties();
                found.load(new StringReader(text.toString()));
                for (String key : new TreeSet<>(found.stringPropertyNames()))
                    line.add(base64(key) + ":" + base64(found.getProperty(key)));
            } catch (IllegalArgumentException refused) {
                line.add("refused");
            }
            out.append(line).append('\n');
        }
        Files.writeString(Path.of(arguments[0]), out);
    }
}
