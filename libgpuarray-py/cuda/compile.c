/* Compiles CLUDA source by NVRTC. */
#include "cuda/compile.h"

#include <ctype.h>
#define GPUARRAY_NO_CUDA /* cuda/api.h declares the names */
#include <gpuarray/ext_cuda.h>
#include <stdio.h>
#include <string.h>

#include "c/backend/backend.h"
#include "c/base/complex.h"

const char ga__cuda_prelude[] = {
#include "prelude.inc"
};

static int nvrtc_fail(nvrtcResult result, const char *call) {
  return GA_FAIL(result == NVRTC_ERROR_OUT_OF_MEMORY ? GA_MEMORY_ERROR : GA_IMPL_ERROR,
                 "%s: %s", call, ga__cuda.nvrtcGetErrorString(result));
}
#define NVRTC_TRY(name, ...) CUDA_LIBRARY_TRY(nvrtc_fail, name, __VA_ARGS__)

/* "sm_90", "compute_90", "sm_90a" */
static bool is_arch(const char *text) {
  size_t prefix = strncmp(text, "sm_", 3) == 0 ? 3 : 8;
  if (prefix == 8 && strncmp(text, "compute_", 8) != 0)
    return false;
  size_t digits = strspn(text + prefix, "0123456789");
  const char *end = text + prefix + digits;
  return digits >= 2 && digits <= 3 &&
         (*end == '\0' || (isalpha((unsigned char)*end) && !end[1]));
}

/* Appends the compiler's log, unless it is empty. */
static int add_log(ga_strbuf *log, nvrtcProgram program) {
  size_t size = 0;
  NVRTC_TRY(nvrtcGetProgramLogSize, program, &size);
  if (size <= 1)
    return GA_NO_ERROR;
  char *text = ga__alloc(size + 1, 1);
  GA_TRY_MEMORY(text);
  nvrtcResult result = ga__cuda.nvrtcGetProgramLog(program, text);
  if (result == 0)
    ga__strbuf_add(log, text);
  ga__free(text);
  return result == 0 ? ga__strbuf_status(log)
                     : nvrtc_fail(result, "nvrtcGetProgramLog");
}

/* `quick`: without optimization. GA_ROUNDED turns off FMA contraction for the whole
 * program: CUDA has no pragma for it. */
static int build(nvrtcProgram program, const char *source, const char *arch, bool quick,
                 ga_strbuf *log) {
  char architecture[64];
  const char *options[7] = {architecture, "--std=c++17",
                            "--device-as-default-execution-space",
                            "--disable-warnings"};
  int n = 4, major = 0, minor = 0;
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", arch);
  NVRTC_TRY(nvrtcVersion, &major, &minor);
  /* Omits built-in declarations that kernels cannot use; saves a third of the time. */
  if (major > 12 || (major == 12 && minor >= 4))
    options[n++] = "--minimal";
  if (quick && major >= 13)
    options[n++] = "--Ofast-compile=max";
  if (strstr(source, GA_ROUNDED))
    options[n++] = "--fmad=false";
  nvrtcResult result = ga__cuda.nvrtcCompileProgram(program, n, options);
  if (result == 0)
    return GA_NO_ERROR;
  if (result == NVRTC_ERROR_INVALID_OPTION)
    return GA_FAIL(GA_DEVSUP_ERROR, "NVRTC %d.%d does not compile for %s", major, minor,
                   arch);
  if (result != NVRTC_ERROR_COMPILATION)
    return nvrtc_fail(result, "nvrtcCompileProgram");
  GA_TRY(add_log(log, program));
  return GA_FAIL(GA_COMPILE_ERROR, "NVRTC %d.%d refuses the program", major, minor);
}

static int take_bytes(void **bytes, size_t *size, nvrtcProgram program, bool is_ptx) {
  if (is_ptx)
    NVRTC_TRY(nvrtcGetPTXSize, program, size);
  else
    NVRTC_TRY(nvrtcGetCUBINSize, program, size);
  char *text = ga__alloc(*size, 1);
  GA_TRY_MEMORY(text);
  nvrtcResult result = is_ptx ? ga__cuda.nvrtcGetPTX(program, text)
                              : ga__cuda.nvrtcGetCUBIN(program, text);
  if (result != 0) {
    ga__free(text);
    return nvrtc_fail(result, is_ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN");
  }
  *bytes = text;
  return GA_NO_ERROR;
}

int ga__cuda_compile_for(const char *source, const char *arch, void **bytes,
                         size_t *size, ga_strbuf *log) {
  nvrtcProgram program = NULL;
  if (!is_arch(arch))
    return GA_FAIL(
        GA_VALUE_ERROR,
        "cuda: \"%s\" is not an architecture: expected one such as \"sm_90\"", arch);
  GA_TRY(ga__cuda_need_nvrtc());
  NVRTC_TRY(nvrtcCreateProgram, &program, source, "kernel", 0, NULL, NULL);
  int status = build(program, source, arch, bytes == NULL, log);
  if (status == GA_NO_ERROR && bytes != NULL)
    status = take_bytes(bytes, size, program, arch[0] == 'c');
  ga__cuda.nvrtcDestroyProgram(&program);
  return status;
}

/* Fails with the log and the source with line numbers. */
static int compile_failed(const char *arch, const ga_strbuf *log, const char *source) {
  ga_strbuf text = {0};
  ga__strbuf_addf(&text, "the source does not compile for %s:\n%s\n", arch,
                  log->text ? log->text : gpuarray_error_text());
  ga__strbuf_add_lines(&text, source);
  int status = ga__strbuf_status(&text);
  GA_THEN(status, GA_FAIL(GA_COMPILE_ERROR, "%s", text.text));
  ga__strbuf_clear(&text);
  return status;
}

int gpuarray_cuda_compile(const char *source, const char *arch, size_t *size) {
  if (source == NULL || arch == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "gpuarray_cuda_compile: %s is NULL",
                   source == NULL ? "source" : "arch");
  ga_strbuf text = {0}, log = {0};
  void *bytes = NULL;
  size_t length = 0;
  /* Lines are numbered from the caller's first. */
  ga__strbuf_add(&text, ga__cuda_prelude);
  ga__complex_add(&text, ga__complex_widths(source));
  ga__strbuf_addf(&text, "\n#line 1\n%s", source);
  int status = ga__strbuf_status(&text);
  GA_THEN(status,
          ga__cuda_compile_for(text.text, arch, size ? &bytes : NULL, &length, &log));
  if (status == GA_COMPILE_ERROR)
    status = compile_failed(arch, &log, source);
  if (status == GA_NO_ERROR && size)
    *size = length;
  ga__free(bytes);
  ga__strbuf_clear(&log);
  ga__strbuf_clear(&text);
  return status;
}
