/* runtime/device: the rows of the table. That a package with another device is refused: test_runtime_damage.c. */
#include "runtime/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void the_host_is_the_first(void **state)
{
    (void)state;
    const tnr_device *d = tnr_device_find("cpu");
    assert_ptr_equal(d, &tnr_devices[TNR_HOST]);
    assert_ptr_equal(d->launch, tnr_launch);
    assert_null(tnr_device_find("vta"));
    assert_null(tnr_device_find(""));
    assert_true(tnr_device_works_on(d, kDLCPU) && tnr_device_works_on(d, kDLCUDAHost));
    assert_false(tnr_device_works_on(d, 2) || tnr_device_works_on(d, 0)); /* a GPU's own; none */
}

static void memory_is_aligned(void **state)
{
    (void)state;
    const tnr_device *d = &tnr_devices[TNR_HOST];
    assert_true(d->align >= 64 && (d->align & (d->align - 1)) == 0);
    static const size_t bytes[] = {0, 1, 63, 65, 4096, (4 << 20) + 1};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        unsigned char *p = d->alloc(bytes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % d->align, 0);
        memset(p, 0xa5, bytes[i]);
        d->free(p);
    }
    d->free(NULL);
    assert_null(d->alloc(SIZE_MAX / 2 + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_is_the_first),
        cmocka_unit_test(memory_is_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
