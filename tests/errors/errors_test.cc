// Sharding errors: message, label, line, and fixes. Each fix of each error is applied, and the
// program built again: it must build, and move the bytes that the fix announced.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>

#include "golden.h"

namespace tessera::errors_test {
namespace {

// The edit that is applied to a case. The first run applies none.
struct Edit {
  std::optional<Fix> fix;
  // Operand k, resharded if the edit says so.
  Array operator()(int k, const Array& x) const {
    return fix && fix->operand == k ? reshard(x, fix->spec) : x;
  }
  // The op's out_sharding, if the edit gives one.
  std::optional<PartitionSpec> out(std::optional<PartitionSpec> own = {}) const {
    return fix && fix->operand == -1 ? fix->spec : own;
  }
};

struct Case {
  const char* name;
  const char* label;
  std::vector<const char*> arguments;
  std::function<Array(const Edit&, const std::vector<Array>&)> program;
};

// Returns x[rows], or the call that an edit offers.
Array RowOf(const Edit& e, const Array& x, Index rows) {
  if (e.out()) return x.at(rows).get({.out_sharding = e.out()});
  return e(0, x)[rows];
}

const std::vector<Case>& Cases() {
  using A = const std::vector<Array>&;
  using E = const Edit&;
  static const std::vector<Case> cases = {
      {"add_axis_twice",
       "add.C3",
       {"i32[4@X,4]", "i32[4,4@X]"},
       [](E e, A a) { return add(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"mul_disagrees",
       "mul.C4",
       {"f32[8@X,4]", "f32[8@Y,4]"},
       [](E e, A a) { return mul(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"add_prefix",
       "add.C4",
       {"f32[8@X]", "f32[8@(X,Y)]"},
       [](E e, A a) { return add(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"matmul_ambiguous",
       "dot_general.C5",
       {"f32[8@X,16@Y]", "f32[16@Y,4]"},
       [](E e, A a) { return matmul(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"matmul_contracting_differ",
       "dot_general.C5",
       {"f32[8,16@X]", "f32[16@Y,8]"},
       [](E e, A a) { return matmul(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"matmul_result_twice",
       "dot_general.C3",
       {"f32[8@X,4]", "f32[4,8@X]"},
       [](E e, A a) { return matmul(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"dot_unreduced_operand",
       "dot_general.C8",
       {"f32[8,4]{U:X}", "f32[4,8]"},
       [](E e, A a) {
         return dot_general(e(0, a[0]), e(1, a[1]), {{1}, {0}}, {.out_sharding = e.out()});
       }},
      {"dot_unreduced_out",
       "dot_general.C8",
       {"f32[8,4@X]", "f32[4,8]"},
       [](E e, A a) {
         return dot_general(e(0, a[0]), e(1, a[1]), {{1}, {0}},
                            {.out_sharding = e.out(P(None, None).unreduced("X"))});
       }},
      {"add_unreduced_one_side",
       "add.C8",
       {"f32[8]{U:X}", "f32[8]"},
       [](E e, A a) { return add(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"mul_unreduced_both",
       "mul.C8",
       {"f32[8]{U:X}", "f32[8]{U:X}"},
       [](E e, A a) { return mul(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"mul_unreduced_by_replicated",
       "mul.C8",
       {"f32[8]{U:X}", "f32[8]"},
       [](E e, A a) { return mul(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"exp_unreduced", "exp.C8", {"f32[8]{U:X}"}, [](E e, A a) { return exp(e(0, a[0])); }},
      {"add_reduced_beside_replicated",
       "add.C9",
       {"f32[8]{R:X}", "f32[8]"},
       [](E e, A a) { return add(e(0, a[0]), e(1, a[1]), {.out_sharding = e.out()}); }},
      {"maximum_reduced_beside_sharded",
       "maximum.C9",
       {"f32[8]{R:X}", "f32[8@X]"},
       [](E e, A a) { return maximum(e(0, a[0]), e(1, a[1])); }},
      {"maximum_reduced_beside_sharded_rows",
       "maximum.C9",
       {"f32[8@X,4]", "f32[4]{R:X}"},
       [](E e, A a) { return maximum(e(0, a[0]), e(1, a[1])); }},
      {"where_reduced_beside_replicated",
       "select_n.C9",
       {"f32[4]{R:X}", "f32[8,1]"},
       [](E e, A a) { return where(a[1] > 0.f, e(1, a[0]), e(2, a[1])); }},
      {"reshape_minor_sharded",
       "reshape.C6",
       {"f32[4,8@X]"},
       [](E e, A a) { return reshape(e(0, a[0]), {32}, {.out_sharding = e.out()}); }},
      {"reshape_no_factor",
       "reshape.C6",
       {"f32[6@X,4]"},
       [](E e, A a) {
         return reshape(e(0, a[0]), {3, 2, 4}, {.out_sharding = e.out()});
       }},
      {"slice_uneven",
       "slice.C7",
       {"f32[8@X,4]"},
       [](E e, A a) {
         return slice(e(0, a[0]), {0, 0}, {3, 4});
       }},
      {"index_sharded_dim", "index.C7", {"f32[8@X,4]"}, [](E e, A a) { return RowOf(e, a[0], 2); }},
      {"pad_uneven",
       "pad.C7",
       {"f32[8@X]"},
       [](E e, A a) {
         return pad(e(0, a[0]), {{1, e.out() ? 1 : 0}});
       }},
      {"pad_sharded_rows",
       "pad.C7",
       {"f32[8@X,4@Y]"},
       [](E e, A a) {
         return pad(e(0, a[0]), {{1, e.out() ? 1 : 0}, {0, 0}});
       }},
      {"index_few_rows",
       "index.C7",
       {"f32[64@X,8@Y]"},
       [](E e, A a) { return RowOf(e, a[0], Slice(1, 64)); }},
      {"index_one_row", "index.C7", {"f32[64@X,8@Y]"}, [](E e, A a) { return RowOf(e, a[0], 3); }},
      {"concatenate_uneven",
       "concatenate.C4",
       {"f32[6@X,4@Y]", "f32[3,4@Y]"},
       [](E e, A a) {
         return concatenate({e(0, a[0]), e(1, a[1])}, 0);
       }},
      {"split_uneven",
       "slice.C7",
       {"f32[16@X,4]"},
       [](E e, A a) {
         return split(e(0, a[0]), {5, 11})[0];
       }},
      {"tile_sharded",
       "tile.C6",
       {"f32[8@X,4@Y]"},
       [](E e, A a) {
         return tile(e(0, a[0]), {2, 1});
       }},
      {"broadcast_to_elsewhere",
       "broadcast_to.C4",
       {"f32[4@X,4@Y]"},
       [](E e, A a) {
         return broadcast_to(e(0, a[0]), {2, 4, 4}, {.out_sharding = e.out(P(None, None, "Y"))});
       }},
      {"cumsum_sharded",
       "cumsum.C5",
       {"f32[8@X,4@Y]"},
       [](E e, A a) { return cumsum(e(0, a[0]), 0, {.out_sharding = e.out()}); }},
      {"sort_sharded",
       "sort.C5",
       {"f32[8@X,4@Y]"},
       [](E e, A a) { return sort(e(0, a[0]), 1, {.out_sharding = e.out()}); }},
      {"top_k_sharded",
       "top_k.C6",
       {"f32[8,4@Y]"},
       [](E e, A a) { return top_k(e(0, a[0]), 2, {.out_sharding = e.out()}).values; }},
      {"tridiagonal_sharded",
       "tridiagonal_solve.C6",
       {"f32[4@X,8]", "f32[4@X,8@Y,2]"},
       [](E e, A a) { return tridiagonal_solve(a[0], a[0], a[0], e(3, a[1])); }},
      {"concatenate_differ",
       "concatenate.C4",
       {"f32[4@X,4]", "f32[4,4]"},
       [](E e, A a) {
         return concatenate({e(0, a[0]), e(1, a[1])}, 0);
       }},
      {"select_differ",
       "select_n.C4",
       {"bool[8]", "f32[8@X]", "f32[8@Y]"},
       [](E e, A a) {
         return select_n(e(0, a[0]), {e(1, a[1]), e(2, a[2])}, {.out_sharding = e.out()});
       }},
      {"update_slice_differ",
       "dynamic_update_slice.C4",
       {"f32[8@X]", "f32[4]"},
       [](E e, A a) { return dynamic_update_slice(e(0, a[0]), e(1, a[1]), {Array(0)}); }},
      {"take_sharded_dim",
       "gather.C5",
       {"f32[8@X,4]", "i32[6]"},
       [](E e, A a) { return take(e(0, a[0]), e(1, a[1]), 0, {.out_sharding = e.out()}); }},
      {"index_looked_up_dim",
       "gather.C5",
       {"f32[8@X,4]", "i32[6]"},
       [](E e, A a) {
         return e.out() ? e(0, a[0]).at({a[1], All}).get({.out_sharding = e.out()})
                        : e(0, a[0])[{a[1], All}];
       }},
      {"index_cut_beside_arrays",
       "at.get.C5",
       {"f32[8@X,4]", "i32[6]"},
       [](E e, A a) {
         return e(0, a[0]).at({Slice(0, 4), a[1]}).get({.out_sharding = e.out()});
       }},
      {"gather_sharded_index_vectors",
       "gather.C5",
       {"f32[8,4]", "i32[6,2@X]"},
       [](E e, A a) {
         return gather(e(0, a[0]), e(1, a[1]), {.collapsed = {0, 1}, .start = {0, 1}}, {1, 1},
                       {.out_sharding = e.out()});
       }},
      {"at_add_sharded_updates",
       "scatter_add.C5",
       {"f32[8,4]", "i32[6@X]", "f32[6@X,4]"},
       [](E e, A a) {
         return e(0, a[0]).at({a[1], All}).add(e(2, a[2]), {.out_sharding = e.out()});
       }},
      {"scatter_unreduced_alone",
       "scatter_add.C8",
       {"f32[8,4]", "i32[6,1]", "f32[6,4]{U:X}"},
       [](E e, A a) {
         return scatter_add(e(0, a[0]), e(1, a[1]), e(2, a[2]),
                            {.window = {1}, .inserted = {0}, .start = {0}},
                            {.out_sharding = e.out()});
       }},
      {"reduce_sum_unreduced_elsewhere",
       "reduce_sum.C8",
       {"f32[8@X,4]"},
       [](E e, A a) {
         return reduce_sum(e(0, a[0]), 0, {.out_sharding = e.out(P(None).unreduced("Y"))});
       }},
  };
  return cases;
}

class ShardingErrors : public testing::TestWithParam<size_t> {};

TEST_P(ShardingErrors, NameTheLineAndOfferFixesThatWork) {
  const Case& c = Cases()[GetParam()];
  MeshScope scope(abstract_mesh({{"X", 2}, {"Y", 4}}));
  std::vector<Array> arguments;
  for (const char* type : c.arguments) arguments.push_back(abstract_array(type));
  std::vector<Fix> fixes;
  try {
    Array y = c.program({}, arguments);
    FAIL() << c.name << " was accepted as " << type_of(y);
  } catch (const ShardingError& e) {
    EXPECT_EQ(e.label(), c.label) << e.what();
    EXPECT_THAT(e.where(), testing::StartsWith("errors_test.cc:"));
    ExpectGolden(c.name, e.what());
    fixes = e.fixes();
  }
  EXPECT_FALSE(fixes.empty());
  for (const Fix& fix : fixes) {
    SCOPED_TRACE(fix.text);
    Edit edit{fix};
    auto call = [&](std::vector<Array> a) { return c.program(fix.auto_axes ? Edit{} : edit, a); };
    Lowered lowered = fix.auto_axes ? auto_axes(call, {.out_sharding = fix.spec}).lower(arguments)
                                    : jit(call).lower(arguments);
    // Less if the program reads one of several results; else prices_test.cc wants equal numbers.
    EXPECT_LE(lowered.comm().bytes(), fix.bytes) << lowered.comm();
  }
}

TEST(ShardingErrors, FixesSayWhatGradientsThenSend) {
  MeshScope scope(abstract_mesh({{"X", 2}, {"Y", 4}}));
  const Array x = abstract_array("f32[8@X,4]"), b = abstract_array("f32[4]{R:X}");
  std::vector<Fix> fixes;
  try {
    maximum(x, b);
  } catch (const ShardingError& e) {
    fixes = e.fixes();
  }
  ASSERT_FALSE(fixes.empty());
  for (const Fix& fix : fixes) {
    const Edit edit{fix};
    const auto loss = [&](Array v, Array w) { return sum(maximum(edit(0, w), edit(1, v))); };
    const CommReport comm = jit(grad(loss)).lower(b, x).comm();
    const bool sends = fix.text.find("in each gradient 16 B: all_reduce over X") != fix.text.npos;
    EXPECT_EQ(comm.bytes(), fix.bytes + (sends ? 16 : 0)) << fix.text << "\n" << comm;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShardingErrors, testing::Range(size_t{0}, Cases().size()),
                         [](const auto& info) { return Cases()[info.param].name; });

}  // namespace
}  // namespace tessera::errors_test
