#ifndef TN_DRIVER_TOOL_H
#define TN_DRIVER_TOOL_H
/* Running the linker and its like in a private folder. */
#include "driver/driver.h"

typedef struct tn_workdir { /* open, name files in it, close: the files and the folder are gone */
    tn_build *b;
    tn_resource *held;
    char dir[256];
    tn_vec(const char *) files;
} tn_workdir;

/* driver-E020 where TMPDIR (/tmp) cannot be written. Close only what was opened. */
TN_WARN_UNUSED tn_status tn_workdir_open(tn_build *b, tn_workdir **out); /* in its arena */
void tn_workdir_close(tn_workdir *w);
/* Path of a file of that name in the folder; memory is the build's arena. */
const char *tn_workdir_file(tn_workdir *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

enum { TN_TOOL_WORDS = 160 };
typedef struct tn_tool_command {
    const char *at[TN_TOOL_WORDS];
    int n;
} tn_tool_command;

/* A command begun with the tool for the target's machine: this machine's own, or what --cross-compiler is (it compiles
 * and links, by the options that go with it) or says (-print-prog-name). */
enum tn_tool { TN_TOOL_CC, TN_TOOL_LD, TN_TOOL_AR, TN_TOOL_OBJCOPY };
TN_WARN_UNUSED tn_status tn_command_begin(tn_workdir *w, tn_tool_command *c, enum tn_tool tool);
void tn_command_add(tn_tool_command *c, const char *word);
void tn_command_split(tn_build *b, tn_tool_command *c, const char *text); /* words at blanks; NULL: none */
/* driver-E021: not there, driver-E022: it failed. */
TN_WARN_UNUSED tn_status tn_command_run(tn_build *b, const tn_tool_command *c);
/* The same in two steps: the first may be taken by several threads at once. */
typedef struct tn_tool_end {
    int error, status;
} tn_tool_end; /* errno of the start, or what waitpid says */
tn_tool_end tn_command_wait(const tn_tool_command *c);
TN_WARN_UNUSED tn_status tn_command_judge(tn_build *b, const tn_tool_command *c, tn_tool_end end);
TN_WARN_UNUSED tn_status tn_file_take(tn_build *b, const char *path, tn_buf *out);

/* link.c: the code as objects in the folder; C is compiled. */
TN_WARN_UNUSED tn_status tn_objects_write(tn_workdir *w, uint32_t n, const tn_buf code[],
                                          const char *out_path[]);

#endif
