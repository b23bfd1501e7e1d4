/* The rows of the option table; see option_table.c. */
#ifndef BD_APP_OPTION_TABLE_H
#define BD_APP_OPTION_TABLE_H

#include <stddef.h>

#include "app/options.h"

/* Paragraphs of the help and the manual. */
extern const char bd_about_program[], bd_about_inputs[], bd_about_many[], bd_about_outputs[],
    bd_about_folders[], bd_about_status[];

enum bd_option_kind {
    BD_OPTION_FLAG,     /* no value: bool at offset becomes true */
    BD_OPTION_SET,      /* no value: int at offset becomes `min` */
    BD_OPTION_INT,      /* int, min..max, or the first of `choices`: 0, the library's default */
    BD_OPTION_ODD,      /* int, min..max, odd */
    BD_OPTION_NUMBER,   /* double, min..max */
    BD_OPTION_TIME,     /* double seconds, min..max, or [HH:]MM:SS */
    BD_OPTION_TEXT,     /* const char * */
    BD_OPTION_TEXTS,    /* appended to a struct bd_texts, `max` of them */
    BD_OPTION_CHOICE,   /* const char *, one of `choices` */
    BD_OPTION_INDEX,    /* int: the index in `choices` */
    BD_OPTION_GRAY,     /* bool: the first of `choices` is true */
    BD_OPTION_SIZE,     /* two ints: WxH, each min..max */
    BD_OPTION_KEY_VALUE /* K=V, appended to input_options */
};

/* Sets of commands, as bits, and other limits of an option. */
enum {
    BD_FOR_VIEW = 1 << BD_COMMAND_VIEW,
    BD_FOR_EXPORT = 1 << BD_COMMAND_EXPORT,
    BD_FOR_EVAL = 1 << BD_COMMAND_EVAL,
    BD_FOR_BENCH = 1 << BD_COMMAND_BENCH,
    BD_FOR_INFO = 1 << BD_COMMAND_INFO,
    BD_LIVE_SOLVER = 1 << 16, /* does nothing with --solver batch, and is refused there */
    BD_ZERO_IS_NONE = 1 << 17 /* the value 0 means none, which is stored as BD_NONE */
};

struct bd_option {
    const char *name;     /* long name, without the dashes; NULL ends the table */
    char letter;          /* short name, 0: none */
    const char *argument; /* name of the value in the help; NULL: takes none */
    enum bd_option_kind kind;
    size_t offset; /* in struct bd_options */
    double min, max;
    const char *const *choices; /* NULL-terminated */
    unsigned commands;          /* BD_FOR_ bits, BD_LIVE_SOLVER, BD_ZERO_IS_NONE */
    const char *fallback;       /* the default, in words; NULL: none, or as bd_separator_defaults
                                   has it for members of options.separator */
    const char *help;
};

extern const struct bd_option bd_option_table[];

/* Its choices, range and default as the help shows them, "" where there are none; cut to `size`. */
void bd_option_limits(char *text, size_t size, const struct bd_option *option);

/* Other spellings that are accepted and that --help does not list: those of earlier versions, and
 * American ones. */
struct bd_option_alias {
    const char *alias, *name; /* long names, without the dashes; alias NULL ends the table */
};

extern const struct bd_option_alias bd_option_aliases[];

struct bd_command_row {
    const char *name;
    enum bd_command command;
    const char *usage; /* what follows the name */
    const char *help;
    int min_arguments, max_arguments;
    const char *argument; /* what an argument is called */
};

extern const struct bd_command_row bd_command_table[];

/* NULL if there is none of this name. */
const struct bd_command_row *bd_command_find(const char *name);
const struct bd_command_row *bd_command_get(enum bd_command command);

#endif
