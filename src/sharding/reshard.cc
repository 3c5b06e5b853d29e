// Searches for a reshard plan: placements, moves between them, and A* by bytes.
#include "sharding/reshard.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "sharding/local.h"

namespace tessera::sharding {

namespace {

// A sharding during the search, in pieces of axes that are never cut further.
struct Placement {
  absl::InlinedVector<AxisList, 4> dims;
  AxisList unreduced;
  friend bool operator==(const Placement&, const Placement&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Placement& s) {
    return H::combine(std::move(h), s.dims, s.unreduced);
  }
};

// Cuts axes at every boundary of either side, so that overlapping parts become equal pieces.
class Cutter {
 public:
  void Add(const AxisList& axes) {
    for (AxisPart a : axes) cuts_[a.axis].insert({a.pre, a.next()});
  }
  // Whether the pieces of every axis nest. If they do not, no cut makes the two sides comparable.
  bool Nests() const {
    for (const auto& [axis, cuts] : cuts_)
      for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it)
        if (*std::next(it) % *it != 0) return false;
    return true;
  }
  // Cuts the minor end off each piece, as large as its common divisor with a piece of another axis,
  // which may then take its place. Returns whether anything was cut and all pieces still nest.
  bool CutBySizes() {
    std::map<int32_t, std::set<int64_t>> cuts = cuts_;
    for (const auto& [axis, own] : cuts_)
      for (auto it = own.begin(); std::next(it) != own.end(); ++it)
        for (const auto& [other, others] : cuts_) {
          if (other == axis) continue;
          for (auto jt = others.begin(); std::next(jt) != others.end(); ++jt) {
            int64_t size = *std::next(it) / *it, common = std::gcd(size, *std::next(jt) / *jt);
            if (common > 1 && common < size) cuts[axis].insert(*it * (size / common));
          }
        }
    if (cuts == cuts_) return false;
    cuts_ = std::move(cuts);
    return Nests();
  }
  AxisList Cut(const AxisList& axes) const {
    AxisList out;
    for (AxisPart a : axes) {
      const std::set<int64_t>& cuts = cuts_.at(a.axis);
      int64_t pre = a.pre;
      for (auto it = cuts.upper_bound(pre); it != cuts.end() && *it <= a.next(); ++it) {
        out.push_back({a.axis, pre, *it / pre});
        pre = *it;
      }
    }
    return out;
  }
  Placement Cut(const TensorSharding& s) const {
    Placement state;
    for (const DimAxes& d : s.dims) state.dims.push_back(Cut(d.axes));
    state.unreduced = Cut(s.unreduced);
    absl::c_sort(state.unreduced, MeshOrder);
    return state;
  }

 private:
  std::map<int32_t, std::set<int64_t>> cuts_;
};

bool Has(const AxisList& axes, AxisPart a) { return absl::c_linear_search(axes, a); }

struct Move {
  StepKind kind;
  Placement after;
  AxisList axes;
  int64_t bytes;
};

// Lists the moves from a placement towards the target. There are few, but enough to connect any two
// placements: everything can be gathered, and everything can be sliced.
class Moves {
 public:
  Moves(const Shape& shape, ItemSize itemsize, const Placement& target, Reduction kind)
      : shape_(shape), itemsize_(itemsize), target_(target), kind_(kind) {}

  std::vector<Move> From(const Placement& s) {
    moves_.clear();
    bytes_ = LocalBytes(s);
    AddSlices(s);
    AddSlicesAhead(s);
    AddSlicesToSizes(s);
    AddGathers(s);
    AddAllToAlls(s);
    AddReductions(s);
    AddToUnreduced(s);
    AddPermutations(s);
    return std::move(moves_);
  }

  int64_t LocalBytes(const Placement& s) const {
    int64_t n = 1;
    for (size_t d = 0; d < shape_.size(); ++d) {
      int64_t shards = SizeOf(s.dims[d]);
      n *= (shape_[d] + shards - 1) / shards;
    }
    return itemsize_.BytesOf(n);
  }

 private:
  bool Divides(size_t d, const AxisList& axes) const { return shape_[d] % SizeOf(axes) == 0; }
  bool IsUsed(const Placement& s, AxisPart a) const {
    if (Has(s.unreduced, a)) return true;
    return absl::c_any_of(s.dims, [a](const AxisList& l) { return Has(l, a); });
  }
  int DimOf(const Placement& s, AxisPart a) const {
    for (size_t d = 0; d < s.dims.size(); ++d)
      if (Has(s.dims[d], a)) return static_cast<int>(d);
    return -1;
  }
  void Add(StepKind kind, Placement after, AxisList axes, int64_t bytes) {
    moves_.push_back({kind, std::move(after), std::move(axes), bytes});
  }

  // Slices every dim by the next axes of its target that are free, in one local step.
  void AddSlices(const Placement& s) {
    Placement next = s;
    AxisList axes;
    for (size_t d = 0; d < s.dims.size(); ++d) {
      AxisList& dim = next.dims[d];
      const AxisList& want = target_.dims[d];
      bool whole = dim.empty();
      for (AxisPart a : want) {
        if (IsUsed(next, a)) {
          if (whole && !Has(dim, a)) break;
          continue;
        }
        AxisList grown = dim;
        grown.push_back(a);
        if (!Divides(d, grown) && !(whole && !Divides(d, want))) break;
        dim = std::move(grown);
        axes.push_back(a);
      }
      if (!Divides(d, dim) && dim != s.dims[d] && dim != want) dim = s.dims[d];
    }
    if (next == s) return;
    axes.clear();
    for (size_t d = 0; d < s.dims.size(); ++d)
      axes.insert(axes.end(), next.dims[d].begin() + static_cast<long>(s.dims[d].size()),
                  next.dims[d].end());
    Add(StepKind::kAllSlice, std::move(next), std::move(axes), 0);
  }

  // If the last axis of a dim is in another dim of the target, slices the dim by the axes that
  // follow it there: the axes then move together, and the all_to_all is smaller.
  void AddSlicesAhead(const Placement& s) {
    for (size_t d = 0; d < s.dims.size(); ++d) {
      if (s.dims[d].empty()) continue;
      int to = DimOf(target_, s.dims[d].back());
      if (to < 0 || to == static_cast<int>(d)) continue;
      const AxisList& want = target_.dims[to];
      Placement next = s;
      AxisList axes;
      for (auto it = absl::c_find(want, s.dims[d].back()) + 1;
           it != want.end() && !IsUsed(next, *it); ++it) {
        next.dims[d].push_back(*it);
        axes.push_back(*it);
      }
      if (!axes.empty() && Divides(d, next.dims[d]))
        Add(StepKind::kAllSlice, std::move(next), std::move(axes), 0);
    }
  }

  // Slices dims by any free axes until they have as many shards as in the target, so that a
  // permutation moves less.
  void AddSlicesToSizes(const Placement& s) {
    Placement next = s;
    AxisList axes;
    for (size_t d = 0; d < s.dims.size(); ++d) {
      int64_t want = SizeOf(target_.dims[d]), have = SizeOf(s.dims[d]);
      if (want % have != 0 || !Divides(d, target_.dims[d])) continue;
      int64_t room = want / have;
      for (const AxisList& dim : target_.dims)
        for (AxisPart a : dim) {
          if (IsUsed(next, a) || room % a.size != 0) continue;
          next.dims[d].push_back(a);
          axes.push_back(a);
          room /= a.size;
        }
    }
    if (!axes.empty()) Add(StepKind::kAllSlice, std::move(next), std::move(axes), 0);
  }

  void AddGathers(const Placement& s) {
    for (size_t d = 0; d < s.dims.size(); ++d) {
      bool even = Divides(d, s.dims[d]);
      for (size_t keep = 0; keep < s.dims[d].size(); ++keep) {
        if (keep > 0 && !even) break;
        Placement next = s;
        AxisList axes(s.dims[d].begin() + static_cast<long>(keep), s.dims[d].end());
        next.dims[d].resize(keep);
        Add(StepKind::kAllGather, std::move(next), axes, bytes_ * (SizeOf(axes) - 1));
      }
    }
  }

  void AddAllToAlls(const Placement& s) {
    for (size_t from = 0; from < s.dims.size(); ++from) {
      for (size_t begin = s.dims[from].size(); begin-- > 0;) {
        AxisList axes(s.dims[from].begin() + static_cast<long>(begin), s.dims[from].end());
        int to = DimOf(target_, axes[0]);
        if (to < 0 || to == static_cast<int>(from)) break;
        if (begin > 0 && !Divides(from, s.dims[from])) continue;
        Placement next = s;
        next.dims[from].resize(begin);
        next.dims[to].insert(next.dims[to].end(), axes.begin(), axes.end());
        if (!Divides(to, next.dims[to]) && !s.dims[to].empty()) continue;
        const int64_t n = SizeOf(axes), bytes = PaddedBytes(to, n) / n * (n - 1);
        Add(StepKind::kAllToAll, std::move(next), axes, bytes);
      }
    }
  }
  // Returns the bytes of a device, with a whole dim padded to a multiple of `shards`.
  int64_t PaddedBytes(int d, int64_t shards) const {
    const int64_t n = std::max<int64_t>(shape_[d], 1);
    return bytes_ / n * ((n + shards - 1) / shards * shards);
  }
  void AddReductions(const Placement& s) {
    AxisList all;
    for (AxisPart a : s.unreduced) {
      if (Has(target_.unreduced, a)) continue;
      all.push_back(a);
      int d = DimOf(target_, a);
      if (d < 0) continue;
      Placement next = s;
      next.dims[d].push_back(a);
      next.unreduced.erase(absl::c_find(next.unreduced, a));
      if (Divides(d, next.dims[d]))
        Add(StepKind::kReduceScatter, std::move(next), {a}, bytes_ / a.size * (a.size - 1));
    }
    auto reduce = [&](const AxisList& axes) {
      if (axes.empty()) return;
      Placement next = s;
      next.unreduced = Difference(s.unreduced, axes);
      int64_t n = SizeOf(axes);
      Add(StepKind::kAllReduce, std::move(next), axes, 2 * (bytes_ - bytes_ / n));
    };
    reduce(all);
    AxisList unplaced;
    for (AxisPart a : all)
      if (DimOf(target_, a) < 0) unplaced.push_back(a);
    if (unplaced != all) reduce(unplaced);
  }

  void AddToUnreduced(const Placement& s) {
    AxisList fresh;
    for (AxisPart a : target_.unreduced) {
      if (Has(s.unreduced, a)) continue;
      int d = DimOf(s, a);
      if (d < 0) {
        fresh.push_back(a);
      } else if (kind_ == Reduction::kSum && s.dims[d].back() == a && Divides(d, s.dims[d])) {
        Placement next = s;
        next.dims[d].pop_back();
        Insert(next.unreduced, a);
        Add(StepKind::kShardedToUnreduced, std::move(next), {a}, 0);
      }
    }
    if (fresh.empty()) return;
    Placement next = s;
    for (AxisPart a : fresh) Insert(next.unreduced, a);
    Add(StepKind::kReplicatedToUnreduced, std::move(next), fresh, 0);
  }
  static void Insert(AxisList& set, AxisPart a) {
    set.insert(std::upper_bound(set.begin(), set.end(), a, MeshOrder), a);
  }

  // Lists the permutations of devices that keep local shapes. Each dim takes as many of its
  // target's axes as fit, then leftover pieces and axes that are to come, in any order.
  void AddPermutations(const Placement& s) {
    Placement next = s;
    AxisList left;
    for (const AxisList& dim : s.dims) left.insert(left.end(), dim.begin(), dim.end());
    std::vector<int64_t> room;
    for (size_t d = 0; d < s.dims.size(); ++d) {
      room.push_back(SizeOf(s.dims[d]));
      next.dims[d].clear();
      for (AxisPart a : target_.dims[d]) {
        if (room[d] == 1 || room[d] % a.size != 0 || Has(s.unreduced, a)) break;
        next.dims[d].push_back(a);
        room[d] /= a.size;
        left.erase(std::remove(left.begin(), left.end(), a), left.end());
      }
    }
    for (const AxisList& dim : target_.dims)
      for (AxisPart a : dim)
        if (!IsUsed(s, a) && !IsUsed(next, a)) left.push_back(a);
    if (left.size() <= kMostLeft) FillRoom(s, next, room, left, 0);
  }

  // Returns the axes along which shards change devices: those of the dims that differ.
  static AxisList Exchanged(const Placement& s, const Placement& next) {
    AxisList axes;
    for (size_t d = 0; d < s.dims.size(); ++d)
      for (const AxisList* dim : {&s.dims[d], &next.dims[d]})
        for (AxisPart a : *dim)
          if (s.dims[d] != next.dims[d] && !Has(axes, a)) axes.push_back(a);
    SortAndMerge(axes);
    return axes;
  }

  void FillRoom(const Placement& s, Placement& next, std::vector<int64_t>& room, AxisList& left,
                size_t d) {
    while (d < room.size() && room[d] == 1) ++d;
    if (d == room.size()) {
      if (next.dims != s.dims) Add(StepKind::kCollectivePermute, next, Exchanged(s, next), bytes_);
      return;
    }
    for (size_t i = 0; i < left.size(); ++i) {
      AxisPart a = left[i];
      if (room[d] % a.size != 0) continue;
      left.erase(left.begin() + static_cast<long>(i));
      next.dims[d].push_back(a);
      room[d] /= a.size;
      FillRoom(s, next, room, left, d);
      room[d] *= a.size;
      next.dims[d].pop_back();
      left.insert(left.begin() + static_cast<long>(i), a);
    }
  }

  static constexpr size_t kMostLeft = 5;  // more pieces have too many orders
  const Shape& shape_;
  ItemSize itemsize_;
  int64_t bytes_ = 0;
  const Placement& target_;
  Reduction kind_;
  std::vector<Move> moves_;
};

TensorSharding ToSharding(const Placement& s, const MeshDef* mesh, Reduction kind) {
  TensorSharding out = Replicated(mesh, static_cast<int>(s.dims.size()));
  for (size_t d = 0; d < s.dims.size(); ++d)
    for (AxisPart a : s.dims[d]) AppendMerged(out.dims[d].axes, a);
  for (AxisPart a : s.unreduced) AppendMerged(out.unreduced, a);
  if (!out.unreduced.empty()) out.kind = kind;
  return out;
}

// A* over placements. A step costs its bytes, plus a little so that the shorter of two equal plans
// wins. The lower bound is the number of bytes by which the target's shard exceeds the current one:
// they must still arrive.
class Search {
 public:
  // Searches for plans that cost less than `limit`.
  Search(const Shape& shape, ItemSize itemsize, Placement from, Placement to, Reduction kind,
         double limit)
      : target_(std::move(to)), moves_(shape, itemsize, target_, kind), limit_(limit) {
    target_bytes_ = moves_.LocalBytes(target_);
    Reach(std::move(from), -1, {}, 0);
  }

  // Returns the moves to the target in order; none if there is no plan within the limit, or if the
  // search has looked at `most` placements.
  std::vector<Move> Run(int most) {
    while (!queue_.empty() && most-- > 0) {
      const int32_t node = queue_.top().second;
      queue_.pop();
      if (done_[node]) continue;
      done_[node] = true;
      const double cost = costs_[node];
      if (*states_[node] == target_) return Path(node);
      for (Move& move : moves_.From(*states_[node])) {
        double step = cost + static_cast<double>(move.bytes) + kStepCost;
        Placement after = move.after;
        Reach(std::move(after), node, std::move(move), step);
      }
    }
    return {};
  }

 private:
  static constexpr double kStepCost = 0.25;  // bytes

  void Reach(Placement state, int32_t parent, Move move, double cost) {
    auto [it, fresh] = index_.try_emplace(std::move(state), static_cast<int32_t>(states_.size()));
    int32_t node = it->second;
    if (fresh) {
      states_.push_back(std::make_unique<Placement>(it->first));
      parents_.push_back(parent);
      by_.push_back(std::move(move));
      costs_.push_back(cost);
      done_.push_back(false);
    } else if (cost < costs_[node]) {
      parents_[node] = parent;
      by_[node] = std::move(move);
      costs_[node] = cost;
    } else {
      return;
    }
    const double least = cost + MissingBytes(*states_[node]);
    if (least < limit_) queue_.push({least, node});
  }

  double MissingBytes(const Placement& s) const {
    return static_cast<double>(std::max<int64_t>(target_bytes_ - moves_.LocalBytes(s), 0));
  }

  std::vector<Move> Path(int32_t node) {
    std::vector<Move> path;
    for (; parents_[node] >= 0; node = parents_[node]) path.push_back(std::move(by_[node]));
    absl::c_reverse(path);
    return path;
  }

  Placement target_;
  Moves moves_;
  double limit_;
  int64_t target_bytes_ = 0;
  absl::flat_hash_map<Placement, int32_t> index_;
  std::vector<std::unique_ptr<Placement>> states_;
  std::vector<int32_t> parents_;
  std::vector<Move> by_;
  std::vector<double> costs_;
  std::vector<bool> done_;
  using Entry = std::pair<double, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
};

// Plans to gather everything, then to slice: for shardings that share no pieces, and
// for other meshes.
std::vector<ReshardStep> ThroughReplicated(const Shape& shape, ItemSize itemsize,
                                           const TensorSharding& from, const TensorSharding& to) {
  TensorSharding whole = Replicated(from.mesh, from.rank());
  std::vector<ReshardStep> steps = PlanReshard(shape, itemsize, from, whole);
  whole.mesh = to.mesh;
  for (ReshardStep& step : PlanReshard(shape, itemsize, whole, to))
    steps.push_back(std::move(step));
  return steps;
}

bool HaveSameSizes(const MeshDef& a, const MeshDef& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (a.axis_size(i) != b.axis_size(i)) return false;
  return true;
}

// Plans a reshard between meshes. If they only differ in the order of devices or the names of
// axes, this is the plan on one mesh with a permutation: its own, or one inserted where the
// shards are smallest.
std::vector<ReshardStep> AcrossMeshes(const Shape& shape, ItemSize itemsize,
                                      const TensorSharding& from, const TensorSharding& to) {
  if (from.trivial() && to.trivial()) return {};
  if (!HaveSameSizes(*from.mesh, *to.mesh)) return ThroughReplicated(shape, itemsize, from, to);
  TensorSharding target = to;
  target.mesh = from.mesh;
  std::vector<ReshardStep> steps = PlanReshard(shape, itemsize, from, target);
  size_t change = 0;
  if (from.mesh->device_ids() != to.mesh->device_ids()) {
    auto permutes = [](const ReshardStep& s) { return s.kind == StepKind::kCollectivePermute; };
    change = absl::c_find_if(steps, permutes) - steps.begin();
    if (change == steps.size()) {
      change = 0;
      auto local = [&](size_t k) {
        return LocalElements(shape, k == 0 ? from : steps[k - 1].after);
      };
      for (size_t k = 1; k <= steps.size(); ++k)
        if (local(k) < local(change)) change = k;
      TensorSharding moved = change == 0 ? from : steps[change - 1].after;
      moved.reduced.clear();
      AxisList axes = VaryingAxes(moved);
      int64_t bytes = itemsize.BytesOf(local(change));
      steps.insert(steps.begin() + static_cast<long>(change),
                   {StepKind::kCollectivePermute, std::move(moved), std::move(axes), bytes});
    }
  }
  for (size_t k = change; k < steps.size(); ++k) steps[k].after.mesh = to.mesh;
  return steps;
}

// Whether both hold partial values of different reductions.
bool HaveOtherKinds(const TensorSharding& a, const TensorSharding& b) {
  return !a.unreduced.empty() && !b.unreduced.empty() && a.kind != b.kind;
}

std::vector<ReshardStep> ThroughReduced(const Shape& shape, ItemSize itemsize,
                                        const TensorSharding& from, const TensorSharding& to) {
  TensorSharding reduced = from;
  reduced.unreduced.clear();
  reduced.kind = Reduction::kSum;
  std::vector<ReshardStep> steps = PlanReshard(shape, itemsize, from, reduced);
  for (ReshardStep& step : PlanReshard(shape, itemsize, reduced, to))
    steps.push_back(std::move(step));
  return steps;
}

bool HaveSamePlacement(const TensorSharding& a, const TensorSharding& b) {
  if (a.unreduced != b.unreduced || HaveOtherKinds(a, b)) return false;
  for (size_t d = 0; d < a.dims.size(); ++d)
    if (a.dims[d].axes != b.dims[d].axes) return false;
  return true;
}

int64_t SumOfBytes(const std::vector<ReshardStep>& steps) {
  int64_t bytes = 0;
  for (const ReshardStep& step : steps) bytes += step.bytes;
  return bytes;
}

// Whether smaller pieces may give a better plan: a permutation is not the only step that sends, or
// a device receives more bytes than it ends up with.
bool MayImprove(const std::vector<ReshardStep>& steps, const Shape& shape, ItemSize itemsize,
                const TensorSharding& to) {
  int moves = 0;
  bool permutes = false;
  for (const ReshardStep& step : steps) {
    moves += step.bytes > 0;
    permutes = permutes || step.kind == StepKind::kCollectivePermute;
  }
  return (permutes && moves > 1) || SumOfBytes(steps) > itemsize.BytesOf(LocalElements(shape, to));
}

// The number of placements after which a search gives up. The first search has no limit (kAll). The
// search over small pieces of axes, which have many orders, stops after kMostFiner: some
// milliseconds on meshes of four axes with hundreds of devices each.
constexpr int kAll = std::numeric_limits<int>::max(), kMostFiner = 500;

// Returns the steps without the varying axes.
std::vector<ReshardStep> StepsBetween(const Shape& shape, ItemSize itemsize,
                                      const TensorSharding& from, const TensorSharding& to) {
  if (HaveSamePlacement(from, to) && (from.mesh == to.mesh || from.trivial())) return {};
  if (from.mesh && to.mesh && from.mesh != to.mesh) return AcrossMeshes(shape, itemsize, from, to);
  if (HaveOtherKinds(from, to)) return ThroughReduced(shape, itemsize, from, to);
  Cutter cutter;
  for (const TensorSharding* s : {&from, &to}) {
    for (const DimAxes& d : s->dims) cutter.Add(d.axes);
    cutter.Add(s->unreduced);
  }
  if (!cutter.Nests()) return ThroughReplicated(shape, itemsize, from, to);
  const MeshDef* mesh = to.mesh ? to.mesh : from.mesh;
  Reduction kind = from.unreduced.empty() ? to.kind : from.kind;
  auto search = [&](double limit, int most) {
    std::vector<ReshardStep> steps;
    Search search(shape, itemsize, cutter.Cut(from), cutter.Cut(to), kind, limit);
    for (Move& move : search.Run(most))
      steps.push_back(
          {move.kind, ToSharding(move.after, mesh, kind), std::move(move.axes), move.bytes});
    return steps;
  };
  auto steps = search(std::numeric_limits<double>::infinity(), kAll);
  if (!MayImprove(steps, shape, itemsize, to) || !cutter.CutBySizes()) return steps;
  std::vector<ReshardStep> finer = search(static_cast<double>(SumOfBytes(steps)), kMostFiner);
  return finer.empty() ? steps : finer;
}

// Layers and trials of lowerings repeat few plans, so each thread keeps its own.
std::vector<ReshardStep> KeptStepsBetween(const Shape& shape, ItemSize itemsize,
                                          const TensorSharding& from, const TensorSharding& to) {
  constexpr size_t kMostKept = 4096;
  using Asked = std::tuple<Shape, ItemSize, TensorSharding, TensorSharding>;
  thread_local absl::flat_hash_map<Asked, std::vector<ReshardStep>> kept;
  Asked asked{shape, itemsize, from, to};
  if (const auto it = kept.find(asked); it != kept.end()) return it->second;
  std::vector<ReshardStep> steps = StepsBetween(shape, itemsize, from, to);
  if (kept.size() >= kMostKept) kept.clear();
  kept.emplace(std::move(asked), steps);
  return steps;
}

}  // namespace

std::vector<ReshardStep> PlanReshard(const Shape& shape, ItemSize itemsize,
                                     const TensorSharding& from, const TensorSharding& to) {
  std::vector<ReshardStep> steps = KeptStepsBetween(shape, itemsize, from, to);
  for (ReshardStep& step : steps) step.after.varying = from.varying;
  return steps;
}

int64_t ReshardBytes(const Shape& shape, ItemSize itemsize, const TensorSharding& from,
                     const TensorSharding& to) {
  return SumOfBytes(PlanReshard(shape, itemsize, from, to));
}

}  // namespace tessera::sharding
