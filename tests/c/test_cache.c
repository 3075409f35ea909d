/* The cache on disk: what is stored comes back, what is damaged does not. */
#include "check.h"
#include "kept_kernels.h"

#include <sys/stat.h>
#include <unistd.h>

#include "c/system/cache.h"

static char folder[] = "/tmp/gpuarray-test-XXXXXX";

static char *in_folder(const char *name) {
  static char path[4][256];
  static int next;
  char *text = path[next++ % 4];
  snprintf(text, sizeof path[0], "%s/%s", folder, name);
  return text;
}

static int entries(const char *cache) {
  char command[300], text[32] = "";
  snprintf(command, sizeof command, "ls -a %s | grep -c kernel", cache);
  FILE *list = popen(command, "r");
  CHECK(list && fgets(text, sizeof text, list));
  if (list)
    pclose(list);
  return atoi(text);
}

static void set_byte(const char *path, long at, int byte) {
  FILE *file = fopen(path, "r+b");
  CHECK(file && fseek(file, at, at < 0 ? SEEK_END : SEEK_SET) == 0);
  CHECK(file && fputc(byte, file) == byte);
  if (file)
    fclose(file);
}

static enum ga_cache_answer read_text(const char *cache, const char *key,
                                      const char *wanted) {
  void *bytes = NULL;
  size_t size = 0;
  enum ga_cache_answer answer = ga__cache_read(&bytes, &size, cache, key, strlen(key));
  if (answer == GA_CACHE_HIT) {
    CHECK(size == strlen(wanted) && memcmp(bytes, wanted, size) == 0);
    ga__free(bytes);
  }
  return answer;
}

static bool write_text(const char *cache, const char *key, const char *text) {
  return ga__cache_write(cache, key, strlen(key), text, strlen(text));
}

static void test_round_trip(void) {
  const char *cache = in_folder("a/b/c");
  CHECK(read_text(cache, "key", "") == GA_CACHE_MISS);
  CHECK(write_text(cache, "key", "the program"));
  CHECK(read_text(cache, "key", "the program") == GA_CACHE_HIT);
  CHECK(read_text(cache, "other", "") == GA_CACHE_MISS);
  CHECK(write_text(cache, "key", "another program"));
  CHECK(read_text(cache, "key", "another program") == GA_CACHE_HIT);
  CHECK(write_text(cache, "empty", ""));
  CHECK(read_text(cache, "empty", "") == GA_CACHE_HIT);
  struct stat is;
  CHECK(stat(cache, &is) == 0 && (is.st_mode & 0777) == 0700);
  CHECK(entries(cache) == 2);
}

static void test_an_entry_is_found_by_the_hash_of_its_key(void) {
  const char *cache = in_folder("hashed"), *wanted = "a key of some length";
  const ga_hash hash = ga__hash(wanted, strlen(wanted), (ga_hash){0, 0});
  void *bytes = NULL;
  char *key = NULL;
  size_t size, key_size;
  CHECK(ga__cache_read_hashed(&bytes, &size, &key, &key_size, cache, hash) ==
        GA_CACHE_MISS);
  CHECK(write_text(cache, wanted, "program"));
  CHECK(ga__cache_read_hashed(&bytes, &size, &key, &key_size, cache, hash) ==
        GA_CACHE_HIT);
  CHECK(size == 7 && memcmp(bytes, "program", 7) == 0);
  CHECK(key_size == strlen(wanted) && strcmp(key, wanted) == 0);
  ga__free(bytes);
  ga__free(key);
  set_byte(only_entry(cache), -1, 'X');
  CHECK(ga__cache_read_hashed(&bytes, &size, &key, &key_size, cache, hash) ==
        GA_CACHE_DAMAGED);
}

static void test_every_damage_is_seen(void) {
  const char *cache = in_folder("damage");
  unsigned char saved[4096];
  CHECK(write_text(cache, "key", "the program"));
  const char *path = only_entry(cache);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t size = file ? fread(saved, 1, sizeof saved, file) : 0;
  if (file)
    fclose(file);
  CHECK(size > 14);
  for (size_t at = 0; at < size; at++) {
    set_byte(path, (long)at, saved[at] ^ 4);
    CHECK(read_text(cache, "key", "") == GA_CACHE_DAMAGED);
    set_byte(path, (long)at, saved[at]);
  }
  CHECK(read_text(cache, "key", "the program") == GA_CACHE_HIT);
  for (size_t length = 0; length < size; length++) {
    CHECK(truncate(path, (off_t)length) == 0);
    CHECK(read_text(cache, "key", "") == GA_CACHE_DAMAGED);
  }
  CHECK(write_text(cache, "key", "the program"));
  CHECK(read_text(cache, "key", "the program") == GA_CACHE_HIT);
}

static void test_foreign_and_unwritable_folders(void) {
  const char *shared = in_folder("shared"), *file = in_folder("file");
  CHECK(mkdir(shared, 0700) == 0 && chmod(shared, 0777) == 0);
  CHECK(!write_text(shared, "key", "x"));
  CHECK(read_text(shared, "key", "") == GA_CACHE_MISS);
  fclose(fopen(file, "w"));
  CHECK(!write_text(file, "key", "x"));
  CHECK(read_text(file, "key", "") == GA_CACHE_MISS);
  CHECK(!write_text("/proc/no/such", "key", "x"));
  CHECK(!write_text(NULL, "key", "x"));
  CHECK(read_text(NULL, "key", "") == GA_CACHE_MISS);
}

static void test_the_oldest_goes_first(void) {
  const char *cache = in_folder("bounded");
  char text[1001] = "", key[32];
  memset(text, 'x', 1000);
  setenv("GPUARRAY_CACHE_SIZE", "20000", 1);
  for (int i = 0; i < 200; i++) {
    snprintf(key, sizeof key, "key %d", i);
    CHECK(write_text(cache, key, text));
    if (i == 0)
      CHECK(write_text(cache, "old temporary", text));
  }
  unsetenv("GPUARRAY_CACHE_SIZE");
  CHECK(entries(cache) < 90);
  CHECK(read_text(cache, "key 0", text) == GA_CACHE_MISS);
  CHECK(read_text(cache, "key 199", text) == GA_CACHE_HIT);
}

static void check_folder(const char *wanted) {
  char *got = ga__cache_folder();
  CHECK(wanted ? got && strcmp(got, wanted) == 0 : got == NULL);
  ga__free(got);
}

static void test_choice_of_folder(void) {
  setenv("GPUARRAY_CACHE_DIR", "/x/y", 1);
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  setenv("HOME", "/home/me", 1);
  check_folder("/x/y");
  setenv("GPUARRAY_CACHE_SIZE", "0", 1);
  check_folder(NULL);
  unsetenv("GPUARRAY_CACHE_SIZE");
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  check_folder(NULL);
  unsetenv("GPUARRAY_CACHE_DIR");
  check_folder("/xdg/gpuarray");
  unsetenv("XDG_CACHE_HOME");
  check_folder("/home/me/.cache/gpuarray");
  unsetenv("HOME");
  check_folder(NULL);
}

int main(void) {
  char command[64];
  CHECK(mkdtemp(folder) != NULL);
  test_round_trip();
  test_an_entry_is_found_by_the_hash_of_its_key();
  test_every_damage_is_seen();
  test_foreign_and_unwritable_folders();
  test_the_oldest_goes_first();
  test_choice_of_folder();
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  return check_result("cache");
}
