/* Runs the built program (environment variable BACKDROP) in a folder of its own. */
#ifndef BD_TESTS_APP_CLI_FIXTURE_H
#define BD_TESTS_APP_CLI_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Setup and teardown of a test: *state is a fresh folder under /tmp, which is the working folder of
 * what runs. */
static inline int cli_make_folder(void **state)
{
    char *folder = strdup("/tmp/bd-cli-XXXXXX");
    *state = folder;
    return folder && mkdtemp(folder) ? 0 : -1;
}

static inline int cli_remove_folder(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    int failed = system(command);
    free(*state);
    return failed;
}

#define CLI_TEST(test) cmocka_unit_test_setup_teardown(test, cli_make_folder, cli_remove_folder)

/* The whole of a file in the folder, terminated; "" where there is none. */
static inline void cli_slurp(const char *folder, const char *name, char *text, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t used = file ? fread(text, 1, size - 1, file) : 0;
    text[used] = 0;
    if (file)
        fclose(file);
}

/* Runs a shell command in the folder with stdin closed; its exit status. $B is the program; stdout
 * and stderr go to the files "out" and "err" there. */
static inline int cli_run(const char *folder, const char *command)
{
    char line[2048];
    const char *program = getenv("BACKDROP");
    if (!program || !*program)
        skip();
    snprintf(line, sizeof line, "cd '%s' && B='%s' && { %s ; } >out 2>err </dev/null", folder,
             program, command);
    int status = system(line);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static inline int cli_lines(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

#endif
