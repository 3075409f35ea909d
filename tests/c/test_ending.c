/* Processes that end while their threads use a device, each started by this program. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpuarray/kernel.h>
#include <gpuarray/util.h>

#include "device_context.h"

extern char **environ;

enum { ENDS_WELL = 7, TIMES = 2, LONGEST = 20 /* seconds of a process */ };

static gpucontext *context; /* of the process that ends */
static pthread_t thread;
static atomic_int n_done, last_status;
static char last_text[512];

/* ---- what threads do ---- */

/* A kernel that was never compiled before. */
static int compile_one(gpucontext *ctx, GpuKernel *k) {
  static atomic_int n;
  char text[256];
  const char *source = text;
  int types[] = {GA_BUFFER};
  snprintf(text, sizeof text,
           "KERNEL void made(GLOBAL_MEM ga_float *x) { KERNEL_BEGIN; x[0] = sin(x[0] * "
           "%d.f) + %d.f; }",
           (int)getpid(), atomic_fetch_add(&n, 1));
  return GpuKernel_init(k, ctx, 1, &source, NULL, "made", 1, types, 0, NULL);
}

static int launch_one(GpuKernel *k, gpudata *b) {
  size_t one = 1;
  void *args[] = {b};
  return GpuKernel_call(k, 1, &one, &one, 0, args);
}

/* Until it fails. */
static void *compile_on(void *given) {
  gpucontext *ctx = given;
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  int status = GA_NO_ERROR;
  while (status == GA_NO_ERROR) {
    GpuKernel k;
    status = compile_one(ctx, &k);
    if (status == GA_NO_ERROR)
      status = launch_one(&k, b);
    atomic_fetch_add(&n_done, 1);
  }
  snprintf(last_text, sizeof last_text, "%s", gpuarray_error_text());
  atomic_store(&last_status, status);
  return NULL;
}

/* For ever, with nothing queued: a forked child ends the runtime, which waits for that.
 */
static void *compile_only(void *given) {
  GpuKernel k;
  while (compile_one(given, &k) == GA_NO_ERROR) {
    GpuKernel_clear(&k);
    atomic_fetch_add(&n_done, 1);
  }
  return NULL;
}

static void *read_on(void *given) {
  static char bytes[1 << 20];
  gpudata *b = gpudata_alloc(given, sizeof bytes, NULL, 0, NULL);
  int status = GA_NO_ERROR;
  while (status == GA_NO_ERROR) {
    status = gpudata_memset(b, 0, 1);
    if (status == GA_NO_ERROR)
      status = gpudata_read(bytes, b, 0, sizeof bytes);
    atomic_fetch_add(&n_done, 1);
  }
  atomic_store(&last_status, status);
  return NULL;
}

static void *open_and_compile(void *unused) {
  (void)unused;
  return compile_on(open_device());
}

static void start(void *(*work)(void *), void *given) {
  if (pthread_create(&thread, NULL, work, given) != 0)
    _exit(1);
  while (atomic_load(&n_done) < 2)
    usleep(1000);
  usleep((unsigned int)getpid() % 16 * 1000); /* anywhere in its turn */
}

/* ---- how a process ends ---- */

/* main returns while another thread compiles. */
static int compiling(void) {
  start(compile_on, open_device());
  return ENDS_WELL;
}

static int reading(void) {
  start(read_on, open_device());
  return ENDS_WELL;
}

/* The thread that ends the process has not used the library itself. */
static int compiling_elsewhere(void) {
  start(open_and_compile, NULL);
  gpuarray_at_exit();
  return ENDS_WELL;
}

/* What is queued may be compiled only when its turn comes. */
static int queued(void) {
  gpucontext *ctx = open_device();
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  for (int i = 0; i < 3; i++) {
    GpuKernel k;
    CHECK_OK(compile_one(ctx, &k));
    CHECK_OK(launch_one(&k, b));
  }
  return check_failures ? 1 : ENDS_WELL;
}

/* Called after the library's handler: the thread was refused, this one is not. */
static void join_thread(void) {
  char byte = 1;
  pthread_join(thread, NULL);
  CHECK(atomic_load(&last_status) == GA_LOST_ERROR);
  CHECK(strstr(last_text, "the process is ending") != NULL);
  gpudata *b = gpudata_alloc(context, 64, NULL, 0, NULL);
  CHECK_OK(gpudata_memset(b, 0, 5));
  CHECK_OK(gpudata_read(&byte, b, 0, 1));
  CHECK(byte == 5);
  if (check_failures)
    _exit(1);
}

static int joined(void) {
  atexit(join_thread);
  context = open_device();
  start(compile_on, context);
  return ENDS_WELL;
}

/* A child that a fork made while a thread was compiling waits for nobody. */
static int forked(void) {
  int status;
  start(compile_only, open_device());
  pid_t child = fork();
  if (child == 0)
    exit(ENDS_WELL);
  for (int i = 0; i < 500; i++) {
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) && WEXITSTATUS(status) == ENDS_WELL ? ENDS_WELL : 1;
    usleep(10 * 1000);
  }
  kill(child, SIGKILL);
  return 1;
}

static const struct {
  const char *name;
  int (*run)(void);
} endings[] = {
    {"compiling", compiling}, {"reading", reading}, {"elsewhere", compiling_elsewhere},
    {"queued", queued},       {"joined", joined},   {"forked", forked}};
enum { N_ENDINGS = sizeof endings / sizeof *endings };

/* ---- this process ---- */

/* Whether the process ends in time, by itself. */
static bool ends_well(const char *name) {
  char program[] = "/proc/self/exe", argument[32],
       *arguments[] = {program, argument, NULL};
  int status = 0;
  pid_t child;
  snprintf(argument, sizeof argument, "%s", name);
  if (posix_spawn(&child, program, NULL, NULL, arguments, environ) != 0)
    return false;
  for (int i = 0; i < LONGEST * 1000; i++) {
    if (waitpid(child, &status, WNOHANG) == child) {
      if (!WIFEXITED(status) || WEXITSTATUS(status) != ENDS_WELL)
        fprintf(stderr, "%s: ended with status %#x\n", name, (unsigned int)status);
      return WIFEXITED(status) && WEXITSTATUS(status) == ENDS_WELL;
    }
    usleep(1000);
  }
  fprintf(stderr, "%s: does not end\n", name);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return false;
}

int main(int argc, char **argv) {
  for (int i = 0; argc > 1 && i < N_ENDINGS; i++)
    if (strcmp(argv[1], endings[i].name) == 0)
      return endings[i].run();
  gpucontext_deref(open_device()); /* which may end the test */
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  setenv("ASAN_OPTIONS", "detect_leaks=0:use_sigaltstack=0",
         1); /* of threads that are cut off */
  for (int i = 0; i < N_ENDINGS; i++)
    for (int k = 0; k < TIMES; k++)
      CHECK(ends_well(endings[i].name));
  return check_result("ending");
}
