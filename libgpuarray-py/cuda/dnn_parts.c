/* Opening of cuDNN, a library in ten parts that load one another.
 *
 * libcudnn is a shim that opens the other parts by bare name, when they are first
 * needed: a part that is missing beside it would come from any other cuDNN that the
 * loader finds. So all parts of the shim's folder are opened by their paths before its
 * first call, and versions are compared. A second cuDNN in a process would get the
 * parts of the first, so one that is there already is used, whichever it is. */
#include "cuda/dnn_parts.h"

#include <stdio.h>
#include <string.h>

#include "c/system/dynload.h"
#include "cuda/search.h"

enum { FIRST_VERSION = 90000 };

#define SHIM_STEM "libcudnn"
#define SHIM SHIM_STEM ".so"
#define FIRST_PART SHIM_STEM "_graph.so"

char *ga__cuda_dnn_version(char out[GA_DNN_VERSION_TEXT], size_t version) {
  snprintf(out, GA_DNN_VERSION_TEXT, "%zu.%zu.%zu", version / 10000,
           version / 100 % 100, version % 100);
  return out;
}

/* Result of a function without arguments, such as cudnnGetVersion; 0 if it is
 * missing. */
static size_t ask(void *library, const char *name) {
  size_t (*function)(void);
  void *symbol = ga__dynload_symbol(library, name);
  memcpy(&function, &symbol, sizeof symbol);
  return symbol ? function() : 0;
}

void *ga__cuda_dnn_loaded(ga_strbuf *report) {
  char path[4096];
  static const char *const sonames[] = {SHIM ".9", FIRST_PART ".9"};
  for (int i = 0; i < 2; i++) {
    void *library = ga__dynload_loaded(sonames[i]);
    if (library == NULL)
      continue;
    const void *symbol = ga__dynload_symbol(library, "cudnnGetVersion");
    const bool has_path = symbol && ga__dynload_path(path, sizeof path, symbol);
    ga__strbuf_addf(report, "%s: in the process already, so no other is opened\n",
                    has_path ? path : sonames[i]);
    return library;
  }
  return NULL;
}

/* Opens the parts beside the shim; `graph` is the handle of the first, without which no
 * other is opened. */
static int open_parts(void **graph, const char *path, ga_strbuf *report) {
  char pattern[4096 + 32], **parts = NULL;
  const int length = (int)(strrchr(path, '/') + 1 - path);
  const char *suffix = path + length + strlen(SHIM_STEM); /* ".so.9" */
  snprintf(pattern, sizeof pattern, "%.*s" SHIM_STEM "_graph%s", length, path, suffix);
  GA_TRY(ga__dynload_glob(&parts, pattern));
  if (parts == NULL)
    return GA_NO_ERROR;
  snprintf(pattern, sizeof pattern, "%.*s" SHIM_STEM "_*%s", length, path, suffix);
  int status = ga__dynload_glob(&parts, pattern);
  for (char **part = parts; status == GA_NO_ERROR && part && *part; part++) {
    ga_strbuf why = {0};
    void *opened = ga__dynload_open((const char *const[]){*part, NULL}, &why);
    if (part == parts)
      *graph = opened;
    if (opened == NULL && why.text)
      ga__strbuf_add(report, why.text);
    ga__strbuf_clear(&why);
  }
  ga__dynload_paths_free(parts);
  return status;
}

/* False, with a line in the report, for a version that is not served. */
static bool fits(void *library, void *graph, const char *path, int lt_major,
                 ga_strbuf *report) {
  char text[GA_DNN_VERSION_TEXT], other[GA_DNN_VERSION_TEXT];
  const size_t version = ask(library, "cudnnGetVersion");
  const size_t graph_version = graph ? ask(graph, "cudnnGetVersion") : version;
  const int major = (int)(ask(library, "cudnnGetCudartVersion") / 1000);
  ga__cuda_dnn_version(text, version);
  if (version < FIRST_VERSION)
    ga__strbuf_addf(report, "%s: passed over: version %s, cuDNN 9 is needed\n", path,
                    text);
  else if (version != graph_version)
    ga__strbuf_addf(report,
                    "%s: passed over: version %s, but libcudnn_graph beside it is %s\n",
                    path, text, ga__cuda_dnn_version(other, graph_version));
  else if (lt_major != 0 && major != 0 && major != lt_major)
    ga__strbuf_addf(report,
                    "%s: passed over: it is for CUDA %d, cuBLASLt is of CUDA %d\n",
                    path, major, lt_major);
  else
    return true;
  return false;
}

/* Opens the parts of the shim at `path`. The shim ends the process at its first call
 * where it does not find the graph part. */
static bool complete(void **graph, const char *path, ga_strbuf *report) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL || strncmp(slash + 1, SHIM, strlen(SHIM)) != 0)
    return true; /* not in parts */
  if (open_parts(graph, path, report) == GA_NO_ERROR && *graph)
    return true;
  ga__strbuf_addf(report, "%s: passed over: " FIRST_PART " is missing beside it\n",
                  path);
  return false;
}

void *ga__cuda_dnn_open(const char *path, int lt_major, ga_strbuf *report) {
  char real[4096];
  void *graph = NULL;
  const int major = ga__cuda_file_major(path);
  if (major != 0 && major != FIRST_VERSION / 10000) {
    ga__strbuf_addf(report, "%s: passed over: cuDNN 9 is needed\n", path);
    return NULL;
  }
  void *library = ga__dynload_open((const char *const[]){path, NULL}, report);
  void *symbol = library ? ga__dynload_symbol(library, "cudnnGetVersion") : NULL;
  if (symbol == NULL || !ga__dynload_path(real, sizeof real, symbol))
    return library; /* the missing symbol is told of later */
  if (!complete(&graph, real, report)) {
    ga__dynload_close(library);
    return NULL;
  }
  return fits(library, graph, path, lt_major, report) ? library : NULL;
}
