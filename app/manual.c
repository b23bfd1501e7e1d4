/* Prints the manual page, or the completions of a shell, from the option table: `make_manual man`,
 * `bash` or `zsh`. It runs when the program is built. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "app/option_table.h"
#include "app/version.h"

static bool is_of(const struct bd_option *option, const struct bd_command_row *row)
{
    return option->commands & 1u << row->command;
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* Text for roff, in which a line must not begin with a point or an apostrophe. */
static void put_roff(const char *text)
{
    bool start = true;
    for (const char *c = text; *c; c++) {
        if (start && strchr(".'", *c))
            fputs("\\&", stdout);
        if (*c == '\\')
            fputs("\\e", stdout);
        else if (*c == '-')
            fputs("\\-", stdout);
        else
            putchar(*c);
        start = *c == '\n';
    }
}

static void put_section(const char *title, const char *text)
{
    printf(".SH %s\n", title);
    put_roff(text);
}

static void put_option(const struct bd_option *option)
{
    char limits[160];
    bd_option_limits(limits, sizeof limits, option);
    fputs(".TP\n", stdout);
    if (option->letter)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    put_roff(option->name);
    fputs("\\fR", stdout);
    if (option->argument)
        printf(" \\fI%s\\fR", option->argument);
    putchar('\n');
    put_roff(option->help);
    if (*limits) {
        fputs(" (", stdout);
        put_roff(limits);
        putchar(')');
    }
    putchar('\n');
}

static void print_man(void)
{
    printf(".TH BACKDROP 1 \"\" \"backdrop %s\" \"User Commands\"\n", bd_version);
    put_section("NAME", "backdrop - separate what moves from what stays\n");
    fputs(".SH SYNOPSIS\n\\fBbackdrop\\fR \\fIINPUT\\fR\n", stdout);
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        printf(".br\n\\fBbackdrop %s\\fR ", row->name);
        put_roff(row->usage);
        putchar('\n');
    }
    put_section("DESCRIPTION", bd_about_program);
    fputs(".PP\n", stdout);
    put_roff(bd_about_inputs);
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        printf(".SH BACKDROP %s\n", row->name);
        put_roff(row->help);
        fputs(".\n", stdout);
        for (const struct bd_option *option = bd_option_table; option->name; option++)
            if (is_of(option, row))
                put_option(option);
    }
    put_section("SEVERAL INPUTS", bd_about_many);
    put_section("OUTPUTS", bd_about_outputs);
    put_section("SEQUENCES", bd_about_folders);
    put_section("EXIT STATUS", bd_about_status);
    put_section("SIGNALS",
                "SIGINT, SIGTERM and SIGHUP finish the frame and all files; a second SIGINT or "
                "SIGTERM\nends the program at once.\n");
    put_section("FILES", "An output is written as NAME.part and takes its name when it is whole. "
                         "After a kill\nor a fault, what was written is there.\n");
}

/* ---- completions ----------------------------------------------------------------------------- */

enum completion { COMPLETE_NOTHING, COMPLETE_FILE, COMPLETE_FOLDER, COMPLETE_CHOICE };

static enum completion completion_of(const struct bd_option *option)
{
    const char *argument = option->argument;
    if (option->choices)
        return COMPLETE_CHOICE;
    if (strncmp(argument, "FILE", 4) == 0 || strcmp(argument, "IMAGE") == 0)
        return COMPLETE_FILE;
    if (strcmp(argument, "FOLDER") == 0 || strcmp(argument, "DIR") == 0)
        return COMPLETE_FOLDER;
    return COMPLETE_NOTHING;
}

static void put_choices(const struct bd_option *option)
{
    for (int i = 0; option->choices[i]; i++)
        printf("%s%s", i ? " " : "", option->choices[i]);
}

/* What follows each option that takes a value. */
static void print_bash_values(void)
{
    for (const struct bd_option *option = bd_option_table; option->name; option++) {
        if (!option->argument)
            continue;
        printf("    --%s", option->name);
        if (option->letter)
            printf("|-%c", option->letter);
        fputs(") ", stdout);
        switch (completion_of(option)) {
        case COMPLETE_CHOICE:
            fputs("_backdrop_reply -W '", stdout);
            put_choices(option);
            putchar('\'');
            break;
        case COMPLETE_FILE:
            fputs("_backdrop_reply -f", stdout);
            break;
        case COMPLETE_FOLDER:
            fputs("_backdrop_reply -d", stdout);
            break;
        default:
            putchar(':');
        }
        fputs("; return ;;\n", stdout);
    }
}

static void print_bash(void)
{
    fputs("# Completions of bash for backdrop, made from its option table.\n"
          "_backdrop_reply()\n{\n"
          "    mapfile -t COMPREPLY < <(compgen \"$@\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n}\n"
          "_backdrop()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=view options='' commands='",
          stdout);
    for (const struct bd_command_row *row = bd_command_table; row->name; row++)
        printf("%s%s", row == bd_command_table ? "" : " ", row->name);
    fputs("'\n    compopt -o filenames 2>/dev/null\n    case $previous in\n", stdout);
    print_bash_values();
    fputs("    esac\n"
          "    [[ \" $commands \" == *\" ${COMP_WORDS[1]} \"* ]] && command=${COMP_WORDS[1]}\n"
          "    case $command in\n",
          stdout);
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        printf("    %s) options='", row->name);
        for (const struct bd_option *option = bd_option_table; option->name; option++)
            if (is_of(option, row))
                printf(" --%s", option->name);
        fputs("' ;;\n", stdout);
    }
    fputs("    esac\n"
          "    if [[ $current == -* ]]; then\n"
          "        _backdrop_reply -W \"$options\"\n"
          "    elif [ \"$COMP_CWORD\" = 1 ] || [ \"${COMP_WORDS[1]}\" = help ]; then\n"
          "        _backdrop_reply -f -W \"$commands\"\n"
          "    else\n"
          "        _backdrop_reply -f\n"
          "    fi\n"
          "}\n"
          "complete -F _backdrop backdrop\n",
          stdout);
}

/* The text of a zsh specification: brackets, colons and quotes end it. */
static void put_zsh(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("[]:\\", *c))
            putchar('\\');
        if (*c == '\'')
            fputs("'\\'", stdout);
        putchar(*c);
    }
}

static void put_zsh_option(const struct bd_option *option)
{
    bool repeated = option->kind == BD_OPTION_TEXTS || option->kind == BD_OPTION_KEY_VALUE;
    printf("            '%s--%s[", repeated ? "*" : "", option->name);
    put_zsh(option->help);
    putchar(']');
    if (option->argument) {
        printf(":%s:", option->argument);
        if (completion_of(option) == COMPLETE_CHOICE) {
            putchar('(');
            put_choices(option);
            putchar(')');
        } else if (completion_of(option) == COMPLETE_FILE) {
            fputs("_files", stdout);
        } else if (completion_of(option) == COMPLETE_FOLDER) {
            fputs("_files -/", stdout);
        }
    }
    fputs("' \\\n", stdout);
}

static void print_zsh(void)
{
    fputs("#compdef backdrop\n"
          "# Completions of zsh for backdrop, made from its option table.\n"
          "_backdrop()\n{\n    local -a commands=(\n",
          stdout);
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        printf("        '%s:", row->name);
        put_zsh(row->help);
        fputs("'\n", stdout);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then\n"
          "        _describe command commands\n"
          "        _files\n"
          "        return\n"
          "    fi\n"
          "    case $words[2] in\n",
          stdout);
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        /* Without a command it is view, the first row. */
        printf("    %s)\n        _arguments -S \\\n", row->name);
        for (const struct bd_option *option = bd_option_table; option->name; option++)
            if (is_of(option, row))
                put_zsh_option(option);
        fputs("            '*:file:_files' ;;\n", stdout);
    }
    fputs("    *) _files ;;\n    esac\n}\n_backdrop \"$@\"\n", stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } forms[] = { { "man", print_man }, { "bash", print_bash }, { "zsh", print_zsh } };
    for (size_t i = 0; argc == 2 && i < sizeof forms / sizeof *forms; i++)
        if (strcmp(argv[1], forms[i].name) == 0) {
            forms[i].print();
            return fflush(stdout) || ferror(stdout) ? 1 : 0;
        }
    fputs("usage: make_manual man|bash|zsh\n", stderr);
    return 1;
}
