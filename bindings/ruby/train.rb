# Training from Ruby with a step that was compiled in Python and saved.
#
#   python ../train.py train.plan cuda0
#   ruby train.rb train.plan cuda0
require_relative "gpuarray"

ROWS = 64
COLUMNS = 6
STEPS = 40

# Rows of numbers from -1 to 1, labelled by which half of the row has more.
def data
  state = 1
  numbers = ::Array.new(ROWS) do
    ::Array.new(COLUMNS) { (state = (75 * state + 74) % 65_537) % 256 }
  end
  labels = numbers.map { |row| row.first(3).sum > row.last(3).sum ? 1.0 : 0.0 }
  [numbers.map { |row| row.map { |n| (n - 128) / 128.0 } }, labels]
end

context = GpuArray::Context.new(ARGV.fetch(1, ""))
train = GpuArray::Function.new(context, ARGV.fetch(0))
abort "not such a step" unless train.inputs.map(&:name) == %w[x y]
x, y = data.map { |values| context.array(values) }
STEPS.times do |i|
  cost = train.call(x, y).first.to_a
  puts format("step %d: %.9g", i, cost) if (i % 10).zero? || i == STEPS - 1
end
puts "w: #{train['w'].to_a.map { |weight| format('%.9g', weight) }.join(' ')}"
