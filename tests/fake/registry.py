#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Schema Registry double with Confluent's paths, answers and error codes, in memory, and with faults on request.

usage: registry.py [--port N] [--user NAME --password TEXT | --token TEXT] [--schema SUBJECT=FILE[:TYPE] ...]

As a module: `with Registry() as r: r.register("t-value", schema); r.url`. Subjects, versions, ids and guids, references, soft and
permanent deletion, basic and bearer authentication. `r.fail("/schemas/ids/", status=503, times=2)` spoils the next requests; over HTTP
the same is `POST /_faults`, and `GET /_requests` lists what was asked.
"""
import argparse, base64, json, re, sys, threading, time, urllib.parse, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPE = "application/vnd.schemaregistry.v1+json"


class Refusal(Exception):
    """(HTTP status, error code, message)"""


class Version:
    """A schema under a subject; the same text has one id in all subjects."""

    def __init__(self, subject, number, schema_id, guid, schema, schema_type, references):
        self.subject, self.number, self.id, self.guid = subject, number, schema_id, guid
        self.schema, self.type, self.references, self.deleted = schema, schema_type, references, False

    def by_id(self):
        """as /schemas/ids answers: nothing empty, and no type for Avro"""
        out = {"schema": self.schema, "guid": self.guid}
        if self.type != "AVRO":
            out["schemaType"] = self.type
        if self.references:
            out["references"] = self.references
        return out

    def by_version(self):
        return {"subject": self.subject, "version": self.number, "id": self.id, **self.by_id()}


class Registry:
    def __init__(self, port=0, user=None, password=None, token=None):
        self.lock, self.subjects, self.next_id = threading.Lock(), {}, 1
        self.faults, self.requests = [], []
        self.expected = None
        if user is not None:
            self.expected = "Basic " + base64.b64encode(("%s:%s" % (user, password)).encode()).decode()
        elif token is not None:
            self.expected = "Bearer " + token
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler(self))
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    # ------------------------------------------------------------------------------------------ what a test does

    def register(self, subject, schema, schema_type="AVRO", references=()):
        """-> id; the version becomes visible at once"""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        with self.lock:
            return self.add(subject, text, schema_type, list(references)).id

    def fail(self, path, status=503, times=1, delay=0.0, drop=False, retry_after=None):
        """The next `times` requests whose path matches the regular expression are delayed and then dropped or refused.

        status 0 only delays; drop closes the connection without an answer, after the effect took place.
        """
        with self.lock:
            self.faults.append({"path": path, "status": status, "times": times, "delay": delay, "drop": drop, "retry_after": retry_after})

    # ------------------------------------------------------------------------------------------------- the store

    def add(self, subject, schema, schema_type, references):
        same = [v for vs in self.subjects.values() for v in vs if (v.schema, v.type, v.references) == (schema, schema_type, references)]
        versions = self.subjects.setdefault(subject, [])
        for v in same:
            if v.subject == subject and not v.deleted:
                return v
        if same:
            schema_id, guid = same[0].id, same[0].guid
        else:
            schema_id, self.next_id = self.next_id, self.next_id + 1
            guid = str(uuid.uuid5(uuid.NAMESPACE_OID, schema_type + schema + json.dumps(references)))
        number = max([v.number for v in versions], default=0) + 1
        versions.append(Version(subject, number, schema_id, guid, schema, schema_type, references))
        return versions[-1]

    def versions(self, subject, deleted=False):
        found = [v for v in self.subjects.get(subject, []) if deleted or not v.deleted]
        if not found:
            raise Refusal(404, 40401, "Subject '%s' not found." % subject)
        return found

    def version(self, subject, text, deleted=False):
        found = self.versions(subject, deleted)
        if text in ("latest", "-1"):
            return found[-1]
        if not text.isdigit() or int(text) < 1:
            raise Refusal(422, 42202, "The specified version '%s' is not a valid version id. Allowed values are between [1, 2^31-1] and "
                                      "the string \"latest\"" % text)
        for v in found:
            if v.number == int(text):
                return v
        raise Refusal(404, 40402, "Version %s not found." % text)

    def delete(self, subject, text, permanent):
        every = self.versions(subject, True)
        chosen = every if text is None else [self.version(subject, text, True)]
        if permanent:
            if any(not v.deleted for v in chosen):
                code = 40405 if text is None else 40407
                raise Refusal(404, code, "Subject '%s' was not deleted first before being permanently deleted" % subject)
            self.subjects[subject] = [v for v in every if v not in chosen]
        else:
            chosen = [v for v in chosen if not v.deleted]
            if not chosen:
                code = 40404 if text is None else 40406
                raise Refusal(404, code, "Subject '%s' was soft deleted. Set permanent=true to delete permanently" % subject)
            for v in chosen:
                v.deleted = True
        numbers = [v.number for v in chosen]
        return numbers if text is None else numbers[0]

    # ---------------------------------------------------------------------------------------------------- routes

    def answer(self, method, parts, query, body):
        deleted = query.get("deleted") == "true"
        if parts[:1] == ["subjects"]:
            return self.answer_subjects(method, parts[1:], query, body, deleted)
        if parts[:2] in (["schemas", "ids"], ["schemas", "guids"]) and method == "GET" and len(parts) in (3, 4):
            return self.answer_schemas(parts[1], parts[2], parts[3:], query)
        fixed = {"": {}, "schemas/types": ["JSON", "PROTOBUF", "AVRO"], "contexts": ["."], "config": {"compatibilityLevel": "BACKWARD"},
                 "mode": {"mode": "READWRITE"}}
        path = "/".join(parts)
        if method == "GET" and path in fixed:
            return fixed[path]
        raise Refusal(404, 404, "HTTP 404 Not Found")

    def answer_subjects(self, method, parts, query, body, deleted):
        if not parts and method == "GET":
            visible = (s for s, vs in self.subjects.items() if any(deleted or not v.deleted for v in vs))
            return sorted(s for s in visible if s.startswith(query.get("subjectPrefix", "")))
        if len(parts) == 1 and method == "POST":
            wanted = json.loads(body)
            for v in self.versions(parts[0], deleted):
                if (v.schema, v.type) == (wanted.get("schema"), wanted.get("schemaType") or "AVRO"):
                    return v.by_version()
            raise Refusal(404, 40403, "Schema not found")
        if len(parts) == 1 and method == "DELETE":
            return self.delete(parts[0], None, query.get("permanent") == "true")
        if len(parts) == 2 and parts[1] == "versions":
            if method == "GET":
                return [v.number for v in self.versions(parts[0], deleted)]
            if method == "POST":
                new = json.loads(body)
                for r in new.get("references") or []:
                    self.version(r["subject"], str(r["version"]))
                return {"id": self.add(parts[0], new["schema"], new.get("schemaType") or "AVRO", new.get("references") or []).id}
        if len(parts) >= 3 and parts[1] == "versions":
            if method == "DELETE" and len(parts) == 3:
                return self.delete(parts[0], parts[2], query.get("permanent") == "true")
            v = self.version(parts[0], parts[2], deleted)
            if method == "GET" and len(parts) == 3:
                return v.by_version()
            if method == "GET" and parts[3:] == ["schema"]:
                return v.schema
            if method == "GET" and parts[3:] == ["referencedby"]:
                wanted = {"subject": v.subject, "version": v.number}
                return sorted({w.id for vs in self.subjects.values() for w in vs for r in w.references if wanted.items() <= r.items()})
        raise Refusal(404, 404, "HTTP 404 Not Found")

    def answer_schemas(self, kind, key, rest, query):
        every = [v for vs in self.subjects.values() for v in vs]
        found = [v for v in every if (str(v.id) if kind == "ids" else v.guid) == key]
        if not found:
            raise Refusal(404, 40403, "Schema %s not found" % key)
        live = [v for v in found if not v.deleted or query.get("deleted") == "true"]
        if kind == "guids" and rest == ["ids"]:
            return [{"context": ".", "id": found[0].id}]
        answers = {(): lambda: found[0].by_id(), ("schema",): lambda: found[0].schema, ("subjects",): lambda: sorted({v.subject for v in live}),
                   ("versions",): lambda: [{"subject": v.subject, "version": v.number} for v in live]}
        if tuple(rest) not in answers or kind == "guids" and rest:
            raise Refusal(404, 404, "HTTP 404 Not Found")
        return answers[tuple(rest)]()

    def take_fault(self, path):
        for f in self.faults:
            if f["times"] > 0 and re.search(f["path"], path):
                f["times"] -= 1
                return f
        return None


def handler(registry):
    class Handler(BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

        def reply(self):
            url = urllib.parse.urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = [urllib.parse.unquote(p) for p in url.path.split("/")[1:] if p]
            if parts == ["_faults"]:
                registry.fail(**json.loads(body))
                return self.send(200, {})
            if parts == ["_requests"]:
                return self.send(200, registry.requests)
            with registry.lock:
                registry.requests.append("%s %s" % (self.command, self.path))
                fault = registry.take_fault(self.path)
            status, answer = self.serve(parts, dict(urllib.parse.parse_qsl(url.query)), body)
            if fault:
                time.sleep(fault["delay"])
                if fault["drop"]:
                    self.close_connection = True
                    return None
                if fault["status"]:
                    more = {} if fault["retry_after"] is None else {"Retry-After": str(fault["retry_after"])}
                    return self.send(fault["status"], {"error_code": 50001, "message": "fault on request"}, more)
            return self.send(status, answer)

        def serve(self, parts, query, body):
            if registry.expected and self.headers.get("Authorization") != registry.expected:
                return 401, {"error_code": 40101, "message": "Unauthorized"}
            try:
                with registry.lock:
                    return 200, registry.answer(self.command, parts, query, body)
            except Refusal as e:
                return e.args[0], {"error_code": e.args[1], "message": e.args[2]}
            except (ValueError, KeyError) as e:
                return 422, {"error_code": 42201, "message": "Invalid schema: %s" % e}

        def send(self, status, answer, headers=None):
            data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            for name, value in {"Content-Type": TYPE, "Content-Length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PUT = reply

        def log_message(self, *_):
            pass

    return Handler


def main():
    ap = argparse.ArgumentParser(description="Schema Registry double")
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--user")
    ap.add_argument("--password")
    ap.add_argument("--token")
    ap.add_argument("--schema", action="append", default=[], metavar="SUBJECT=FILE[:TYPE]")
    o = ap.parse_args()
    with Registry(o.port, o.user, o.password, o.token) as r:
        for s in o.schema:
            subject, _, rest = s.partition("=")
            path, _, kind = rest.partition(":")
            with open(path, encoding="utf-8") as f:
                print("%s id %d" % (subject, r.register(subject, f.read(), kind or "AVRO")), file=sys.stderr)
        print(r.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
