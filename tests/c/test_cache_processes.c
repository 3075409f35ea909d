/* Many processes, cold, on one cache folder, some killed at random: nobody fails,
 * nothing stored is damaged. And what is damaged, or could be anybody's, is not used.
 */
#include "check.h"

#include <dirent.h>
#include <gpuarray/buffer.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "c/program/kernel.h"

#define N_PROCESSES 64
#define N_KERNELS 24
#define PADDING 60000 /* bytes of each source, so that writing takes a while */

static char folder[] = "/tmp/gpuarray-test-XXXXXX";

static gpucontext *open_cached(void) {
  gpucontext_props *props;
  gpucontext *ctx = NULL;
  CHECK_OK(gpucontext_props_new(&props));
  CHECK_OK(gpucontext_props_kernel_cache(props, folder));
  CHECK_OK(gpucontext_init(&ctx, "null", props));
  if (ctx == NULL)
    exit(1);
  return ctx;
}

/* The null device's kernel is the text of its source: a wrong one would not have the
 * name. */
static void get_kernel(gpucontext *ctx, int number) {
  ga_source source = {.name = ""};
  gpukernel *k = NULL;
  snprintf(source.name, sizeof source.name, "kernel_%d", number);
  ga__strbuf_addf(&source.body, "KERNEL void %s() { /* %0*d */ }", source.name, PADDING,
                  number);
  CHECK_OK(ga__kernel_get(&k, ctx, &source));
  ga__strbuf_clear(&source.body);
}

/* What a process does; several contexts, as several programs would. */
static int run_process(unsigned int number) {
  for (unsigned int round = 0; round < 2; round++) {
    gpucontext *ctx = open_cached();
    gpucontext_cache info;
    for (unsigned int i = 0; i < N_KERNELS; i++)
      get_kernel(ctx, (int)((i * 7 + number) % N_KERNELS));
    CHECK_OK(gpucontext_cache_info(ctx, &info));
    CHECK(info.damaged == 0 && info.unwritable == 0);
    CHECK(info.disk_hits + info.compiled == N_KERNELS);
    gpucontext_deref(ctx);
  }
  return check_failures != 0;
}

static void sleep_micro(long microseconds) {
  nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

static void test_processes(void) {
  pid_t children[N_PROCESSES];
  bool is_killed[N_PROCESSES] = {false};
  fflush(NULL);
  for (unsigned int i = 0; i < N_PROCESSES; i++) {
    children[i] = fork();
    if (children[i] == 0)
      _exit(run_process(i));
    CHECK(children[i] > 0);
  }
  srand(7);
  for (int i = 0; i < N_PROCESSES / 3; i++) {
    int victim = rand() % N_PROCESSES;
    sleep_micro(500 + rand() % 4000);
    kill(children[victim], SIGKILL); /* not yet waited for, so that it is ours */
    is_killed[victim] = true;
  }
  int killed = 0;
  for (int i = 0; i < N_PROCESSES; i++) {
    int status = 1;
    CHECK(waitpid(children[i], &status, 0) == children[i]);
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    CHECK(well || (is_killed[i] && WIFSIGNALED(status)));
    killed += WIFSIGNALED(status);
  }
  CHECK(killed > 0);
}

/* What a new process finds. */
static gpucontext_cache find_all(void) {
  gpucontext_cache info = {0};
  gpucontext *ctx = open_cached();
  for (int i = 0; i < N_KERNELS; i++)
    get_kernel(ctx, i);
  CHECK_OK(gpucontext_cache_info(ctx, &info));
  gpucontext_deref(ctx);
  return info;
}

/* Flips a bit of each entry, at a place of its own; how many there were. */
static int damage_entries(void) {
  DIR *list = opendir(folder);
  int n = 0;
  CHECK(list != NULL);
  for (struct dirent *e = list ? readdir(list) : NULL; e; e = readdir(list)) {
    char path[512];
    if (strstr(e->d_name, ".kernel") == NULL)
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    FILE *file = fopen(path, "r+b");
    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    long at = file ? ftell(file) * (n + 1) / (N_KERNELS + 1) : 0;
    CHECK(file && fseek(file, at, SEEK_SET) == 0);
    int byte = file ? fgetc(file) : 0;
    CHECK(file && fseek(file, at, SEEK_SET) == 0 && fputc(byte ^ 4, file) != EOF);
    if (file)
      fclose(file);
    n++;
  }
  if (list)
    closedir(list);
  return n;
}

static void test_damage(void) {
  CHECK(damage_entries() == N_KERNELS);
  gpucontext_cache info = find_all();
  CHECK(info.damaged == N_KERNELS && info.compiled == N_KERNELS && info.disk_hits == 0);
  info = find_all(); /* which are stored anew */
  CHECK(info.damaged == 0 && info.disk_hits == N_KERNELS);
}

static void test_a_folder_that_others_can_write(void) {
  const mode_t open_to[] = {0770, 0707, 0777};
  for (int i = 0; i < 3; i++) {
    CHECK(chmod(folder, open_to[i]) == 0);
    gpucontext_cache info = find_all();
    CHECK(info.disk_hits == 0 && info.compiled == N_KERNELS &&
          info.unwritable == N_KERNELS);
  }
  CHECK(chmod(folder, 0700) == 0);
  gpucontext_cache info = find_all();
  CHECK(info.disk_hits == N_KERNELS && info.compiled == 0);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  test_processes();
  gpucontext_cache info = find_all(); /* those who lived have stored everything */
  CHECK(info.disk_hits == N_KERNELS && info.damaged == 0);
  test_damage();
  test_a_folder_that_others_can_write();
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0);
  return check_result("cache processes");
}
