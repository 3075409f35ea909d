/* Public functions of buffers: allocation with flags, properties. */
#include "c/device/buffer.h"

static int check_flags(int flags, const void *data) {
  const int one_way = GA_BUFFER_READ_ONLY | GA_BUFFER_WRITE_ONLY;
  if (flags & ~(one_way | GA_BUFFER_INIT | GA_BUFFER_HOST))
    return GA_FAIL(GA_VALUE_ERROR, "gpudata_alloc: flags 0x%x have unknown bits",
                   (unsigned int)flags);
  if ((flags & one_way) == one_way)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpudata_alloc: a buffer cannot be both read-only and write-only");
  if (flags & GA_BUFFER_INIT && data == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpudata_alloc: GA_BUFFER_INIT needs the data to copy");
  return GA_NO_ERROR;
}

static int alloc_buffer(gpudata **out, gpucontext *ctx, size_t sz, const void *data,
                        int flags) {
  gpudata *buffer;
  GA_TRY(check_flags(flags, data));
  if (flags & GA_BUFFER_HOST)
    GA_TRY(ga__context_check(ctx));
  GA_TRY(flags & GA_BUFFER_HOST ? ga__buffer_new_on_host(&buffer, ctx, sz)
                                : ga__buffer_new(&buffer, ctx, sz));
  if (flags & GA_BUFFER_INIT) {
    int status = gpudata_write(buffer, 0, data, sz);
    if (status != GA_NO_ERROR) {
      gpudata_release(buffer);
      return status;
    }
  }
  buffer->flags = flags & ~GA_BUFFER_INIT;
  *out = buffer;
  return GA_NO_ERROR;
}

gpudata *gpudata_alloc(gpucontext *ctx, size_t sz, void *data, int flags, int *ret) {
  gpudata *buffer = NULL;
  int status = alloc_buffer(&buffer, ctx, sz, data, flags);
  if (status != GA_NO_ERROR && ret)
    *ret = status;
  return buffer;
}

/* ---- properties ---- */

int gpudata_share(gpudata *a, gpudata *b, int *ret) {
  if (a == NULL || b == NULL) {
    int status =
        GA_FAIL(GA_VALUE_ERROR, "gpudata_share: got NULL, expected two buffers");
    if (ret)
      *ret = status;
    return -1;
  }
  ptrdiff_t between;
  return a == b || (a->context == b->context && ga__buffers_meet(&between, a, b));
}

static int host_address(void **out, const gpudata *b) {
  void *host = b->host ? b->host : ga__buffer_on_host(b);
  if (host == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "gpudata_property: the host cannot access this buffer; allocate "
                   "it with GA_BUFFER_HOST on a device that offers it, or use "
                   "gpudata_read and gpudata_write");
  *out = host;
  return GA_NO_ERROR;
}

int gpudata_property(gpudata *buf, int prop_id, void *res) {
  if (buf == NULL || res == NULL)
    return ga__fail_null(__func__, "buffer, or no pointer for the result");
  if (prop_id < GA_BUFFER_PROP_START)
    return gpucontext_property(buf->context, prop_id, res);
  switch (prop_id) {
  case GA_BUFFER_PROP_CTX:
    *(gpucontext **)res = buf->context;
    return GA_NO_ERROR;
  case GA_BUFFER_PROP_REFCNT:
    *(unsigned int *)res = atomic_load(&buf->references);
    return GA_NO_ERROR;
  case GA_BUFFER_PROP_HOST:
    return host_address(res, buf);
  case GA_BUFFER_PROP_SIZE:
    *(size_t *)res = buf->size;
    return GA_NO_ERROR;
  }
  return GA_FAIL(prop_id >= GA_KERNEL_PROP_START ? GA_VALUE_ERROR : GA_INVALID_ERROR,
                 "gpudata_property: a buffer has no property %d", prop_id);
}

gpucontext *gpudata_context(gpudata *b) {
  return b ? b->context : NULL;
}
