# libgpuarray from Ruby: data up, an expression, a sum, a product, layers of
# networks, kernels, an error.
#
#   ruby example.rb cuda0
#
# GPUARRAY_SCALE may name the library made from bindings/c/scale.c: then a kernel that C
# launches works on the array that Ruby has made.
require_relative "gpuarray"

SOURCE = <<~CLUDA
  KERNEL void square(GLOBAL_MEM ga_float *a, ga_size offset, ga_size n) {
    a = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)a + offset);
    for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
      a[i] *= a[i];
  }
CLUDA

def expect(what, value, expected)
  puts "#{what}: #{value}"
  abort "#{what}: expected #{expected}" unless value == expected
end

context = GpuArray::Context.new(ARGV.fetch(0, ""))
puts "on #{context.name}"
x = context.array([[1, 2, 3], [4, 5, 6]])
y = context.elementwise("out = 2 * x + 1", out: :float32, x: x)
expect "2 x + 1", y.to_a, [[3.0, 5.0, 7.0], [9.0, 11.0, 13.0]]
expect "its sum", y.sum.to_a, 48.0
expect "its columns' sums", y.sum(axis: 0).to_a, [12.0, 16.0, 20.0]
expect "x x'", x.dot(x.transpose).to_a, [[14.0, 32.0], [32.0, 77.0]]

expect "integers", context.array([[1, -2]], type: :int64).to_a, [[1, -2]]
expect "of halves", context.array([0.5, 2], type: :float16).to_a, [0.5, 2.0]
expect "complex", context.array([Complex(1, 2)], type: :complex64).to_a, [Complex(1, 2)]
expect "nothing", context.array([], type: :bool, shape: [2, 0]).to_a, [[], []]

images = context.array([[[[0, 1, 2], [3, 4, 5], [6, 7, 8]]]])
maps = images.conv(context.array([[[[1, 0], [0, -1]]]]), padding: 1)
expect "a convolution", maps.to_a,
       [[[[0.0, -1.0, -2.0, 0.0], [-3.0, -4.0, -4.0, 2.0],
          [-6.0, -4.0, -4.0, 5.0], [0.0, 6.0, 7.0, 8.0]]]]
expect "its maxima", maps.max_pool(2, 2).to_a, [[[[0.0, 2.0], [6.0, 8.0]]]]
ones = context.array([1, 1])
rows = context.array([[1, 20], [3, 22]]).batch_norm(ones, ones, epsilon: 3)
expect "normalised", rows.to_a, [[0.5, 0.5], [1.5, 1.5]]

mine = x.copy
square = GpuArray::Kernel.new(context, SOURCE, "square",
                              [GpuArray::BUFFER, GpuArray::SIZE, GpuArray::SIZE])
square.call(mine.size, mine, mine.struct.offset, mine.size)
expect "a kernel from Ruby", mine.to_a, [[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]

if ENV["GPUARRAY_SCALE"]
  scale = Fiddle::Function.new(Fiddle.dlopen(ENV["GPUARRAY_SCALE"])["scale"],
                               [Fiddle::TYPE_VOIDP, Fiddle::TYPE_FLOAT], Fiddle::TYPE_INT)
  GpuArray.check(scale.call(mine, 0.5))
  expect "a kernel from C", mine.to_a, [[0.5, 2.0, 4.5], [8.0, 12.5, 18.0]]
end

begin
  x.reshape(5)
  abort "reshape to 5 elements must fail"
rescue GpuArray::Error => e
  puts "caught: #{e.message}"
end
