/* Folders that only the user and root can change, opened with openat, one level at a
 * time. */
#define _GNU_SOURCE
#include "c/system/private_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gpuarray/util.h>

/* Opens a folder that may be traversed but not read. */
#if defined(O_PATH)
#define PASS O_PATH
#elif defined(O_SEARCH)
#define PASS O_SEARCH
#else
#define PASS O_RDONLY
#endif

#define MOST_LINKS 40 /* symbolic links, as many as the system's own limit */
#define OTHERS (S_IWGRP | S_IWOTH)

/* Path resolution: the folder reached, and the rest of the path below it. */
typedef struct walk {
  int folder;
  ga_strbuf shown, rest;
  unsigned int links;
  ga_strbuf *why;
} walk;

#define WHY(w, ...)                                                                    \
  do {                                                                                 \
    if ((w)->why)                                                                      \
      ga__strbuf_addf((w)->why, __VA_ARGS__);                                          \
  } while (0)

static void set_text(ga_strbuf *sb, const char *text, size_t length) {
  ga__strbuf_clear(sb);
  ga__strbuf_addn(sb, text, length);
}

static int fail_by_system(const walk *w, const char *name) {
  WHY(w, "%s%s%s: %s", w->shown.text, *name ? "/" : "", name, strerror(errno));
  return GA_SYS_ERROR;
}

/* Length of `folder`, trailing slashes removed, if `path` lies in it, else 0. */
static size_t length_within(const char *path, const char *folder) {
  size_t length = folder && *folder == '/' ? strlen(folder) : 0;
  while (length > 1 && folder[length - 1] == '/')
    length--;
  bool within = length > 0 && strncmp(path, folder, length) == 0 &&
                (length == 1 || path[length] == '/' || path[length] == '\0');
  return within ? length : 0;
}

/* Length of the trusted prefix of an absolute path, whose links are followed: the
 * user's home, the temporary folder, else the root. */
static size_t start_of(const char *path) {
  const char *starts[] = {getenv("HOME"), getenv("TMPDIR"), "/tmp", "/"};
  size_t longest = 1;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    size_t length = length_within(path, starts[i]);
    longest = length > longest ? length : longest;
  }
  return longest;
}

/* Checks owner and permissions. While `passing`, a sticky folder (as /tmp) is enough:
 * others can add entries but change none. */
static int look_at(const walk *w, bool passing) {
  struct stat is;
  if (fstat(w->folder, &is) != 0)
    return fail_by_system(w, "");
  const char *shown = w->shown.text;
  const unsigned int mode = is.st_mode & 07777;
  if (is.st_uid != geteuid() && is.st_uid != 0) {
    WHY(w,
        "%s belongs to user %lu, and this process runs as user %lu; choose a folder of "
        "your own",
        shown, (unsigned long)is.st_uid, (unsigned long)geteuid());
    return GA_VALUE_ERROR;
  }
  if ((mode & OTHERS) == 0 || (passing && (mode & S_ISVTX)))
    return GA_NO_ERROR;
  WHY(w, "others may write to %s (mode %04o); ", shown, mode);
  if (mode & S_ISVTX)
    WHY(w, "choose a folder below it");
  else
    WHY(w, "run chmod go-w %s, or choose another folder", shown);
  return GA_VALUE_ERROR;
}

/* Moves to an open folder; the walk owns the descriptor from here. */
static int move_to(walk *w, int folder) {
  if (w->folder >= 0)
    close(w->folder);
  w->folder = folder;
  return look_at(w, true);
}

/* Begins (again) at the trusted prefix of an absolute path. */
static int begin(walk *w, const char *path) {
  size_t length = start_of(path);
  set_text(&w->shown, path, length);
  set_text(&w->rest, path + length, strlen(path + length));
  GA_TRY(ga__strbuf_status(&w->shown));
  GA_TRY(ga__strbuf_status(&w->rest));
  int folder = open(w->shown.text, PASS | O_DIRECTORY | O_CLOEXEC);
  return folder < 0 ? fail_by_system(w, "") : move_to(w, folder);
}

/* Puts the target of a symbolic link before the rest of the path. Follows only links
 * that belong to the user or root. */
static int follow(walk *w, const char *name, const struct stat *is) {
  char target[4096];
  if (is->st_uid != geteuid() && is->st_uid != 0) {
    WHY(w, "the link %s/%s belongs to user %lu; choose a folder of your own",
        w->shown.text, name, (unsigned long)is->st_uid);
    return GA_VALUE_ERROR;
  }
  ssize_t length = readlinkat(w->folder, name, target, sizeof target);
  if (length < 0 || length == sizeof target || ++w->links > MOST_LINKS) {
    errno = length < 0 ? errno : ELOOP;
    return fail_by_system(w, name);
  }
  ga_strbuf path = {0};
  ga__strbuf_addn(&path, target, (size_t)length);
  ga__strbuf_addf(&path, "/%s", w->rest.text ? w->rest.text : "");
  int status = ga__strbuf_status(&path);
  if (status == GA_NO_ERROR && *path.text == '/')
    status = begin(w, path.text);
  else if (status == GA_NO_ERROR) {
    set_text(&w->rest, path.text, path.length);
    status = ga__strbuf_status(&w->rest);
  }
  ga__strbuf_clear(&path);
  return status;
}

/* Takes the next name off the rest of the path; empty at its end. */
static int take_name(ga_strbuf *name, walk *w) {
  const char *rest = w->rest.text ? w->rest.text : "";
  ga_strbuf left = {0};
  rest += strspn(rest, "/");
  size_t length = strcspn(rest, "/");
  set_text(name, rest, length);
  ga__strbuf_add(&left, rest + length);
  ga__strbuf_clear(&w->rest);
  w->rest = left;
  GA_TRY(ga__strbuf_status(name));
  return ga__strbuf_status(&w->rest);
}

static int enter(walk *w, const char *name, bool make) {
  const int flags = PASS | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  struct stat is;
  int folder = openat(w->folder, name, flags);
  if (folder < 0 && errno == ENOENT && make) {
    mkdirat(w->folder, name, S_IRWXU); /* another process may have made it meanwhile */
    folder = openat(w->folder, name, flags);
  }
  if (folder < 0) {
    const int reason = errno;
    if (fstatat(w->folder, name, &is, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(is.st_mode))
      return follow(w, name, &is);
    errno = reason;
    return fail_by_system(w, name);
  }
  ga__strbuf_addf(&w->shown, "%s%s", w->shown.length > 1 ? "/" : "", name);
  if (w->shown.failed) {
    close(folder);
    return GA_MEMORY_ERROR;
  }
  return move_to(w, folder);
}

static int walk_down(walk *w, bool make) {
  ga_strbuf name = {0};
  int status = take_name(&name, w);
  while (status == GA_NO_ERROR && name.length > 0) {
    if (strcmp(name.text, ".") != 0)
      status = enter(w, name.text, make);
    GA_THEN(status, take_name(&name, w));
  }
  ga__strbuf_clear(&name);
  return status;
}

/* Absolute path, by the working folder. Clear *out afterwards. */
static int absolute(ga_strbuf *out, const char *path, ga_strbuf *why) {
  char here[4096];
  if (*path != '/') {
    if (getcwd(here, sizeof here) == NULL) {
      if (why)
        ga__strbuf_addf(why, "the working folder: %s", strerror(errno));
      return GA_SYS_ERROR;
    }
    ga__strbuf_addf(out, "%s/", here);
  }
  ga__strbuf_add(out, path);
  return ga__strbuf_status(out);
}

int ga__private_folder(int *folder, const char *path, bool make, ga_strbuf *why) {
  walk w = {.folder = -1, .why = why};
  ga_strbuf whole = {0};
  *folder = -1;
  int status = absolute(&whole, path, why);
  GA_THEN(status, begin(&w, whole.text));
  GA_THEN(status, walk_down(&w, make));
  GA_THEN(status, look_at(&w, false));
  if (status == GA_NO_ERROR) {
    *folder = openat(w.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*folder < 0)
      status = fail_by_system(&w, "");
  }
  if (w.folder >= 0)
    close(w.folder);
  ga__strbuf_clear(&whole);
  ga__strbuf_clear(&w.shown);
  ga__strbuf_clear(&w.rest);
  return status;
}

int gpuarray_private_folder(int *folder, const char *path, int make) {
  ga_strbuf why = {0};
  if (folder == NULL || path == NULL || *path == '\0')
    return ga__fail_null("private_folder", folder == NULL ? "descriptor" : "path");
  int status = ga__private_folder(folder, path, make != 0, &why);
  if (status != GA_NO_ERROR && status != GA_MEMORY_ERROR)
    GA_FAIL(status, "%s", why.text ? why.text : path);
  ga__strbuf_clear(&why);
  return status;
}
