/* tenon dump, tenon opt: text of a model's stages, and passes over text. */
#include "cli/cli.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
const tn_flag tn_dump_flags[] = {
    TN_ROW_TEXT("stage", 0, "NAME", NULL, "stage to print (--list names them)"),
    TN_ROW_TEXT("output", 'o', "PATH", NULL,
                "write to this file instead of standard output; the constants of relay stages go to PATH.params, and "
                "those of nnvm to NAME.params beside NAME.json"),
    TN_OPTION_CHOICE(dump_format, "format", "text|svg|dot|html|nnvm", "text",
                     "draw relay or relay-fused: as SVG, for Graphviz, or as a page to zoom and search in; write relay "
                     "as a graph of NNVM"),
    TN_ROW_ALONE("list", 0, "list the stages"),
    {0},
};

const tn_flag tn_opt_flags[] = {
    TN_ROW(REPEAT, "pass", 0, "A,B,...", NULL,
           "passes to run, in order (--list names them); for TIR also Rule (the built-in schedule), Explore=FILE "
           "(that of a map of picks), Sketch and Sketch=FILE (the same of a sketch), Schedule=FILE (a trace) and "
           "Verify", 0, 0),
    TN_ROW_TEXT("output", 'o', "PATH", NULL, "write to this file instead of standard output"),
    TN_ROW_ALONE("list", 0, "list the passes"),
    {0},
};
// clang-format on

static bool is_standard_output(const char *path) { return !path || strcmp(path, "-") == 0; }

/* ---- dump ---- */

static int list_stages(void)
{
    const char *name;
    for (size_t i = 0; (name = tenon_stage_name(i)); i++)
        printf("%s\n", name);
    return TN_EXIT_OK;
}

static bool is_stage(const char *stage)
{
    const char *name;
    for (size_t i = 0; (name = tenon_stage_name(i)); i++)
        if (strcmp(name, stage) == 0)
            return true;
    return false;
}

static int unknown_stage(const tn_command *c, const char *stage)
{
    const char *name;
    if (!stage)
        return tn_usage_error(c, "--stage is missing; `%s dump --list` names the stages", tn_program_name());
    tn_nearest p = {.word = stage, .n = strlen(stage)};
    for (size_t i = 0; (name = tenon_stage_name(i)); i++)
        tn_nearest_offer(&p, name);
    if (p.best)
        return tn_usage_error(c, "unknown stage \"%s\"; did you mean %s?", stage, p.best);
    return tn_usage_error(c, "unknown stage \"%s\"; `%s dump --list` names the stages", stage,
                          tn_program_name());
}

/* Constants, if there are any, go beside the file; standard output does without. */
static int dump(tn_model_options *m, const tn_args *args, const char *stage)
{
    const char *text = NULL, *path = tn_args_text(args, "output");
    int status = tn_model_read(m, args->operand, NULL);
    if (status != TN_EXIT_OK)
        return status;
    if (!is_standard_output(path))
        return tn_model_messages(m, tenon_module_dump_to(m->module, &m->options, stage, path));
    status = tn_model_messages(m, tenon_module_dump(m->module, &m->options, stage, &text, NULL, NULL));
    if (status == TN_EXIT_OK)
        fputs(text, stdout);
    return status;
}

int tn_dump_command(const tn_args *args)
{
    tn_model_options m;
    const char *stage = tn_args_text(args, "stage");
    if (tn_args_count(args, "list"))
        return list_stages();
    if (!stage || !is_stage(stage))
        return unknown_stage(args->command, stage);
    int status = tn_model_options_init(&m, args);
    tn_cleanup_begin(false);
    if (status == TN_EXIT_OK)
        status = dump(&m, args, stage);
    tn_cleanup_end();
    tn_model_options_deinit(&m);
    return status;
}

/* ---- opt ---- */

static int list_passes(void)
{
    const char *name, *doc = "";
    for (size_t i = 0; (name = tenon_pass_name(i, &doc)); i++) {
        int level = tenon_pass_level(i);
        if (level < 0)
            printf("%-28s    %s\n", name, doc);
        else
            printf("%-28s %d  %s\n", name, level, doc);
    }
    return TN_EXIT_OK;
}

/* All --pass values with commas between; heap, NULL: out of memory. */
static char *join_passes(const tn_args *args)
{
    size_t room = 1, n = 0;
    int count = tn_args_count(args, "pass");
    for (int i = 0; i < count; i++)
        room += strlen(tn_args_at(args, "pass", i)) + 1;
    char *all = calloc(1, room);
    for (int i = 0; i < count && all; i++)
        n += (size_t)snprintf(all + n, room - n, "%s%s", i ? "," : "", tn_args_at(args, "pass", i));
    return all;
}

static int opt(tn_model_options *m, const tn_args *args, const char *passes)
{
    const char *path = tn_args_text(args, "output"), *text;
    int status = tn_model_read(m, args->operand, NULL);
    if (status == TN_EXIT_OK)
        status = tn_model_messages(m, tenon_pass_run(m->module, passes, &m->options));
    if (status != TN_EXIT_OK)
        return status;
    text = tenon_module_print(m->module);
    if (!is_standard_output(path))
        return tn_output_write(path, text, strlen(text));
    fputs(text, stdout);
    return TN_EXIT_OK;
}

int tn_opt_command(const tn_args *args)
{
    tn_model_options m;
    if (tn_args_count(args, "list"))
        return list_passes();
    int status = tn_model_options_init(&m, args);
    char *passes = join_passes(args);
    if (!passes)
        status = tn_error_print("out of memory");
    tn_cleanup_begin(false);
    if (status == TN_EXIT_OK)
        status = opt(&m, args, passes);
    tn_cleanup_end();
    free(passes);
    tn_model_options_deinit(&m);
    return status;
}
