// SPDX-License-Identifier: Apache-2.0
// Rows by Confluent's AvroSerializer for JavaScript, the schema as the registry has it; prints each as hex, for another client to produce.
//
// usage: NODE_PATH=build/npm/node_modules node serialize.js REGISTRY TOPIC SCHEMA-FILE ROWS-FILE
// A line of ROWS-FILE is a raw value: numbers as text, bytes as hex, a union as null or [index, value].
'use strict';
const fs = require('fs');
const { SchemaRegistryClient, AvroSerializer, SerdeType } = require('@confluentinc/schemaregistry');

const named = {};

function branchName(t) {
    if (typeof t === 'string') {
        return named[t] ? named[t].full : t;
    }
    return t.name ? t.full : t.type;
}

function learn(t, space) {
    if (Array.isArray(t)) {
        t.forEach((b) => learn(b, space));
    } else if (t && typeof t === 'object') {
        if (t.name) {
            space = t.namespace || space;
            t.full = space ? space + '.' + t.name : t.name;
            named[t.name] = named[t.full] = t;
        }
        [t.items, t.values, typeof t.type === 'object' ? t.type : null].forEach((inner) => learn(inner, space));
        (t.fields || []).forEach((f) => learn(f.type, space));
    }
}

function value(t, v) {
    if (Array.isArray(t)) {
        return v === null ? null : { [branchName(t[v[0]])]: value(t[v[0]], v[1]) };
    }
    if (typeof t === 'string' && named[t]) {
        return value(named[t], v);
    }
    const kind = typeof t === 'string' ? t : t.type;
    switch (kind) {
    case 'int':
    case 'long':
    case 'float':
    case 'double':
        return Number(v);
    case 'bytes':
    case 'fixed':
        return Buffer.from(v, 'hex');
    case 'array':
        return v.map((x) => value(t.items, x));
    case 'map':
        return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, value(t.values, x)]));
    case 'record':
        return Object.fromEntries(t.fields.map((f) => [f.name, value(f.type, v[f.name])]));
    default:
        return typeof kind === 'object' ? value(kind, v) : v;
    }
}

async function main() {
    const [registry, topic, schemaFile, rowsFile] = process.argv.slice(2);
    const schema = JSON.parse(fs.readFileSync(schemaFile, 'utf8'));
    learn(schema);
    const client = new SchemaRegistryClient({ baseURLs: [registry] });
    const serializer = new AvroSerializer(client, SerdeType.VALUE,
        { useLatestVersion: true, autoRegisterSchemas: false, wrapUnions: 'always' });
    for (const line of fs.readFileSync(rowsFile, 'utf8').trim().split('\n')) {
        console.log((await serializer.serialize(topic, value(schema, JSON.parse(line)))).toString('hex'));
    }
    process.exit(0);
}

main().catch((e) => {
    console.error(e);
    process.exit(1);
});
