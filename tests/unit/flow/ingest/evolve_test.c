// SPDX-License-Identifier: Apache-2.0
// Evolution: each rule by an example, then what holds for any two schemas.
#include "flow/ingest/evolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

// --- shapes by text: name[=identity step][@alias][!]:type, e.g.
// "a!:int,s:{x:int,y!:string},l:[int!],m:<int>" ---

typedef struct reader {
    const char *at;
    fz_arena *arena;
} reader;

static fz_str word(reader *r, const char *stop) {
    const char *from = r->at;
    while (*r->at && !strchr(stop, *r->at)) {
        r->at++;
    }
    return fz_arena_str(r->arena, fz_str_make(from, (size_t)(r->at - from)));
}

static fz_str join(fz_arena *arena, fz_str parent, fz_str step) {
    return fz_arena_printf(arena, "%.*s%s%.*s", FZ_STR_ARGS(parent), parent.size ? "." : "",
                           FZ_STR_ARGS(step));
}

static void read_type(reader *r, fz_str identity, fz_type *out);

static bool eat(reader *r, char c) {
    if (*r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

static void read_fields(reader *r, fz_str parent, char end, fz_type *out) {
    out->kind = FZ_TYPE_STRUCT;
    out->fields = FZ_ARENA_ARRAY(r->arena, fz_field, 64);
    while (*r->at && *r->at != end) {
        fz_field *field = &out->fields[out->field_count];
        field->origin = (int32_t)out->field_count++;
        field->name = word(r, "=@!:");
        fz_str step = eat(r, '=') ? word(r, "@!:") : field->name;
        field->identity = join(r->arena, parent, step);
        fz_str *aliases = FZ_ARENA_ARRAY(r->arena, fz_str, 4);
        while (eat(r, '@')) {
            aliases[field->alias_count++] = join(r->arena, parent, word(r, "@!:"));
        }
        field->aliases = aliases;
        field->required = eat(r, '!');
        assert_true(eat(r, ':'));
        read_type(r, field->identity, &field->type);
        if (eat(r, '#')) {
            field->doc = word(r, ",}~");
        }
        if (eat(r, '~')) {
            field->has_default = true;
            field->initial_default = word(r, ",}");
        }
        eat(r, ',');
    }
    eat(r, end);
}

static void read_item(reader *r, fz_str parent, const char *name, fz_field *out) {
    out->name = fz_str_from(name);
    out->identity = join(r->arena, parent, out->name);
    read_type(r, out->identity, &out->type);
    out->required = eat(r, '!');
}

static void read_type(reader *r, fz_str identity, fz_type *out) {
    if (eat(r, '{')) {
        read_fields(r, identity, '}', out);
    } else if (eat(r, '[')) {
        *out = (fz_type){.kind = FZ_TYPE_LIST, .field_count = 1};
        out->fields = FZ_ARENA_ARRAY(r->arena, fz_field, 1);
        read_item(r, identity, "element", out->fields);
        assert_true(eat(r, ']'));
    } else if (eat(r, '<')) {
        *out = (fz_type){.kind = FZ_TYPE_MAP, .field_count = 2};
        out->fields = FZ_ARENA_ARRAY(r->arena, fz_field, 2);
        read_item(r, identity, "key", &out->fields[0]);
        out->fields[0].required = true;
        if (eat(r, ';')) {
            read_item(r, identity, "value", &out->fields[1]);
        } else {
            out->fields[1] = out->fields[0];
            out->fields[0].type = (fz_type){.kind = FZ_TYPE_STRING};
            out->fields[1].name = FZ_STR("value");
            out->fields[1].identity = join(r->arena, identity, FZ_STR("value"));
            out->fields[1].required = false;
        }
        assert_true(eat(r, '>'));
    } else {
        const char *from = r->at;
        int depth = 0;
        while (*r->at && (depth > 0 || !strchr(",!}]>;~#", *r->at))) {
            depth += *r->at == '(' ? 1 : *r->at == ')' ? -1 : 0;
            r->at++;
        }
        assert_true(fz_type_parse(fz_str_make(from, (size_t)(r->at - from)), out));
    }
}

static fz_schema *shape_of(const char *text) {
    fz_schema *shape = fz_schema_new();
    reader r = {text, &shape->arena};
    read_fields(&r, (fz_str){0}, '\0', &shape->root);
    return shape;
}

// --- a table that takes what comes out ---

typedef struct table {
    fz_evolve_input in;
    fz_schema *schema;
    json_t *link;
    fz_schema *bound; // of the last
    char changes[4000];
    size_t change_count;
    bool link_changed;
    fz_err err;
} table;

static void table_init(table *t, const char *columns, int format_version) {
    *t = (table){0};
    t->schema = fz_schema_new();
    fz_schema *shape = shape_of(columns);
    fz_type *root = &t->schema->root;
    root->fields = FZ_ARENA_ARRAY(&t->schema->arena, fz_field, shape->root.field_count + 1);
    root->field_count = shape->root.field_count;
    for (size_t i = 0; i < root->field_count; i++) {
        fz_evolve_column(&t->schema->arena, &shape->root.fields[i], format_version,
                         &root->fields[i]);
    }
    fz_schema_unref(shape);
    fz_type_assign_ids(root, &t->in.last_column_id);
    fz_schema_finish(t->schema);
    t->in.policy = (fz_config_evolution){FZ_POLICY_APPLY, FZ_POLICY_KEEP, FZ_POLICY_APPLY,
                                         FZ_POLICY_APPLY, FZ_POLICY_SUSPEND};
    t->in.may_change = true;
    t->in.format_version = format_version;
    t->in.side = FZ_EVOLVE_VALUE;
}

static void table_deinit(table *t) {
    fz_schema_unref(t->schema);
    fz_schema_unref(t->bound);
    json_decref(t->link);
}

static fz_code run_shape(table *t, const fz_schema *shape) {
    t->in.table = t->schema;
    t->in.link = t->link;
    t->in.shape = shape;
    fz_evolve_result out;
    t->err = (fz_err){0};
    fz_code code = fz_ingest_evolve(&t->in, &out, &t->err);
    if (code != FZ_OK) {
        assert_int_equal(code, t->err.code);
        return code;
    }
    assert_true((out.table != NULL) == (out.change_count > 0));
    if (out.table) {
        fz_schema_unref(t->schema);
        t->schema = fz_schema_ref(out.table);
    }
    assert_true(out.last_column_id >= t->in.last_column_id);
    assert_true(t->schema->highest_id <= out.last_column_id);
    t->in.last_column_id = out.last_column_id;
    json_decref(t->link);
    t->link = json_incref(out.link);
    t->link_changed = out.link_changed;
    fz_schema_unref(t->bound);
    t->bound = fz_schema_ref(out.shape);
    snprintf(t->changes, sizeof(t->changes), "%s", fz_buf_cstr(&out.changes));
    t->change_count = out.change_count;
    fz_evolve_result_deinit(&out);
    return FZ_OK;
}

static fz_code run(table *t, const char *text) {
    fz_schema *shape = shape_of(text);
    fz_code code = run_shape(t, shape);
    fz_schema_unref(shape);
    return code;
}

static void expect(table *t, const char *text, const char *changes) {
    fz_code code = run(t, text);
    if (code != FZ_OK) {
        print_error("%s\n", t->err.text);
    }
    assert_int_equal(code, FZ_OK);
    assert_string_equal(t->changes, changes);
    // the same again changes nothing
    assert_int_equal(run(t, text), FZ_OK);
    assert_string_equal(t->changes, "");
    assert_false(t->link_changed);
}

static void expect_refused(table *t, const char *text, const char *kind, const char *message) {
    fz_code code = run(t, text);
    assert_int_equal(code, FZ_UNSUPPORTED);
    assert_string_equal(t->err.kind, kind);
    if (!strstr(t->err.text, message)) {
        print_error("\"%s\" lacks \"%s\"\n", t->err.text, message);
    }
    assert_non_null(strstr(t->err.text, message));
}

static void expect_columns(const table *t, const char *text) {
    fz_buf buf = {0};
    fz_type_format(&t->schema->root, &buf);
    assert_string_equal(fz_buf_cstr(&buf), text);
    fz_buf_deinit(&buf);
}

static int32_t bound_id(const table *t, const char *path) {
    const fz_field *field = fz_schema_find_path(t->bound, fz_str_from(path));
    assert_non_null(field);
    return field->id;
}

static int32_t column_id(const table *t, const char *path) {
    const fz_field *field = fz_schema_find_path(t->schema, fz_str_from(path));
    assert_non_null(field);
    return field->id;
}

static fz_field *column(table *t, const char *path) {
    return (fz_field *)(uintptr_t)fz_schema_find_path(t->schema, fz_str_from(path));
}

// --- examples ---

static const char all[] = "a!:int,s:{x:int,y!:string},l:[{q:int}!],m:<{w:float}>";

static void links_a_new_table_by_name(void **state) {
    (void)state;
    table t;
    table_init(&t, all, 2);
    assert_int_equal(run(&t, all), FZ_OK);
    assert_true(t.link_changed);
    assert_string_equal(t.changes, "");
    assert_int_equal(bound_id(&t, "l.element.q"), column_id(&t, "l.element.q"));
    assert_int_equal(bound_id(&t, "m.value.w"), column_id(&t, "m.value.w"));
    assert_int_equal(json_integer_value(json_object_get(t.link, "v:m.key")),
                     column_id(&t, "m.key"));
    assert_true(fz_evolve_link_has(t.link, FZ_EVOLVE_VALUE, column_id(&t, "a")));
    assert_false(fz_evolve_link_has(t.link, FZ_EVOLVE_KEY, column_id(&t, "a")));
    expect(&t, all, "");
    table_deinit(&t);
}

static void adds_at_any_depth(void **state) {
    (void)state;
    table t;
    table_init(&t, all, 2);
    expect(&t,
           "a!:int,b!:string,s:{x:int,z!:int,y!:string},l:[{q:int,r:{k!:long}}!],m:<{w:float,v:<"
           "int>}>",
           "add column \"b\" string\n"
           "add column \"s.z\" int\n"
           "add column \"l.element.r\" struct<k: long not null>\n"
           "add column \"m.value.v\" map<string, int>\n");
    expect_columns(&t, "struct<a: int not null, s: struct<x: int, y: string not null, z: int>, "
                       "l: list<struct<q: int, r: struct<k: long not null>> not null>, "
                       "m: map<string, struct<w: float, v: map<string, int>>>, b: string>");
    assert_int_equal(bound_id(&t, "m.value.v.value"), column_id(&t, "m.value.v.value"));
    assert_true(column(&t, "m.value.v.key")->required);
    assert_int_not_equal(column_id(&t, "m.value.v.key"), column_id(&t, "m.value.v.value"));
    expect(&t, all, ""); // the older writer
    t.in.policy.add = FZ_POLICY_IGNORE;
    expect(&t, "a!:int,c:int,s:{x:int,y!:string},l:[{q:int}!],m:<{w:float}>", "");
    assert_int_equal(bound_id(&t, "c"), 0);
    t.in.policy.add = FZ_POLICY_SUSPEND;
    expect_refused(&t, "a!:int,c:int", "schema_incompatible", "evolution.add is suspend");
    table_deinit(&t);
}

static void relaxes_what_is_missing_or_optional(void **state) {
    (void)state;
    table t;
    table_init(&t, "a!:int,b!:int,s!:{x!:int,y!:int},l!:[int!],m:<string!;int!>", 2);
    expect(&t, "a!:int,b!:int,s!:{x!:int,y!:int},l!:[int!],m:<string!;int!>", "");
    expect(&t, "a:int,s!:{y:int},l!:[int],m:<string!;int>",
           "make column \"a\" optional\n"
           "make column \"s.y\" optional\n"
           "make column \"s.x\" optional\n"
           "make column \"l.element\" optional\n"
           "make column \"m.value\" optional\n"
           "make column \"b\" optional\n");
    expect(&t, "a!:int,b!:int,s!:{x!:int,y!:int},l!:[int!],m:<string!;int!>", "");
    expect_columns(&t, "struct<a: int, b: int, s: struct<x: int, y: int> not null, "
                       "l: list<int> not null, m: map<string, int>>");
    table_deinit(&t);
}

static void drop_may_suspend(void **state) {
    (void)state;
    table t;
    table_init(&t, "a:int,b:int", 2);
    expect(&t, "a:int,b:int", "");
    t.in.policy.drop = FZ_POLICY_SUSPEND;
    expect_refused(&t, "a:int", "schema_incompatible", "\"b\" has no field");
    t.in.older = true;
    expect(&t, "a:int", "");
    table_deinit(&t);
}

static void widens_and_keeps_wider(void **state) {
    (void)state;
    table t;
    const char *narrow = "a:int,f:float,d:decimal(9,2),l:[int],m:<int;int>,t:date";
    table_init(&t, narrow, 3);
    expect(&t, narrow, "");
    expect(&t, "a:long,f:double,d:decimal(12,2),l:[long],m:<int;long>,t:timestamp",
           "widen column \"a\" int to long\n"
           "widen column \"f\" float to double\n"
           "widen column \"d\" decimal(9, 2) to decimal(12, 2)\n"
           "widen column \"l.element\" int to long\n"
           "widen column \"m.value\" int to long\n"
           "widen column \"t\" date to timestamp\n");
    expect(&t, narrow, "");
    assert_int_equal(bound_id(&t, "a"), column_id(&t, "a"));
    expect_refused(&t, "a:string", "schema_incompatible",
                   "\"a\" is long and the schema has string");
    expect_refused(&t, "d:decimal(12,3)", "schema_incompatible", "decimal(12, 3)");
    expect_refused(&t, "l:<long>", "schema_incompatible", "list<long>");
    expect_refused(&t, "a:{x:int}", "schema_incompatible", "struct<x: int>");
    expect_refused(&t, "m:<long;int>", "schema_incompatible", "\"m.key\"");
    expect_refused(&t, "t:timestamptz", "schema_incompatible", "timestamptz");
    table_deinit(&t);

    table_init(&t, "t:date,l:[int],a!:int", 2);
    expect(&t, "t:date,l:[int],a!:int", "");
    expect_refused(&t, "t:timestamp", "schema_incompatible", "format_version: 3");
    t.in.policy.widen = FZ_POLICY_IGNORE;
    expect(&t, "t:date,l:[long],a!:int", "");
    assert_int_equal(bound_id(&t, "l"), 0);
    assert_int_equal(bound_id(&t, "l.element"), 0);
    expect_refused(&t, "t:date,l:[int],a!:long", "schema_incompatible",
                   "evolution.widen is ignore");
    t.in.policy.widen = FZ_POLICY_SUSPEND;
    expect_refused(&t, "t:date,l:[long],a!:int", "schema_incompatible",
                   "evolution.widen is suspend");
    table_deinit(&t);
}

static void renames_by_alias(void **state) {
    (void)state;
    table t;
    table_init(&t, "a!:int,s:{x!:int}", 2);
    expect(&t, "a!:int,s:{x!:int}", "");
    expect(&t, "b@a!:int,s:{z@x!:int}",
           "rename column \"a\" to \"b\"\n"
           "rename column \"s.x\" to \"z\"\n");
    assert_int_equal(bound_id(&t, "b"), 1);
    expect(&t, "a!:int,s:{x!:int}", "");
    assert_int_equal(bound_id(&t, "a"), 1);
    expect(&t, "b@a!:int,s:{z@x!:int}", "");
    // the old name comes back as another field: the renamed one keeps the column
    expect(&t, "b@a!:int,a:string,s:{z@x!:int}", "add column \"a\" string\n");
    assert_int_equal(bound_id(&t, "b"), 1);
    assert_int_equal(bound_id(&t, "a"), column_id(&t, "a"));
    table_deinit(&t);

    // the table is made from the newest schema, and older writers come only then
    table_init(&t, "id:long,full_name!:string,s:{y:int}", 2);
    expect(&t, "id:long,full_name@name!:string,s:{y@x:int}", "");
    expect(&t, "id:long,name!:string,s:{x:int}", "");
    assert_int_equal(bound_id(&t, "name"), column_id(&t, "full_name"));
    assert_int_equal(bound_id(&t, "s.x"), column_id(&t, "s.y"));
    expect_columns(&t, "struct<id: long, full_name: string not null, s: struct<y: int>>");
    // both names in one schema are two fields
    expect(&t, "id:long,name:string,full_name!:string,s:{x:int}", "add column \"name\" string\n");
    assert_int_equal(bound_id(&t, "full_name"), column_id(&t, "full_name"));
    expect(&t, "id:long,full_name@name!:string,s:{y@x:int}", "");
    table_deinit(&t);

    table_init(&t, "a:int", 2);
    expect(&t, "a:int", "");
    t.in.policy.rename = FZ_POLICY_KEEP_NAME;
    expect(&t, "b@a:int", "");
    assert_int_equal(bound_id(&t, "b"), column_id(&t, "a"));
    t.in.policy.rename = FZ_POLICY_SUSPEND;
    expect_refused(&t, "c@b:int", "schema_incompatible", "evolution.rename is suspend");
    expect(&t, "b@a:int", "");
    table_deinit(&t);
}

static void renames_by_number(void **state) {
    (void)state;
    table t;
    table_init(&t, "foo:int", 2);
    expect(&t, "foo=1:int", "");
    expect(&t, "bar=1:int", "rename column \"foo\" to \"bar\"\n");
    expect(&t, "foo=1:int", "");
    expect(&t, "bar=1:int", "");
    column(&t, "bar")->name = FZ_STR("theirs"); // ALTER TABLE RENAME
    expect(&t, "foo=1:int", "");
    expect(&t, "baz=1:int", "");
    expect_columns(&t, "struct<theirs: int>");
    expect_refused(&t, "theirs=2:int", "unsupported_type", "belongs to another field");
    table_deinit(&t);
}

static void respects_what_others_altered(void **state) {
    (void)state;
    table t;
    table_init(&t, "a:int,b:int,c:int#old", 2);
    expect(&t, "a:int,b:int,c:int#old", "");
    column(&t, "a")->name = FZ_STR("renamed");
    fz_type *root = &t.schema->root;
    root->fields[1] = root->fields[2]; // b is dropped
    root->field_count = 2;
    root->fields[1].doc = FZ_STR("theirs");
    fz_field swap = root->fields[0];
    root->fields[0] = root->fields[1];
    root->fields[1] = swap;
    expect(&t, "a:int,b:int,c:int#new", "");
    assert_int_equal(bound_id(&t, "a"), 1);
    assert_int_equal(bound_id(&t, "b"), 0);
    assert_int_equal(bound_id(&t, "c"), 3);
    // a rename at the source of what was dropped does not bring it back
    expect(&t, "a:int,b2@b:int,c:int", "");
    assert_int_equal(bound_id(&t, "b2"), 0);
    // nor does another change touch the doc that somebody wrote
    expect(&t, "a:int,c:int#new,d:int", "add column \"d\" int\n");
    assert_true(fz_str_equal(column(&t, "c")->doc, FZ_STR("theirs")));
    expect_columns(&t, "struct<c: int, renamed: int, d: int>");
    table_deinit(&t);
}

static void adopts_columns_that_others_added(void **state) {
    (void)state;
    table t;
    table_init(&t, "a:int,extra:long,bad:string,must!:int", 2);
    expect(&t, "a:int,must!:int", "");
    expect(&t, "a:int,extra:int,must!:int", "");
    assert_int_equal(bound_id(&t, "extra"), 2);
    expect_refused(&t, "a:int,bad:int,must!:int", "schema_incompatible", "\"bad\" is string");
    expect(&t, "a:int", "make column \"must\" optional\n");
    table_deinit(&t);
    // dropped and added again by others: it is theirs to give back
    table_init(&t, "a:int,b:int", 2);
    expect(&t, "a:int,b:int", "");
    t.schema->root.fields[1].id = 9;
    t.in.last_column_id = 9;
    fz_schema_finish(t.schema);
    expect(&t, "a:int,b:int", "");
    assert_int_equal(bound_id(&t, "b"), 9);
    table_deinit(&t);
}

static void refuses_twins(void **state) {
    (void)state;
    table t;
    table_init(&t, "id:int,s:{x:int}", 2);
    expect(&t, "id:int,s:{x:int}", "");
    expect_refused(&t, "id:int,Id:int,s:{x:int}", "unsupported_type",
                   "\"Id\" and \"id\" differ only in case");
    expect_refused(&t, "id:int,s:{x:int,X:int}", "unsupported_type", "\"s.X\" and \"x\"");
    expect(&t, "ID@id:int,s:{x:int}", "rename column \"id\" to \"ID\"\n");
    table_deinit(&t);
}

static void never_changes_for_a_stranger(void **state) {
    (void)state;
    table t;
    table_init(&t, "a!:int,b:int", 2);
    expect(&t, "a!:int,b:int", "");
    t.in.may_change = false;
    expect(&t, "a!:int,c:int", "");
    assert_int_equal(bound_id(&t, "a"), 1);
    assert_int_equal(bound_id(&t, "c"), 0);
    expect(&t, "z@a!:int,A:int", "");
    assert_int_equal(bound_id(&t, "z"), 1);
    expect_refused(&t, "a!:long", "schema_incompatible", "not registered");
    expect_refused(&t, "b:int", "schema_incompatible", "\"a\" is required");
    expect(&t, "a:int", ""); // a null in it is that record's fault
    expect_columns(&t, "struct<a: int not null, b: int>");
    table_deinit(&t);
}

static void sides_share_a_table(void **state) {
    (void)state;
    table t;
    table_init(&t, "id:int,v:int", 2);
    t.in.side = FZ_EVOLVE_KEY;
    expect(&t, "id!:int", "");
    assert_int_equal(bound_id(&t, "id"), 1);
    t.in.side = FZ_EVOLVE_VALUE;
    expect(&t, "v:int", ""); // the key's column is none of the value's
    expect(&t, "v:int,id:int", "");
    assert_int_equal(bound_id(&t, "id"), 1); // a value's field of that name takes over
    assert_false(fz_evolve_link_has(t.link, FZ_EVOLVE_KEY, 1));
    t.in.side = FZ_EVOLVE_KEY;
    expect(&t, "id!:int", "");
    assert_int_equal(bound_id(&t, "id"), 0);
    t.in.side = FZ_EVOLVE_METADATA;
    expect(&t, "_kafka:{offset:long}", "add column \"_kafka\" struct<offset: long>\n");
    expect_refused(&t, "id:int", "unsupported_type", "\"id\" is there already");
    table_deinit(&t);
}

static void defaults_come_with_version_3(void **state) {
    (void)state;
    table t;
    table_init(&t, "a:int", 3);
    expect(&t, "a:int", "");
    expect(&t, "a:int,b!:int~7,c!:date~\"2020-01-02\"",
           "add column \"b\" int\nadd column \"c\" date\n");
    assert_true(fz_str_equal(column(&t, "b")->initial_default, FZ_STR("7")));
    assert_true(fz_str_equal(column(&t, "b")->write_default, FZ_STR("7")));
    expect(&t, "a:int,b:long~8,c:timestamp",
           "widen column \"b\" int to long\n"
           "widen column \"c\" date to timestamp\n");
    assert_true(fz_str_equal(column(&t, "b")->write_default, FZ_STR("7")));
    assert_true(fz_str_equal(column(&t, "c")->write_default, FZ_STR("\"2020-01-02T00:00:00\"")));
    table_deinit(&t);
    table_init(&t, "a:int,b!:int~7", 3);
    expect(&t, "a:int", ""); // its rows get the default
    table_deinit(&t);
    table_init(&t, "a:int", 2);
    expect(&t, "a:int,b!:int~7", "add column \"b\" int\n");
    assert_int_equal(column(&t, "b")->initial_default.size, 0);
    table_deinit(&t);
}

static void docs_go_along_with_other_changes(void **state) {
    (void)state;
    table t;
    table_init(&t, "a:int#one", 2);
    expect(&t, "a:int#one", "");
    expect(&t, "a:int#two", "");
    assert_true(fz_str_equal(column(&t, "a")->doc, FZ_STR("one")));
    expect(&t, "a:long#two", "widen column \"a\" int to long\n");
    assert_true(fz_str_equal(column(&t, "a")->doc, FZ_STR("two")));
    expect(&t, "a:int#one", "");
    table_deinit(&t);
}

static void map_keys_never_change(void **state) {
    (void)state;
    table t;
    table_init(&t, "m:<{x!:int};int>", 2);
    expect(&t, "m:<{x!:int};int>", "");
    expect_refused(&t, "m:<{x!:int,y:int};int>", "schema_incompatible", "\"m.key.y\"");
    expect_refused(&t, "m:<{x!:long};int>", "schema_incompatible", "\"m.key.x\"");
    expect_refused(&t, "m:<{};int>", "schema_incompatible", "\"m.key.x\"");
    table_deinit(&t);
}

static void identifiers_stay_required(void **state) {
    (void)state;
    table t;
    table_init(&t, "a!:int,b:int", 2);
    int32_t id = 1;
    t.schema->identifier_ids = &id;
    t.schema->identifier_count = 1;
    expect(&t, "a!:int,b:int,c:int", "add column \"c\" int\n");
    assert_int_equal(t.schema->identifier_count, 1);
    expect_refused(&t, "b:int", "schema_incompatible", "identifier");
    table_deinit(&t);
}

static void link_is_parsed(void **state) {
    (void)state;
    json_t *link = NULL;
    fz_err err;
    assert_int_equal(fz_evolve_link_parse((fz_str){0}, &link, &err), FZ_OK);
    assert_null(link);
    assert_int_equal(fz_evolve_link_parse(FZ_STR("{\"v:a\":1}"), &link, &err), FZ_OK);
    json_decref(link);
    const char *bad[] = {"[]", "{\"v:a\":\"1\"}", "{\"v:a\":0}", "{\"v:a\":4294967296}", "{"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(fz_evolve_link_parse(fz_str_from(bad[i]), &link, &err), FZ_CORRUPT);
    }
}

// --- properties ---

static uint32_t seed;

static uint32_t pick(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void random_type(fz_arena *arena, fz_str identity, int depth, fz_type *out);

static void random_fields(fz_arena *arena, fz_str parent, int depth, fz_type *out) {
    const char *names[] = {"a", "b", "c", "d", "e", "f"};
    *out = (fz_type){.kind = FZ_TYPE_STRUCT, .fields = FZ_ARENA_ARRAY(arena, fz_field, 6)};
    for (size_t i = 0; i < 6; i++) {
        if (pick(3) == 0 && (i < 5 || out->field_count > 0)) {
            continue;
        }
        fz_field *field = &out->fields[out->field_count++];
        field->name = fz_str_from(names[i]);
        field->identity = join(arena, parent, field->name);
        field->required = pick(2);
        field->doc = pick(3) ? (fz_str){0} : fz_arena_printf(arena, "doc %u", pick(3));
        if (pick(8) == 0) {
            fz_str *alias = FZ_ARENA_NEW(arena, fz_str);
            *alias = join(arena, parent, fz_str_from(names[pick(6)]));
            field->aliases = alias;
            field->alias_count = fz_str_equal(*alias, field->identity) ? 0 : 1;
        }
        // the kind goes with the name, so that most are compatible
        if (i < 3 || depth == 0) {
            static const fz_type_kind kinds[][2] = {{FZ_TYPE_INT, FZ_TYPE_LONG},
                                                    {FZ_TYPE_FLOAT, FZ_TYPE_DOUBLE},
                                                    {FZ_TYPE_DATE, FZ_TYPE_TIMESTAMP}};
            field->type.kind = kinds[i % 3][pick(2)];
        } else {
            random_type(arena, field->identity, (int)i * 10 + depth - 1, &field->type);
        }
    }
}

static void random_item(fz_arena *arena, fz_str identity, const char *name, int depth,
                        fz_field *out) {
    out->name = fz_str_from(name);
    out->identity = join(arena, identity, out->name);
    out->required = pick(2);
    random_fields(arena, out->identity, depth, &out->type);
}

static void random_type(fz_arena *arena, fz_str identity, int depth, fz_type *out) {
    int which = depth / 10 % 3;
    depth %= 10;
    if (which == 0) {
        random_fields(arena, identity, depth, out);
        return;
    }
    bool map = which == 1;
    *out = (fz_type){.kind = map ? FZ_TYPE_MAP : FZ_TYPE_LIST, .field_count = map ? 2 : 1};
    out->fields = FZ_ARENA_ARRAY(arena, fz_field, 2);
    if (map) {
        out->fields[0] = (fz_field){.name = FZ_STR("key"),
                                    .required = true,
                                    .identity = join(arena, identity, FZ_STR("key")),
                                    .type = {.kind = FZ_TYPE_STRING}};
    }
    random_item(arena, identity, map ? "value" : "element", depth, &out->fields[map]);
}

static fz_schema *random_shape(void) {
    fz_schema *shape = fz_schema_new();
    random_fields(&shape->arena, (fz_str){0}, 3, &shape->root);
    return shape;
}

static void collect(const fz_type *type, int32_t *ids, size_t *count) {
    for (size_t i = 0; i < type->field_count; i++) {
        assert_true(*count < 20000);
        ids[(*count)++] = type->fields[i].id;
        collect(&type->fields[i].type, ids, count);
    }
}

static int by_value(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void check_unique(const fz_type *type, bool zeros) {
    static int32_t ids[20000];
    size_t count = 0;
    collect(type, ids, &count);
    qsort(ids, count, sizeof(*ids), by_value);
    for (size_t i = 0; i < count; i++) {
        assert_true(ids[i] > 0 || (zeros && ids[i] == 0));
        assert_true(i == 0 || ids[i] == 0 || ids[i] != ids[i - 1]);
    }
}

// Every field is bound to a column of the same level that takes its values.
static void check_bound(const fz_type *shape, const fz_type *columns, bool may_change) {
    for (size_t i = 0; i < shape->field_count; i++) {
        const fz_field *field = &shape->fields[i];
        if (field->id == 0) {
            assert_false(may_change);
            continue;
        }
        const fz_field *at = NULL;
        for (size_t c = 0; c < columns->field_count; c++) {
            at = columns->fields[c].id == field->id ? &columns->fields[c] : at;
        }
        assert_non_null(at);
        assert_true(fz_type_is_nested(&at->type) ? at->type.kind == field->type.kind
                                                 : fz_evolve_fits(&field->type, &at->type));
        assert_true(!may_change || field->required || !at->required);
        check_bound(&field->type, &at->type, may_change);
    }
}

static void any_two_schemas_come_to_rest(void **state) {
    (void)state;
    size_t fine = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        seed = round * 2654435761u + 17;
        fz_schema *a = random_shape();
        fz_schema *b = random_shape();
        table t;
        table_init(&t, "", 3);
        bool ok = true;
        // new table, its schema, another one
        fz_schema *order[] = {a, b, a, b, a};
        for (size_t i = 0; i < FZ_COUNT(order) && ok; i++) {
            ok = run_shape(&t, order[i]) == FZ_OK;
            if (!ok) {
                assert_int_equal(t.err.code, FZ_UNSUPPORTED);
                assert_true(i == 1 || i == 2); // what went once goes again
                break;
            }
            check_unique(&t.schema->root, false);
            check_unique(&t.bound->root, true);
            check_bound(&t.bound->root, &t.schema->root, true);
            if (i >= 3) {
                assert_string_equal(t.changes, "");
                assert_false(t.link_changed);
            }
        }
        t.in.may_change = false;
        if (ok && run_shape(&t, b) == FZ_OK) {
            assert_string_equal(t.changes, "");
            assert_false(t.link_changed);
            check_bound(&t.bound->root, &t.schema->root, false);
        }
        fine += ok;
        table_deinit(&t);
        fz_schema_unref(a);
        fz_schema_unref(b);
    }
    assert_true(fine > 1000);
}

static void thousands_of_columns(void **state) {
    (void)state;
    fz_schema *shape = fz_schema_new();
    fz_type *root = &shape->root;
    root->fields = FZ_ARENA_ARRAY(&shape->arena, fz_field, 10000);
    for (size_t i = 0; i < 10000; i++) {
        fz_field *field = &root->fields[root->field_count++];
        field->name = field->identity = fz_arena_printf(&shape->arena, "column_%zu", i);
        field->type.kind = FZ_TYPE_LONG;
    }
    table t;
    table_init(&t, "", 2);
    assert_int_equal(run_shape(&t, shape), FZ_OK);
    assert_int_equal(t.change_count, 10000);
    assert_int_equal(run_shape(&t, shape), FZ_OK);
    assert_int_equal(t.change_count, 0);
    table_deinit(&t);
    fz_schema_unref(shape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_a_new_table_by_name),
        cmocka_unit_test(adds_at_any_depth),
        cmocka_unit_test(relaxes_what_is_missing_or_optional),
        cmocka_unit_test(drop_may_suspend),
        cmocka_unit_test(widens_and_keeps_wider),
        cmocka_unit_test(renames_by_alias),
        cmocka_unit_test(renames_by_number),
        cmocka_unit_test(respects_what_others_altered),
        cmocka_unit_test(adopts_columns_that_others_added),
        cmocka_unit_test(refuses_twins),
        cmocka_unit_test(never_changes_for_a_stranger),
        cmocka_unit_test(sides_share_a_table),
        cmocka_unit_test(defaults_come_with_version_3),
        cmocka_unit_test(docs_go_along_with_other_changes),
        cmocka_unit_test(map_keys_never_change),
        cmocka_unit_test(identifiers_stay_required),
        cmocka_unit_test(link_is_parsed),
        cmocka_unit_test(any_two_schemas_come_to_rest),
        cmocka_unit_test(thousands_of_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
