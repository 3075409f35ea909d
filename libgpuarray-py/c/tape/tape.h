/* Commands recorded instead of queued, and their replay.
 *
 * A plan is bound by running its steps once on stand-in buffers (gpudata whose `tape`
 * is set and which have no memory): every launch, copy, fill and product on a stand-in
 * is appended here. Replaying the tape with real buffers in place of the stand-ins is
 * what a later run does. */
#ifndef GA_C_TAPE_H
#define GA_C_TAPE_H

#include "c/device/recorder.h"
#include "c/program/kernel.h"
#include <gpuarray/array.h>

/* Called where a buffer that is given is a stand-in: by way of the recorder, or by what
 * is above. Each copies all it is given. */
int ga__tape_launch(ga_tape *tape, gpukernel *k, const ga_launch *launch);
int ga__tape_copy(ga_tape *tape, gpudata *to, size_t to_offset, gpudata *from,
                  size_t from_offset, size_t size);
int ga__tape_fill(ga_tape *tape, gpudata *buffer, size_t offset, unsigned char byte,
                  size_t size);
int ga__tape_blas(ga_tape *tape, const ga_blas_call *call);

/* A function that each replay calls, with what it gets: arrays[0 .. n_out) and then
 * n_in more, with data NULL in the place of an integer. */
typedef struct ga_deferred {
  int (*function)(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                  const long long *ints);
  void *data;
  unsigned int n_out, n_in;
  GpuArray *recorded; /* on stand-ins */
  GpuArray *arrays;   /* the same in a replay */
  GpuArray **places;  /* of these; NULL for an integer */
  long long *ints;    /* for each input */
} ga_deferred;
/* The tape takes the call, which was made with ga__alloc, also on failure. */
int ga__tape_defer(ga_tape *tape, ga_deferred *call);
void ga__deferred_free(ga_deferred *call);
/* Whether a replay calls functions; such a tape is of this process only. */
bool ga__tape_defers(const ga_tape *tape);

/* Makes a stand-in of `size` bytes, whose release is recorded. */
int ga__tape_buffer(gpudata **out, ga_tape *tape, size_t size);

/* For plans: recording. The tape keeps `ctx` alive. Between enter and leave, which are
 * nested as calls are, new buffers of its context are stand-ins on this thread. */
int ga__tape_new(ga_tape **out, gpucontext *ctx);
void ga__tape_free(ga_tape *tape);
void ga__tape_enter(ga_tape *tape);
void ga__tape_leave(ga_tape *tape);
/* GA_UNSUPPORTED_ERROR for a stand-in, of which nothing can be kept. */
int ga__tape_refuse(const GpuArray *a, const char *operation);
/* The number that what is recorded from now on is known by; 0: none. */
void ga__tape_set_step(ga_tape *tape, unsigned int step);
/* That of the command at which the latest replay failed; 0 if it was none of them. */
unsigned int ga__tape_failed(const ga_tape *tape);
/* Conditions, which the device finds while the tape is replayed (tape_conditional.c):
 * one of `size` bytes, 8 at most, is not 0. What is recorded from now on knows the
 * condition by *number; the bytes stay as they are until the last command that does. */
#define GA_CONDITION_BYTES 8
int ga__tape_condition(unsigned int *number, ga_tape *tape, gpudata *buffer,
                       size_t offset, size_t size);
/* A condition that must hold, or not. */
typedef struct ga_choice {
  unsigned int condition;
  bool wanted;
} ga_choice;
#define GA_CHOICES 6 /* the most that a command is under */
/* What is recorded from now on runs where all of these hold. What one of them is found
 * under comes before it. */
void ga__tape_under(ga_tape *tape, unsigned int n, const ga_choice *path);
/* Whether the stand-in was made under `choice`. */
bool ga__tape_is_under(const gpudata *stand_in, ga_choice choice);
/* Whether graphs of the context's device choose by themselves; else the host waits for
 * each condition. */
bool ga__tape_chooses(const gpucontext *ctx);
/* Lets two stand-ins have the same memory, if none of what uses one of them runs where
 * something runs that uses the other. */
bool ga__tape_unite(ga_tape *tape, gpudata *a, gpudata *b);
/* Lets what runs where the next commands do use the memory, too; false where it is
 * shared already. */
bool ga__tape_widen(ga_tape *tape, gpudata *stand_in);

/* A stand-in for an input; slots are numbered in the order they are made. */
int ga__tape_input(gpudata **out, ga_tape *tape);
/* Keeps a real buffer that a recording refers to; GA_INVALID_ERROR for a stand-in of
 * another one. */
int ga__tape_keep(ga_tape *tape, gpudata *buffer);
/* The number of a stand-in's slot; two that were united have the same. */
unsigned int ga__tape_slot(const gpudata *stand_in);
unsigned int ga__tape_slots(const ga_tape *tape);

/* Whether a launch has the slot of an input without its offset: what the launch was
 * told of the offset by other means holds for buffers that begin at the same place
 * only. */
bool ga__tape_fixed(const ga_tape *tape, unsigned int number);

/* Ends the recording: slots whose `kept` is set get memory of their own at each replay
 * (results); the others share memory where their lives do not overlap. */
int ga__tape_finish(ga_tape *tape, const bool *kept);

/* What a slot stands for in one replay: a buffer, and how many bytes to add to offsets
 * in it. */
typedef struct ga_binding {
  gpudata *buffer;
  size_t base;
} ga_binding;

/* Whether inputs of this replay may be in each other's memory, or in that of a
 * constant, where it matters, or have to be kept from a run that fails: a quick look,
 * which may say so of inputs that are apart. */
bool ga__tape_may_clash(ga_tape *tape, const ga_binding *bindings);
/* Whether it would matter if these two had memory in common (views of one array: only
 * to the command that writes, those after it are to see what it wrote); whether a
 * command writes that of one; and whether what comes after that may fail: a function
 * that is called, or, of a tape that protects, any command until one replay went
 * through. */
bool ga__tape_clashes(const ga_tape *tape, unsigned int a, unsigned int b,
                      bool are_views);
bool ga__tape_writes(const ga_tape *tape, unsigned int number);
bool ga__tape_may_fail_after(const ga_tape *tape, unsigned int number);
/* Has inputs that are written kept from a replay that fails: the first one is taken to
 * fail after each of them, and in later ones what the device refuses is tried again. */
void ga__tape_protect(ga_tape *tape, bool on);
/* Whether the next replay is a first one, and inputs that it writes are to be copies; a
 * function that replays call is not asked a second time. */
bool ga__tape_is_protected(const ga_tape *tape);
/* Notes that the device takes all that the commands ask for: one replay went through.
 */
void ga__tape_prove(ga_tape *tape);
/* The real buffers that commands and results refer to. */
unsigned int ga__tape_held(gpudata *const **list, const ga_tape *tape);

/* Queues all commands. bindings[] has an entry for each slot; those of inputs are
 * given, those of kept slots are filled with buffers that nobody else has, for the
 * caller to give up; the others are the tape's own. It is the same list at each replay.
 * On failure there is nothing to give up. */
int ga__tape_replay(ga_tape *tape, ga_binding *bindings);
void ga__tape_give_up(const ga_tape *tape, const ga_binding *bindings);

/* Whether memory stays with the tape between replays: workspace, and that of kept slots
 * which nobody has any more. Where it is small it stays in any case. */
void ga__tape_hold(ga_tape *tape, bool on);

/* What one replay does: commands queued, buffers allocated, bytes of intermediates. */
void ga__tape_counts(const ga_tape *tape, size_t *commands, size_t *allocations,
                     size_t *workspace);

#endif
