// libgpuarray from C++17: values that clean up after themselves, and exceptions.
//
// Everything here is a thin face of the C library: a Context, Array, Elementwise,
// Reduction and Kernel hold one reference each and give it back when they go; a failed
// call throws gpuarray::Error with the status and the library's text. Work is queued;
// only Array::read, Array::sync and Context::sync wait. Needs no library but
// libgpuarray.
#ifndef GPUARRAY_HPP
#define GPUARRAY_HPP

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gpuarray/array.h>
#include <gpuarray/blas.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/kernel.h>
#include <gpuarray/reduction.h>

namespace gpuarray {

// A call that failed: its status (GA_VALUE_ERROR ...) and what the library said.
class Error : public std::runtime_error {
public:
  explicit Error(int status)
      : std::runtime_error(gpuarray_error_text()), status_(status) {
  }
  int status() const noexcept {
    return status_;
  }

private:
  int status_;
};

// Throws unless `status` is GA_NO_ERROR.
inline void check(int status) {
  if (status != GA_NO_ERROR)
    throw Error(status);
}

// The code of a C++ type: typecode<float>() is GA_FLOAT.
template <class T> constexpr int typecode() = delete;
template <> constexpr int typecode<bool>() {
  return GA_BOOL;
}
template <> constexpr int typecode<std::int8_t>() {
  return GA_BYTE;
}
template <> constexpr int typecode<std::uint8_t>() {
  return GA_UBYTE;
}
template <> constexpr int typecode<std::int16_t>() {
  return GA_SHORT;
}
template <> constexpr int typecode<std::uint16_t>() {
  return GA_USHORT;
}
template <> constexpr int typecode<std::int32_t>() {
  return GA_INT;
}
template <> constexpr int typecode<std::uint32_t>() {
  return GA_UINT;
}
template <> constexpr int typecode<std::int64_t>() {
  return GA_LONG;
}
template <> constexpr int typecode<std::uint64_t>() {
  return GA_ULONG;
}
template <> constexpr int typecode<float>() {
  return GA_FLOAT;
}
template <> constexpr int typecode<double>() {
  return GA_DOUBLE;
}
template <> constexpr int typecode<std::complex<float>>() {
  return GA_CFLOAT;
}
template <> constexpr int typecode<std::complex<double>>() {
  return GA_CDOUBLE;
}

// An open device. Copies are the same device.
class Context {
public:
  // "cuda0", "opencl0:1"; "" is the best device found.
  explicit Context(const std::string &name = "") {
    check(gpucontext_open(&context_, name.c_str()));
  }
  Context(const Context &other) noexcept : context_(other.context_) {
    gpucontext_retain(context_);
  }
  Context &operator=(Context other) noexcept {
    std::swap(context_, other.context_);
    return *this;
  }
  ~Context() {
    gpucontext_deref(context_);
  }

  // Waits for all queued work; throws what failed meanwhile.
  void sync() {
    check(gpucontext_sync(context_));
  }
  std::string name() const {
    return gpucontext_name(context_);
  }
  gpucontext *get() const noexcept {
    return context_;
  }

private:
  gpucontext *context_ = nullptr;
};

using Shape = std::vector<std::size_t>;

// An array on a device. Copying an Array makes another view of the same elements, as
// assigning an array does in Python; copy() makes new elements.
class Array {
public:
  Array() noexcept : array_{} {
  }
  // Takes over what a C function has made; `array` must not be cleared any more.
  static Array adopt(const GpuArray &array) noexcept {
    Array result;
    result.array_ = array;
    return result;
  }
  static Array empty(const Context &context, int typecode, const Shape &shape) {
    Array result;
    check(GpuArray_empty(&result.array_, context.get(), typecode,
                         static_cast<unsigned int>(shape.size()), shape.data(),
                         GA_C_ORDER));
    return result;
  }
  static Array zeros(const Context &context, int typecode, const Shape &shape) {
    Array result;
    check(GpuArray_zeros(&result.array_, context.get(), typecode,
                         static_cast<unsigned int>(shape.size()), shape.data(),
                         GA_C_ORDER));
    return result;
  }
  // The values at `values`, in C order, as many as `shape` says.
  template <class T>
  static Array from(const Context &context, const T *values, const Shape &shape) {
    Array result;
    check(GpuArray_copy_from_host(
        &result.array_, context.get(), values, gpuarray::typecode<T>(),
        static_cast<unsigned int>(shape.size()), shape.data(), nullptr));
    return result;
  }
  template <class T>
  static Array from(const Context &context, const std::vector<T> &values) {
    return from(context, values.data(), {values.size()});
  }
  Array(const Array &other) : array_{} {
    if (other.array_.data)
      check(GpuArray_view(&array_, &other.array_));
  }
  Array(Array &&other) noexcept : array_(std::exchange(other.array_, GpuArray{})) {
  }
  Array &operator=(Array other) noexcept {
    std::swap(array_, other.array_);
    return *this;
  }
  ~Array() {
    GpuArray_clear(&array_);
  }

  int typecode() const noexcept {
    return array_.typecode;
  }
  Shape shape() const {
    return {array_.dimensions, array_.dimensions + array_.nd};
  }
  std::size_t size() const noexcept {
    std::size_t n = 1;
    for (unsigned int i = 0; i < array_.nd; i++)
      n *= array_.dimensions[i];
    return n;
  }
  Array copy() const {
    Array result;
    check(GpuArray_copy(&result.array_, &array_, GA_C_ORDER));
    return result;
  }
  Array transpose() const {
    Array result;
    check(GpuArray_transpose(&result.array_, &array_, nullptr));
    return result;
  }
  Array reshape(const Shape &shape) const {
    Array result;
    check(GpuArray_reshape(&result.array_, &array_,
                           static_cast<unsigned int>(shape.size()), shape.data(),
                           GA_C_ORDER, 0));
    return result;
  }
  Array astype(int typecode) const {
    Array result;
    check(GpuArray_astype(&result.array_, &array_, typecode, GA_C_ORDER));
    return result;
  }
  // The elements in C order; waits.
  template <class T> std::vector<T> read() const {
    if (gpuarray::typecode<T>() != array_.typecode)
      throw std::invalid_argument("read: the array has another element type");
    const Array whole = copy();
    std::vector<T> values(size());
    check(GpuArray_read(values.data(), values.size() * sizeof(T), &whole.array_));
    return values;
  }
  void sync() {
    check(GpuArray_sync(&array_));
  }
  GpuArray *get() noexcept {
    return &array_;
  }
  const GpuArray *get() const noexcept {
    return &array_;
  }

private:
  GpuArray array_;
};

// One expression over arrays: Elementwise add(context, "out", GA_FLOAT, "out = x + y",
// {{"x", GA_FLOAT}, {"y", GA_FLOAT}}); Array c = add({&a, &b}).
class Elementwise {
public:
  struct Input {
    std::string name;
    int typecode;
  };
  Elementwise(const Context &context, const std::string &out, int typecode,
              const std::string &expression, const std::vector<Input> &inputs)
      : context_(context) {
    std::vector<gpuelemwise_arg> args{{out.c_str(), typecode, GE_WRITE}};
    for (const Input &input : inputs)
      args.push_back({input.name.c_str(), input.typecode, GE_READ});
    elementwise_ = GpuElemwise_new(context.get(), nullptr, expression.c_str(),
                                   static_cast<unsigned int>(args.size()), args.data(),
                                   0, GE_CONVERT_F16);
    if (elementwise_ == nullptr)
      throw Error(GA_INVALID_ERROR);
  }
  Elementwise(const Elementwise &) = delete;
  Elementwise &operator=(const Elementwise &) = delete;
  ~Elementwise() {
    GpuElemwise_free(elementwise_);
  }

  // A new array of the shape that the inputs broadcast to.
  Array operator()(std::initializer_list<const Array *> inputs) const {
    std::vector<void *> ins;
    for (const Array *input : inputs)
      ins.push_back(const_cast<GpuArray *>(input->get()));
    GpuArray result;
    GpuArray *outs[] = {&result};
    check(GpuElemwise_apply(elementwise_, outs, ins.data()));
    return Array::adopt(result);
  }

private:
  Context context_;
  GpuElemwise *elementwise_ = nullptr;
};

// A reduction of one array: Reduction sum(context, GA_FLOAT, "a + b", "0").
class Reduction {
public:
  Reduction(const Context &context, int typecode, const std::string &combine,
            const std::string &identity, const std::string &map = "x")
      : context_(context) {
    const gpuelemwise_arg input{"x", typecode, GE_READ};
    gpureduction_spec spec{};
    spec.size = sizeof spec;
    spec.map = map.c_str();
    spec.combine = combine.c_str();
    spec.identity = identity.c_str();
    spec.acc_typecode = typecode;
    spec.out_typecode = typecode;
    spec.n = 1;
    spec.inputs = &input;
    int status = GA_NO_ERROR;
    reduction_ = GpuReduction_new(context.get(), &spec, &status);
    check(status);
  }
  Reduction(const Reduction &) = delete;
  Reduction &operator=(const Reduction &) = delete;
  ~Reduction() {
    GpuReduction_free(reduction_);
  }

  // Over all axes.
  Array operator()(const Array &array) const {
    const std::size_t nd = array.shape().size();
    return (*this)(array, nd >= 32 ? ~0u : (1u << nd) - 1u);
  }
  // Over the axes whose bits are set.
  Array operator()(const Array &array, unsigned int axes) const {
    void *ins[] = {const_cast<GpuArray *>(array.get())};
    GpuArray result;
    check(GpuReduction_apply(reduction_, &result, ins, axes, 0));
    return Array::adopt(result);
  }

private:
  Context context_;
  GpuReduction *reduction_ = nullptr;
};

// The matrix product of two arrays of rank 2.
inline Array matmul(const Array &a, const Array &b) {
  const Shape left = a.shape(), right = b.shape();
  if (left.size() != 2 || right.size() != 2)
    throw std::invalid_argument("matmul: both arrays need two axes");
  GpuArray result;
  const std::size_t shape[] = {left[0], right[1]};
  check(GpuArray_empty(&result, GpuArray_context(a.get()), a.typecode(), 2, shape,
                       GA_C_ORDER));
  Array product = Array::adopt(result);
  check(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1.0, const_cast<GpuArray *>(a.get()),
                       const_cast<GpuArray *>(b.get()), 0.0, product.get(), 0));
  return product;
}

// A kernel from CLUDA source, the same for CUDA and OpenCL.
class Kernel {
public:
  // `types`: GA_BUFFER for a pointer, GA_INPUT for one that it only reads by, GA_OFFSET
  // for where the array before it begins, else the code of a number.
  Kernel(const Context &context, const std::string &source, const std::string &name,
         const std::vector<int> &types)
      : context_(context) {
    const char *text = source.c_str();
    check(GpuKernel_init(&kernel_, context.get(), 1, &text, nullptr, name.c_str(),
                         static_cast<unsigned int>(types.size()), types.data(), 0,
                         nullptr));
  }
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  ~Kernel() {
    GpuKernel_clear(&kernel_);
  }

  // Queues enough threads for `n` work items. An argument is the gpudata * of an array,
  // or a pointer to a number.
  void operator()(std::size_t n, std::vector<void *> args) {
    std::size_t blocks = 0, threads = 0;
    check(GpuKernel_sched(&kernel_, n, &blocks, &threads));
    check(GpuKernel_call(&kernel_, 1, &blocks, &threads, 0, args.data()));
  }

private:
  Context context_;
  GpuKernel kernel_{};
};

} // namespace gpuarray

#endif
