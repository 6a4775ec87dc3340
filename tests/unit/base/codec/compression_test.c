// SPDX-License-Identifier: Apache-2.0
// Round trips and corrupt input of every codec.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/codec/compression.h"

static const fz_codec codecs[] = {FZ_CODEC_NONE,    FZ_CODEC_SNAPPY, FZ_CODEC_GZIP,
                                  FZ_CODEC_DEFLATE, FZ_CODEC_ZLIB,   FZ_CODEC_ZSTD,
                                  FZ_CODEC_LZ4_RAW, FZ_CODEC_BROTLI};

enum { LARGE = 300000 };
static char sample[LARGE];

static int fill_sample(void **state) {
    (void)state;
    uint32_t x = 12345;
    for (size_t i = 0; i < LARGE; i++) {
        x = x * 1664525 + 1013904223;
        sample[i] = i % 1000 < 700 ? "frazil ice "[i % 11] : (char)(x >> 24);
    }
    return 0;
}

static void round_trips(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 100, 65536, LARGE};
    static const int levels[] = {0, 1, 9};
    fz_compressor compressor = {0};
    for (size_t c = 0; c < FZ_COUNT(codecs); c++) {
        for (size_t s = 0; s < FZ_COUNT(sizes); s++) {
            for (size_t l = 0; l < FZ_COUNT(levels); l++) {
                fz_str input = fz_str_make(sample, sizes[s]);
                fz_buf packed = {0};
                fz_buf out = {0};
                fz_err err = {0};
                assert_int_equal(
                    fz_compress(&compressor, codecs[c], levels[l], input, &packed, &err), FZ_OK);
                fz_buf_append_str(&out, FZ_STR("head"));
                assert_int_equal(fz_decompress(&compressor, codecs[c], fz_buf_view(&packed),
                                               input.size, &out, &err),
                                 FZ_OK);
                assert_int_equal(out.size, input.size + 4);
                assert_memory_equal(out.data, "head", 4);
                assert_memory_equal(out.data + 4, sample, input.size);
                fz_buf_reset(&out);
                assert_int_equal(fz_decompress_stream(&compressor, codecs[c], fz_buf_view(&packed),
                                                      LARGE, &out, &err),
                                 FZ_OK);
                assert_true(fz_str_equal(fz_buf_view(&out), input));
                fz_buf_deinit(&packed);
                fz_buf_deinit(&out);
            }
        }
    }
    fz_compressor_deinit(&compressor);
    fz_compressor_deinit(NULL);
}

static void other_sizes_are_refused(void **state) {
    (void)state;
    fz_compressor compressor = {0};
    fz_str input = fz_str_make(sample, 5000);
    for (size_t c = 0; c < FZ_COUNT(codecs); c++) {
        fz_buf packed = {0};
        fz_buf out = {0};
        fz_err err;
        assert_int_equal(fz_compress(&compressor, codecs[c], 0, input, &packed, &err), FZ_OK);
        static const size_t wrong[] = {0, 1, 4999, 5001, 100000};
        for (size_t i = 0; i < FZ_COUNT(wrong); i++) {
            assert_int_equal(
                fz_decompress(&compressor, codecs[c], fz_buf_view(&packed), wrong[i], &out, &err),
                FZ_CORRUPT);
            assert_int_equal(out.size, 0);
        }
        assert_int_equal(
            fz_decompress_stream(&compressor, codecs[c], fz_buf_view(&packed), 4999, &out, &err),
            FZ_LIMIT);
        assert_non_null(strstr(err.text, "4999"));
        assert_int_equal(out.size, 0);
        assert_int_equal(
            fz_decompress_stream(&compressor, codecs[c], fz_buf_view(&packed), 5000, &out, &err),
            FZ_OK);
        fz_buf small;
        fz_buf_init(&small, 1000, NULL);
        assert_int_equal(
            fz_decompress(&compressor, codecs[c], fz_buf_view(&packed), 5000, &small, &err),
            FZ_LIMIT);
        fz_buf_reset(&small);
        assert_int_equal(
            fz_decompress_stream(&compressor, codecs[c], fz_buf_view(&packed), 9000, &small, &err),
            FZ_LIMIT);
        fz_buf_deinit(&small);
        fz_buf_init(&small, 10, NULL);
        assert_int_equal(fz_compress(&compressor, codecs[c], 0, input, &small, &err), FZ_LIMIT);
        fz_buf_deinit(&small);
        fz_buf_deinit(&packed);
        fz_buf_deinit(&out);
    }
    fz_compressor_deinit(&compressor);
}

static void cut_and_changed_input(void **state) {
    (void)state;
    fz_compressor compressor = {0};
    fz_str input = fz_str_make(sample, 1500);
    for (size_t c = 1; c < FZ_COUNT(codecs); c++) {
        fz_buf packed = {0};
        fz_buf out = {0};
        assert_int_equal(fz_compress(&compressor, codecs[c], 0, input, &packed, NULL), FZ_OK);
        for (size_t size = 0; size < packed.size; size++) {
            fz_str cut = fz_str_make(packed.data, size);
            assert_int_equal(fz_decompress(&compressor, codecs[c], cut, 1500, &out, NULL),
                             FZ_CORRUPT);
            assert_int_equal(out.size, 0);
            fz_code code = fz_decompress_stream(&compressor, codecs[c], cut, 1500, &out, NULL);
            assert_true(code == FZ_CORRUPT || codecs[c] == FZ_CODEC_LZ4_RAW || size == 0);
            fz_buf_reset(&out);
        }
        // any change gives an answer, never a crash, and never another size
        for (size_t at = 0; at < packed.size; at++) {
            for (unsigned flip = 1; flip < 256; flip = flip * 3 + 1) {
                packed.data[at] ^= (uint8_t)flip;
                fz_code code =
                    fz_decompress(&compressor, codecs[c], fz_buf_view(&packed), 1500, &out, NULL);
                assert_true(code == FZ_CORRUPT || (code == FZ_OK && out.size == 1500));
                fz_buf_reset(&out);
                code = fz_decompress_stream(&compressor, codecs[c], fz_buf_view(&packed), 2000,
                                            &out, NULL);
                assert_true(code == FZ_CORRUPT || code == FZ_LIMIT || code == FZ_OK);
                assert_true(out.size <= 2000);
                fz_buf_reset(&out);
                packed.data[at] ^= (uint8_t)flip;
            }
        }
        // a byte too many; raw deflate may carry what Python's Avro libraries leave of a checksum
        fz_buf_append(&packed, "AAAAA", codecs[c] == FZ_CODEC_DEFLATE ? 5 : 1);
        fz_code code =
            fz_decompress(&compressor, codecs[c], fz_buf_view(&packed), 1500, &out, NULL);
        assert_int_equal(code, FZ_CORRUPT);
        if (codecs[c] == FZ_CODEC_DEFLATE) {
            packed.size -= 2;
            code = fz_decompress(&compressor, codecs[c], fz_buf_view(&packed), 1500, &out, NULL);
            assert_int_equal(code, FZ_OK);
        }
        fz_buf_deinit(&packed);
        fz_buf_deinit(&out);
    }
    fz_compressor_deinit(&compressor);
}

static void bombs_stop_at_the_limit(void **state) {
    (void)state;
    static char zeros[4 << 20];
    fz_compressor compressor = {0};
    for (size_t c = 1; c < FZ_COUNT(codecs); c++) {
        fz_buf packed = {0};
        fz_buf out = {0};
        assert_int_equal(fz_compress(&compressor, codecs[c], 0, fz_str_make(zeros, sizeof(zeros)),
                                     &packed, NULL),
                         FZ_OK);
        assert_int_equal(
            fz_decompress_stream(&compressor, codecs[c], fz_buf_view(&packed), 100000, &out, NULL),
            FZ_LIMIT);
        assert_true(out.capacity <= 300000);
        fz_buf_deinit(&packed);
        fz_buf_deinit(&out);
    }
    // a snappy header that promises 4 GiB
    fz_buf out = {0};
    assert_int_equal(fz_decompress_stream(&compressor, FZ_CODEC_SNAPPY,
                                          FZ_STR("\xff\xff\xff\xff\x0f"
                                                 "a"),
                                          UINT32_MAX, &out, NULL),
                     FZ_CORRUPT);
    assert_int_equal(out.capacity, 0);
    fz_buf_deinit(&out);
    fz_compressor_deinit(&compressor);
}

static void members_and_frames(void **state) {
    (void)state;
    fz_compressor compressor = {0};
    static const fz_codec several[] = {FZ_CODEC_GZIP, FZ_CODEC_ZSTD};
    for (size_t c = 0; c < 2; c++) {
        fz_buf packed = {0};
        fz_buf out = {0};
        assert_int_equal(fz_compress(&compressor, several[c], 0, FZ_STR("ab"), &packed, NULL),
                         FZ_OK);
        assert_int_equal(fz_compress(&compressor, several[c], 0, FZ_STR("cd"), &packed, NULL),
                         FZ_OK);
        assert_int_equal(
            fz_decompress(&compressor, several[c], fz_buf_view(&packed), 4, &out, NULL), FZ_OK);
        assert_int_equal(
            fz_decompress_stream(&compressor, several[c], fz_buf_view(&packed), 4, &out, NULL),
            FZ_OK);
        assert_string_equal(fz_buf_cstr(&out), "abcdabcd");
        fz_buf_deinit(&packed);
        fz_buf_deinit(&out);
    }
    // nothing where there was nothing: an empty Parquet page
    fz_buf out = {0};
    for (size_t c = 0; c < FZ_COUNT(codecs); c++) {
        assert_int_equal(fz_decompress(&compressor, codecs[c], FZ_STR(""), 0, &out, NULL), FZ_OK);
        assert_int_equal(fz_decompress(&compressor, codecs[c], FZ_STR(""), 1, &out, NULL),
                         FZ_CORRUPT);
        assert_string_not_equal(fz_codec_name(codecs[c]), "unknown");
    }
    fz_buf_deinit(&out);
    fz_compressor_deinit(&compressor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),           cmocka_unit_test(other_sizes_are_refused),
        cmocka_unit_test(cut_and_changed_input), cmocka_unit_test(bombs_stop_at_the_limit),
        cmocka_unit_test(members_and_frames),
    };
    return cmocka_run_group_tests(tests, fill_sample, NULL);
}
