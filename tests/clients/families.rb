# Runs saved functions from Ruby and compares what they give with what NumPy wrote.
#
#   ruby families.rb FOLDER DEVICE...
#
# tests/family_files.py tells what the folder has. The last line says how many results
# and values were right.
require_relative "../../bindings/ruby/gpuarray"

# An array as the folder describes it; complex numbers are pairs in the data.
Described = Struct.new(:type, :shape, :numbers)

# One run through the calls, on a device.
class Client
  attr_reader :right

  def initialize(folder, device)
    @folder = folder
    @data = File.binread("#{folder}/data").unpack("d*")
    @context = GpuArray::Context.new(device)
    @right = 0
    @given = @results = nil
  end

  def run
    File.foreach("#{@folder}/calls") do |line|
      word, *words = line.split
      send(word, *words)
    end
    check_ended
    self
  end

  private

  def function(file, rtol, atol, *name)
    check_ended
    @name = name.join(" ")
    @rtol = rtol.to_f
    @atol = atol.to_f
    @function = GpuArray::Function.new(@context, "#{@folder}/#{file}")
  end

  def call
    check_ended
    @given = []
    @results = nil
  end

  def given(type, *words)
    @given << case type
              when "int" then words.first.to_i
              when "none" then nil
              else to_device(described(type, *words))
              end
  end

  def result(*words) = compare(results.shift, described(*words))

  def value(name, *words)
    results
    compare(@function[name], described(*words))
  end

  # Of the call, which is made when they are first asked for.
  def results = @results ||= @function.call(*@given)

  def check_ended
    abort "#{@name}: more results than NumPy's" unless @given.nil? || results.empty?
    @given = nil
  end

  def described(type, offset, _axes, *shape)
    shape = shape.map(&:to_i)
    size = shape.inject(1, :*)
    return Described.new(type.to_sym, shape, @data[offset.to_i, size]) unless
      type.start_with?("complex")

    pairs = @data[offset.to_i, 2 * size].each_slice(2)
    Described.new(type.to_sym, shape, pairs.map { |re, im| Complex(re, im) })
  end

  def to_device(wanted)
    whole = /\A(bool|u?int\d+)\z/.match?(wanted.type)
    numbers = whole ? wanted.numbers.map(&:to_i) : wanted.numbers
    @context.array(numbers, type: wanted.type, shape: wanted.shape)
  end

  def compare(array, wanted)
    unless array && array.type == wanted.type && array.shape == wanted.shape
      abort "#{@name}: a result of another type or shape, or none"
    end
    found = array.flat
    found = found.map { |n| n ? 1 : 0 } if array.type == :bool
    found.zip(wanted.numbers) do |x, y|
      abort "#{@name}: #{x}, NumPy has #{y}" unless close?(x, y)
    end
    @right += 1
  end

  def close?(found, wanted)
    return true if found == wanted
    return close?(found.real, wanted.real) && close?(found.imag, wanted.imag) if
      wanted.is_a?(Complex)

    found = found.to_f
    (found.nan? && wanted.nan?) || (found - wanted).abs <= @atol + @rtol * wanted.abs
  end
end

folder, *devices = ARGV
puts devices.sum { |device| Client.new(folder, device).run.right }
