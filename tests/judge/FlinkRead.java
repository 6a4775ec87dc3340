// SPDX-License-Identifier: Apache-2.0
// Asks Flink for the ids of table s.t of a REST catalog, one condition a line of standard input: `ids 1 2 3` or `error text` for each.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

public class FlinkRead {
    public static void main(String[] args) throws Exception {
        TableEnvironment env = TableEnvironment.create(EnvironmentSettings.newInstance().inBatchMode().build());
        env.getConfig().set("table.local-time-zone", "UTC");
        env.getConfig().set("parallelism.default", "1");
        env.executeSql("create catalog c with ('type'='iceberg', 'catalog-type'='rest', 'uri'='" + args[0] + "', 'cache-enabled'='false')");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = in.readLine()) != null;) {
            StringBuilder out = new StringBuilder("ids");
            try (CloseableIterator<Row> rows = env.executeSql("select id from c.s.t where " + line).collect()) {
                while (rows.hasNext()) {
                    out.append(' ').append(rows.next().getField(0));
                }
            } catch (Throwable e) {
                Throwable root = e;
                while (root.getCause() != null) {
                    root = root.getCause();
                }
                out = new StringBuilder("error " + (root + "").replaceAll("\\s+", " "));
            }
            System.out.println(out);
        }
        System.exit(0);
    }
}
