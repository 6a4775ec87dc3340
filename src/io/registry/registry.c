// SPDX-License-Identifier: Apache-2.0
// The wrappers of the registry interface, its values, and near misses of subject names.
#include "io/registry/registry.h"

#include <stdlib.h>

#include "base/memory.h"

enum { MAX_HINTS = 10 };

fz_registry_schema *fz_registry_schema_ref(fz_registry_schema *schema) {
    atomic_fetch_add_explicit(&schema->refs, 1, memory_order_relaxed);
    return schema;
}

void fz_registry_schema_unref(fz_registry_schema *schema) {
    if (schema && atomic_fetch_sub_explicit(&schema->refs, 1, memory_order_acq_rel) == 1) {
        fz_arena_deinit(&schema->arena);
        fz_free(schema);
    }
}

void fz_registry_schema_release(fz_registry_schema **schema) {
    fz_registry_schema_unref(*schema);
    *schema = NULL;
}

void fz_registry_names_deinit(fz_registry_names *names) {
    if (names) {
        fz_arena_deinit(&names->arena);
        *names = (fz_registry_names){0};
    }
}

void fz_registry_versions_deinit(fz_registry_versions *versions) {
    if (versions) {
        fz_arena_deinit(&versions->arena);
        *versions = (fz_registry_versions){0};
    }
}

const char *fz_registry_type_name(fz_registry_type type) {
    static const char *const names[] = {"AVRO", "PROTOBUF", "JSON"};
    return (unsigned)type < FZ_COUNT(names) ? names[type] : "?";
}

fz_code fz_registry_type_parse(fz_str text, fz_registry_type *out, fz_err *err) {
    if (text.size == 0 || fz_str_equal_nocase(text, FZ_STR("AVRO"))) {
        *out = FZ_REGISTRY_AVRO;
    } else if (fz_str_equal_nocase(text, FZ_STR("PROTOBUF"))) {
        *out = FZ_REGISTRY_PROTOBUF;
    } else if (fz_str_equal_nocase(text, FZ_STR("JSON"))) {
        *out = FZ_REGISTRY_JSON;
    } else {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "schema type \"%.*s\", wanted AVRO, PROTOBUF or JSON", FZ_STR_ARGS(text));
    }
    return FZ_OK;
}

void fz_registry_free(fz_registry *registry) {
    if (registry) {
        registry->ops->free(registry);
    }
}

static fz_code count(fz_registry *registry, fz_code code) {
    atomic_fetch_add_explicit(&registry->calls, 1, memory_order_relaxed);
    if (code != FZ_OK) {
        atomic_fetch_add_explicit(&registry->failures, 1, memory_order_relaxed);
    }
    return code;
}

static fz_code missing(const fz_registry *registry, const char *what, fz_err *err) {
    return fz_err_set(err, FZ_UNSUPPORTED, "the %s registry has no %s", registry->ops->name, what);
}

fz_code fz_registry_schema_by_id(fz_registry *registry, int32_t id, fz_str subject,
                                 fz_registry_schema **out, fz_err *err) {
    FZ_ASSERT(registry && out);
    if (!registry->ops->schema_by_id) {
        return missing(registry, "schema_by_id", err);
    }
    if (id < 0) { // of a frame that is none; no registry gives such ids
        return fz_err_set_kind(err, FZ_NOT_FOUND, "unknown_schema_id", "no schema has id %d", id);
    }
    return count(registry, registry->ops->schema_by_id(registry, id, subject, out, err));
}

fz_code fz_registry_schema_by_guid(fz_registry *registry, const uint8_t guid[16],
                                   fz_registry_schema **out, fz_err *err) {
    FZ_ASSERT(registry && out);
    if (!registry->ops->schema_by_guid) {
        return missing(registry, "schema_by_guid", err);
    }
    return count(registry, registry->ops->schema_by_guid(registry, guid, out, err));
}

fz_code fz_registry_latest(fz_registry *registry, fz_str subject, fz_registry_schema **out,
                           fz_err *err) {
    FZ_ASSERT(registry && out);
    if (!registry->ops->latest) {
        return missing(registry, "latest", err);
    }
    if (subject.size == 0) {
        return fz_err_set(err, FZ_INVALID, "a subject needs a name");
    }
    return count(registry, registry->ops->latest(registry, subject, out, err));
}

fz_code fz_registry_subjects(fz_registry *registry, fz_registry_names *out, fz_err *err) {
    FZ_ASSERT(registry && out);
    if (!registry->ops->subjects) {
        return missing(registry, "subjects", err);
    }
    return count(registry, registry->ops->subjects(registry, out, err));
}

fz_code fz_registry_versions_of_id(fz_registry *registry, int32_t id, fz_str subject,
                                   fz_registry_versions *out, fz_err *err) {
    FZ_ASSERT(registry && out);
    if (!registry->ops->versions_of_id) {
        return missing(registry, "versions_of_id", err);
    }
    return count(registry, registry->ops->versions_of_id(registry, id, subject, out, err));
}

fz_code fz_registry_add(fz_registry *registry, fz_str subject, fz_registry_type type, fz_str text,
                        const fz_registry_reference *references, size_t reference_count,
                        int32_t *id, fz_err *err) {
    FZ_ASSERT(registry && id);
    if (!registry->ops->add) {
        return missing(registry, "add", err);
    }
    if (subject.size == 0) {
        return fz_err_set(err, FZ_INVALID, "a subject needs a name");
    }
    return count(registry, registry->ops->add(registry, subject, type, text, references,
                                              reference_count, id, err));
}

typedef struct hint {
    size_t distance;
    size_t index;
} hint;

static int compare_hints(const void *a, const void *b) {
    const hint *x = a;
    const hint *y = b;
    if (x->distance != y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

// Edits between two names; case alone is half an edit, one name inside the other counts as near.
static size_t distance_of(fz_str wanted, fz_str name, size_t *limit) {
    size_t longer = wanted.size > name.size ? wanted.size : name.size;
    *limit = longer / 3 + 1;
    if (fz_str_equal_nocase(wanted, name)) {
        return 0;
    }
    bool inside =
        wanted.size >= 3 && name.size >= 3 &&
        (fz_str_find_str(name, wanted) != SIZE_MAX || fz_str_find_str(wanted, name) != SIZE_MAX);
    return inside ? 1 : fz_str_distance(wanted, name);
}

void fz_registry_hint_subjects(fz_registry *registry, fz_str subject, size_t wanted,
                               fz_registry_names *out) {
    fz_registry_names all = {0};
    hint best[MAX_HINTS + 1];
    size_t found = 0;
    *out = (fz_registry_names){0};
    wanted = wanted < MAX_HINTS ? wanted : MAX_HINTS;
    if (wanted == 0 || fz_registry_subjects(registry, &all, NULL) != FZ_OK) {
        return;
    }
    for (size_t i = 0; i < all.count; i++) {
        size_t limit;
        size_t distance = distance_of(subject, all.items[i], &limit);
        if (distance > limit || (found == wanted && distance >= best[found - 1].distance)) {
            continue;
        }
        best[found++] = (hint){distance, i};
        qsort(best, found, sizeof *best, compare_hints);
        found = found < wanted ? found : wanted;
    }
    out->items = FZ_ARENA_ARRAY(&out->arena, fz_str, found);
    out->count = found;
    for (size_t i = 0; i < found; i++) {
        out->items[i] = fz_arena_str(&out->arena, all.items[best[i].index]);
    }
    fz_registry_names_deinit(&all);
}
