// Products with reduced operands and every out_sharding: where typing accepts the function, it
// accepts its gradient, and both have the numbers of one device.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <numeric>

#include "suite/random_program.h"

namespace tessera::suite::reduced_gradients_test {
namespace {

using Operands = std::vector<Array>;
using Sizes = std::vector<int64_t>;

struct Product {
  const char* name;
  std::vector<Sizes> operands;
  Sizes result;
  std::function<Array(const Operands&, const DotOptions&)> run;
};

const Product kProducts[] = {
    {"matmul",
     {{8, 4}, {4, 16}},
     {8, 16},
     [](const Operands& in, const DotOptions& o) { return matmul(in[0], in[1], o); }},
    {"rows",
     {{8, 4, 16}, {16, 4}},
     {8, 4, 4},
     [](const Operands& in, const DotOptions& o) { return matmul(in[0], in[1], o); }},
    {"two_contracted",
     {{8, 4, 16}, {4, 16, 8}},
     {8, 8},
     [](const Operands& in, const DotOptions& o) {
       return einsum("bhd,hde->be", {in[0], in[1]}, {.out_sharding = o.out_sharding});
     }},
    {"batch",
     {{4, 8, 4}, {4, 4, 8}},
     {4, 8, 8},
     [](const Operands& in, const DotOptions& o) { return matmul(in[0], in[1], o); }},
    {"convolution",
     {{4, 4, 8}, {4, 4, 3}},
     {4, 4, 8},
     [](const Operands& in, const DotOptions& o) { return conv(in[0], in[1], {1}, "SAME", o); }},
    {"ragged_dot",
     {{8, 4}, {4, 4, 8}},
     {8, 8},
     [](const Operands& in, const DotOptions& o) {
       return ragged_dot(in[0], in[1], array({3, 0, 4, 1}), o);
     }},
};

// Returns a spec with each axis of the mesh on a dim that it divides, in the set, or nowhere.
PartitionSpec Draw(Dice& dice, const Sizes& shape, bool reduced, bool unreduced) {
  std::vector<std::vector<AxisRef>> axes(shape.size());
  std::vector<AxisRef> set;
  std::vector<int64_t> left(shape.begin(), shape.end());
  for (const char* name : {"x", "y"}) {
    const auto at = static_cast<size_t>(dice.Below(static_cast<int>(shape.size()) + 2));
    if (at < shape.size() && left[at] % 2 == 0) {
      axes[at].insert(dice.Below(2) ? axes[at].begin() : axes[at].end(), AxisRef(name));
      left[at] /= 2;
    } else if (at == shape.size() && (reduced || unreduced)) {
      set.emplace_back(name);
    }
  }
  std::vector<DimSharding> dims;
  for (std::vector<AxisRef>& list : axes) dims.emplace_back(std::move(list));
  const PartitionSpec spec(std::move(dims));
  return set.empty() ? spec : reduced ? spec.reduced(set) : spec.unreduced(set);
}

Array Numbers(const Sizes& shape, Dice& dice) {
  std::vector<double> data(
      std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>()));
  for (double& x : data) x = (dice.Below(41) - 20) / 16.0;
  return array(data, {.dtype = f64}).reshape(Shape(shape));
}

PartitionSpec Replicated(size_t rank) { return PartitionSpec(std::vector<DimSharding>(rank)); }

Array Loss(const Product& product, const Operands& in, const DotOptions& options) {
  Array y = product.run(in, options);
  if (options.out_sharding && !options.out_sharding->unreduced_axes().empty())
    y = reshard(y, Replicated(product.result.size()));
  return sum(sin(y));
}

class ReducedGradients : public testing::TestWithParam<size_t> {};

TEST_P(ReducedGradients, AreAcceptedWhereTheFunctionIs) {
  const Product& product = kProducts[GetParam()];
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  int accepted = 0;
  for (int seed = 0; seed < 400; ++seed) {
    Dice dice(seed);
    Operands whole, in;
    std::string text;
    for (const Sizes& shape : product.operands) {
      whole.push_back(Numbers(shape, dice));
      const PartitionSpec spec = Draw(dice, shape, /*reduced=*/true, /*unreduced=*/false);
      in.push_back(reshard(whole.back(), spec));
      text += spec.text() + " ";
    }
    const DotOptions options{.out_sharding = Draw(dice, product.result, false, true)};
    text += "-> " + options.out_sharding->text();
    const auto value = [&](const Operands& x) { return Loss(product, x, options); };
    try {
      (void)jit(value).lower(in);
    } catch (const Error&) {
      continue;
    }
    ++accepted;
    Operands got;
    try {
      got = grad(value)(in);
    } catch (const Error& e) {
      ADD_FAILURE() << text << "\n" << e.what();
      continue;
    }
    const Operands want = grad([&](const Operands& x) { return Loss(product, x, {}); })(whole);
    for (size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(type_of(got[k]).spec().unreduced_axes(), type_of(in[k]).spec().reduced_axes());
      EXPECT_TRUE(allclose(reshard(got[k], Replicated(product.operands[k].size())), want[k],
                           {.rtol = 1e-9, .atol = 1e-9})
                      .item<bool>())
          << text << " operand " << k;
    }
  }
  EXPECT_GT(accepted, 100);
}

INSTANTIATE_TEST_SUITE_P(Products, ReducedGradients,
                         testing::Range<size_t>(0, std::size(kProducts)),
                         [](const auto& info) { return kProducts[info.param].name; });

}  // namespace
}  // namespace tessera::suite::reduced_gradients_test
