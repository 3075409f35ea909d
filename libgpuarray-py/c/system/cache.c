/* Disk cache of compiled programs: one file an entry, named by the hash of its key. */
#define _POSIX_C_SOURCE 200809L
#include "c/system/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "c/system/private_folder.h"

#define SUFFIX ".kernel"
#define TEMPORARY "tmp-"
#define STALE_SECONDS 3600 /* age at which a temporary file counts as abandoned */
#define DEFAULT_LIMIT ((uint64_t)2 << 30)
#define WRITES_PER_CHECK 64

/* Header of an entry's file; the key and the compiled bytes follow. */
typedef struct header {
  char magic[8];
  uint64_t key_size, size;
  ga_hash content; /* checksum of the bytes, seeded with the key's hash */
} header;

static const char magic[8] = {'g', 'a', 'k', 'e', 'r', 'n', '0', '1'};

static uint64_t limit_bytes(void) {
  const char *text = getenv("GPUARRAY_CACHE_SIZE");
  if (text == NULL || *text == '\0')
    return DEFAULT_LIMIT;
  char *end;
  unsigned long long bytes = strtoull(text, &end, 10);
  return *end == '\0' ? bytes : DEFAULT_LIMIT;
}

char *ga__cache_folder(void) {
  const char *chosen = getenv("GPUARRAY_CACHE_DIR"), *tail = "";
  if (limit_bytes() == 0 || (chosen && *chosen == '\0'))
    return NULL;
  if (chosen == NULL) {
    chosen = getenv("XDG_CACHE_HOME");
    tail = "/gpuarray";
  }
  if (chosen == NULL || *chosen == '\0') {
    chosen = getenv("HOME");
    tail = "/.cache/gpuarray";
  }
  if (chosen == NULL || *chosen == '\0')
    return NULL;
  ga_strbuf folder = {0};
  ga__strbuf_add(&folder, chosen);
  ga__strbuf_add(&folder, tail);
  return folder.failed ? (ga__strbuf_clear(&folder), NULL) : folder.text;
}

void ga__cache_key(ga_strbuf *out, const char *backend, const char *made_for) {
  ga__strbuf_addf(out, "gpuarray %d\n%s\n%s\n", GPUARRAY_ABI_VERSION, backend,
                  made_for);
}

/* Opens the folder that came with the library, without a check of its owner. */
static int open_shared(const char *folder, bool make) {
  char *path = make ? ga__strdup(folder) : NULL;
  if (path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
      *slash = '\0';
      mkdir(path, S_IRWXU);
      *slash = '/';
    }
    mkdir(path, S_IRWXU);
  }
  ga__free(path);
  return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Descriptor of the cache folder, or -1 if it is unsafe or missing. */
static int open_folder(const char *folder, bool is_shared, bool make) {
  int opened = -1;
  if (folder == NULL)
    return -1;
  if (is_shared)
    return open_shared(folder, make);
  ga__private_folder(&opened, folder, make, NULL);
  return opened;
}

typedef char file_name[33 + sizeof SUFFIX];

static void name_entry(file_name out, ga_hash key_hash) {
  ga__hash_text(out, key_hash);
  strcat(out, SUFFIX);
}

static bool read_all(int file, char *out, size_t size) {
  while (size > 0) {
    ssize_t got = read(file, out, size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    out += got;
    size -= (size_t)got;
  }
  return true;
}

static bool write_all(int file, const void *bytes, size_t size) {
  const char *next = bytes;
  while (size > 0) {
    ssize_t put = write(file, next, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    next += put;
    size -= (size_t)put;
  }
  return true;
}

/* True for a regular file that nobody else may write to; a shared one may be anybody's.
 * Refuses fifos and devices. */
static bool is_entry(const struct stat *is, bool is_shared) {
  return S_ISREG(is->st_mode) &&
         (is_shared ||
          (is->st_uid == geteuid() && (is->st_mode & (S_IWGRP | S_IWOTH)) == 0));
}

/* Reads a file; NULL with *answer set on a miss. */
static char *read_file(size_t *size, enum ga_cache_answer *answer, int folder,
                       const char *name, bool is_shared) {
  *answer = GA_CACHE_MISS;
  int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return NULL;
  struct stat is;
  char *text = NULL;
  if (fstat(file, &is) == 0 && is_entry(&is, is_shared)) {
    *size = (size_t)is.st_size;
    text = ga__alloc(*size, 1);
    if (text && !read_all(file, text, *size)) {
      ga__free(text);
      text = NULL;
      *answer = GA_CACHE_DAMAGED;
    }
  }
  if (text && !is_shared)
    futimens(file, NULL); /* touch: eviction is least recently used first */
  close(file);
  return text;
}

/* A whole entry in memory: header, key, bytes. */
typedef struct whole {
  char *text;
  header head;
} whole;

static const char *stored_key(const whole *s) {
  return s->text + sizeof s->head;
}

/* Verifies an entry: magic, sizes, checksum, and the hash that names it. */
static bool is_whole(whole *s, size_t size, ga_hash key_hash) {
  if (size < sizeof s->head)
    return false;
  memcpy(&s->head, s->text, sizeof s->head);
  size_t rest = size - sizeof s->head;
  if (memcmp(s->head.magic, magic, sizeof magic) != 0 || s->head.key_size > rest ||
      s->head.size != rest - s->head.key_size)
    return false;
  ga_hash hash = ga__hash(stored_key(s), s->head.key_size, (ga_hash){0, 0});
  ga_hash content = ga__hash(stored_key(s) + s->head.key_size, s->head.size, hash);
  return content.a == s->head.content.a && content.b == s->head.content.b &&
         hash.a == key_hash.a && hash.b == key_hash.b;
}

/* Reads and verifies an entry; on a hit the caller owns s->text. */
static enum ga_cache_answer read_entry(whole *s, const char *folder, ga_hash key_hash,
                                       bool is_shared) {
  enum ga_cache_answer answer;
  file_name name;
  size_t size = 0;
  int opened = open_folder(folder, is_shared, false);
  if (opened < 0)
    return GA_CACHE_MISS;
  name_entry(name, key_hash);
  s->text = read_file(&size, &answer, opened, name, is_shared);
  close(opened);
  if (s->text == NULL)
    return answer;
  if (is_whole(s, size, key_hash))
    return GA_CACHE_HIT;
  ga__free(s->text);
  return GA_CACHE_DAMAGED;
}

/* Moves the bytes to the start of the entry's memory and hands that over. */
static void take_bytes(void **bytes, size_t *size, whole *s) {
  memmove(s->text, stored_key(s) + s->head.key_size, s->head.size);
  *bytes = s->text;
  *size = s->head.size;
}

static enum ga_cache_answer read_keyed(void **bytes, size_t *size, const char *folder,
                                       const char *key, size_t key_size,
                                       bool is_shared) {
  whole s;
  enum ga_cache_answer answer =
      read_entry(&s, folder, ga__hash(key, key_size, (ga_hash){0, 0}), is_shared);
  if (answer != GA_CACHE_HIT)
    return answer;
  if (s.head.key_size != key_size || memcmp(stored_key(&s), key, key_size) != 0) {
    ga__free(s.text);
    return GA_CACHE_MISS;
  }
  take_bytes(bytes, size, &s);
  return GA_CACHE_HIT;
}

enum ga_cache_answer ga__cache_read(void **bytes, size_t *size, const char *folder,
                                    const char *key, size_t key_size) {
  return read_keyed(bytes, size, folder, key, key_size, false);
}

enum ga_cache_answer ga__cache_read_shared(void **bytes, size_t *size,
                                           const char *folder, const char *key,
                                           size_t key_size) {
  return read_keyed(bytes, size, folder, key, key_size, true);
}

enum ga_cache_answer ga__cache_read_hashed(void **bytes, size_t *size, char **key,
                                           size_t *key_size, const char *folder,
                                           ga_hash key_hash) {
  whole s;
  enum ga_cache_answer answer = read_entry(&s, folder, key_hash, false);
  if (answer != GA_CACHE_HIT)
    return answer;
  *key = ga__alloc(s.head.key_size + 1, 1);
  if (*key == NULL) {
    ga__free(s.text);
    return GA_CACHE_MISS;
  }
  memcpy(*key, stored_key(&s), s.head.key_size);
  *key_size = s.head.key_size;
  take_bytes(bytes, size, &s);
  return GA_CACHE_HIT;
}

typedef struct entry {
  char name[64];
  uint64_t size;
  struct timespec used;
} entry;

static int oldest_first(const void *a, const void *b) {
  const struct timespec *x = &((const entry *)a)->used, *y = &((const entry *)b)->used;
  if (x->tv_sec != y->tv_sec)
    return x->tv_sec < y->tv_sec ? -1 : 1;
  return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Lists the entries of a folder; removes abandoned temporary files. */
static size_t list_entries(entry **entries, DIR *folder) {
  size_t n = 0, capacity = 0;
  for (struct dirent *next = readdir(folder); next; next = readdir(folder)) {
    struct stat is;
    bool temporary = strncmp(next->d_name, TEMPORARY, strlen(TEMPORARY)) == 0;
    bool ours = strlen(next->d_name) == 32 + strlen(SUFFIX) &&
                strcmp(next->d_name + 32, SUFFIX) == 0;
    if (!temporary && !ours)
      continue;
    if (fstatat(dirfd(folder), next->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (temporary) {
      if (time(NULL) - is.st_mtim.tv_sec > STALE_SECONDS)
        unlinkat(dirfd(folder), next->d_name, 0);
      continue;
    }
    if (n == capacity) {
      size_t more = capacity == 0 ? 256 : 2 * capacity;
      entry *longer = ga__realloc(*entries, more, sizeof *longer);
      if (longer == NULL)
        return n;
      *entries = longer;
      capacity = more;
    }
    entry *e = &(*entries)[n++];
    strcpy(e->name, next->d_name);
    e->size = (uint64_t)is.st_size;
    e->used = is.st_mtim;
  }
  return n;
}

/* Evicts the least recently used entries until a folder over its limit is 25 % below
 * it. */
static void prune(int opened) {
  int listed = openat(opened, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = listed < 0 ? NULL : fdopendir(listed);
  if (folder == NULL) {
    if (listed >= 0)
      close(listed);
    return;
  }
  entry *entries = NULL;
  size_t n = list_entries(&entries, folder);
  uint64_t total = 0, limit = limit_bytes();
  for (size_t i = 0; i < n; i++)
    total += entries[i].size;
  if (total > limit) {
    qsort(entries, n, sizeof *entries, oldest_first);
    for (size_t i = 0; i < n && total > limit - limit / 4; i++) {
      unlinkat(dirfd(folder), entries[i].name, 0);
      total -= entries[i].size;
    }
  }
  ga__free(entries);
  closedir(folder);
}

static bool write_file(int folder, const char *name, const header *head,
                       const char *key, const void *bytes) {
  int file =
      openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0)
    return false;
  bool done = write_all(file, head, sizeof *head) &&
              write_all(file, key, head->key_size) &&
              write_all(file, bytes, head->size) && fsync(file) == 0;
  return close(file) == 0 && done;
}

static bool write_entry(const char *folder, const char *key, size_t key_size,
                        const void *bytes, size_t size, bool is_shared) {
  static atomic_uint writes;
  int opened = open_folder(folder, is_shared, true);
  if (opened < 0)
    return false;
  unsigned int number = atomic_fetch_add(&writes, 1);
  ga_hash key_hash = ga__hash(key, key_size, (ga_hash){0, 0});
  header head = {.key_size = key_size, .size = size};
  memcpy(head.magic, magic, sizeof magic);
  head.content = ga__hash(bytes, size, key_hash);

  /* Hosts that share the folder may have equal process ids; the clock tells them
   * apart. */
  char temporary[96];
  file_name name;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(temporary, sizeof temporary, TEMPORARY "%ld-%u-%lld-%ld", (long)getpid(),
           number, (long long)now.tv_sec, now.tv_nsec);
  name_entry(name, key_hash);
  bool stored = write_file(opened, temporary, &head, key, bytes) &&
                renameat(opened, temporary, opened, name) == 0;
  if (!stored)
    unlinkat(opened, temporary, 0);
  if (stored && number % WRITES_PER_CHECK == 0)
    prune(opened);
  close(opened);
  return stored;
}

bool ga__cache_write(const char *folder, const char *key, size_t key_size,
                     const void *bytes, size_t size) {
  return write_entry(folder, key, key_size, bytes, size, false);
}

bool ga__cache_write_shared(const char *folder, const char *key, size_t key_size,
                            const void *bytes, size_t size) {
  return write_entry(folder, key, key_size, bytes, size, true);
}
