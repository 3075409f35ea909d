/* Each allocation fails in turn: the scenario must report it, leak nothing and leave
 * its context usable, until it passes. The leak checker watches. */
#include "null_context.h"

#include <gpuarray/kernel.h>
#include <gpuarray/queue.h>

#include "c/program/kernel.h"
#include "c/system/dynload.h"

static char folder[] = "/tmp/gpuarray-test-XXXXXX";

static int use_buffers(gpucontext *ctx, gpucontext *other) {
  gpudata *b = NULL, *c = NULL, *far = NULL;
  int status = GA_NO_ERROR;
  b = gpudata_alloc(ctx, sizeof folder, folder, GA_BUFFER_INIT, &status);
  if (b)
    c = gpudata_alloc(ctx, 5000, NULL, 0, &status);
  if (c)
    far = gpudata_alloc(other, 5000, NULL, 0, &status);
  if (far)
    status = gpudata_move(b, 0, b, 1, 8);
  if (status == GA_NO_ERROR)
    status = gpudata_transfer(far, 0, c, 0, 5000);
  gpudata_release(b);
  gpudata_release(c);
  gpudata_release(far);
  return status;
}

static int use_queues(gpucontext *ctx) {
  gpuqueue *q = NULL;
  gpuevent *e = NULL;
  gpudata *b = NULL, *word = NULL, *host = NULL;
  int status = gpuqueue_new(&q, ctx);
  if (status == GA_NO_ERROR)
    status = gpucontext_use_queue(ctx, q);
  if (status == GA_NO_ERROR)
    b = gpudata_alloc(ctx, 100, NULL, 0, &status);
  if (status == GA_NO_ERROR)
    host = gpudata_alloc(ctx, 100, NULL, GA_BUFFER_HOST, &status);
  if (status == GA_NO_ERROR)
    status = gpudata_memset(b, 0, 1);
  if (status == GA_NO_ERROR)
    status = gpucontext_property(ctx, GA_CTX_PROP_ERRBUF, &word);
  if (status == GA_NO_ERROR)
    status = gpuevent_record(&e, q);
  if (status == GA_NO_ERROR)
    status = gpuevent_wait(e);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  gpuevent_release(e);
  gpuqueue_release(q);
  gpudata_release(b);
  gpudata_release(host);
  return status;
}

static int fill_source(ga_source *source, const char *stem) {
  ga__kernel_name(source->name, stem, stem);
  ga__strbuf_addf(&source->body, "KERNEL void %s() {}", source->name);
  return ga__strbuf_status(&source->body);
}

static int use_kernels(gpucontext *ctx) {
  ga_source sources[3] = {{.name = ""}, {.name = ""}, {.name = ""}};
  const ga_source *list[3] = {&sources[0], &sources[1], &sources[2]};
  gpukernel *k;
  int status = fill_source(&sources[0], "a");
  if (status == GA_NO_ERROR)
    status = fill_source(&sources[1], "b");
  if (status == GA_NO_ERROR)
    status = fill_source(&sources[2], "c");
  if (status == GA_NO_ERROR)
    status = ga__kernel_get(&k, ctx, &sources[0]);
  if (status == GA_NO_ERROR)
    status = ga__kernel_prepare(ctx, 3, list, true);
  for (int i = 0; i < 3; i++)
    ga__strbuf_clear(&sources[i].body);
  return status;
}

static int use_user_kernel(gpucontext *ctx) {
  GpuKernel k;
  const char *text = "KERNEL void f() {}";
  int types[2] = {GA_FLOAT, GA_SIZE};
  float x = 1;
  size_t n = 1;
  void *args[2] = {&x, &n};
  GA_TRY(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 2, types, 0, NULL));
  int status = GpuKernel_call(&k, 1, &n, &n, 0, args);
  GpuKernel_clear(&k);
  return status;
}

static int scenario(void) {
  gpucontext_props *props;
  gpucontext *ctx = NULL, *other = NULL;
  char **paths = NULL;
  GA_TRY(gpucontext_props_new(&props));
  int status = gpucontext_props_kernel_cache(props, folder);
  if (status != GA_NO_ERROR)
    gpucontext_props_del(props);
  else
    status = gpucontext_init(&ctx, "null", props);
  if (status == GA_NO_ERROR)
    status = gpucontext_open(&other, "null");
  if (status == GA_NO_ERROR)
    status = use_buffers(ctx, other);
  if (status == GA_NO_ERROR)
    status = use_queues(ctx);
  if (status == GA_NO_ERROR)
    status = use_kernels(ctx);
  if (status == GA_NO_ERROR)
    status = use_user_kernel(ctx);
  if (status == GA_NO_ERROR)
    status = ga__dynload_glob(&paths, "/*");
  ga__dynload_paths_free(paths);
  gpucontext_deref(other);
  gpucontext_deref(ctx);
  return status;
}

static void clear_folder(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s/*", folder);
  CHECK(system(command) == 0);
}

/* Whether the scenario passes while its n-th allocation fails and no more than
 * that. */
static void fail_each(bool warm) {
  long n = 0;
  int passed = 0;
  if (warm)
    CHECK_OK(scenario());
  /* Some allocations may fail without harm, so that passing once proves nothing. */
  for (; passed < 40 && n < 2000; n++) {
    if (!warm)
      clear_folder();
    ga__alloc_fail_at(n);
    int status = scenario();
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
    if (status == GA_MEMORY_ERROR)
      CHECK(strstr(gpuarray_error_text(), "memory") != NULL);
    passed = status == GA_NO_ERROR ? passed + 1 : 0;
  }
  ga__alloc_fail_at(-1);
  CHECK(passed == 40 && n > 60);
  CHECK_OK(scenario());
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  fail_each(false);
  fail_each(true);
  clear_folder();
  CHECK(remove(folder) == 0);
  return check_result("failing allocations");
}
