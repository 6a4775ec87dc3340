#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Spark, Trino and Flink from PyPI and Maven Central, for the long tier: what is missing is fetched, nothing twice.
#
# usage: jvm.sh get DIR          pyspark 4.1.4, Trino 483, Flink 2.1.3 with Iceberg 1.12.0 (Flink's 1.11.0), 1.7 GB
#        jvm.sh trino DIR PORT   in the foreground, prints TRINO READY; JAVA25 names a JDK 25 (/usr/lib/jvm/temurin-25-jdk-amd64)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
JAVA25=${JAVA25:-/usr/lib/jvm/temurin-25-jdk-amd64}

jar() { # COORDINATES FOLDER
    mvn -q -B dependency:copy -Dartifact="$1" -DoutputDirectory="$2"
}

spark() {
    python3 -m venv "$1/spark"
    "$1/spark/bin/pip" install -q --disable-pip-version-check pyspark==4.1.4 pyarrow==25.0.1
    jar org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0 "$1/spark-jars"
}

trino() {
    mkdir -p "$1/trino"
    cat >"$1/trino/pom.xml" <<P
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
<dependencies>
<dependency><groupId>io.trino</groupId><artifactId>trino-testing</artifactId><version>483</version></dependency>
<dependency><groupId>io.trino</groupId><artifactId>trino-iceberg</artifactId><version>483</version></dependency>
</dependencies></project>
P
    JAVA_HOME=$JAVA25 mvn -q -B -f "$1/trino/pom.xml" dependency:copy-dependencies -DoutputDirectory="$1/trino/jars"
}

# Flink is not on Maven as one distribution; the sources of its Python package hold the jars.
flink() {
    mkdir -p "$1/flink/jars" "$1/flink/source"
    "$1/spark/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary :all: -d "$1/flink/source" apache-flink-libraries==2.1.3
    tar xzf "$1"/flink/source/*.tar.gz -C "$1/flink/source" --wildcards '*/deps/lib/*'
    mv "$1"/flink/source/*/deps/lib/*.jar "$1/flink/jars"
    rm -r "$1/flink/source"
    cp "$1"/spark/lib/python*/site-packages/pyspark/jars/hadoop-client-*.jar "$1/flink/jars"
    jar org.apache.iceberg:iceberg-flink-runtime-2.1:1.11.0 "$1/flink/jars"
}

case ${1:-} in
get)
    for engine in spark trino flink; do
        [ -f "$2/$engine.stamp" ] && continue
        echo "$engine: $2" >&2
        mkdir -p "$2"
        rm -rf "${2:?}/$engine"
        $engine "$2"
        touch "$2/$engine.stamp"
    done
    ;;
trino)
    exec "$JAVA25/bin/java" -Xmx"${TRINO_HEAP:-1500m}" --add-modules jdk.incubator.vector --sun-misc-unsafe-memory-access=allow \
        --enable-native-access=ALL-UNNAMED -Duser.timezone=UTC -cp "$2/trino/jars/*" "$here/TrinoServer.java" "$3"
    ;;
*)
    sed -n '5,6p' "$0" | cut -c3- >&2
    exit 2
    ;;
esac
