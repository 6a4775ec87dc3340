#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# svc.sh CMD : real services for e2e tests, everything under $SVC (default ./svc-run).
#   fetch-kafka [VERSION] | fetch-registry | fetch-rest | fetch-spark | build-s3
#   kafka | registry | s3 | rest     start, wait until ready, print the address
#   rck URL                                         run the Iceberg REST Compatibility Kit against URL
#   down NAME                                       stop what NAME started
set -e
H=$(cd "$(dirname "$0")" && pwd); SVC=${SVC:-$PWD/svc-run}; mkdir -p "$SVC"; SVC=$(cd "$SVC" && pwd)
P=${PORT_BASE:-29000}
JO="-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
M2=${M2:-$HOME/.m2/repository}
jars() { mvn -q -B -f "$1" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$2" "${@:3}"; }
art()  { mvn -q -B dependency:get -Dartifact="$1" -Dtransitive=false; }
wait_for() { # NAME SECONDS COMMAND...
  local n=$1 s=$2; shift 2
  for _ in $(seq $((s*10))); do
    "$@" >/dev/null 2>&1 && return 0
    kill -0 "$(cat "$SVC/$n.pid")" 2>/dev/null || { tail -20 "$SVC/$n.log" >&2; return 1; }
    sleep 0.1
  done; echo "$n: not ready" >&2; return 1; }
bg() { local n=$1; shift; "$@" >"$SVC/$n.log" 2>&1 & echo $! >"$SVC/$n.pid"; }
case $1 in
fetch-kafka) jars "$H/kafka/pom.xml" "$SVC/kafka-lib" -Dkafka.version="${2:-4.4.0}" ;;
fetch-spark) jars "$H/spark/pom.xml" "$SVC/spark-lib" ;;
fetch-registry) art io.apicurio:apicurio-registry-app:2.6.13.Final:tar.gz:all
  mkdir -p "$SVC/apicurio"; tar xzf "$M2/io/apicurio/apicurio-registry-app/2.6.13.Final/apicurio-registry-app-2.6.13.Final-all.tar.gz" -C "$SVC/apicurio" ;;
fetch-rest) jars "$H/iceberg-rest/pom.xml" "$SVC/rest-lib" ;;
build-s3) GOBIN="$SVC/bin" GOFLAGS=-p=1 nice go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 ;;
kafka)
  mkdir -p "$SVC/kafka"; [ -f "$SVC/certs/ca.pem" ] || "$H/kafka/mkcerts.sh" "$SVC/certs"
  sed -e "s#@RUN@#$SVC#g; s#@P0@#$((P+92))#g; s#@P1@#$((P+93))#g; s#@P2@#$((P+94))#g; s#@P3@#$((P+95))#g; s#@P4@#$((P+96))#g" "$H/kafka/server.properties.in" > "$SVC/kafka/server.properties"
  [ -f "$SVC/kafka/data/meta.properties" ] || java $JO -cp "$SVC/kafka-lib/*" kafka.tools.StorageTool format --standalone \
     -t "$(head -c16 /dev/urandom | base64 | tr '+/' 'ab' | tr -d =)" -c "$SVC/kafka/server.properties" \
     --add-scram 'SCRAM-SHA-256=[name=alice,password=alice-secret]' --add-scram 'SCRAM-SHA-512=[name=alice,password=alice-secret]' >/dev/null
  bg kafka java -Xmx192m $JO -Dlog4j2.configurationFile="$H/kafka/log4j2.properties" -cp "$SVC/kafka-lib/*" kafka.Kafka "$SVC/kafka/server.properties"
  wait_for kafka 60 grep -q 'Kafka Server started' "$SVC/kafka.log"; echo "127.0.0.1:$((P+92))" ;;
registry)
  export QUARKUS_HTTP_HOST=127.0.0.1 QUARKUS_HTTP_PORT=$((P+81))
  bg registry java -Xmx256m $JO -jar "$SVC"/apicurio/apicurio-registry-app-2.6.13.Final-runner.jar
  wait_for registry 60 curl -sf "http://127.0.0.1:$((P+81))/apis/ccompat/v7/subjects"; echo "http://127.0.0.1:$((P+81))/apis/ccompat/v7" ;;
s3)
  mkdir -p "$SVC/s3/data" "$SVC/s3/iam"
  bg s3 "$SVC/bin/versitygw" --port "127.0.0.1:$((P+70))" --access testkey --secret testsecret --health /health -q --iam-dir "$SVC/s3/iam" posix "$SVC/s3/data"
  wait_for s3 20 curl -sf "http://127.0.0.1:$((P+70))/health"; echo "http://127.0.0.1:$((P+70))" ;;
rest) # CATALOG_* in the environment is passed on: '_' becomes '.', '__' becomes '-', lower case
  rm -rf "$SVC/rest-wh"; mkdir -p "$SVC/rest-wh"   # files left by an earlier run fail one RCK test
  export CATALOG_REST_PORT=$((P+83)) CATALOG_CATALOG_NAME=rest CATALOG_WAREHOUSE=${CATALOG_WAREHOUSE:-file://$SVC/rest-wh} CATALOG_URI=${CATALOG_URI:-jdbc:sqlite::memory:}
  bg rest java -Xmx256m $JO -cp "$SVC/rest-lib/*" org.apache.iceberg.rest.RESTCatalogServer
  wait_for rest 60 curl -sf "http://127.0.0.1:$((P+83))/v1/config"; echo "http://127.0.0.1:$((P+83))" ;;
rck)
  CATALOG_URI=$2 CATALOG_WAREHOUSE=${CATALOG_WAREHOUSE:-file://$SVC/rest-wh} java -Xmx512m -Drck.local=false -Drck.purge-test-namespaces=true \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn $RCK_OPTS -cp "$SVC/rest-lib/*" org.junit.platform.console.ConsoleLauncher execute \
    --select-class org.apache.iceberg.rest.RESTCompatibilityKitSuite --details=tree --disable-ansi-colors --reports-dir "$SVC/rck" ;;
down) p=$(cat "$SVC/$2.pid"); kill "$p"; while kill -0 "$p" 2>/dev/null; do sleep 0.1; done; rm "$SVC/$2.pid" ;;
*) sed -n 3,7p "$0"; exit 2 ;;
esac
