/* Folders for code: one that another user could have changed is not opened, and what
 * another user planted there is not read. */
#include "check.h"
#include "kept_kernels.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpuarray/util.h>

#include "c/system/cache.h"

#define OTHER 65534 /* a user that is neither root nor who runs the test */

static char base[] = "/tmp/gpuarray-test-XXXXXX";

static const char *in_base(const char *name) {
  static char path[8][256];
  static int next;
  char *text = path[next++ % 8];
  snprintf(text, sizeof path[0], "%s/%s", base, name);
  return text;
}

static int try_open(const char *path, int make) {
  int folder = -2;
  int status = gpuarray_private_folder(&folder, path, make);
  CHECK((status == GA_NO_ERROR) == (folder >= 0));
  if (folder >= 0)
    close(folder);
  return status;
}

static mode_t mode_of(const char *path) {
  struct stat is;
  return stat(path, &is) == 0 ? is.st_mode & 07777 : 0;
}

static void make_folder(const char *path, mode_t mode) {
  CHECK(mkdir(path, 0700) == 0 && chmod(path, mode) == 0);
}

static void test_what_is_missing_is_made_for_the_user_alone(void) {
  const char *path = in_base("made/a/b");
  CHECK_STATUS(GA_SYS_ERROR, try_open(path, 0));
  CHECK_TEXT("No such file");
  mode_t mask = umask(0);
  CHECK_OK(try_open(path, 1));
  umask(mask);
  CHECK(mode_of(path) == 0700 && mode_of(in_base("made/a")) == 0700 &&
        mode_of(in_base("made")) == 0700);
  CHECK_OK(try_open(path, 0));
  CHECK_OK(try_open(in_base("made//./a/../a///b/"), 0));
  CHECK(chdir(in_base("made")) == 0);
  CHECK_OK(try_open("a/b", 0));
  CHECK_OK(try_open(".", 0));
  CHECK_STATUS(GA_SYS_ERROR, try_open("a/c", 0));
  CHECK(chdir("/") == 0);
}

static void test_a_folder_that_can_be_passed_but_not_read(void) {
  make_folder(in_base("passed"), 0700);
  make_folder(in_base("passed/below"), 0755);
  CHECK(chmod(in_base("passed"), 0311) == 0);
  CHECK_OK(try_open(in_base("passed/below"), 0));
  CHECK(chmod(in_base("passed"), 0700) == 0);
}

static void test_each_folder_of_the_path_is_looked_at(void) {
  const char *parts[] = {"above", "above/middle", "above/middle/last"};
  const mode_t open_to[] = {0720, 0702, 0777};
  for (int i = 0; i < 3; i++)
    make_folder(in_base(parts[i]), 0755);
  CHECK_OK(try_open(in_base(parts[2]), 0));
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) {
      char advice[300];
      CHECK(chmod(in_base(parts[i]), open_to[k]) == 0);
      CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base(parts[2]), 1));
      snprintf(advice, sizeof advice, "run chmod go-w %s,", in_base(parts[i]));
      CHECK_TEXT(advice);
      CHECK(chmod(in_base(parts[i]), 0755) == 0);
    }
  CHECK_OK(try_open(in_base(parts[2]), 0));
}

static void test_the_sticky_bit_serves_above_the_last(void) {
  make_folder(in_base("sticky"), 01777);
  CHECK_OK(try_open(in_base("sticky/mine"), 1));
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("sticky"), 0));
  CHECK_TEXT("choose a folder below it");
}

static void test_links_lead_to_folders_of_which_the_same_is_asked(void) {
  make_folder(in_base("real"), 0700);
  make_folder(in_base("open"), 0777);
  make_folder(in_base("open/mine"), 0700);
  CHECK(symlink(in_base("real"), in_base("absolute")) == 0);
  CHECK(symlink("real/../real", in_base("relative")) == 0);
  CHECK(symlink("relative", in_base("twice")) == 0);
  CHECK(symlink("open/mine", in_base("through")) == 0);
  CHECK(symlink("round", in_base("round")) == 0);
  CHECK(symlink("nowhere", in_base("dangling")) == 0);
  CHECK_OK(try_open(in_base("absolute"), 0));
  CHECK_OK(try_open(in_base("relative/"), 0));
  CHECK_OK(try_open(in_base("twice/made"), 1));
  CHECK(mode_of(in_base("real/made")) == 0700);
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("through"), 0));
  CHECK_TEXT("others may write to");
  CHECK_STATUS(GA_SYS_ERROR, try_open(in_base("round"), 0));
  CHECK_STATUS(GA_SYS_ERROR, try_open(in_base("dangling"), 0));
}

static void test_what_is_no_folder(void) {
  fclose(fopen(in_base("file"), "w"));
  CHECK(mkfifo(in_base("fifo"), 0600) == 0);
  CHECK_STATUS(GA_SYS_ERROR, try_open(in_base("file"), 1));
  CHECK_STATUS(GA_SYS_ERROR, try_open(in_base("file/below"), 1));
  CHECK_STATUS(GA_SYS_ERROR, try_open(in_base("fifo"), 1));
  CHECK_STATUS(GA_SYS_ERROR, try_open("/proc/no/such", 1));
  CHECK_STATUS(GA_VALUE_ERROR, try_open("", 1));
  CHECK_STATUS(GA_VALUE_ERROR, try_open(NULL, 1));
  CHECK_STATUS(GA_VALUE_ERROR, gpuarray_private_folder(NULL, base, 1));
}

static void test_where_the_walk_begins(void) {
  /* Above the home it is taken as it is; of a home that is not above, nothing is. */
  make_folder(in_base("loose"), 0777);
  make_folder(in_base("loose/home"), 0700);
  setenv("HOME", in_base("loose/home"), 1);
  CHECK_OK(try_open(in_base("loose/home/.cache"), 1));
  setenv("HOME", in_base("loose/home///"), 1);
  CHECK_OK(try_open(in_base("loose/home/.cache"), 1));
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("loose/home/../home/.cache"), 1));
  setenv("HOME", in_base("loose/ho"), 1);
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("loose/home/.cache"), 1));
  setenv("HOME", "", 1);
  setenv("TMPDIR", in_base("loose/home"), 1);
  CHECK_OK(try_open(in_base("loose/home/.cache"), 1));
  unsetenv("TMPDIR");
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("loose/home/.cache"), 1));
  setenv("HOME", base, 1);
}

/* ---- the cache in such folders ---- */

static bool plant(const char *cache) {
  return ga__cache_write(cache, "key", 3, "planted", 7);
}

static enum ga_cache_answer read_planted(const char *cache) {
  void *bytes = NULL;
  size_t size;
  enum ga_cache_answer answer = ga__cache_read(&bytes, &size, cache, "key", 3);
  if (answer == GA_CACHE_HIT)
    ga__free(bytes);
  return answer;
}

static void test_the_cache_looks_at_the_folders_above(void) {
  CHECK(plant(in_base("kept/kernels")));
  CHECK(read_planted(in_base("kept/kernels")) == GA_CACHE_HIT);
  CHECK(chmod(in_base("kept"), 0777) == 0);
  CHECK(read_planted(in_base("kept/kernels")) == GA_CACHE_MISS);
  CHECK(!plant(in_base("kept/kernels")));
  CHECK(chmod(in_base("kept"), 0700) == 0);
  CHECK(read_planted(in_base("kept/kernels")) == GA_CACHE_HIT);
}

static void test_only_files_of_the_user_alone_are_read(void) {
  const char *cache = in_base("files");
  CHECK(plant(cache));
  const char *path = only_entry(cache);
  CHECK(chmod(path, 0620) == 0 && read_planted(cache) == GA_CACHE_MISS);
  CHECK(chmod(path, 0602) == 0 && read_planted(cache) == GA_CACHE_MISS);
  CHECK(chmod(path, 0644) == 0 && read_planted(cache) == GA_CACHE_HIT);
  CHECK(rename(path, in_base("entry")) == 0 && symlink(in_base("entry"), path) == 0);
  CHECK(read_planted(cache) == GA_CACHE_MISS);
  CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
  CHECK(read_planted(cache) == GA_CACHE_MISS); /* and nothing waits for a writer */
  CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
  CHECK(read_planted(cache) == GA_CACHE_MISS);
}

/* What another user does: the status of a process of theirs. */
static void as_other(bool (*does)(const char *), const char *path) {
  int status = 1;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bool done = setgid(OTHER) == 0 && setuid(OTHER) == 0;
    setenv("HOME", path, 1);
    _exit(done && does(path) ? 0 : 1);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static bool make_own(const char *path) {
  return mkdir(path, 0755) == 0;
}

static bool make_link(const char *path) {
  return symlink(in_base("real"), path) == 0;
}

static void test_what_another_user_planted_is_not_read(void) {
  if (geteuid() != 0) {
    printf("not root: what another user plants is not tried\n");
    return;
  }
  make_folder(in_base("common"), 01777);
  CHECK(chmod(base, 0755) == 0);
  /* A home of another user's, with that user's cache. */
  as_other(make_own, in_base("common/home"));
  as_other(plant, in_base("common/home"));
  CHECK(read_planted(in_base("common/home")) == GA_CACHE_MISS);
  setenv("HOME", in_base("common/home"), 1);
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("common/home/.cache"), 1));
  CHECK_TEXT("belongs to user 65534, and this process runs as user 0");
  setenv("HOME", base, 1);
  /* Even where the last folder is root's. */
  make_folder(in_base("common/home/roots"), 0700);
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("common/home/roots"), 1));
  /* A link of another user's, to a folder of root's. */
  as_other(make_link, in_base("common/link"));
  CHECK_STATUS(GA_VALUE_ERROR, try_open(in_base("common/link"), 1));
  CHECK_TEXT("the link");
  /* A file of another user's in a folder of root's that was open for a while. */
  CHECK(plant(in_base("own")));
  CHECK(chown(only_entry(in_base("own")), OTHER, OTHER) == 0);
  CHECK(read_planted(in_base("own")) == GA_CACHE_MISS);
  /* And the other way round: what is root's serves everybody. */
  as_other(make_own, in_base("common/theirs"));
  as_other(plant, in_base("common/theirs"));
}

int main(void) {
  CHECK(mkdtemp(base) != NULL && setenv("HOME", base, 1) == 0);
  unsetenv("TMPDIR");
  test_what_is_missing_is_made_for_the_user_alone();
  test_a_folder_that_can_be_passed_but_not_read();
  test_each_folder_of_the_path_is_looked_at();
  test_the_sticky_bit_serves_above_the_last();
  test_links_lead_to_folders_of_which_the_same_is_asked();
  test_what_is_no_folder();
  test_where_the_walk_begins();
  test_the_cache_looks_at_the_folders_above();
  test_only_files_of_the_user_alone_are_read();
  test_what_another_user_planted_is_not_read();
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", base);
  CHECK(system(command) == 0);
  return check_result("private folder");
}
