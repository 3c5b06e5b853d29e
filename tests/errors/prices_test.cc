// The bytes that a fix states are those that the program sends once the fix is applied: of ops with
// refused operands in layouts of all kinds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>

namespace tessera::prices_test {
namespace {

using Arrays = std::vector<Array>;

// The edit of a fix, or none.
struct Edit {
  std::optional<Fix> fix = {};
  Array operator()(int k, const Array& x) const {
    return fix && fix->operand == k ? reshard(x, fix->spec) : x;
  }
  OutOptions out() const {
    if (fix && fix->operand == -1) return {.out_sharding = fix->spec};
    return {};
  }
};

struct Operation {
  const char* name;
  std::vector<std::vector<int64_t>> shapes;
  std::function<Array(const Edit&, const Arrays&)> call;
  std::vector<const char*> dtypes = {"f32", "f32", "f32"};
};

const std::vector<Operation>& Operations() {
  using E = const Edit&;
  using A = const Arrays&;
  static const std::vector<Operation> operations = {
      {"add", {{8}, {8}}, [](E e, A a) { return add(e(0, a[0]), e(1, a[1]), e.out()); }},
      {"maximum",
       {{8, 16}, {8, 16}},
       [](E e, A a) { return maximum(e(0, a[0]), e(1, a[1]), e.out()); }},
      {"mul_of_rows",
       {{8, 16}, {16}},
       [](E e, A a) { return mul(e(0, a[0]), e(1, a[1]), e.out()); }},
      {"sub_of_columns",
       {{8, 1}, {8, 16}},
       [](E e, A a) { return sub(e(0, a[0]), e(1, a[1]), e.out()); }},
      {"select_n",
       {{8, 16}, {8, 16}, {8, 16}},
       [](E e, A a) {
         return select_n(e(0, a[0]), {e(1, a[1]), e(2, a[2])}, e.out());
       },
       {"bool", "f32", "f32"}},
      {"where",
       {{8, 16}, {8, 16}, {16}},
       [](E e, A a) { return where(e(0, a[0]), e(1, a[1]), e(2, a[2]), e.out()); },
       {"bool", "f32", "f32"}},
      {"matmul",
       {{8, 16}, {16, 8}},
       [](E e, A a) {
         return matmul(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out().out_sharding});
       }},
      {"dot_general",
       {{8, 8, 8}, {8, 8, 8}},
       [](E e, A a) {
         return dot_general(e(0, a[0]), e(1, a[1]), {{2}, {1}, {0}, {0}},
                            {.out_sharding = e.out().out_sharding});
       }},
      {"concatenate",
       {{8, 16}, {8, 16}},
       [](E e, A a) {
         return concatenate({e(0, a[0]), e(1, a[1])}, 0);
       }},
      {"dynamic_update_slice",
       {{8, 16}, {4, 16}},
       [](E e, A a) {
         return dynamic_update_slice(e(0, a[0]), e(1, a[1]), {Array(0), Array(0)});
       }},
      {"cumsum",
       {{8, 16}},
       [](E e, A a) { return cumsum(e(0, a[0]), 0, {.out_sharding = e.out().out_sharding}); }},
      {"reshape",
       {{8, 16}},
       [](E e, A a) { return reshape(e(0, a[0]), {128}, {.out_sharding = e.out().out_sharding}); }},
      {"take",
       {{8, 16}, {8}},
       [](E e, A a) {
         return take(e(0, a[0]), e(1, a[1]), 0, {.out_sharding = e.out().out_sharding});
       },
       {"f32", "i32"}},
      {"convolution",
       {{8, 8, 8}, {8, 8, 4}},
       [](E e, A a) {
         return conv_general_dilated(e(0, a[0]), e(1, a[1]), {1}, "SAME",
                                     {.out_sharding = e.out().out_sharding});
       }},
  };
  return operations;
}

// Returns the types of this shape in which X and Y shard dims, or are unreduced, reduced or unused.
std::vector<std::string> TypesOf(const std::vector<int64_t>& shape, const std::string& dtype) {
  enum Use : size_t { kUnused, kUnreduced, kReduced, kUses };
  const size_t rank = shape.size(), uses = rank + (dtype == "f32" ? kUses : kUnreduced);
  std::vector<std::string> types;
  for (size_t x = 0; x < uses; ++x)
    for (size_t y = 0; y < uses; ++y) {
      std::vector<std::vector<std::string>> of(rank + kUses);
      of[x].emplace_back("X");
      of[y].emplace_back("Y");
      std::vector<std::string> dims, sets;
      for (size_t d = 0; d < rank; ++d)
        dims.push_back(of[d].empty() ? fmt::format("{}", shape[d])
                                     : fmt::format("{}@({})", shape[d], fmt::join(of[d], ",")));
      for (const auto& [use, text] : {std::pair(kUnreduced, "U"), std::pair(kReduced, "R")})
        if (!of[rank + use].empty())
          sets.push_back(fmt::format("{}:{}", text, fmt::join(of[rank + use], ",")));
      types.push_back(fmt::format("{}[{}]", dtype, fmt::join(dims, ",")));
      if (!sets.empty()) types.back() += fmt::format("{{{}}}", fmt::join(sets, "; "));
    }
  return types;
}

// Returns the operands in choice number `choice` of their types; nothing if one is no type.
std::optional<Arrays> OperandsOf(const Operation& operation, size_t choice) {
  Arrays operands;
  for (size_t k = 0; k < operation.shapes.size(); ++k) {
    const std::vector<std::string> types = TypesOf(operation.shapes[k], operation.dtypes[k]);
    try {
      operands.push_back(abstract_array(types[choice % types.size()]));
    } catch (const Error&) {
      return std::nullopt;  // dims that do not divide
    }
    choice /= types.size();
  }
  return operands;
}

std::vector<Fix> FixesOf(const Operation& operation, const Arrays& operands) {
  try {
    operation.call({}, operands);
  } catch (const ShardingError& e) {
    return e.fixes();
  }
  return {};
}

class Prices : public testing::TestWithParam<size_t> {};

TEST_P(Prices, AreTheBytesThatAreSent) {
  const Operation& operation = Operations()[GetParam()];
  MeshScope scope(abstract_mesh({{"X", 2}, {"Y", 4}}));
  size_t choices = 1;
  for (size_t k = 0; k < operation.shapes.size(); ++k)
    choices *= TypesOf(operation.shapes[k], operation.dtypes[k]).size();
  // Odd, and no divisor of the numbers of types.
  const size_t step = choices / 300 * 2 + 1;
  int tried = 0;
  for (size_t choice = 0; choice < choices; choice += step) {
    const std::optional<Arrays> operands = OperandsOf(operation, choice);
    if (!operands) continue;
    for (const Fix& fix : FixesOf(operation, *operands)) {
      const Edit edit = fix.auto_axes ? Edit{} : Edit{fix};
      const auto call = [&](Arrays a) { return operation.call(edit, a); };
      const Lowered lowered = fix.auto_axes
                                  ? auto_axes(call, {.out_sharding = fix.spec}).lower(*operands)
                                  : jit(call).lower(*operands);
      EXPECT_EQ(lowered.comm().bytes(), fix.bytes)
          << fix.text << " of " << type_of((*operands)[0]) << "\n"
          << lowered.comm();
      ++tried;
    }
  }
  EXPECT_GT(tried, 4);
}

INSTANTIATE_TEST_SUITE_P(All, Prices, testing::Range(size_t{0}, Operations().size()),
                         [](const auto& info) { return Operations()[info.param].name; });

}  // namespace
}  // namespace tessera::prices_test
