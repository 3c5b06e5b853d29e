// Every op inside shard_map, over all axes of a mesh and over one of two, with data of each
// device's own: values, gradients and batching, against the op on one device at a time.
#include <gtest/gtest.h>

#include <map>

#include "ops/batching.h"
#include "suite/compare.h"
#include "suite/lanes.h"
#include "suite/placements.h"
#include "suite/smooth.h"
#include "suite/table.h"
#include "tessera/batching.h"
#include "trace/scopes.h"

namespace tessera::suite::manual_ops_test {
namespace {

using ir::HostTensor;
using sharding::MeshDef;
using sharding::TensorSharding;

// Ops without rows, with the reasons.
const std::map<std::string_view, std::string_view>& Unlisted() {
  static const auto* ops = [] {
    auto* table = new std::map<std::string_view, std::string_view>;
    const auto add = [&](std::string_view reason, std::vector<std::string_view> names) {
      for (std::string_view name : names) table->emplace(name, reason);
    };
    add("a collective or cast, which has no plain version: shard_map_test.cc, "
        "random_manual_test.cc",
        {"assume_invariant", "axis_index", "exchange_shards", "gather_shards", "pcast", "pmax",
         "pmin", "ppermute", "psum", "psum_scatter", "slice_shard"});
    add("the border itself: every row passes it", {"full_to_shard", "shard_to_full"});
    add("has regions, which ops are in: random_manual_test.cc",
        {"checkpoint", "cond", "custom_jvp", "custom_linear", "custom_vjp", "scan", "switch_case",
         "while_loop"});
    add("has regions: tests/unit/api/linalg_test.cc", {"custom_linear_solve"});
    add("has no result: callback_test.cc", {"debug_callback", "ordered_callback"});
    add("about Auto axes only: shard_map_test.cc", {"implied_reshard", "sharding_constraint"});
    add("made by lowering, of the moves above",
        {"all_gather", "all_reduce", "all_slice", "all_to_all", "collective_permute",
         "copy_to_each", "halo_exchange", "mask_padding", "pad_to_shards", "reduce_scatter",
         "replicated_to_unreduced", "seen_as", "sharded_to_unreduced", "trim"});
    return table;
  }();
  return *ops;
}

TEST(ManualCoverage, EveryOpIsTriedOrSaysWhyNot) {
  ops::Install();
  for (const ir::OpDef* op : ir::AllOps())
    EXPECT_EQ(SamplesOf(*op).empty(), Unlisted().count(op->name) == 1)
        << op->name << ": has samples, or a reason why it has none, and not both";
  for (const auto& [name, reason] : Unlisted()) EXPECT_NE(ir::FindOp(name), nullptr) << name;
}

// One sample on a mesh whose axis x, or whose every axis, is Manual inside.
struct ManualTry : Lanes {
  const MeshDef* mesh;
  AxisNames axes;                      // the Manual axes
  sharding::AxisList over;             // the same as a list
  std::vector<const ir::Type*> types;  // of the operands in one lane, on the mesh

  ManualTry(const Sample& s, std::vector<bool> m, const std::vector<HostTensor>& one,
            const MeshDef* on, AxisNames manual)
      : Lanes(s, std::move(m), one), mesh(on), axes(std::move(manual)) {
    for (const std::string& name : axes.names())
      over.push_back(sharding::WholeAxis(*mesh, mesh->Find(name)));
    for (const SampleOperand& o : sample.operands)
      types.push_back(ir::Type::Get(
          o.shape, o.dtype,
          sharding::Replicated(mesh->WithoutModes(), static_cast<int>(o.shape.size()))));
  }
  bool is_auto() const { return mesh->all_mode(AxisMode::Auto); }
  PartitionSpec ByDevice() const { return P(DimSharding(AxisSet(axes).axes())); }
  const ir::Type* InLanes(const ir::Type* type, int64_t lanes = kLanes) const {
    return ops::WithDim(type, {.size = lanes, .mesh = type->mesh(), .axes = over});
  }
  ShardMapOptions Options(const Specs& results) const {
    std::vector<Specs> in;
    for (bool m : mapped) in.emplace_back(m ? ByDevice() : P());
    return {
        .in_specs = Specs(std::vector{Specs(std::move(in))}), .out_specs = results, .axes = axes};
  }
  // Returns options for a function of operands and cotangents that returns gradients.
  ShardMapOptions GradientOptions() const {
    std::vector<Specs> each;
    for (bool m : mapped) each.emplace_back(m ? ByDevice() : P());
    const Specs all(each);
    return {.in_specs = {all, ByDevice()}, .out_specs = all, .axes = axes};
  }
  std::vector<Array> Placed() const {
    std::vector<Array> arrays;
    for (size_t i = 0; i < data.size(); ++i)
      arrays.push_back(Place(data[i], mapped[i] ? InLanes(types[i]) : types[i], mesh));
    return arrays;
  }
  // Applies the op to the lanes of a device.
  std::vector<Array> OfLanes(const std::vector<Array>& xs) const {
    std::vector<MapDims> dims;
    for (bool m : mapped) dims.push_back(m ? MapDims(0) : MapDims(None));
    return vmap([this](const std::vector<Array>& one) { return OfOne(one); },
                {.in_dims = MapDims(std::vector{MapDims(std::move(dims))}),
                 .size = kLanes / sharding::SizeOf(over)})(xs);
  }
  // Applies the op to the only lane of a device.
  std::vector<Array> OfItsLane(std::vector<Array> xs) const {
    for (size_t i = 0; i < xs.size(); ++i)
      if (mapped[i]) xs[i] = squeeze(xs[i], 0);
    std::vector<Array> out = OfOne(xs);
    for (Array& x : out) x = expand_dims(x, 0);
    return out;
  }
  std::vector<Array> OfOne(const std::vector<Array>& xs) const {
    Case c{.sample = &sample, .mesh = trace::CurrentMesh()};
    if (sample.op == &ops::kReshard) c.result = xs[0].impl()->type();
    return ApplySmooth(c, xs);
  }
};

// Returns the tensor with its leading dim of lanes split in two.
HostTensor InTwo(HostTensor lanes, bool mapped) {
  if (!mapped) return lanes;
  lanes.shape[0] = 2;
  lanes.shape.insert(lanes.shape.begin() + 1, kLanes / 2);
  return lanes;
}

class ManualOps : public testing::TestWithParam<const ir::OpDef*> {
 protected:
  template <class F>
  static void ForEachTry(const std::vector<int64_t>& sizes, AxisMode mode, const AxisNames& manual,
                         F f) {
    const MeshDef* mesh = MeshOf(sizes);
    if (mode == AxisMode::Auto)
      mesh = mesh->WithModes(std::vector<AxisMode>(sizes.size(), AxisMode::Auto));
    const trace::MeshDefScope scope(mesh);
    for (const Sample* sample : SamplesOf(*GetParam()))
      for (const std::vector<bool>& mapped : LaneChoices(*sample)) {
        ManualTry t(*sample, mapped, MakeData(*sample), mesh, manual);
        SCOPED_TRACE(t.name());
        f(t);
        if (HasFailure()) return;
      }
  }
  // Calls f for layouts of the operands over axis y, at most `most`.
  template <class F>
  static void ForEachPlaced(ManualTry& t, size_t most, F f) {
    std::vector<std::vector<TensorSharding>> placements;
    size_t all = 1;
    for (const SampleOperand& o : t.sample.operands) {
      placements.push_back(Placements(t.mesh->WithoutModes(), o.shape));
      std::erase_if(placements.back(), [&](const TensorSharding& s) {
        for (const sharding::DimAxes& d : s.dims)
          if (sharding::OverlapsAny(d.axes, t.over[0])) return true;
        return false;
      });
      all *= placements.back().size();
    }
    for (size_t k = 0; k < std::min(all, most) && !HasFailure(); ++k) {
      size_t choice = all <= most ? k : k * all / most;
      Case c{.sample = &t.sample, .mesh = t.mesh};
      for (size_t i = 0; i < placements.size(); ++i) {
        const SampleOperand& o = t.sample.operands[i];
        c.operands.push_back(
            ir::Type::Get(o.shape, o.dtype, placements[i][choice % placements[i].size()]));
        choice /= placements[i].size();
      }
      if (t.sample.op == &ops::kReshard) c.result = c.operands[0];
      if (!t.is_auto() && ResultTypes(c).empty()) continue;
      t.types = c.operands;
      SCOPED_TRACE(c.name());
      f(t);
    }
  }
};

TEST_P(ManualOps, OverAllAxes) {
  ForEachTry({2, 2}, AxisMode::Explicit, {"x", "y"}, [](const ManualTry& t) {
    const auto f = shard_map([&](std::vector<Array> xs) { return t.OfItsLane(std::move(xs)); },
                             t.Options(t.ByDevice()));
    const std::vector<HostTensor> want = t.LaneByLane();
    const std::vector<Array> xs = t.Placed();
    EXPECT_THAT(ReadAll(f(xs)), AreClose(want, t.sample.sharded));
    EXPECT_THAT(ReadAll(jit(f)(xs)), AreClose(want, t.sample.sharded)) << "jitted";
  });
}

// Several lanes per device, mapped there, with another axis in a different mode.
TEST_P(ManualOps, OverOneAxisBesideAnExplicitOne) {
  ForEachTry({2, 2}, AxisMode::Explicit, "x", [](ManualTry& t) {
    const std::vector<HostTensor> want = t.LaneByLane();
    ForEachPlaced(t, t.sample.truth ? 6 : 1, [&](const ManualTry& placed) {
      const auto f = shard_map([&](std::vector<Array> xs) { return placed.OfLanes(xs); },
                               placed.Options(placed.ByDevice()));
      EXPECT_THAT(ReadAll(jit(f)(placed.Placed())), AreClose(want, t.sample.sharded));
    });
  });
}

TEST_P(ManualOps, OverOneAxisBesideAnAutoOne) {
  ForEachTry({2, 2}, AxisMode::Auto, "x", [](ManualTry& t) {
    const std::vector<HostTensor> want = t.LaneByLane();
    ForEachPlaced(t, t.sample.truth ? 3 : 1, [&](const ManualTry& placed) {
      const auto f = shard_map([&](std::vector<Array> xs) { return placed.OfLanes(xs); },
                               placed.Options(placed.ByDevice()));
      EXPECT_THAT(ReadAll(jit(f)(placed.Placed())), AreClose(want, t.sample.sharded));
    });
  });
}

// A function around shard_map is mapped over more lanes.
TEST_P(ManualOps, MappedFromOutside) {
  ForEachTry({2}, AxisMode::Explicit, "x", [](const ManualTry& t) {
    if (t.sample.operands.empty()) return;
    const auto f = shard_map([&](std::vector<Array> xs) { return t.OfItsLane(std::move(xs)); },
                             t.Options(t.ByDevice()));
    std::vector<MapDims> dims;
    std::vector<Array> xs;
    for (size_t i = 0; i < t.data.size(); ++i) {
      dims.push_back(t.mapped[i] ? MapDims(0) : MapDims(None));
      const ir::Type* type = t.types[i];
      if (t.mapped[i]) type = ops::WithDim(t.InLanes(type, 2), {.size = 2, .mesh = t.mesh});
      xs.push_back(Place(InTwo(t.data[i], t.mapped[i]), type, t.mesh));
    }
    const auto mapped = vmap(f, {.in_dims = MapDims(std::vector{MapDims(std::move(dims))})});
    std::vector<HostTensor> want;
    for (const HostTensor& lanes : t.LaneByLane()) want.push_back(InTwo(lanes, true));
    EXPECT_THAT(ReadAll(jit(mapped)(xs)), AreClose(want, t.sample.sharded));
  });
}

INSTANTIATE_TEST_SUITE_P(EveryOp, ManualOps, testing::ValuesIn([] {
                           ops::Install();
                           std::vector<const ir::OpDef*> list;
                           for (const ir::OpDef* op : ir::AllOps())
                             if (!SamplesOf(*op).empty()) list.push_back(op);
                           return list;
                         }()),
                         [](const auto& op) { return std::string(op.param->name); });

// ---- gradients ----------------------------------------------------------------------------------

// Returns the smooth samples of few elements, or all if there are none.
std::vector<Sample> SmallSamples(const ir::OpDef& op) {
  std::vector<Sample> all = SmoothSamples(op), few;
  for (const Sample& s : all)
    if (s.truth) few.push_back(s);
  return few.empty() ? all : few;
}

// Returns cotangents with leading lanes.
std::vector<HostTensor> LaneCotangents(const ManualTry& t) { return Cotangents(t.LaneByLane()); }

// Returns the gradients of each lane. Those of operands that all lanes share are added up.
std::vector<HostTensor> GradientsLaneByLane(const ManualTry& t,
                                            const std::vector<HostTensor>& cts) {
  Case c = Unsharded(t.sample);
  std::vector<std::vector<HostTensor>> gradients(t.data.size());
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    std::vector<Array> xs, ct;
    for (const HostTensor& x : t.InLane(lane))
      xs.push_back(Place(x, ir::Type::Get(x.shape, x.dtype)));
    for (const HostTensor& all : cts) {
      const HostTensor one = LaneOf(all, lane);
      ct.push_back(Place(one, ir::Type::Get(one.shape, one.dtype)));
    }
    const auto f = [&](std::vector<Array> in) { return ApplySmooth(c, std::move(in)); };
    const std::vector<HostTensor> got = ReadAll(vjp(f, xs).second(ct));
    for (size_t i = 0; i < got.size(); ++i) gradients[i].push_back(got[i]);
  }
  std::vector<HostTensor> want;
  for (size_t i = 0; i < gradients.size(); ++i) {
    want.push_back(t.mapped[i] ? Stacked(gradients[i]) : gradients[i][0]);
    if (t.mapped[i] || !IsFloating(want[i])) continue;
    for (int64_t k = 0; k < want[i].size(); ++k) {
      std::complex<long double> sum = 0;
      for (const HostTensor& one : gradients[i]) sum += one.Complex(k);
      if (want[i].dtype.is_complex())
        want[i].SetComplex(k, sum);
      else
        want[i].SetFloat(k, sum.real());
    }
  }
  return want;
}

void ExpectClose(const std::vector<Array>& got, const std::vector<HostTensor>& want,
                 const char* what) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (!IsFloating(want[i])) continue;
    EXPECT_EQ(Difference(ReadBack(got[i]), want[i], {.eps = 1e4, .magnitude = 1}), "")
        << what << ", number " << i;
  }
}

class ManualGradients : public testing::TestWithParam<const ir::OpDef*> {
 protected:
  // Compares the gradients of shard_map with those of each lane. `inside`: also compares
  // gradients that each device takes.
  static void TryOn(const MeshDef* mesh, const AxisNames& manual, bool inside) {
    const trace::MeshDefScope scope(mesh);
    for (const Sample& sample : SmallSamples(*GetParam())) {
      for (const std::vector<bool>& mapped : LaneChoices(sample)) {
        const ManualTry t(sample, mapped, SmoothData(sample), mesh, manual);
        SCOPED_TRACE(t.name());
        const std::vector<HostTensor> cts = LaneCotangents(t), want = GradientsLaneByLane(t, cts);
        std::vector<Array> ct;
        for (const HostTensor& c : cts) {
          const ir::Type* one =
              ir::Type::Get({c.shape.begin() + 1, c.shape.end()}, c.dtype, mesh->WithoutModes());
          ct.push_back(Place(c, t.InLanes(one), mesh));
        }
        const auto ops = [&](const std::vector<Array>& xs) { return t.OfLanes(xs); };
        const auto f = shard_map(ops, t.Options(t.ByDevice()));
        const auto gradients = jit([&](std::vector<Array> xs, std::vector<Array> given) {
          return vjp(f, xs).second(given);
        });
        ExpectClose(gradients(t.Placed(), ct), want, "from outside");
        if (inside) {
          const auto g =
              shard_map([&](std::vector<Array> xs,
                            std::vector<Array> given) { return vjp(ops, xs).second(given); },
                        t.GradientOptions());
          ExpectClose(jit(g)(t.Placed(), ct), want, "from inside");
        }
        if (HasFailure()) return;
      }
    }
  }
};

// Every op that has a derivative has rows here.
TEST(ManualCoverage, EveryDerivativeIsTried) {
  for (const ir::OpDef* op : DifferentiableOps())
    EXPECT_TRUE(!SmallSamples(*op).empty() || IsFlat(*op)) << op->name;
}

TEST_P(ManualGradients, OverAllAxes) { TryOn(MeshOf({2}), "x", true); }
TEST_P(ManualGradients, OverOneAxisBesideAnExplicitOne) { TryOn(MeshOf({2, 2}), "x", false); }
TEST_P(ManualGradients, OverOneAxisBesideAnAutoOne) {
  TryOn(MeshOf({2, 2})->WithModes({AxisMode::Auto, AxisMode::Auto}), "x", false);
}

INSTANTIATE_TEST_SUITE_P(EveryOp, ManualGradients, testing::ValuesIn(DifferentiableOps()),
                         [](const auto& op) { return std::string(op.param->name); });

}  // namespace
}  // namespace tessera::suite::manual_ops_test
