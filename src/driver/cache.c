/* The kernel cache: objects by the hash of what they are made of, below $XDG_CACHE_HOME
 * (~/.cache)/tenon/kernels. It is a convenience: whatever goes wrong with it is a miss, never an error.
 * TENON_CACHE=off in the environment does without.
 *
 * An entry is written beside its place and renamed, so compilers at work at once see whole entries or none;
 * it carries a hash of its bytes, so one that a crash or a disk damaged is a miss and goes. Entries used
 * least lately are removed when all together exceed LIMIT. */
#include "base/output.h"
#include "base/sha256.h"
#include "driver/driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "TNKERN1";
enum { HEAD = sizeof magic + 32, PATH_BYTES = 4096 };
static const uint64_t LIMIT = 512u << 20;

/* ---- places ---- */

/* The folder, or "" where there is none. */
static void folder(char out[PATH_BYTES])
{
    if (!tn_cache_path("kernels", out, PATH_BYTES - 128))
        out[0] = 0;
}

/* <folder>/ab/cdef....o; false: no cache. */
static bool place(const uint8_t key[32], char out[PATH_BYTES])
{
    folder(out);
    size_t n = strlen(out);
    if (!n)
        return false;
    n += (size_t)snprintf(out + n, PATH_BYTES - n, "/%02x/", key[0]);
    for (int i = 1; i < 32; i++)
        n += (size_t)snprintf(out + n, PATH_BYTES - n, "%02x", key[i]);
    snprintf(out + n, PATH_BYTES - n, ".o");
    return true;
}

/* ---- entries ---- */

static void digest(const void *data, size_t n, uint8_t out[32])
{
    tn_sha256 s;
    tn_sha256_init(&s);
    tn_sha256_add(&s, data, n);
    tn_sha256_end(&s, out);
}

static bool sound(const uint8_t *at, size_t n)
{
    uint8_t hash[32];
    if (n < HEAD || memcmp(at, magic, sizeof magic) != 0)
        return false;
    digest(at + HEAD, n - HEAD, hash);
    return memcmp(at + sizeof magic, hash, 32) == 0;
}

static bool read_all(int fd, uint8_t *at, size_t n)
{
    while (n) {
        ssize_t k = read(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

static void say(tn_code_count *c)
{
    if (c->watched)
        tn_progress_say(c->watched, "code", atomic_load(&c->made) + atomic_load(&c->loaded), c->most);
}

static void close_file(tn_resource *r) { close((int)r->n); }

static bool load(void *user, const uint8_t key[32], tn_buf *out)
{
    char path[PATH_BYTES];
    struct stat st;
    tn_code_count *count = user;
    tn_resource *held = tn_resource_new(close_file);
    int fd = place(key, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        tn_resource_end(held);
        return false;
    }
    held->at = held;
    held->n = (size_t)fd;
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= HEAD;
    size_t n = ok ? (size_t)st.st_size : 0;
    uint8_t *at = ok ? tn_alloc_array_try(n, 1) : NULL;
    ok = at && read_all(fd, at, n) && sound(at, n);
    if (ok) {
        tn_buf_add(out, at + HEAD, n - HEAD);
        futimens(fd, (const struct timespec[2]){{.tv_nsec = UTIME_NOW},
                                                {.tv_nsec = UTIME_NOW}}); /* used just now */
        atomic_fetch_add(&count->loaded, 1);
        say(count);
    } else {
        unlink(path);
    }
    tn_free(at);
    tn_resource_end(held);
    return ok;
}

/* ---- keeping it small ---- */

typedef struct {
    struct timespec used;
    uint64_t bytes;
    char name[80];
} entry;
typedef tn_vec(entry) entries;

static void close_folder(tn_resource *r) { closedir(r->at); }

static void list_folder(const char *root, int first, entries *all, uint64_t *sum)
{
    char path[PATH_BYTES + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/%02x", root, (unsigned)first & 255);
    tn_resource *held = tn_resource_new(close_folder);
    DIR *d = opendir(path);
    held->at = d;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || strlen(e->d_name) > 76 || fstatat(dirfd(d), e->d_name, &st, 0) != 0)
            continue;
        entry x = {st.st_mtim, (uint64_t)st.st_size, ""};
        snprintf(x.name, sizeof x.name, "%02x/%.76s", (unsigned)first & 255, e->d_name);
        *sum += x.bytes;
        tn_vec_push(all, x);
    }
    tn_resource_end(held);
}

static int by_use(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void prune(void)
{
    char root[PATH_BYTES], path[PATH_BYTES];
    entries all = {0};
    uint64_t sum = 0;
    folder(root);
    for (int i = 0; i < 256; i++)
        list_folder(root, i, &all, &sum);
    if (sum > LIMIT) {
        qsort(all.at, all.n, sizeof *all.at, by_use);
        for (size_t i = 0; i < all.n && sum > LIMIT / 10 * 8; i++) {
            if (snprintf(path, sizeof path, "%s/%s", root, all.at[i].name) < (int)sizeof path)
                unlink(path);
            sum -= all.at[i].bytes;
        }
    }
    tn_vec_deinit(&all);
}

static void save(void *user, const uint8_t key[32], const tn_buf *code)
{
    char path[PATH_BYTES];
    uint8_t hash[32];
    tn_output o;
    tn_code_count *count = user;
    atomic_fetch_add(&count->made, 1);
    say(count);
    if (!place(key, path))
        return;
    tn_folders_make(path);
    if (tn_output_open_private(&o, path))
        return;
    digest(code->at, code->n, hash);
    tn_output_add(&o, magic, sizeof magic);
    tn_output_add(&o, hash, sizeof hash);
    tn_output_add(&o, code->at, code->n);
    (void)tn_outputs_close(1, (tn_output *const[]){&o}, true);
    if (key[0] == 0) /* now and then */
        prune();
}

/* The file that a command's name means, as PATH says. */
static bool find_program(const char *name, char out[PATH_BYTES])
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        int n = (int)strcspn(at, ":");
        if (snprintf(out, PATH_BYTES, "%.*s/%s", n, at, name) < PATH_BYTES && access(out, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

void tn_code_cache_key(const tn_buf *text, int n, const char *const word[], uint8_t out[32])
{
    char path[PATH_BYTES], id[128] = "";
    struct stat st;
    tn_sha256 s;
    tn_sha256_init(&s);
    if (find_program(word[0], path) &&
        stat(path, &st) == 0) /* another version of the compiler makes other code */
        snprintf(id, sizeof id, "%llu %lld %lld.%ld", (unsigned long long)st.st_ino, (long long)st.st_size,
                 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    tn_sha256_add(&s, id, strlen(id) + 1);
    for (int i = 0; i < n; i++)
        tn_sha256_add(&s, word[i], strlen(word[i]) + 1);
    tn_sha256_add(&s, text->at, text->n);
    tn_sha256_end(&s, out);
}

tn_code_cache tn_code_cache_open(tn_code_count *count) { return (tn_code_cache){count, load, save}; }
