/* Opening cuDNN, and what fails: versions, parts, devices, memory, each call in turn.
 * On a mock of it. */
#include "dnn_calls.h"

#include <unistd.h>

#include "cuda/dnn_parts.h"

/* ---- failures ---- */

/* The result is as it was. */
static void check_untouched(const ga_dnn_call *c) {
  static double got[ROOM];
  download(got, c->result.buffer, GA_FLOAT);
  for (int i = 0; i < ROOM; i++)
    CHECK(got[i] == original.result[i]);
}

/* Each call of the vendor's fails in turn, in a context of its own: nothing is lost,
 * and the context works on. */
static void test_failing_calls(void) {
  int failed = 0;
  for (long n = 0; n < 3000; n += n < 60 ? 1 : 71) {
    gpucontext *kept = ctx;
    ctx = open_cuda("cuda1");
    device = ctx->device;
    ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
    make_arrays();
    give_memory(&c, &original);
    CHECK(ga__context_dnn(ctx) != NULL);
    mock->fail_with = 4000;
    mock->fail_at = n;
    const int status = run(&c, NULL);
    const bool was_reached = mock->fail_at < 0;
    mock->fail_at = -1;
    failed += status != GA_NO_ERROR;
    if (status == GA_NO_ERROR)
      check_values(&c);
    else
      check_untouched(&c);
    make_arrays();
    CHECK_OK(run(&c, NULL));
    check_values(&c);
    take_memory(&c);
    gpucontext_deref(ctx);
    ctx = kept;
    device = ctx->device;
    if (!was_reached) {
      CHECK(failed > 10);
      return;
    }
  }
  CHECK(!"all calls were reached");
}

/* Each allocation of the library fails in turn. */
static void test_no_memory(void) {
  int status = GA_MEMORY_ERROR;
  reopen();
  ga_dnn_call c = describe(&layers[1], GA_DNN_FORWARD, GA_FLOAT);
  make_arrays();
  give_memory(&c, &original);
  for (long n = 0; n < 100 && status != GA_NO_ERROR; n++) {
    ga__alloc_fail_at(n);
    status = run(&c, NULL);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
  }
  ga__alloc_fail_at(-1);
  CHECK_OK(status);
  check_values(&c);
  take_memory(&c);
}

static void test_an_unusable_device(void) {
  reopen();
  mock->fail_with = 1001;
  mock->fail_at = 0;
  CHECK(ga__context_dnn(ctx) == NULL);
  CHECK(mock->fail_at < 0);
  CHECK(ga__context_dnn(ctx) == NULL); /* not tried again */
  CHECK_TEXT("cuDNN does not start");
  reopen();
  setenv("GPUARRAY_DNN", "own", 1);
  CHECK(ga__context_dnn(ctx) == NULL);
  unsetenv("GPUARRAY_DNN");
  CHECK(ga__context_dnn(ctx) != NULL);
}

/* ---- opening ---- */

static void copy_file(const char *folder, const char *name) {
  char command[4400];
  snprintf(command, sizeof command, "cp '%s' %s/%s", getenv("GPUARRAY_CUDA_DRIVER"),
           folder, name);
  CHECK(system(command) == 0);
}

/* The state of a copy of the mock. */
static mock_cuda *state_of(const char *folder, const char *name) {
  char path[64];
  mock_cuda *(*get_state)(void);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void *symbol = dlsym(dlopen(path, RTLD_NOW), "mock_cuda_state");
  memcpy(&get_state, &symbol, sizeof get_state);
  return get_state();
}

/* Opens a folder's cuDNN; the report has `text`. */
static void *open_folder(const char *folder, int lt_major, const char *text) {
  char path[64];
  ga_strbuf report = {0};
  snprintf(path, sizeof path, "%s/libcudnn.so.9", folder);
  void *opened = ga__cuda_dnn_open(path, lt_major, &report);
  if (strstr(report.text, text) == NULL)
    printf("%s\n", report.text);
  CHECK(strstr(report.text, text) != NULL);
  ga__strbuf_clear(&report);
  return opened;
}

static void test_opening(void) {
  char folder[] = "/tmp/gpuarray-cudnn-XXXXXX", command[64];
  ga_strbuf report = {0};
  CHECK(mkdtemp(folder) != NULL);
  CHECK(ga__cuda_dnn_loaded(&report) == NULL);
  copy_file(folder, "libcudnn.so.9");
  CHECK(open_folder(folder, 0, "libcudnn_graph.so is missing beside it") == NULL);
  copy_file(folder, "libcudnn_graph.so.9");
  CHECK(open_folder(folder, 13, "libcudnn.so.9: opened") != NULL);
  CHECK(open_folder(folder, 12, "for CUDA 13, cuBLASLt is of CUDA 12") == NULL);
  state_of(folder, "libcudnn_graph.so.9")->dnn_version = 90100;
  CHECK(open_folder(folder, 0, "9.12.0, but libcudnn_graph beside it is 9.1.0") ==
        NULL);
  state_of(folder, "libcudnn.so.9")->dnn_version = 80905;
  CHECK(open_folder(folder, 0, "cuDNN 9 is needed") == NULL);
  CHECK(ga__cuda_dnn_open("/nowhere/libcudnn.so.8", 0, &report) == NULL);
  CHECK(strstr(report.text, "libcudnn.so.8: passed over: cuDNN 9 is needed") != NULL);
  ga__strbuf_clear(&report);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

int main(void) {
  open_mock();
  setenv("GPUARRAY_DNN_WORKSPACE", "4096", 1);
  ctx = open_cuda("cuda0");
  device = ctx->device;
  test_opening();
  if (ga__context_dnn(ctx) == NULL) {
    CHECK(!"cuDNN is open");
    return 1;
  }
  test_failing_calls();
  test_no_memory();
  test_an_unusable_device();
  gpucontext_deref(ctx);
  check_given_back();
  return check_result("failures of cuDNN");
}
