# Functions and structs of libgpuarray, as its public headers declare them: what
# gpuarray.rb is made of.
require "fiddle"
require "fiddle/import"

module GpuArray
  module C
    extend Fiddle::Importer
    dlload ENV.fetch("GPUARRAY_LIBRARY", "libgpuarray.so.4")

    ArrayStruct = struct [
      "void *data", "size_t offset", "unsigned int nd", "int flags", "int typecode",
      "size_t dimensions[32]", "ssize_t strides[32]"
    ]
    ArgStruct = struct ["char *name", "int typecode", "int flags"]
    SpecStruct = struct [
      "size_t size", "char *preamble", "char *prologue", "char *mapping", "char *combine",
      "char *identity", "int acc_typecode", "int out_typecode", "unsigned int n",
      "void *inputs"
    ]
    KernelStruct = struct ["void *k", "void *args"]
    ItemStruct = struct ["char *name", "int typecode", "unsigned int nd", "int optional"]

    ConvStruct = struct [
      "size_t size", "unsigned int nd", "unsigned int groups", "int flags",
      "size_t stride[3]", "size_t dilation[3]", "size_t before[3]", "size_t after[3]"
    ]
    PoolStruct = struct [
      "size_t size", "unsigned int nd", "int mode", "int flags", "size_t window[3]",
      "size_t stride[3]", "size_t before[3]", "size_t after[3]"
    ]
    NormStruct = struct [
      "size_t size", "unsigned int axes", "double epsilon", "double factor"
    ]

    extern "const char *gpuarray_error_text()"
    extern "int gpucontext_open(void *, const char *)"
    extern "void gpucontext_deref(void *)"
    extern "int gpucontext_sync(void *)"
    extern "const char *gpucontext_name(void *)"
    extern "int GpuArray_copy_from_host(void *, void *, void *, int, unsigned int, " \
           "void *, void *)"
    extern "int GpuArray_empty(void *, void *, int, unsigned int, void *, int)"
    extern "int GpuArray_view(void *, void *)"
    extern "int GpuArray_copy(void *, void *, int)"
    extern "int GpuArray_read(void *, size_t, void *)"
    extern "int GpuArray_astype(void *, void *, int, int)"
    extern "int GpuArray_transpose(void *, void *, void *)"
    extern "int GpuArray_reshape(void *, void *, unsigned int, void *, int, int)"
    extern "void GpuArray_clear(void *)"
    extern "int GpuArray_rgemm(int, int, double, void *, void *, double, void *, int)"
    extern "void *GpuElemwise_new(void *, char *, char *, unsigned int, void *, " \
           "unsigned int, int)"
    extern "int GpuElemwise_apply(void *, void *, void *)"
    extern "void GpuElemwise_free(void *)"
    extern "void *GpuReduction_new(void *, void *, void *)"
    extern "int GpuReduction_apply(void *, void *, void *, unsigned int, int)"
    extern "void GpuReduction_free(void *)"
    extern "int GpuKernel_init(void *, void *, unsigned int, void *, void *, char *, " \
           "unsigned int, void *, int, void *)"
    extern "int GpuKernel_sched(void *, size_t, void *, void *)"
    extern "int GpuKernel_call(void *, unsigned int, void *, void *, size_t, void *)"
    extern "void GpuKernel_clear(void *)"
    extern "void gpuconv_init(void *, unsigned int)"
    extern "int gpuconv_shape(void *, void *, void *, void *)"
    extern "int GpuArray_conv(void *, void *, void *, void *)"
    extern "void gpupool_init(void *, unsigned int, int, void *)"
    extern "int gpupool_shape(void *, void *, void *)"
    extern "int GpuArray_pool(void *, void *, void *)"
    extern "void gpubatchnorm_init(void *, unsigned int, int)"
    extern "int GpuArray_batch_norm_train(void *, void *, void *, void *, void *, " \
           "void *, void *, void *, void *)"
    extern "int GpuFunction_load_on(void *, unsigned int, void *, const char *)"
    extern "int GpuFunction_context(void *, int, unsigned int, void *)"
    extern "void GpuFunction_free(void *)"
    extern "int GpuFunction_call(void *, void *, void *, void *)"
    extern "int GpuFunction_get(void *, const char *, void *)"
    extern "int GpuFunction_set(void *, const char *, void *)"
    extern "int GpuFunction_count(void *, int, void *)"
    extern "int GpuFunction_item(void *, int, unsigned int, void *)"
  end
end
