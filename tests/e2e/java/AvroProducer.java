// SPDX-License-Identifier: Apache-2.0
// Rows into a topic by Java's own Avro: logical types through its conversions, Confluent framing, the schema registered over REST.
//
// usage: java -cp 'build/java-lib/*' AvroProducer.java BOOTSTRAP REGISTRY TOPIC SCHEMA-FILE ROWS-FILE
// A line of ROWS-FILE is a raw value: numbers as text, bytes as hex, a union as null or [index, value].

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.avro.Conversion;
import org.apache.avro.Conversions;
import org.apache.avro.LogicalType;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class AvroProducer {
    private static final GenericData MODEL = new GenericData();
    private static final ObjectMapper JSON = new ObjectMapper();

    static {
        MODEL.addLogicalTypeConversion(new Conversions.DecimalConversion());
        MODEL.addLogicalTypeConversion(new Conversions.UUIDConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.DateConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());
    }

    private static byte[] hex(String text) {
        byte[] out = new byte[text.length() / 2];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }

    private static Object value(Schema schema, JsonNode v) {
        Object raw = raw(schema, v);
        LogicalType logical = schema.getLogicalType();
        Conversion<?> conversion = logical == null ? null : MODEL.getConversionFor(logical);
        return conversion == null ? raw : Conversions.convertToLogicalType(raw, schema, logical, conversion);
    }

    private static Object raw(Schema schema, JsonNode v) {
        switch (schema.getType()) {
        case NULL:
            return null;
        case BOOLEAN:
            return v.asBoolean();
        case INT:
            return Integer.parseInt(v.asText());
        case LONG:
            return Long.parseLong(v.asText());
        case FLOAT:
            return Float.parseFloat(v.asText());
        case DOUBLE:
            return Double.parseDouble(v.asText());
        case BYTES:
            return ByteBuffer.wrap(hex(v.asText()));
        case FIXED:
            return new GenericData.Fixed(schema, hex(v.asText()));
        case ENUM:
            return new GenericData.EnumSymbol(schema, v.asText());
        case ARRAY:
            List<Object> list = new ArrayList<>();
            v.forEach(x -> list.add(value(schema.getElementType(), x)));
            return list;
        case MAP:
            Map<String, Object> map = new HashMap<>();
            v.fields().forEachRemaining(e -> map.put(e.getKey(), value(schema.getValueType(), e.getValue())));
            return map;
        case UNION:
            return v.isNull() ? null : value(schema.getTypes().get(v.get(0).asInt()), v.get(1));
        case RECORD:
            GenericData.Record record = new GenericData.Record(schema);
            for (Schema.Field f : schema.getFields()) {
                record.put(f.pos(), value(f.schema(), v.get(f.name())));
            }
            return record;
        default:
            return v.asText();
        }
    }

    private static int register(String registry, String subject, String schema) throws Exception {
        String body = JSON.writeValueAsString(Map.of("schema", schema));
        HttpRequest request = HttpRequest.newBuilder(URI.create(registry + "/subjects/" + subject + "/versions"))
                                  .header("Content-Type", "application/vnd.schemaregistry.v1+json")
                                  .POST(HttpRequest.BodyPublishers.ofString(body))
                                  .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(answer.statusCode() + " " + answer.body());
        }
        return JSON.readTree(answer.body()).get("id").asInt();
    }

    public static void main(String[] args) throws Exception {
        Schema schema = new Schema.Parser().parse(Files.readString(Path.of(args[3])));
        int id = register(args[1], args[2] + "-value", schema.toString());
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("compression.type", "zstd");
        GenericDatumWriter<Object> writer = new GenericDatumWriter<>(schema, MODEL);
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String line : Files.readAllLines(Path.of(args[4]))) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                out.write(0);
                out.write(ByteBuffer.allocate(4).putInt(id).array());
                BinaryEncoder encoder = EncoderFactory.get().blockingBinaryEncoder(out, null);
                writer.write(value(schema, JSON.readTree(line)), encoder);
                encoder.flush();
                producer.send(new ProducerRecord<>(args[2], 0, null, out.toByteArray())).get();
            }
        }
    }
}
