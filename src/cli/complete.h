#ifndef TN_CLI_COMPLETE_H
#define TN_CLI_COMPLETE_H
/* Texts made of the command tables: completion scripts, manual pages. Printed on standard output. */
#include "cli/cli.h"

int tn_completion_print(const tn_command *commands, const char *shell); /* "bash" or "zsh" */
/* "tenon" or a command. */
int tn_manual_print(const tn_command *commands, const tn_flag *flags, const char *page);

#endif
