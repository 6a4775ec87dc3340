// SPDX-License-Identifier: Apache-2.0
// Hashes against published vectors and the Iceberg specification's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/codec/hash.h"

static uint32_t murmur_long(int64_t v) {
    return fz_murmur3_32(&v, 8);
}

static void murmur3_of_the_spec(void **state) {
    (void)state;
    assert_int_equal((int32_t)murmur_long(34), 2017239379);
    assert_int_equal((int32_t)murmur_long(0), 1669671676);
    assert_int_equal((int32_t)murmur_long(1), 1392991556);
    assert_int_equal((int32_t)murmur_long(-1), 1651860712);
    assert_int_equal((int32_t)murmur_long(INT32_MAX), 1819228606);
    assert_int_equal((int32_t)murmur_long(INT32_MIN), -2073034792);
    assert_int_equal((int32_t)murmur_long(INT64_MAX), -2106506049);
    assert_int_equal((int32_t)murmur_long(INT64_MIN), 1366273829);
    assert_int_equal((int32_t)murmur_long(17486), -653330422);                // 2017-11-16
    assert_int_equal((int32_t)murmur_long(INT64_C(81068000000)), -662762989); // 22:31:08
    assert_int_equal((int32_t)murmur_long(INT64_C(1510871468000000)), -2047944441);
    assert_int_equal((int32_t)murmur_long(INT64_C(1510871468000001)), -1207196810);
    assert_int_equal((int32_t)fz_murmur3_32("\x05\x8c", 2), -500754589); // 14.20
    assert_int_equal((int32_t)fz_murmur3_32("\x00\x80", 2), 1544076949);
    assert_int_equal((int32_t)fz_murmur3_32("\x80", 1), 267099677);
    assert_int_equal((int32_t)fz_murmur3_32("iceberg", 7), 1210000089);
    assert_int_equal((int32_t)fz_murmur3_32("\0\1\2\3", 4), -188683207);
    assert_int_equal(fz_murmur3_32(NULL, 0), 0);
    assert_int_equal((int32_t)fz_murmur3_32("a", 1), 1009084850);
    assert_int_equal((int32_t)fz_murmur3_32("ab", 2), -1681926305);
    assert_int_equal((int32_t)fz_murmur3_32("abc", 3), -1277324294);
    assert_int_equal((int32_t)fz_murmur3_32("abcd", 4), 1139631978);
    assert_int_equal((int32_t)fz_murmur3_32("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c"
                                            "\xb7\x85\xe7",
                                            16),
                     1488055340);
}

static void checksums(void **state) {
    (void)state;
    assert_int_equal(fz_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(fz_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(fz_crc32c(0, NULL, 0), 0);
    assert_int_equal(fz_crc32(7, NULL, 0), 7);
    uint8_t zeros[32] = {0}; // RFC 3720 B.4
    assert_int_equal(fz_crc32c(0, zeros, 32), 0x8a9136aa);
    memset(zeros, 0xff, 32);
    assert_int_equal(fz_crc32c(0, zeros, 32), 0x62a8ab43);
    // in pieces, at any alignment
    char text[100];
    memset(text, 'k', sizeof(text));
    uint32_t whole = fz_crc32c(0, text, 100);
    for (size_t cut = 0; cut <= 100; cut++) {
        assert_int_equal(fz_crc32c(fz_crc32c(0, text, cut), text + cut, 100 - cut), whole);
    }
}

static void digests(void **state) {
    (void)state;
    char hex[33];
    assert_true(fz_xxh64("", 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(fz_xxh64(NULL, 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(fz_xxh64("a", 1) == UINT64_C(0xd24ec4f1a98c6e5b));
    assert_true(fz_xxh3_64("", 0) == UINT64_C(0x2d06800538d394c2));
    fz_xxh3_128_hex("", 0, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    uint8_t sha[32];
    fz_sha256("abc", 3, sha);
    assert_memory_equal(sha,
                        "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\xb0\x03"
                        "\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad",
                        32);
    fz_sha256(NULL, 0, sha);
    assert_int_equal(sha[0], 0xe3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(murmur3_of_the_spec),
        cmocka_unit_test(checksums),
        cmocka_unit_test(digests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
