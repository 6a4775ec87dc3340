// SPDX-License-Identifier: Apache-2.0
// Table metadata while updates are applied to it; the handlers of single updates.
#ifndef FZ_TABLE_ICEBERG_UPDATE_STATE_H
#define FZ_TABLE_ICEBERG_UPDATE_STATE_H

#include "table/iceberg/update.h"

/** Members that hold arrays and objects are copies: handlers may change them, not what lies below
 * them. */
typedef struct fz_iceberg_update_state {
    json_t *root;
    bool fresh;             // no base
    int64_t now_ms;         // max(now, base's last-updated-ms)
    int64_t updated_ms;     // time of an added snapshot, 0 none
    int64_t last_schema_id; // last added, FZ_ICEBERG_NONE none
    int64_t last_spec_id;
    int64_t last_order_id;
    json_t *added_snapshots; // array of ids added here
    bool removed_snapshots;
} fz_iceberg_update_state;

typedef fz_code (*fz_iceberg_update_fn)(fz_iceberg_update_state *state, const json_t *update,
                                        fz_err *err);

/** 0 when there is none. */
int fz_iceberg_update_version(const fz_iceberg_update_state *state);
/** A member array, made if absent. */
json_t *fz_iceberg_update_array(fz_iceberg_update_state *state, const char *key);
/** A member object, made if absent. */
json_t *fz_iceberg_update_object(fz_iceberg_update_state *state, const char *key);
/** Remove all items whose `id_key` is `id`; how many. */
size_t fz_iceberg_update_remove(json_t *array, const char *id_key, int64_t id);
/** Is the integer in the array? */
bool fz_iceberg_update_has(const json_t *array, int64_t id);

// Schemas, specs, sort orders (update_structure.c)
fz_code fz_iceberg_update_add_schema(fz_iceberg_update_state *state, const json_t *update,
                                     fz_err *err);
fz_code fz_iceberg_update_set_current_schema(fz_iceberg_update_state *state, const json_t *update,
                                             fz_err *err);
fz_code fz_iceberg_update_remove_schemas(fz_iceberg_update_state *state, const json_t *update,
                                         fz_err *err);
fz_code fz_iceberg_update_add_spec(fz_iceberg_update_state *state, const json_t *update,
                                   fz_err *err);
fz_code fz_iceberg_update_set_default_spec(fz_iceberg_update_state *state, const json_t *update,
                                           fz_err *err);
fz_code fz_iceberg_update_remove_specs(fz_iceberg_update_state *state, const json_t *update,
                                       fz_err *err);
fz_code fz_iceberg_update_add_sort_order(fz_iceberg_update_state *state, const json_t *update,
                                         fz_err *err);
fz_code fz_iceberg_update_set_default_sort_order(fz_iceberg_update_state *state,
                                                 const json_t *update, fz_err *err);

// Snapshots and refs (update_snapshots.c)
fz_code fz_iceberg_update_add_snapshot(fz_iceberg_update_state *state, const json_t *update,
                                       fz_err *err);
fz_code fz_iceberg_update_set_snapshot_ref(fz_iceberg_update_state *state, const json_t *update,
                                           fz_err *err);
fz_code fz_iceberg_update_remove_snapshots(fz_iceberg_update_state *state, const json_t *update,
                                           fz_err *err);
fz_code fz_iceberg_update_remove_snapshot_ref(fz_iceberg_update_state *state, const json_t *update,
                                              fz_err *err);
/** After all updates: what the snapshot log may keep. */
void fz_iceberg_update_finish_log(fz_iceberg_update_state *state);

#endif
