# libgpuarray from Ruby, through Fiddle: this file and gpuarray_c.rb, no gem, nothing to
# compile.
#
#   require_relative "gpuarray"
#   context = GpuArray::Context.new("cuda0")
#   x = context.array([1.0, 2.0, 3.0])
#   (x * x).to_a          # => [1.0, 4.0, 9.0]
#   f = GpuArray::Function.new(context, "f.plan")  # compiled and saved in Python
#   f.call(x, 2)          # its results for an array and an integer of the host
#
# The library is found by the loader, or named by GPUARRAY_LIBRARY. Work is queued; only
# Array#to_a and Context#sync wait. A failed call raises GpuArray::Error.
require_relative "gpuarray_c"

module GpuArray
  # A call that failed: the library's text, and the status.
  class Error < StandardError
    attr_reader :status

    def initialize(status)
      @status = status
      super(C.gpuarray_error_text.to_s)
    end
  end

  # Raises unless the status is success.
  def self.check(status)
    raise Error.new(status) unless status.zero?
  end

  # Name in Ruby => the library's code, and the letter of Array#pack; types without one
  # are converted on the device. An element of a complex type is a Complex.
  TYPES = { bool: [0, "C"], int8: [1, "c"], uint8: [2, "C"], int16: [3, "s"],
            uint16: [4, "S"], int32: [5, "l"], uint32: [6, "L"], int64: [7, "q"],
            uint64: [8, "Q"], float32: [11, "f"], float64: [12, "d"],
            complex64: [14, "f"], complex128: [15, "d"], bfloat16: [17, nil],
            float16: [23, nil] }.freeze
  COMPLEX = %i[complex64 complex128].freeze
  TYPE_OF_CODE = TYPES.to_h { |name, (code, _)| [code, name] }.freeze
  BUFFER = -1
  SIZE = 24
  READ = 0x2
  WRITE = 0x4

  # A C list of the addresses of objects.
  def self.pointers(*objects) = objects.map { |o| o.to_ptr.to_i }.pack("Q*")

  # An open device.
  class Context
    attr_reader :pointer

    # "cuda0", "opencl0:1"; "" is the best device found.
    def initialize(name = "")
      place = [0].pack("Q")
      GpuArray.check(C.gpucontext_open(place, name))
      @pointer = Fiddle::Pointer.new(place.unpack1("Q"))
      ObjectSpace.define_finalizer(self, Context.releaser(@pointer.to_i))
    end

    def self.releaser(address) = proc { C.gpucontext_deref(address) }

    def name = C.gpucontext_name(@pointer).to_s

    # Waits for all queued work; raises what failed meanwhile.
    def sync
      GpuArray.check(C.gpucontext_sync(@pointer))
      self
    end

    # An array of nested numbers; with a shape, of a flat list of them in C order. Numbers
    # of :bool may be true and false.
    def array(values, type: :float32, shape: nil)
      shape ||= Context.shape_of(values)
      code, letter = TYPES.fetch(type)
      return array(values, shape: shape).astype(type) if letter.nil?

      bytes = GpuArray.bytes([values].flatten, type)
      unless bytes.bytesize == shape.inject(1, :*) * GpuArray.width(type)
        raise ArgumentError, "shape #{shape} for other than its number of values"
      end
      Array.make(self) do |out|
        C.GpuArray_copy_from_host(out, @pointer, bytes, code, shape.length,
                                  shape.pack("Q*"), nil)
      end
    end

    def self.shape_of(values)
      shape = []
      while values.is_a?(::Array)
        shape << values.length
        values = values.first
      end
      shape
    end

    # out = expression over arrays that are given by name:
    #   context.elementwise("out = x + y", out: :float32, x: a, y: b)
    def elementwise(expression, out:, **inputs)
      names = ["out", *inputs.keys.map(&:to_s)]
      codes = [TYPES.fetch(out)[0], *inputs.values.map(&:typecode)]
      args = GpuArray.arguments(names, codes, [WRITE] + [READ] * inputs.length)
      elemwise = C.GpuElemwise_new(@pointer, nil, expression, names.length, args[:list],
                                   0, 0)
      raise Error.new(4) if elemwise.null?

      begin
        Array.make(self) do |result|
          C.GpuElemwise_apply(elemwise, GpuArray.pointers(result),
                              GpuArray.pointers(*inputs.values))
        end
      ensure
        C.GpuElemwise_free(elemwise)
      end
    end
  end

  # Numbers as the bytes of a type.
  def self.bytes(numbers, type)
    numbers = numbers.map { |n| { true => 1, false => 0 }.fetch(n, n) } if type == :bool
    numbers = numbers.flat_map(&:rectangular) if COMPLEX.include?(type)
    numbers.pack("#{TYPES.fetch(type)[1]}*")
  end

  # The numbers again.
  def self.numbers(bytes, type)
    found = bytes.unpack("#{TYPES.fetch(type)[1]}*")
    return found.map { |n| n != 0 } if type == :bool

    COMPLEX.include?(type) ? found.each_slice(2).map { |re, im| Complex(re, im) } : found
  end

  # The bytes of an element.
  def self.width(type)
    [0].pack(TYPES.fetch(type)[1]).bytesize * (COMPLEX.include?(type) ? 2 : 1)
  end

  # A C list of gpuelemwise_arg and the texts that it points to.
  def self.arguments(names, codes, flags)
    texts = names.map { |name| Fiddle::Pointer["#{name}\0"] }
    list = texts.each_index.map do |i|
      [texts[i].to_i, codes[i], flags[i]].pack("Qll")
    end
    { list: list.join, texts: texts }
  end

  # An array on a device; it and its views hold the memory for as long as they live.
  class Array
    attr_reader :context, :struct

    # The block fills a struct and gives a status.
    def self.make(context)
      struct = C::ArrayStruct.malloc
      struct.to_ptr[0, C::ArrayStruct.size] = "\0" * C::ArrayStruct.size
      status = yield struct
      unless status.zero?
        Fiddle.free(struct.to_ptr.to_i)
        raise Error.new(status)
      end
      new(context, struct)
    end

    def initialize(context, struct)
      @context = context
      @struct = struct
      ObjectSpace.define_finalizer(self, Array.releaser(struct.to_ptr.to_i))
    end

    def self.releaser(address)
      proc do
        C.GpuArray_clear(address)
        Fiddle.free(address)
      end
    end

    def to_ptr = @struct.to_ptr
    def typecode = @struct.typecode
    def type = TYPE_OF_CODE.fetch(typecode)
    def shape = @struct.dimensions.first(@struct.nd)
    def size = shape.inject(1, :*)

    def transpose = Array.make(@context) { |out| C.GpuArray_transpose(out, @struct, nil) }

    def reshape(*shape)
      Array.make(@context) do |out|
        C.GpuArray_reshape(out, @struct, shape.length, shape.pack("Q*"), 0, 0)
      end
    end

    def copy = Array.make(@context) { |out| C.GpuArray_copy(out, @struct, 0) }

    # The elements converted to another type, in C order.
    def astype(type)
      Array.make(@context) { |out| C.GpuArray_astype(out, @struct, TYPES.fetch(type)[0], 0) }
    end

    # The elements as a flat list in C order; waits.
    def flat
      return astype(:float32).flat if TYPES.fetch(type)[1].nil?

      whole = copy
      bytes = "\0" * (size * GpuArray.width(type))
      GpuArray.check(C.GpuArray_read(bytes, bytes.bytesize, whole.struct))
      GpuArray.numbers(bytes, type)
    end

    # The elements as nested Ruby arrays (a number for a 0-d array); waits.
    def to_a
      elements = flat
      return elements.first if shape.empty?

      nest(elements, shape)
    end

    def nest(elements, lengths)
      first, *others = lengths
      return elements if others.empty?

      width = others.inject(1, :*)
      ::Array.new(first) { |i| nest(elements[i * width, width], others) }
    end
    private :nest

    { "+" => "x + y", "-" => "x - y", "*" => "x * y", "/" => "x / y" }.each do |op, text|
      define_method(op) do |other|
        @context.elementwise("out = #{text}", out: type, x: self, y: other)
      end
    end

    # Over all axes, or one.
    def sum(axis: nil)
      axes = axis ? 1 << axis : (1 << shape.length) - 1
      status = [0].pack("l")
      args = GpuArray.arguments(["x"], [typecode], [READ])
      texts = ["x", "a + b", "0"].map { |text| Fiddle::Pointer["#{text}\0"] }
      spec = C::SpecStruct.malloc(Fiddle::RUBY_FREE)
      spec.to_ptr[0, C::SpecStruct.size] = "\0" * C::SpecStruct.size
      spec.size = C::SpecStruct.size
      spec.mapping, spec.combine, spec.identity = texts
      spec.acc_typecode = spec.out_typecode = typecode
      spec.n = 1
      spec.inputs = Fiddle::Pointer[args[:list]]
      reduction = C.GpuReduction_new(@context.pointer, spec, status)
      raise Error.new(status.unpack1("l")) if reduction.null?

      begin
        Array.make(@context) do |out|
          C.GpuReduction_apply(reduction, out, GpuArray.pointers(self), axes, 0)
        end
      ensure
        C.GpuReduction_free(reduction)
      end
    end

    # The matrix product.
    def dot(other)
      filled([shape[0], other.shape[1]]) do |out|
        C.GpuArray_rgemm(0, 0, 1.0, @struct, other.struct, 0.0, out, 0)
      end
    end

    # The convolution of images (batch, channels, spatial axes) by filters (results,
    # channels, spatial axes), which are not turned around.
    def conv(filters, stride: 1, padding: 0)
      conv = C::ConvStruct.malloc(Fiddle::RUBY_FREE)
      C.gpuconv_init(conv, shape.length - 2)
      conv.stride = [stride] * 3
      conv.before = conv.after = [padding] * 3
      lengths = lengths_by do |out|
        C.gpuconv_shape(out, conv, shape.pack("Q*"), filters.shape.pack("Q*"))
      end
      filled(lengths) { |out| C.GpuArray_conv(out, @struct, filters.struct, conv) }
    end

    # The maxima of windows over the last axes, which do not overlap.
    def max_pool(*window)
      pool = C::PoolStruct.malloc(Fiddle::RUBY_FREE)
      C.gpupool_init(pool, window.length, 0, window.pack("Q*"))
      batch = shape.length - window.length
      inner = shape.drop(batch).pack("Q*")
      lengths = lengths_by { |out| C.gpupool_shape(out, pool, inner) }
      lengths = shape.take(batch) + lengths.take(window.length)
      filled(lengths) { |out| C.GpuArray_pool(out, @struct, pool) }
    end

    # The elements less the mean of their channel, axis 1, over its deviation, times
    # gamma, plus beta.
    def batch_norm(gamma, beta, epsilon: 1e-4)
      norm = C::NormStruct.malloc(Fiddle::RUBY_FREE)
      C.gpubatchnorm_init(norm, shape.length, 1)
      norm.epsilon = epsilon
      filled(shape) do |out|
        C.GpuArray_batch_norm_train(out, nil, nil, nil, nil, @struct, gamma.struct,
                                    beta.struct, norm)
      end
    end

    private

    # A new array of this type, which the block fills and gives a status.
    def filled(lengths)
      Array.make(@context) do |out|
        status = C.GpuArray_empty(out, @context.pointer, typecode, lengths.length,
                                  lengths.pack("Q*"), 0)
        next status unless status.zero?

        status = yield out
        C.GpuArray_clear(out) unless status.zero?
        status
      end
    end

    # Lengths that the block writes to a C list, as many as this array has axes.
    def lengths_by
      list = ([0] * shape.length).pack("Q*")
      GpuArray.check(yield(list))
      list.unpack("Q*")
    end
  end

  # A function that was compiled and saved in Python, with the values that it keeps.
  # The file runs for all shapes, on every device.
  class Function
    LISTS = { inputs: 0, integers: 1, outputs: 2, values: 3 }.freeze
    # Of a list: a name or nil, a type (nil for an integer of the host), the number of
    # axes, and whether calls may leave it out.
    Item = ::Struct.new(:name, :type, :nd, :optional)

    # Of a file of several contexts `contexts` has those of the other names in it, and
    # may have that of the function's own: { "dev1" => GpuArray::Context.new("cuda1") }.
    def initialize(context, path, contexts = {})
      @contexts = [context, *contexts.values].to_h { |one| [one.pointer.to_i, one] }
      names = contexts.keys.map { |name| Fiddle::Pointer[name] }
      pairs = [0, *names.map(&:to_i)].zip([context, *contexts.values].map { |c| c.pointer.to_i })
      place = [0].pack("Q")
      GpuArray.check(C.GpuFunction_load_on(place, pairs.length, pairs.flatten.pack("Q*"),
                                           path))
      @pointer = Fiddle::Pointer.new(place.unpack1("Q"))
      ObjectSpace.define_finalizer(self, Function.releaser(@pointer.to_i))
    end

    def self.releaser(address) = proc { C.GpuFunction_free(address) }

    # What calls take and give, and what is kept: lists of Item.
    LISTS.each { |name, list| define_method(name) { items(list, name == :integers) } }

    # The list of outputs. Arrays are given in the order of `inputs`, each on the context
    # of its input, nil leaves an optional one out; integers of the host in the order of
    # `integers`, before, between or behind them.
    def call(*given)
      numbers, arrays = given.partition { |each| each.is_a?(Integer) }
      counts = LISTS.transform_values { |list| count(list) }
      unless arrays.size == counts[:inputs] && numbers.size == counts[:integers]
        raise ArgumentError, "given #{arrays.size} arrays and #{numbers.size} integers, " \
                             "expected #{counts[:inputs]} and #{counts[:integers]}"
      end

      ins = arrays.map { |array| array ? array.to_ptr.to_i : 0 }.pack("Q*")
      outs = ::Array.new(counts[:outputs]) { C::ArrayStruct.malloc }
      status = C.GpuFunction_call(@pointer, GpuArray.pointers(*outs), ins,
                                  numbers.pack("q*"))
      unless status.zero?
        outs.each { |out| Fiddle.free(out.to_ptr.to_i) }
        raise Error.new(status)
      end
      outs.each_with_index.map { |out, i| Array.new(context_of(:outputs, i), out) }
    end

    # The context of item `index` of a list: :inputs, :outputs or :values.
    def context_of(list, index)
      place = [0].pack("Q")
      GpuArray.check(C.GpuFunction_context(@pointer, LISTS.fetch(list), index, place))
      @contexts.fetch(place.unpack1("Q"))
    end

    # A copy of a kept value.
    def [](name)
      index = values.index { |item| item.name == name }
      context = index ? context_of(:values, index) : @contexts.values.first
      Array.make(context) { |out| C.GpuFunction_get(@pointer, name, out) }
    end

    def []=(name, array)
      GpuArray.check(C.GpuFunction_set(@pointer, name, array.struct))
    end

    private

    def count(list)
      place = [0].pack("L")
      GpuArray.check(C.GpuFunction_count(@pointer, list, place))
      place.unpack1("L")
    end

    def items(list, integers)
      item = C::ItemStruct.malloc(Fiddle::RUBY_FREE)
      ::Array.new(count(list)) do |i|
        GpuArray.check(C.GpuFunction_item(@pointer, list, i, item))
        name = item.name.null? ? nil : item.name.to_s
        Item.new(name, integers ? nil : TYPE_OF_CODE.fetch(item.typecode), item.nd,
                 item.optional != 0)
      end
    end
  end

  # A kernel from CLUDA source; `types` are codes: BUFFER, SIZE or those of TYPES.
  class Kernel
    PACK = { SIZE => "Q", 11 => "f", 12 => "d", 5 => "l", 7 => "q" }.freeze

    def initialize(context, source, name, types)
      @types = types
      @struct = C::KernelStruct.malloc
      text = Fiddle::Pointer["#{source}\0"]
      status = C.GpuKernel_init(@struct, context.pointer, 1, [text.to_i].pack("Q"), nil,
                                name, types.length, types.pack("l*"), 0, nil)
      raise Error.new(status) unless status.zero?

      ObjectSpace.define_finalizer(self, Kernel.releaser(@struct.to_ptr.to_i))
    end

    def self.releaser(address)
      proc do
        C.GpuKernel_clear(address)
        Fiddle.free(address)
      end
    end

    # Queues enough threads for `n` work items. Arguments are arrays (their buffer) and
    # numbers.
    def call(n, *values)
      kept = values.each_with_index.map do |value, i|
        next value.struct.data if @types[i] == BUFFER

        Fiddle::Pointer[[value].pack(PACK.fetch(@types[i]))]
      end
      blocks = [0].pack("Q")
      threads = [0].pack("Q")
      GpuArray.check(C.GpuKernel_sched(@struct, n, blocks, threads))
      GpuArray.check(C.GpuKernel_call(@struct, 1, blocks, threads, 0,
                                      kept.map(&:to_i).pack("Q*")))
    end
  end
end
