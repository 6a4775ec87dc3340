// SPDX-License-Identifier: Apache-2.0
// A Trino coordinator in one JVM, made of jars of its test kit (there is no server on Maven Central); local files, tables by register_table.
import io.trino.Session;
import io.trino.plugin.iceberg.IcebergPlugin;
import io.trino.testing.DistributedQueryRunner;
import io.trino.testing.QueryRunner;
import io.trino.testing.TestingSession;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

public class TrinoServer {
    public static void main(String[] args) throws Exception {
        Path metastore = Files.createTempDirectory("trino-metastore");
        Session session = TestingSession.testSessionBuilder().setCatalog("ice").setSchema("s").build();
        QueryRunner runner = DistributedQueryRunner.builder(session).setWorkerCount(0)
                .setCoordinatorProperties(Map.of("http-server.http.port", args[0])).build();
        runner.installPlugin(new IcebergPlugin());
        runner.createCatalog("ice", "iceberg", Map.of("iceberg.catalog.type", "TESTING_FILE_METASTORE", "hive.metastore.catalog.dir", "local://" + metastore,
                "fs.native-local.enabled", "true", "local.location", "/", "iceberg.register-table-procedure.enabled", "true"));
        runner.execute("create schema if not exists ice.s");
        System.out.println("TRINO READY");
        Thread.sleep(Long.MAX_VALUE);
    }
}
