/* The LLVM code generator's entry points: IR, assembly and objects through a target machine, code in this
 * process through ORC. Features come from the detected feature string, never from the CPU's name. */
#include "codegen/llvm/llvmgen.h"

#include "base/process.h"
#include "base/sha256.h"
#include "base/thread.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Enough to turn allocas into values, share and hoist addresses; everything else was decided before. */
static const char passes[] =
    "mem2reg,early-cse,instsimplify,simplifycfg,loop-simplify,lcssa,loop-mssa(licm),early-cse,dse";

/* LLVM's text, cut to fit, in memory that an unwinding does not lose. */
static const char *take_text(char *llvm_text, char out[TN_LLVM_TEXT])
{
    snprintf(out, TN_LLVM_TEXT, "%s", llvm_text ? llvm_text : "");
    LLVMDisposeMessage(llvm_text);
    return out;
}

static const tn_code_options defaults = {.opt_level = 3};

static const char *feature_text(tn_arena *a, const tn_unit *u, const tn_code_options *o)
{
    tn_buf b = {0};
    if (o->features)
        tn_buf_str(&b, o->features);
    for (uint32_t i = 0; !o->features && i < u->n_feature; i++)
        tn_buf_printf(&b, "%s+%s", i ? "," : "", u->feature[i]);
    const char *s = tn_arena_strdup(a, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static void init_types(tn_lgen *g)
{
    g->i1 = LLVMInt1TypeInContext(g->c);
    g->i8 = LLVMInt8TypeInContext(g->c);
    g->i16 = LLVMInt16TypeInContext(g->c);
    g->i32 = LLVMInt32TypeInContext(g->c);
    g->i64 = LLVMInt64TypeInContext(g->c);
    g->f32 = LLVMFloatTypeInContext(g->c);
    g->f64 = LLVMDoubleTypeInContext(g->c);
    g->ptr = LLVMPointerTypeInContext(g->c, 0);
    g->tvoid = LLVMVoidTypeInContext(g->c);
}

/* The function of a phase that another part holds, or one of ours that other parts may call. */
static LLVMValueRef shared_phase(tn_lgen *g, LLVMValueRef fn, const char *name)
{
    if (!fn) {
        LLVMTypeRef type[4] = {g->ptr, g->i32, g->i32, g->ptr};
        fn = LLVMAddFunction(g->m, name, LLVMFunctionType(g->i32, type, 4, 0));
    }
    LLVMSetLinkage(fn, LLVMExternalLinkage);
    LLVMSetVisibility(fn, LLVMHiddenVisibility);
    return fn;
}

static void emit_unit(tn_lgen *g)
{
    const tn_unit *u = g->unit;
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < u->n_kernel; i++)
        for (uint32_t v = 0; v < u->kernel[i].n_variant; v++)
            n += tn_flat_phases(u->kernel[i].variant[v].func, 0, NULL);
    LLVMValueRef *phase = TN_NEW_N(&g->arena, LLVMValueRef, n);
    for (uint32_t i = 0; i < u->n_kernel && g->status == TN_OK; i++) {
        bool mine = !g->part_of || g->part_of[i] == g->part;
        g->n_check = 0;
        for (uint32_t v = 0; v < u->kernel[i].n_variant; v++) {
            uint32_t p = 0;
            const tn_flat *flat = &u->kernel[i].variant[v];
            for (const tn_stmt *s = tn_flat_phase_list(flat->func)->first; s; s = s->next) {
                if (s->kind != TN_S_FOR)
                    continue;
                const char *name = tn_arena_printf(&g->arena, "%s_v%u_p%u", u->kernel[i].name, v, p++);
                LLVMValueRef fn = mine ? tn_l_phase(g, flat, s, name) : NULL;
                phase[k++] = g->part_of && (mine || g->part == 0) ? shared_phase(g, fn, name) : fn;
            }
            g->n_check += tn_flat_check_number(flat->func, NULL);
        }
    }
    if (g->status == TN_OK && g->part == 0)
        tn_l_tables(g, phase);
    TN_ASSERT(g->status != TN_OK || !LLVMVerifyModule(g->m, LLVMPrintMessageAction, NULL));
}

static void on_fatal(const char *why);

/* LLVM's list of targets, and its handler of fatal errors, are the process's. */
static void prepare(void)
{
    LLVMInstallFatalErrorHandler(on_fatal);
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
}

static tn_status machine_for(tn_ctx *ctx, const tn_code_options *o, const char *features,
                             LLVMTargetMachineRef *out)
{
    char host[TN_LLVM_TEXT], why[TN_LLVM_TEXT];
    const char *triple = o->triple ? o->triple : take_text(LLVMGetDefaultTargetTriple(), host);
    char *message = NULL;
    LLVMTargetRef target;
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    pthread_once(&prepared, prepare);
    if (LLVMGetTargetFromTriple(triple, &target, &message))
        return tn_error(ctx, "codegen-E007", NULL, "LLVM has no target for %s; give another -mtriple: %s",
                        triple, take_text(message, why));
    LLVMCodeGenOptLevel level = o->opt_level >= 3   ? LLVMCodeGenLevelAggressive
                                : o->opt_level == 2 ? LLVMCodeGenLevelDefault
                                                    : LLVMCodeGenLevelLess;
    *out = LLVMCreateTargetMachine(target, triple, strncmp(triple, "x86_64", 6) == 0 ? "x86-64" : "",
                                   features, level, LLVMRelocPIC, LLVMCodeModelDefault);
    return TN_OK;
}

static void no_code(tn_lgen *g, const char *why)
{
    tn_l_fail(g, "codegen-E009",
              tn_arena_printf(&g->arena,
                              "LLVM cannot generate code for this target; choose another one: %.300s", why));
}

/* What LLVM would print before it ends the process: the target cannot do what the module asks for. Called by LLVM,
 * whose frames nothing may leave, so it only takes a note. */
static void complain(LLVMDiagnosticInfoRef d, void *user)
{
    tn_llvm_fate *fate = user;
    if (LLVMGetDiagInfoSeverity(d) != LLVMDSError || *fate->complaint)
        return;
    take_text(LLVMGetDiagInfoDescription(d), fate->complaint);
    fate->complaint[strcspn(fate->complaint, "\n")] = 0;
}

/* Builds and optimises the module of g's part. Safe in a thread of its own: nothing is shared but what is only read. */
static void build(tn_lgen *g, const tn_code_options *o, LLVMTargetMachineRef tm)
{
    g->c = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(g->c, complain, &g->fate);
    g->m = LLVMModuleCreateWithNameInContext(g->unit->name, g->c);
    g->b = LLVMCreateBuilderInContext(g->c);
    init_types(g);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    char *triple = LLVMGetTargetMachineTriple(tm);
    LLVMSetModuleDataLayout(g->m, layout);
    LLVMSetTarget(g->m, triple);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
    emit_unit(g);
    if (g->status != TN_OK || o->opt_level == 0)
        return;
    tn_poll();
    LLVMPassBuilderOptionsRef po = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(g->m, passes, tm, po);
    LLVMDisposePassBuilderOptions(po);
    TN_ASSERT(!e); /* the list of passes is constant */
}

static void drop(tn_lgen *g)
{
    tn_map_deinit(&g->memo);
    tn_map_deinit(&g->pure);
    tn_vec_deinit(&g->known);
    tn_vec_deinit(&g->alive);
    tn_arena_deinit(&g->arena);
}

static void dispose_text(tn_resource *r) { LLVMDisposeMessage(r->at); }
static void dispose_buffer(tn_resource *r) { LLVMDisposeMemoryBuffer(r->at); }

static void print_module(tn_lgen *g, LLVMTargetMachineRef tm, enum tn_llvm_form form, tn_buf *out)
{
    char *message = NULL, why[TN_LLVM_TEXT];
    if (form == TN_LLVM_LL) {
        tn_resource *text = tn_resource_new(dispose_text);
        text->at = LLVMPrintModuleToString(g->m);
        tn_buf_str(out, text->at);
        tn_resource_end(text);
        return;
    }
    tn_resource *code = tn_resource_new(dispose_buffer);
    LLVMMemoryBufferRef mb = NULL;
    LLVMCodeGenFileType type = form == TN_LLVM_ASM ? LLVMAssemblyFile : LLVMObjectFile;
    bool failed = LLVMTargetMachineEmitToMemoryBuffer(tm, g->m, type, &message, &mb);
    code->at = mb;
    if (failed)
        no_code(g, take_text(message, why));
    else
        tn_buf_add(out, LLVMGetBufferStart(mb), LLVMGetBufferSize(mb));
    tn_resource_end(code);
}

/* ---- parts: kernels are compiled in parallel, each part a module of its own ---- */

/* What the thread lets LLVM work at: its handler of fatal errors is not told. */
static _Thread_local tn_llvm_fate *working;

enum { MAX_PARTS = 64 };
typedef struct {
    uint64_t load;
    uint8_t index;
    bool keyed, made;
    uint8_t key[32];
} part;
typedef struct {
    const tn_code_options *o;
    enum tn_llvm_form form;
    tn_lgen g[MAX_PARTS];
    LLVMTargetMachineRef tm[MAX_PARTS];
    part part[MAX_PARTS]; /* in the order of work: the largest first */
    uint32_t n;
    tn_buf *out;
} part_jobs;

static tn_buf *out_of(part_jobs *c, const part *p) { return &c->out[p->index]; }

static void make(part_jobs *c, part *p)
{
    tn_lgen *g = &c->g[p->index];
    working = &g->fate;
    build(g, c->o, c->tm[p->index]);
    if (g->status == TN_OK)
        print_module(g, c->tm[p->index], c->form, out_of(c, p));
    working = NULL;
    if (*g->fate.complaint)
        no_code(g, g->fate.complaint);
    p->made = true;
}

static void keep(part_jobs *c, part *p)
{
    if (p->keyed && c->g[p->index].status == TN_OK)
        c->o->cache->save(c->o->cache->user, p->key, out_of(c, p));
}

static void load(part_jobs *c, part *p)
{
    p->made = p->keyed && c->o->cache->load(c->o->cache->user, p->key, out_of(c, p));
}

static void work(void *user, size_t k, unsigned worker)
{
    part_jobs *c = user;
    (void)worker;
    load(c, &c->part[k]);
    if (c->part[k].made)
        return;
    make(c, &c->part[k]);
    keep(c, &c->part[k]);
}

static bool count_stmt(tn_stmt *s, void *user)
{
    (void)s;
    ++*(uint64_t *)user;
    return true;
}

/* Deals the kernels out to parts 1.., each to the one with least code so far; depends on the unit alone. Part 0 is the
 * tables, so that kernels are the same objects whatever program they are in. */
static const uint8_t *deal(tn_arena *a, const tn_unit *u, uint32_t n_part, part parts[])
{
    uint8_t *part_of = TN_NEW_N(a, uint8_t, u->n_kernel);
    for (uint32_t p = 0; p < n_part; p++)
        parts[p] = (part){.index = (uint8_t)p};
    for (uint32_t i = 0; i < u->n_kernel; i++) {
        uint8_t best = 1;
        for (uint8_t p = 2; p < n_part; p++)
            best = parts[p].load < parts[best].load ? p : best;
        part_of[i] = best;
        parts[best].load++;
        for (uint32_t v = 0; v < u->kernel[i].n_variant; v++)
            tn_stmt_walk(&u->kernel[i].variant[v].func->body, count_stmt, NULL, &parts[best].load);
    }
    return part_of;
}

static int by_load(const void *a, const void *b)
{
    const part *x = a, *y = b;
    return x->load != y->load ? (x->load > y->load ? -1 : 1) : x->index - y->index;
}

static unsigned threads_of(const tn_code_options *o) { return o->threads ? o->threads : tn_cpu_count(); }

/* What else than the kernels decides about an object: this code generator, LLVM, target, features, level. */
static void hash_base(const tn_unit *u, const tn_code_options *o, const char *features, tn_sha256 *h)
{
    static const char here = 0;
    unsigned major, minor, patch;
    Dl_info self;
    struct stat st = {0};
    tn_buf text = {0};
    LLVMGetVersion(&major, &minor, &patch);
    if (dladdr(&here, &self))
        (void)!stat(self.dli_fname, &st); /* another build of this library makes other code */
    char host[TN_LLVM_TEXT];
    const char *triple = o->triple ? o->triple : take_text(LLVMGetDefaultTargetTriple(), host);
    tn_buf_printf(&text, "%s ABI %u %lld %lld.%ld LLVM %u.%u.%u %s %s O%d\n", u->producer, TENON_ABI_VERSION,
                  (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, major, minor,
                  patch, triple, features, o->opt_level);
    tn_sha256_add(h, text.at, text.n);
    tn_buf_deinit(&text);
}

typedef struct {
    const tn_unit *u;
    const uint8_t *part_of;
    tn_sha256 base;
    part *part; /* from part 1 on */
} keys;

/* To print a function is work in its context, which is in one part alone. */
static void make_key(void *user, size_t number, unsigned worker)
{
    const keys *k = user;
    const tn_unit *u = k->u;
    part *p = &k->part[number];
    tn_sha256 h = k->base;
    tn_buf text = {0};
    (void)worker;
    for (uint32_t i = 0; i < u->n_kernel; i++) {
        if (k->part_of[i] != p->index)
            continue;
        tn_buf_clear(&text);
        tn_buf_printf(&text, "%s %u\n", u->kernel[i].name, u->kernel[i].n_variant);
        for (uint32_t v = 0; v < u->kernel[i].n_variant; v++) {
            const tn_flat *f = &u->kernel[i].variant[v];
            for (uint32_t o = 0; o < f->n_overlap; o++)
                tn_buf_printf(&text, "%u %u ", f->overlap[o].in, f->overlap[o].out);
            tn_buf_char(&text, '\n');
            tn_func_print(f->func, &text);
        }
        tn_sha256_add(&h, text.at, text.n);
    }
    tn_sha256_end(&h, p->key);
    p->keyed = true;
    tn_buf_deinit(&text);
}

static const uint8_t *make_parts(part_jobs *c, tn_arena *a, const tn_unit *u, uint32_t n_part,
                                 const char *features)
{
    c->part[0] = (part){0};
    if (n_part < 2)
        return NULL;
    const uint8_t *part_of = deal(a, u, n_part, c->part);
    keys k = {.u = u, .part_of = part_of, .part = c->part + 1};
    tn_sha256_init(&k.base);
    if (c->o->cache) {
        hash_base(u, c->o, features, &k.base);
        tn_parallel_for(n_part - 1, threads_of(c->o), make_key, &k);
    }
    qsort(c->part, n_part, sizeof *c->part, by_load);
    return part_of;
}

static tn_status start(part_jobs *c, tn_arena *arena, const tn_unit *u, uint32_t n_part, const char *features)
{
    const uint8_t *part_of = make_parts(c, arena, u, n_part, features);
    for (uint32_t i = 0; i < n_part; i++) {
        c->g[i] = (tn_lgen){.unit = u, .features = features, .part_of = part_of, .part = (uint8_t)i};
        tn_arena_init(&c->g[i].arena);
        TN_TRY(machine_for(u->ctx, c->o, features, &c->tm[i]));
    }
    return TN_OK;
}

/* What is LLVM's; all threads have ended. */
static void dispose_parts(tn_resource *r)
{
    part_jobs *c = r->at;
    for (size_t i = 0; i < MAX_PARTS; i++) {
        if (c->g[i].fate.dead)
            continue; /* nobody knows what state it is in */
        if (c->g[i].b)
            LLVMDisposeBuilder(c->g[i].b);
        if (c->g[i].m)
            LLVMDisposeModule(c->g[i].m);
        if (c->g[i].c)
            LLVMContextDispose(c->g[i].c);
        if (c->tm[i])
            LLVMDisposeTargetMachine(c->tm[i]);
    }
}

/* ---- in this process, or in a child ----
 * LLVM ends the process where it meets what it does not support, or when memory is exhausted. So threads work for it
 * that can be abandoned, and from then on, or where memory is limited, the work is done in a child process. */

/* LLVM's state is the process's, and so is whether it may be used. */
static atomic_bool broken;
static int reply_to = -1; /* in a child: where the answer goes */

enum { FATAL = -1 }; /* in place of a tn_raised_kind */

static void say(const void *data, size_t n)
{
    const char *at = data;
    while (n) {
        ssize_t k = write(reply_to, at, n);
        if (k < 0 && errno != EINTR)
            _exit(1);
        at += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
}

/* Called by LLVM, which ends the process if this returns. */
static void on_fatal(const char *why)
{
    tn_raised fatal = {.kind = (enum tn_raised_kind)FATAL};
    if (reply_to >= 0) {
        say(&fatal, sizeof fatal);
        say(why, strlen(why));
        _exit(1);
    }
    atomic_store(&broken, true);
    if (!working)
        return;
    working->dead = true;
    snprintf(working->complaint, sizeof working->complaint, "%s", why);
    tn_thread_abandon();
}

static void make_rest(void *user, size_t k, unsigned worker)
{
    part_jobs *c = user;
    (void)worker;
    if (!c->part[k].made)
        make(c, &c->part[k]);
}

static void make_rest_of_all(void *user)
{
    part_jobs *c = user;
    tn_parallel_for(c->n, threads_of(c->o), make_rest, c);
}

/* What a child answers: what was raised, then for each part that was not made before a head and its bytes. Texts that
 * are constants lie where they lie in the parent. */
typedef struct {
    tn_status status;
    const char *fail_id;
    size_t n;
} answer;

static void answer_parent(void *user, int fd)
{
    part_jobs *c = user;
    bool made[MAX_PARTS];
    reply_to = fd;
    for (uint32_t k = 0; k < c->n; k++)
        made[k] = c->part[k].made;
    tn_raised raised = tn_protect(NULL, make_rest_of_all, c);
    say(&raised, sizeof raised);
    for (uint32_t k = 0; k < c->n && !raised.kind; k++) {
        const tn_lgen *g = &c->g[c->part[k].index];
        const tn_buf *out = out_of(c, &c->part[k]);
        if (made[k])
            continue;
        bool failed = g->status != TN_OK;
        answer a = {g->status, g->fail_id, failed ? strlen(g->fail_text) : out->n};
        say(&a, sizeof a);
        say(failed ? g->fail_text : out->at, a.n);
    }
}

static void take(part_jobs *c, part *p, const char **at)
{
    tn_lgen *g = &c->g[p->index];
    answer a;
    memcpy(&a, *at, sizeof a);
    *at += sizeof a;
    g->status = a.status;
    g->fail_id = a.fail_id;
    if (a.status != TN_OK)
        g->fail_text = tn_arena_strndup(&g->arena, *at, a.n);
    else
        tn_buf_add(out_of(c, p), *at, a.n);
    *at += a.n;
    p->made = true;
    keep(c, p);
}

/* What the child may have beyond what there is; 0: no limit of its own. */
static uint64_t memory_left(void)
{
    const tn_guard *g = tn_guard_get();
    const tn_heap *h = g ? g->heap : NULL;
    if (!h || !h->limits.memory_bytes)
        return 0;
    int64_t used = h->bytes;
    uint64_t most = h->limits.memory_bytes;
    return used > 0 && (uint64_t)used < most ? most - (uint64_t)used : most;
}

static bool is_process_limited(void)
{
    struct rlimit space, data;
    return (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) ||
           (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
}

static tn_status judge_child(const tn_unit *u, const tn_buf *reply, int error, int status)
{
    tn_raised r = {0};
    bool fatal = false;
    if (!error && reply->n >= sizeof r) {
        memcpy(&r, reply->at, sizeof r);
        fatal = r.kind == (enum tn_raised_kind)FATAL;
        if (r.kind && !fatal)
            tn_raise(r);
        if (!r.kind && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return TN_OK;
    }
    const char *why = fatal ? reply->at + sizeof r : error ? strerror(error) : "it ended";
    if (memory_left() && (!fatal || strstr(why, "memory")))
        tn_raise((tn_raised){.kind = TN_RAISED_MEMORY, .amount = tn_guard_get()->heap->limits.memory_bytes});
    if (is_process_limited() && (!fatal || strstr(why, "memory")))
        tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = 1});
    return tn_error(u->ctx, "codegen-E014", NULL, "%s: LLVM cannot generate code: %.300s; please report it",
                    u->name, why);
}

static tn_status make_in_child(const tn_unit *u, part_jobs *c)
{
    tn_buf reply = {0};
    int status = 0;
    for (uint32_t k = 0; k < c->n; k++)
        if (!c->part[k].made)
            load(c, &c->part[k]);
    int error = tn_process_call(&(tn_process_work){answer_parent, c, memory_left()}, &reply, &status);
    tn_status st = judge_child(u, &reply, error, status);
    const char *at = tn_buf_cstr(&reply) + sizeof(tn_raised);
    for (uint32_t k = 0; k < c->n && st == TN_OK; k++)
        if (!c->part[k].made)
            take(c, &c->part[k], &at);
    tn_buf_deinit(&reply);
    return st;
}

/* What LLVM left half done stays as it is. */
static tn_status start_again(const tn_unit *u, part_jobs *c, const part *p)
{
    tn_lgen *g = &c->g[p->index];
    *g = (tn_lgen){.unit = u, .features = g->features, .part_of = g->part_of, .part = p->index};
    tn_arena_init(&g->arena);
    return machine_for(u->ctx, c->o, g->features, &c->tm[p->index]);
}

static tn_status make_all(const tn_unit *u, part_jobs *c)
{
    if (!atomic_load(&broken) && !memory_left() && !is_process_limited() &&
        tn_parallel_apart(c->n, threads_of(c->o), work, c))
        return TN_OK;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->g[c->part[i].index].fate.dead)
            TN_TRY(start_again(u, c, &c->part[i]));
    return make_in_child(u, c);
}

static tn_status emit_parts(const tn_unit *u, const tn_code_options *o, enum tn_llvm_form form,
                            uint32_t n_part, tn_buf out[])
{
    tn_arena arena;
    tn_arena_init(&arena);
    tn_resource *held = tn_resource_new(dispose_parts);
    part_jobs *c = held->at = TN_NEW(&arena, part_jobs);
    const char *features = feature_text(&arena, u, o);
    c->o = o;
    c->form = form;
    c->out = out;
    c->n = n_part;
    tn_status st = start(c, &arena, u, n_part, features);
    if (st == TN_OK)
        st = make_all(u, c);
    for (uint32_t i = 0; i < n_part; i++) {
        if (c->g[i].status != TN_OK)
            st = tn_error(u->ctx, c->g[i].fail_id, NULL, "%s", c->g[i].fail_text);
        drop(&c->g[i]);
    }
    tn_resource_end(held);
    tn_arena_deinit(&arena);
    return st;
}

static tn_status emit(const tn_unit *u, const tn_code_options *o, enum tn_llvm_form form, tn_buf *out)
{
    return emit_parts(u, o ? o : &defaults, form, 1, out);
}

static tn_status objects(const tn_unit *u, const tn_code_options *o, uint32_t max, tn_buf out[],
                         uint32_t *out_n)
{
    o = o ? o : &defaults;
    max = max > MAX_PARTS ? MAX_PARTS : max;
    uint32_t n = u->n_kernel + 1 < max ? u->n_kernel + 1 : max;
    *out_n = n;
    return emit_parts(u, o, TN_LLVM_OBJECT, n, out);
}

/* ---- JIT ---- */

static tn_status no_jit(const tn_unit *u, const char *why)
{
    return tn_error(u->ctx, "codegen-E010", NULL, "%s: this process cannot run its code: %s", u->name, why);
}

static void dispose_jit(tn_resource *r)
{
    LLVMErrorRef e = LLVMOrcDisposeLLJIT(r->at);
    if (e)
        LLVMConsumeError(e);
}

/* A tn_jit is a resource. */
static void jit_free(tn_jit *j) { tn_resource_end((tn_resource *)(void *)j); }

static void jit_keep(tn_jit *j) { tn_resource_keep((tn_resource *)(void *)j); }

typedef struct {
    tn_buf object[MAX_PARTS];
    uint32_t n;
    tn_resource *held; /* of the LLJIT */
    LLVMOrcExecutorAddress at;
    tn_llvm_fate fate;
} link_job;

static LLVMErrorRef add_objects(LLVMOrcLLJITRef jit, const link_job *j)
{
    LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(jit);
    LLVMOrcDefinitionGeneratorRef gen;
    LLVMErrorRef e = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
        &gen, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
    if (e)
        return e;
    LLVMOrcJITDylibAddGenerator(lib, gen);
    for (uint32_t i = 0; i < j->n && !e; i++)
        e = LLVMOrcLLJITAddObjectFile(
            jit, lib, LLVMCreateMemoryBufferWithMemoryRangeCopy(j->object[i].at, j->object[i].n, "unit"));
    return e;
}

static LLVMErrorRef link_objects(link_job *j)
{
    LLVMOrcLLJITRef lljit = NULL;
    LLVMErrorRef e = LLVMOrcCreateLLJIT(&lljit, NULL);
    j->held->at = lljit;
    if (!e)
        e = add_objects(lljit, j);
    return e ? e : LLVMOrcLLJITLookup(lljit, &j->at, TENON_QUERY_SYMBOL);
}

static void do_link(void *user, size_t i, unsigned worker)
{
    link_job *j = user;
    (void)i, (void)worker;
    working = &j->fate;
    LLVMErrorRef e = link_objects(j);
    working = NULL;
    if (!e)
        return;
    char *m = LLVMGetErrorMessage(e);
    snprintf(j->fate.complaint, sizeof j->fate.complaint, "%s", m);
    LLVMDisposeErrorMessage(m);
}

/* The code in this process. It cannot be linked in another, so each fatal error costs a thread. */
static tn_status link_here(const tn_unit *u, link_job *j)
{
    bool ended = tn_parallel_apart(1, 1, do_link, j);
    if (ended && !*j->fate.complaint)
        return TN_OK;
    if (j->fate.dead)
        tn_resource_drop(j->held); /* nobody knows what state it is in */
    else
        tn_resource_end(j->held);
    return no_jit(u, *j->fate.complaint ? j->fate.complaint : "no thread can be started");
}

static tn_status jit(const tn_unit *u, const tn_code_options *o, tn_jit **out_jit,
                     const tn_library **out_library)
{
    if (o && o->triple)
        return no_jit(u, "the code is for another machine");
    link_job j = {.n = 1};
    tn_status st =
        o && o->cache ? objects(u, o, MAX_PARTS, j.object, &j.n) : emit(u, o, TN_LLVM_OBJECT, j.object);
    j.held = tn_resource_new(dispose_jit);
    if (st == TN_OK)
        st = link_here(u, &j);
    else
        tn_resource_end(j.held);
    for (uint32_t i = 0; i < j.n; i++)
        tn_buf_deinit(&j.object[i]);
    TN_TRY(st);
    *out_jit = (tn_jit *)(void *)j.held;
    *out_library = ((tn_library_query_fn *)(uintptr_t)j.at)(TENON_ABI_VERSION);
    TN_ASSERT(*out_library); /* made for this very version */
    return TN_OK;
}

static void llvm_version(unsigned out[3]) { LLVMGetVersion(&out[0], &out[1], &out[2]); }

tn_llvm_get tenon_llvm;
const tn_llvm_api *tenon_llvm(tn_guard **(*place)(void))
{
    tn_guard_share(place);
    static const tn_llvm_api api = {TN_LLVM_INTERFACE, emit, objects, jit, jit_free, jit_keep, llvm_version};
    return &api;
}
