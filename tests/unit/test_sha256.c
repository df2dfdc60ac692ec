/* SHA-256 against the examples of FIPS 180-4 and its supplement, in one piece and in pieces of every length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hash(const char *text, size_t n, size_t piece, char hex[65])
{
    tn_sha256 s;
    uint8_t out[32];
    tn_sha256_init(&s);
    for (size_t at = 0; at < n; at += piece)
        tn_sha256_add(&s, text + at, n - at < piece ? n - at : piece);
    tn_sha256_end(&s, out);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", out[i]);
}

static void known_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } row[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[65];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (size_t piece = 1; piece < 70; piece++) {
            hash(row[i].text, strlen(row[i].text), piece, hex);
            assert_string_equal(hex, row[i].hex);
        }
}

static void a_million(void **state)
{
    (void)state;
    char *text = malloc(1000000), hex[65];
    memset(text, 'a', 1000000);
    static const size_t pieces[] = {1000000, 1, 63, 64, 65, 1000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        hash(text, 1000000, pieces[i], hex);
        assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_texts), cmocka_unit_test(a_million)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
