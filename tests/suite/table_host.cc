// Sample table: results that a host function computes.
#include "base/at.h"
#include "ops/pure_callback.h"
#include "suite/table.h"

namespace tessera::suite {
namespace {

using base::Shape;

// Doubles the elements of the first operand, and adds the sum of the other operands' elements.
class Sums final : public ir::HostFunction {
 public:
  void Run(const ir::HostArguments& arguments) const override {
    const auto floats = [&](size_t k) {
      const ir::HostArgument& x = arguments.values[k];
      const auto* begin = reinterpret_cast<const float*>(x.shards[0]);
      return std::vector<float>(begin, begin + x.place->elements());
    };
    float sum = 0;
    for (size_t k = 1; k < arguments.values.size(); ++k)
      for (float v : floats(k)) sum += v;
    const std::vector<float> first = floats(0);
    for (const ir::HostResult& result : arguments.results)
      for (size_t i = 0; i < first.size(); ++i)
        reinterpret_cast<float*>(result.data)[i] = 2 * first[i] + sum;
  }
};

struct CallbackRow {
  std::vector<Shape> operands;
  Shape result;
  int64_t lanes = 0;
  std::vector<std::vector<int64_t>> lanes_of = {};
  bool truth = false;
};

}  // namespace

void AddHost(Table& table) {
  static const ir::HostFunctionRef sums{std::make_shared<const Sums>()};
  const std::vector<CallbackRow> rows = {
      {{{8, 24}, {3}}, {8, 24}, 0, {{}, {}}},
      {{{4, 4}}, {4, 4}, 0, {{}}, true},
      {{{24, 4, 3}, {5}}, {4, 3}, 1, {{0}, {}}},
      {{{4, 4}, {4}}, {4}, 1, {{0}, {0}}, true},
      {{{6, 8, 2}, {8, 3}}, {2}, 2, {{0, 1}, {1}}},
      {{{7, 8}, {13}}, {8}, 2, {{1}, {0}}},
      {{{0, 8}}, {8}, 1, {{0}}},
  };
  for (const CallbackRow& row : rows) {
    std::vector<SampleOperand> operands;
    for (const Shape& shape : row.operands) operands.push_back({shape, f32, Whole(-9, 9)});
    ir::PureCallParams params{sums, {ir::Type::Get(row.result, f32)}, 0, row.lanes, row.lanes_of};
    Add(table, ops::PureCallbackOp(), ir::MakeParams(std::move(params)), std::move(operands))
        .truth = row.truth;
  }
}

}  // namespace tessera::suite
