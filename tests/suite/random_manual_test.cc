// Random programs with shard_map, over Explicit and Auto axes, nested, inside and around
// transforms: values, gradients and batches against a plain program that has the arrays
// of all devices in a list.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "fuzz.h"
#include "suite/random_collectives.h"
#include "suite/random_program.h"

namespace tessera::suite::random_manual_test {
namespace {

using Arrays = std::vector<Array>;
// Inside shard_map a function of a device's one array. In the plain program a function of the
// arrays of all devices, in which the axes that became Manual first are major.
using Function = std::function<Arrays(const Arrays&)>;

Function Each(OfOne f) {
  return [f](const Arrays& xs) {
    Arrays out;
    for (const Array& x : xs) out.push_back(f(x));
    return out;
  };
}

// A Manual axis, or half of one.
struct Piece {
  std::string axis;
  AxisRef ref;
  int64_t size;
};
// The devices of a collective: those that differ in these pieces, the first one major.
struct Group {
  std::vector<AxisRef> axes = {};
  std::vector<size_t> pieces = {};
  int64_t size = 1;
};

struct Axis {
  std::string name;
  int64_t size;
};

// Makes one program per seed, for a mesh or plain. All values are f64[n,6], or [6] in batches.
class ManualMaker {
 public:
  // `w`: holds a weight, f64[6], that the program captures.
  ManualMaker(int64_t seed, std::vector<Axis> axes, bool plain, std::shared_ptr<Array> w)
      : dice_(static_cast<int>(seed)), axes_(std::move(axes)), plain_(plain), w_(std::move(w)) {}

  // `rank`: of the arrays. `depth`: how deep transforms may nest.
  Function Block(int rank, int depth) {
    std::vector<Function> steps;
    for (int n = 1 + Below(3); n > 0; --n) steps.push_back(Step(rank, depth));
    return [steps](const Arrays& xs) {
      Arrays out = xs;
      for (const Function& f : steps) out = f(out);
      return out;
    };
  }
  // Returns a program whose first step is a shard_map.
  Function Program(int depth) {
    Function first = Mapped(depth), rest = Block(2, depth);
    return [=](const Arrays& xs) { return rest(first(xs)); };
  }
  const std::string& text() const { return text_; }

 private:
  int Below(int n) { return dice_.Below(n); }
  double Number() { return Below(200) / 100.0 - 1; }

  Function Step(int rank, int depth) {
    const int kind = Below(10);
    if (kind < 4 && depth > 0) return Transformed(rank, depth - 1);
    if (kind < 6 && !allowed_.empty()) return Collected(RandomGroup(1));
    if (kind == 6) return Weighed();
    if (kind == 7 && rank == 2) return LaidOut();
    SmoothStep step = RandomSmoothStep(dice_, rank);
    text_ += step.name + std::string(" ");
    return Each(step.f);
  }

  // ---- devices ----

  size_t Devices() const {
    size_t n = 1;
    for (const Piece& p : pieces_) n *= static_cast<size_t>(p.size);
    return n;
  }
  // Returns at least `least` of the axes that collectives may name here, whole or in half.
  Group RandomGroup(int least) {
    std::vector<std::string> names;
    for (size_t p : allowed_)
      if (names.empty() || names.back() != pieces_[p].axis) names.push_back(pieces_[p].axis);
    if (names.size() > 1 && Below(2) == 0) std::swap(names.front(), names.back());
    const int keep = std::min<int>(least, 1) + Below(static_cast<int>(names.size()) + 1 - least);
    names.resize(static_cast<size_t>(std::min<int>(keep, static_cast<int>(names.size()))));
    Group group;
    for (const std::string& name : names) {
      std::vector<size_t> of;
      for (size_t p : allowed_)
        if (pieces_[p].axis == name) of.push_back(p);
      if (of.size() > 1 && Below(3) == 0) of = {of[static_cast<size_t>(Below(2))]};
      group.axes.push_back(of.size() == 1 ? pieces_[of[0]].ref : AxisRef(name));
      for (size_t p : of) group.pieces.push_back(p), group.size *= pieces_[p].size;
    }
    for (const AxisRef& a : group.axes)
      text_ += fmt::format("{}{} ", a.name, a.size ? fmt::format(":({}){}", a.pre, a.size) : "");
    return group;
  }
  // Returns the devices of d's group in their order, and its position among them.
  std::pair<std::vector<size_t>, size_t> Members(const Group& group, size_t d) const {
    std::vector<size_t> members{d};
    size_t position = 0;
    for (size_t p : group.pieces) {
      size_t stride = 1;
      for (size_t q = p + 1; q < pieces_.size(); ++q)
        stride *= static_cast<size_t>(pieces_[q].size);
      const auto size = static_cast<size_t>(pieces_[p].size);
      std::vector<size_t> more;
      for (size_t m : members)
        for (size_t k = 0; k < size; ++k)
          more.push_back(m - (m / stride % size) * stride + k * stride);
      members = std::move(more);
      position = position * size + d / stride % size;
    }
    return {members, position};
  }
  // Applies the collective: on each device, to the arrays of its group.
  Function Together(const Group& group, Collective c) const {
    if (!plain_) return Each(c.local);
    std::vector<std::pair<std::vector<size_t>, size_t>> groups;
    for (size_t d = 0; d < Devices(); ++d) groups.push_back(Members(group, d));
    return [=](const Arrays& xs) {
      Arrays out;
      for (const auto& [members, position] : groups) {
        Arrays of;
        for (size_t m : members) of.push_back(xs[m]);
        out.push_back(c.plain(of, position));
      }
      return out;
    };
  }
  // Makes a value on a mesh vary over all Manual axes, so that a cotangent is each device's own.
  Function Varying() const {
    if (plain_ || pieces_.empty()) return Each([](const Array& x) { return x; });
    std::vector<AxisRef> refs;
    for (const Piece& p : pieces_)
      if (!refs.empty() && refs.back().name == p.axis)
        refs.back() = {p.axis};
      else
        refs.push_back(p.ref);
    return Each([=](const Array& x) { return x + 0.0 * astype(axis_index(refs), f64); });
  }
  // Returns a number for each device: the sum over its group.
  Function Scalar(const Group& group) const {
    const auto own = [](const Array& x) { return sum(sin(x)); };
    return Together(group, {"sum",
                            [=](const Array& x) {
                              return group.axes.empty() ? own(x) : psum(own(x), group.axes);
                            },
                            [=](const Arrays& xs, size_t) {
                              Array out = own(xs[0]);
                              for (size_t k = 1; k < xs.size(); ++k) out = out + own(xs[k]);
                              return out;
                            }});
  }
  // Runs `make` for devices that take their group's way.
  template <class F>
  auto Diverging(const Group& group, F make) {
    std::vector<size_t> allowed = std::exchange(allowed_, group.pieces);
    std::sort(allowed_.begin(), allowed_.end());
    auto made = make();
    allowed_ = std::move(allowed);
    return made;
  }

  // ---- steps ----

  Function Collected(const Group& group) {
    const double a = Number(), b = Number() / static_cast<double>(group.size);
    const Collective c = RandomCollective(dice_, group.axes, static_cast<int>(group.size));
    text_ += c.name + std::string(" ");
    return Together(
        group, {c.name, [=](const Array& x) { return x * a + c.local(x) * b; },
                [=](const Arrays& xs, size_t at) { return xs[at] * a + c.plain(xs, at) * b; }});
  }
  // Captures an outside array. In a loop whose number of trips differs, without a gradient.
  Function Weighed() {
    text_ += "weight ";
    const bool stopped = stopped_ > 0;
    return Each(
        [w = w_, stopped](const Array& x) { return x * (stopped ? stop_gradient(*w) : *w) + 0.1; });
  }

  // Lays the value out otherwise for a moment over axes that are not Manual.
  Function LaidOut() {
    text_ += "laid_out ";
    if (plain_) return Each([](const Array& x) { return sin(x); });
    return Each([](const Array& x) {
      Array y = ExplicitAxes().empty() ? x : reshard(x, P());
      std::vector<AxisRef> autos;
      for (const MeshAxis& axis : current_mesh().axes())
        if (axis.mode == Auto) autos.push_back({axis.name});
      if (!autos.empty()) y = with_sharding_constraint(y, P(DimSharding(autos)));
      return InRows(sin(y));
    });
  }
  static std::vector<AxisRef> ExplicitAxes() {
    std::vector<AxisRef> axes;
    for (const MeshAxis& axis : current_mesh().axes())
      if (axis.mode == Explicit) axes.push_back({axis.name});
    return axes;
  }
  // Shards rows over the Explicit axes, as all values are between steps.
  static Array InRows(const Array& x) {
    const std::vector<AxisRef> axes = ExplicitAxes();
    return axes.empty() ? x : reshard(x, P(DimSharding(axes), None));
  }

  // Returns a shard_map that cuts rows over some axes that are not yet Manual, or a plain
  // block if there are none.
  Function Mapped(int depth) {
    std::vector<Axis> free;
    for (const Axis& axis : axes_)
      if (std::none_of(pieces_.begin(), pieces_.end(),
                       [&](const Piece& p) { return p.axis == axis.name; }))
        free.push_back(axis);
    if (free.empty()) return Block(2, depth);
    if (free.size() > 1 && Below(2) == 0) std::swap(free.front(), free.back());
    free.resize(static_cast<size_t>(1 + Below(static_cast<int>(free.size()))));
    const bool given = Below(2) == 0;
    const std::vector<Piece> pieces = pieces_;
    const std::vector<size_t> allowed = allowed_;
    std::vector<AxisRef> cut;
    text_ += "shard_map over";
    for (const Axis& axis : free) {
      cut.push_back(Enter(axis));
      text_ += " " + axis.name + (cut.back().size ? fmt::format(":({})2", cut.back().pre) : "");
    }
    text_ += "(";
    const size_t parts = Devices();
    Function f = Block(2, depth);
    pieces_ = pieces, allowed_ = allowed;
    text_ += ") ";
    return plain_ ? InParts(f, parts / Devices()) : OverAxes(f, cut, given);
  }
  // Returns the axis, or the half of it, along which rows are cut. Devices along the other half
  // have the same arrays, which the plain program has once.
  AxisRef Enter(const Axis& axis) {
    std::vector<Piece> halves{{axis.name, {axis.name}, axis.size}};
    AxisRef cut(axis.name);
    if (axis.size == 4) {
      halves = {{axis.name, SubAxis(axis.name, 1, 2), 2}, {axis.name, SubAxis(axis.name, 2, 2), 2}};
      if (Below(3) == 0) halves = {halves[static_cast<size_t>(Below(2))]}, cut = halves[0].ref;
    }
    for (const Piece& half : halves) {
      allowed_.push_back(pieces_.size());
      pieces_.push_back(half);
    }
    return cut;
  }
  static Function InParts(const Function& f, size_t n) {
    return [=](const Arrays& xs) {
      Arrays parts, out;
      for (const Array& x : xs) {
        const int64_t rows = x.shape(0) / static_cast<int64_t>(n);
        for (int64_t k = 0; k < static_cast<int64_t>(n); ++k)
          parts.push_back(x[{Slice(k * rows, (k + 1) * rows)}]);
      }
      parts = f(parts);
      for (size_t d = 0; d < xs.size(); ++d)
        out.push_back(concatenate({parts.begin() + static_cast<long>(d * n),
                                   parts.begin() + static_cast<long>((d + 1) * n)},
                                  0));
      return out;
    };
  }
  static Function OverAxes(const Function& f, const std::vector<AxisRef>& over, bool given) {
    return Each([=](const Array& x) {
      std::vector<AxisRef> rows;
      std::vector<std::string> names;
      for (const AxisRef& a : over) names.push_back(a.name);
      const std::vector<AxisRef> known = ExplicitAxes();
      bool all_known = true;
      for (const AxisRef& a : over)
        if (std::find(known.begin(), known.end(), AxisRef(a.name)) != known.end())
          rows.push_back(a);
        else
          all_known = false;
      for (const AxisRef& a : known)
        if (std::find(names.begin(), names.end(), a.name) == names.end()) rows.push_back(a);
      const PartitionSpec cut = P(DimSharding(over), None);
      ShardMapOptions options{.out_specs = cut, .axes = names};
      if (given || !all_known) options.in_specs = cut;
      const Array in = rows.empty() ? x : reshard(x, P(DimSharding(rows), None));
      return InRows(shard_map([f](Array part) { return f({part})[0]; }, options)(in));
    });
  }

  // ---- transforms ----

  Function Transformed(int rank, int depth) {
    switch (Below(rank == 2 ? 14 : 11)) {
      case 0:
        return Around("jit", rank, depth, [](Function f, const Arrays& xs) { return jit(f)(xs); });
      case 1:
        return Scanned(rank, depth);
      case 2:
        return Around("fori", rank, depth, [](Function f, const Arrays& xs) {
          return fori_loop(
              0, 2, [&](Array, Arrays v) { return Times(f(v), 0.5); }, xs);
        });
      case 3:
      case 4:
        return Branches(rank, depth);
      case 5:
        return OwnTrips(rank, depth);
      case 6:
        return Gradient(rank, depth);
      case 7:
        return Around("jvp", rank, depth, [](Function f, const Arrays& xs) {
          auto [y, dy] = jvp(f, xs, Times(xs, 0.5));
          return Sum(Times(y, 0.1), dy);
        });
      case 8: {
        const Remat save = Below(2) ? Remat::kNothing : Remat::kDots;
        return Around("checkpoint", rank, depth, [=](Function f, const Arrays& xs) {
          return checkpoint(f, {.save = save})(xs);
        });
      }
      case 9: {
        const Function vary = Varying();
        return Around("vjp", rank, depth, [vary](Function f, const Arrays& xs) {
          auto [y, pullback] = vjp([&](const Arrays& v) { return vary(f(v)); }, vary(xs));
          return Sum(Times(y, 0.2), pullback(vary(Times(xs, 0.1))));
        });
      }
      case 10:
        return Around("vmap of copies", rank, depth, [](Function f, const Arrays& xs) {
          Array scales = iota({2}, 0, {.dtype = f64}) + 1;
          Arrays out = vmap([&](Array s) {
            Arrays scaled;
            for (const Array& x : xs) scaled.push_back(x * s);
            return f(scaled);
          })(scales);
          for (Array& x : out) x = sum(x * 0.4, 0);
          return out;
        });
      case 11:
        return Around("vmap", 1, depth, [](Function f, const Arrays& xs) { return vmap(f)(xs); });
      default:
        return Mapped(depth);
    }
  }
  Function Around(const char* name, int rank, int depth,
                  std::function<Arrays(Function, const Arrays&)> transform) {
    text_ += std::string(name) + "(";
    Function f = Block(rank, depth);
    text_ += ") ";
    return [=](const Arrays& xs) { return transform(f, xs); };
  }
  static Arrays Times(Arrays xs, double a) {
    for (Array& x : xs) x = x * a;
    return xs;
  }
  static Arrays Sum(Arrays xs, const Arrays& ys) {
    for (size_t k = 0; k < xs.size(); ++k) xs[k] = xs[k] + ys[k];
    return xs;
  }

  Function Scanned(int rank, int depth) {
    text_ += "scan(";
    Function f = Block(rank, depth), g = Block(rank, depth);
    text_ += ") ";
    return [=](const Arrays& xs) {
      auto step = [&](Arrays c, Array s) {
        Arrays next = Times(f(c), 0.5), out = g(c);
        for (size_t k = 0; k < c.size(); ++k)
          next[k] = next[k] + s * xs[k], out[k] = mean(out[k] * s, -1, {.keepdims = true});
        return std::pair(next, out);
      };
      auto [last, ys] = scan(step, xs, iota({3}, 0, {.dtype = f64}) * 0.1);
      for (size_t k = 0; k < last.size(); ++k) last[k] = last[k] + mean(ys[k], 0) * 0.1;
      return last;
    };
  }

  // Each group takes its branch. The plain program computes both and selects.
  Function Branches(int rank, int depth) {
    text_ += "cond(";
    const Group group = RandomGroup(0);
    const Function number = Scalar(group);
    auto [f, g] = Diverging(group, [&] {
      Function first = Block(rank, depth);
      text_ += "| ";
      return std::pair(first, Block(rank, depth));
    });
    text_ += ") ";
    return [=, f = f, g = g, plain = plain_](const Arrays& xs) {
      const Arrays numbers = number(xs);
      if (!plain) return cond(stop_gradient(numbers[0]) > 0.1, f, g, xs);
      Arrays yes = f(xs), no = g(xs);
      for (size_t d = 0; d < xs.size(); ++d)
        yes[d] = where(stop_gradient(numbers[d]) > 0.1, yes[d], no[d]);
      return yes;
    };
  }

  // Each group has its own number of iterations.
  Function OwnTrips(int rank, int depth) {
    text_ += "trips(";
    const Group group = RandomGroup(0);
    const Function number = Scalar(group);
    ++stopped_;
    const Function f = Diverging(group, [&] { return Block(rank, depth); });
    --stopped_;
    text_ += ") ";
    return [=, plain = plain_](const Arrays& xs) {
      Arrays at;
      for (const Array& x : xs) at.push_back(stop_gradient(x));
      Arrays trips = number(at);
      for (Array& n : trips) n = astype(abs(n) * 1.7, i32) % 3;
      if (!plain) {
        at = fori_loop(
            0, trips[0], [&](Array, Arrays v) { return Times(f(v), 0.5); }, at);
      } else {
        for (int i = 0; i < 2; ++i) {
          const Arrays next = Times(f(at), 0.5);
          for (size_t d = 0; d < at.size(); ++d) at[d] = where(i < trips[d], next[d], at[d]);
        }
      }
      return Sum(Times(xs, 0.5), at);
    };
  }

  // Returns the gradient of the sum over all devices, whether the sum is taken over some axes or
  // each device has its own part.
  Function Gradient(int rank, int depth) {
    text_ += "grad(";
    const Group group = RandomGroup(0);
    const Function f = Block(rank, depth), vary = Varying();
    text_ += ") ";
    return [=, plain = plain_](const Arrays& xs) {
      return grad([&](const Arrays& v) {
        const Arrays out = f(v);
        Array loss = sum(out[0] * 0.3);
        if (plain)
          for (size_t d = 1; d < out.size(); ++d) loss = loss + sum(out[d] * 0.3);
        else if (!group.axes.empty())
          loss = psum(loss, group.axes);
        return loss;
      })(vary(xs));
    };
  }

  Dice dice_;
  std::vector<Axis> axes_;
  bool plain_;
  std::shared_ptr<Array> w_;
  std::vector<Piece> pieces_ = {};    // Manual here
  std::vector<size_t> allowed_ = {};  // devices along these take one way
  int stopped_ = 0;
  std::string text_ = "";
};

// A program of an array and a weight.
struct Tried {
  std::shared_ptr<Array> w = std::make_shared<Array>(0.0);
  ManualMaker maker;
  Function f;

  Tried(int64_t seed, const std::vector<Axis>& axes, bool plain)
      : maker(seed, axes, plain, w), f(maker.Program(2)) {}
  Array operator()(const Array& x, const Array& weight) const {
    *w = weight;
    Array out = f({x})[0];
    *w = Array(0.0);
    return out;
  }
};

Array Numbers(double a, double b, double c) {
  return sin(iota({8, 6}, 0, {.dtype = f64}) * a + iota({8, 6}, 1, {.dtype = f64}) * b + c);
}
std::vector<double> Values(const Array& x) { return x.to_vector<double>(); }

void ExpectNear(const Array& got, const std::vector<double>& want, const char* what) {
  const std::vector<double> values = Values(got);
  ASSERT_EQ(values.size(), want.size());
  double largest = 1;
  for (double v : want) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(values[i], want[i], 1e-8 * largest) << what << " " << i;
}

const std::vector<std::vector<int64_t>>& Sizes() {
  static const std::vector<std::vector<int64_t>> sizes = {{2},    {4},    {8},      {2, 2},
                                                          {2, 4}, {4, 2}, {2, 2, 2}};
  return sizes;
}

// Returns whether the results can be compared.
bool Compare(int64_t seed, const std::vector<MeshAxis>& mesh_axes, const Tried& plain,
             const Tried& tried) {
  const Array x = Numbers(1.7, 0.9, static_cast<double>(seed % 17)), d = Numbers(0.7, 2.3, 1);
  const Array w = array({0.9, -0.4, 1.1, 0.6, -0.8, 0.5}, {.dtype = f64});
  using Pair = std::pair<Array, Array>;
  const auto loss = [&](const Tried& f) {
    return [&](Pair v) { return sum(sin(f(v.first, v.second)) * cos(Numbers(2.1, 1.3, 0.5))); };
  };
  const std::vector<double> want = Values(plain(x, w));
  const Pair gradient = grad(loss(plain))(Pair(x, w));
  const std::vector<double> want_x = Values(gradient.first), want_w = Values(gradient.second);
  for (const auto* list : {&want, &want_x, &want_w})
    for (double v : *list)
      if (!std::isfinite(v) || std::fabs(v) > 1e6) return false;  // chaotic

  MeshScope scope(make_mesh(mesh_axes));
  std::vector<AxisRef> known;
  for (const MeshAxis& a : mesh_axes)
    if (a.mode == Explicit) known.push_back({a.name});
  const Array placed = known.empty() ? x : reshard(x, P(DimSharding(known), None));
  const auto f = [&](Array v) { return tried(v, w); };
  ReplicaSharing(seed % 5 != 0);
  ExpectNear(seed % 3 == 0 ? f(placed) : jit(f)(placed), want, "value");
  const auto gradients = grad(loss(tried));
  const Pair got = seed % 4 == 0 ? gradients(Pair(placed, w)) : jit(gradients)(Pair(placed, w));
  ExpectNear(got.first, want_x, "gradient");
  ExpectNear(got.second, want_w, "gradient of the weight");
  if (seed % 2 == 0) {
    const Array lanes = stack({d, x}, 0);
    const Array mapped =
        vmap(f)(known.empty() ? lanes : reshard(lanes, P(None, DimSharding(known), None)));
    ExpectNear(mapped[{1}], want, "lane");
  }
  return true;
}

// Runs the seed's program on a mesh whose axes have random modes.
bool Try(int64_t seed) {
  Dice dice(static_cast<int>(seed + 7919));
  std::vector<Axis> axes;
  std::vector<MeshAxis> mesh_axes;
  for (int64_t n : dice.Of(Sizes())) {
    axes.push_back({std::string(1, static_cast<char>('x' + axes.size())), n});
    mesh_axes.push_back({axes.back().name, n, dice.Below(2) ? Explicit : Auto});
  }
  const Tried plain(seed, axes, true), tried(seed, axes, false);
  std::string modes;
  for (const MeshAxis& a : mesh_axes)
    modes += fmt::format("{}={}{} ", a.name, a.size, a.mode == Auto ? " auto" : "");
  SCOPED_TRACE(fmt::format("seed {} on {}: {}", seed, modes, tried.maker.text()));
  bool compared = true;
  try {
    compared = Compare(seed, mesh_axes, plain, tried);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  ReplicaSharing(true);
  return compared;
}

// RANDOM_MANUAL=first,count runs other seeds.
TEST(RandomManual, AgreesWithThePlainProgram) {
  int64_t first = 0, count = FuzzCount(200);
  if (const char* seeds = std::getenv("RANDOM_MANUAL"))
    std::sscanf(seeds, "%ld,%ld", &first, &count);
  int64_t compared = 0;
  for (int64_t seed = first; seed < first + count; ++seed) compared += Try(seed);
  EXPECT_GE(compared * 4, count * 3) << "too many programs are chaotic";
}

}  // namespace
}  // namespace tessera::suite::random_manual_test
