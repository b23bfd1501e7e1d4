/* Calls of the whole public interface, as bytes decide: for the test `any_call`, and for a fuzzer,
 * whose LLVMFuzzerTestOneInput stops where bd_calls_run does not return NULL. */
#ifndef BD_TESTS_PUBLIC_CALLS_H
#define BD_TESTS_PUBLIC_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <backdrop/matrix.h>

/* A call is a record of so many bytes: the number of the function, modulo how many there are, and a
 * byte for each of its arguments in turn. 0 is a good argument; a function whose bytes are all 0,
 * called first, succeeds. Handles and matrices are made anew for each input, by good calls. */
enum { bd_call_bytes = 16 };

/* How many functions there are. */
int bd_calls_count(void);

struct bd_calls_end {
    size_t calls;          /* that were made */
    enum bd_status status; /* of the last one */
};

/* Makes the calls that `data` describes, with the backend of that name. Returns NULL, or what was
 * wrong: a status that is none, a failure without a detail of one line, or an argument that the
 * rule of backdrop/status.h forbids and that was taken. *end (may be NULL) says how
 * it ended. */
const char *bd_calls_run(const char *backend, const uint8_t *data, size_t size,
                         struct bd_calls_end *end);

/* ---- for the files calls*.c ------------------------------------------------------------------ */

struct bd_call_handles;

/* A call in the making. */
struct bd_call {
    const uint8_t *bytes; /* of its arguments */
    int taken;
    bool refused; /* an argument that the rule forbids has been chosen */
    bool huge;    /* a size for which no machine has memory: BD_OK is wrong */
    struct bd_backend *backend;
    struct bd_call_handles *handles;
    int copies;
    struct bd_matrix copy[8]; /* the matrices that are passed */
};

/* 0 .. count - 1, by the next byte. */
int bd_call_choice(struct bd_call *call, int count);

/* `pointer`, or NULL, which is forbidden. */
void *bd_call_pointer(struct bd_call *call, void *pointer);

/* `pointer`, or NULL. */
void *bd_call_optional(struct bd_call *call, void *pointer);

/* `good`, or another size: forbidden if it is negative. */
int64_t bd_call_size(struct bd_call *call, int64_t good);

/* `good`, or -1, 99 or -2^31, which are forbidden. */
int bd_call_kind(struct bd_call *call, int good);

/* `good`, or another number, NaN and infinities among them. */
double bd_call_number(struct bd_call *call, double good);

typedef enum bd_status bd_call_fn(struct bd_call *call);

/* The functions, NULL at the end, and what they are called with. */
extern bd_call_fn *const bd_linalg_calls[], *const bd_update_calls[], *const bd_separator_calls[],
                                                                          *const bd_objects_calls[];

#endif
