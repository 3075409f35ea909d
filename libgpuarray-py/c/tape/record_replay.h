/* Tapes: commands recorded instead of queued, and their replay.
 *
 * A plan is recorded by running its steps once on placeholders (gpudata with a `tape`,
 * without memory): every launch, copy, fill and product on one is appended to the tape.
 * A later run replays the tape with real buffers bound to the placeholders. */
#ifndef GA_C_RECORD_REPLAY_H
#define GA_C_RECORD_REPLAY_H

#include "c/device/recorder.h"
#include "c/program/kernel.h"
#include "c/ranks/collective.h"
#include <gpuarray/array.h>

/* Record a command, where a buffer is a placeholder. Each copies its arguments. */
int ga__tape_launch(ga_tape *tape, gpukernel *k, const ga_launch *launch);
int ga__tape_copy(ga_tape *tape, gpudata *to, size_t to_offset, gpudata *from,
                  size_t from_offset, size_t size);
int ga__tape_fill(ga_tape *tape, gpudata *buffer, size_t offset, unsigned char byte,
                  size_t size);
int ga__tape_blas(ga_tape *tape, const ga_blas_call *call);
int ga__tape_convolution(ga_tape *tape, const ga_dnn_call *call);
int ga__tape_collective(ga_tape *tape, const ga_collective *call);

/* A callback: each replay calls the function with arrays[0 .. n_out) and then n_in
 * more, `data` NULL in place of an integer. */
typedef struct ga_deferred {
  int (*function)(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                  const long long *ints);
  void *data;
  unsigned int n_out, n_in;
  GpuArray *recorded; /* on placeholders */
  GpuArray *arrays;   /* the same, rebound in a replay */
  GpuArray **places;  /* pointers to these; NULL for an integer */
  long long *ints;    /* one per input */
} ga_deferred;
/* The tape takes ownership of `call` (ga__alloc), also on failure. */
int ga__tape_defer(ga_tape *tape, ga_deferred *call);
void ga__deferred_free(ga_deferred *call);
/* True if replays call functions, or collectives: neither is in a graph. */
bool ga__tape_defers(const ga_tape *tape);
/* False if replays call functions or collectives, or a vendor's library in a way that
 * this device's library has chosen: such a tape is of this process. */
bool ga__tape_is_portable(const ga_tape *tape);

/* A placeholder of `size` bytes; its release is recorded. */
int ga__tape_buffer(gpudata **out, ga_tape *tape, size_t size);

/* Recording, for plans. The tape retains `ctx`. Between enter and leave, which nest,
 * this thread's new buffers of the context are placeholders. */
int ga__tape_new(ga_tape **out, gpucontext *ctx);
void ga__tape_free(ga_tape *tape);
void ga__tape_enter(ga_tape *tape);
void ga__tape_leave(ga_tape *tape);
/* The recording is a rehearsal (ga__recording_drop). */
void ga__tape_rehearse(ga_tape *tape);
/* True if it is to be recorded once more. */
bool ga__tape_is_void(const ga_tape *tape);
/* GA_UNSUPPORTED_ERROR for a placeholder, which has no elements to keep. */
int ga__tape_refuse(const GpuArray *a, const char *operation);
/* Step number of the commands recorded next; 0: none. */
void ga__tape_set_step(ga_tape *tape, unsigned int step);
/* Step of the command at which the latest replay failed; 0: none of them. */
unsigned int ga__tape_failed(const ga_tape *tape);
/* Records a condition that the device evaluates during a replay: true if any of `size`
 * bytes (at most 8) is not 0. *number identifies it; the bytes must not change until
 * the last command under it. */
#define GA_CONDITION_BYTES 8
int ga__tape_condition(unsigned int *number, ga_tape *tape, gpudata *buffer,
                       size_t offset, size_t size);
/* A branch: a condition and the value it must have. */
typedef struct ga_choice {
  unsigned int condition;
  bool wanted;
} ga_choice;
#define GA_CHOICES 6 /* maximum nesting depth */
/* Sets the path of branches, outermost first, under which the next commands are
 * recorded. */
void ga__tape_under(ga_tape *tape, unsigned int n, const ga_choice *path);
/* The current path; returns its length. */
unsigned int ga__tape_path(ga_choice path[GA_CHOICES], const ga_tape *tape);
/* True if the placeholder was made under this branch. */
bool ga__tape_is_under(const gpudata *stand_in, ga_choice choice);
/* True if the device's graphs have conditional nodes; else the host waits for each
 * condition. */
bool ga__tape_chooses(const gpucontext *ctx);
/* Lets two placeholders share memory; false unless all their uses are in mutually
 * exclusive branches. */
bool ga__tape_unite(ga_tape *tape, gpudata *a, gpudata *b);
/* Extends a placeholder to the current branch too; false if its memory is shared
 * already. */
bool ga__tape_widen(ga_tape *tape, gpudata *stand_in);

/* A placeholder for an input; slots are numbered in order of creation. */
int ga__tape_input(gpudata **out, ga_tape *tape);
/* Retains a real buffer that the recording refers to; GA_INVALID_ERROR for another
 * tape's placeholder. */
int ga__tape_keep(ga_tape *tape, gpudata *buffer);
/* Slot number of a placeholder; united ones have the same. */
unsigned int ga__tape_slot(const gpudata *stand_in);
unsigned int ga__tape_slots(const ga_tape *tape);

/* True if a launch takes this input without its offset (it may have it as a plain
 * number): then the input's start must not move between replays. */
bool ga__tape_fixed(const ga_tape *tape, unsigned int number);

/* Ends the recording. Slots with `kept` (results) get new memory at each replay; the
 * others share workspace blocks by lifetime. */
int ga__tape_finish(ga_tape *tape, const bool *kept);

/* What a slot is bound to in one replay: a buffer, and a base to add to offsets. */
typedef struct ga_binding {
  gpudata *buffer;
  size_t base;
} ga_binding;

/* Conservative aliasing check: true if inputs may overlap where that matters, overlap a
 * constant, or must be protected from a failing replay. */
bool ga__tape_may_clash(ga_tape *tape, const ga_binding *bindings);
/* clashes: aliasing of the two matters; of views of one array only to the command that
 * writes, for later ones are to see its result. writes: a command writes the slot.
 * may_fail_after: something after that write may fail: a callback, or, if protected,
 * any command until one replay succeeded. */
bool ga__tape_clashes(const ga_tape *tape, unsigned int a, unsigned int b,
                      bool are_views);
bool ga__tape_writes(const ga_tape *tape, unsigned int number);
bool ga__tape_may_fail_after(const ga_tape *tape, unsigned int number);
/* Protection of inputs that are overwritten: the first replay is assumed to fail after
 * each write, and in later ones a command that the device refuses is retried. */
void ga__tape_protect(ga_tape *tape, bool on);
/* True if the next replay must work on copies of overwritten inputs. Never with
 * callbacks, which are called only once. */
bool ga__tape_is_protected(const ga_tape *tape);
/* Notes that a replay succeeded: the device has the resources. */
void ga__tape_prove(ga_tape *tape);
/* Real buffers that commands and results refer to. */
unsigned int ga__tape_held(gpudata *const **list, const ga_tape *tape);

/* Queues all commands. bindings[] has an entry per slot, the same list at each replay:
 * inputs are set by the caller; results are filled in with new buffers, to be released
 * with give_up; the others are the tape's. On failure nothing is left to release. */
int ga__tape_replay(ga_tape *tape, ga_binding *bindings);
void ga__tape_give_up(const ga_tape *tape, const ga_binding *bindings);

/* Keeps workspace, and results that nobody holds, between replays. A small amount is
 * always kept. */
void ga__tape_hold(ga_tape *tape, bool on);

/* Per replay: commands, allocations, bytes of workspace. */
void ga__tape_counts(const ga_tape *tape, size_t *commands, size_t *allocations,
                     size_t *workspace);

#endif
