// Makes random statements over whole numbers, whose sums are exact in any order.
#include "suite/random_program.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tessera::suite {
namespace {

using Arrays = std::vector<Array>;

Mesh MeshNow() { return current_mesh(); }
bool HasMode(AxisMode mode) {
  for (const MeshAxis& axis : MeshNow().axes())
    if (axis.mode == mode) return true;
  return false;
}

// Returns axes of a mode, or parts of them, over which dims can be sharded.
std::vector<AxisRef> Pieces(Dice& dice, AxisMode mode) {
  std::vector<AxisRef> pieces;
  for (const MeshAxis& axis : MeshNow().axes()) {
    if (axis.mode != mode || axis.size == 1) continue;
    if (axis.size % 2 == 0 && axis.size > 2 && dice.Below(3) == 0) {
      int64_t half = axis.size / 2;
      pieces.push_back(dice.Below(2) == 0 ? SubAxis(axis.name, 1, 2) : SubAxis(axis.name, 2, half));
    } else {
      pieces.push_back({axis.name});
    }
  }
  if (pieces.size() > 1 && dice.Below(2) == 0) std::swap(pieces[0], pieces[1]);
  return pieces;
}

// Makes the statements of one program. All values are small whole numbers.
class Maker {
 public:
  Maker(int seed, int layout) : dice_(seed), layout_(layout) {}

  RandomResults Run(const Arrays& arguments) {
    Arrays pool = arguments;
    for (int k = 3 + dice_.Below(9); k > 0; --k) Statement(pool, 2);
    RandomResults results;
    for (int k = 1 + dice_.Below(3); k > 0; --k) results.exact.push_back(dice_.Of(pool));
    results.exact.push_back(pool.back());
    results.close = std::move(close_);
    return results;
  }

 private:
  // Calls f. If Explicit axes refuse the operands' layouts, replicates them and calls f again.
  template <class F, class... A>
  static auto Do(F f, const A&... x) {
    try {
      return f(x...);
    } catch (const ShardingError&) {
      if (!HasMode(Explicit)) throw;
      return f(reshard(x, P())...);
    }
  }
  static Array Small(const Array& x) { return x % 101; }
  void Keep(Arrays& pool, Array x) {
    if (x.size() == 0 || x.size() > 4000 || x.rank() > 4) return;
    if (x.dtype() == bool_) x = astype(x, dice_.Below(2) ? f32 : i32);
    x = Small(x);
    if (!MeshNow().empty() && layout_.Below(4) == 0) x = LaidOut(layout_, x);
    pool.push_back(x);
  }
  int Dim(const Array& x) { return dice_.Below(x.rank()); }
  // Returns a value with a dim.
  Array Pick(const Arrays& pool) {
    Array x = dice_.Of(pool);
    return x.rank() > 0 ? x : broadcast_to(x, {1 + dice_.Below(7)});
  }
  // Returns a value of x's shape and dtype, if possible another one.
  Array Like(const Arrays& pool, const Array& x) {
    Arrays alike;
    for (const Array& y : pool)
      if (y.shape() == x.shape() && y.dtype() == x.dtype()) alike.push_back(y);
    return alike.empty() ? x + 1 : dice_.Of(alike);
  }

  void Statement(Arrays& pool, int depth) {
    Array x = Pick(pool);
    switch (dice_.Below(depth > 0 ? 9 : 8)) {
      case 0:
        return Keep(pool, Elementwise(pool, x));
      case 1:
        return Keep(pool, Moved(x));
      case 2:
        return Keep(pool, Cut(x));
      case 3:
        return Keep(pool, Reduced(x));
      case 4:
        return Keep(pool, Sorted(x));
      case 5:
        return Keep(pool, Looked(pool, x));
      case 6:
        return Keep(pool, Product(pool, x));
      case 7:
        return Keep(pool, Close(x));
      default:
        return Control(pool, x, depth);
    }
  }

  Array Elementwise(const Arrays& pool, const Array& x) {
    Array y = Like(pool, x);
    int op = dice_.Below(9), d = Dim(x);
    return Do(
        [&](const Array& a, const Array& b) -> Array {
          switch (op) {
            case 0:
              return 1 - a;
            case 1:
              return a * b;
            case 2:
              return maximum(a, -b);
            case 3:
              return where(a < b, a, b + 2);
            case 4:
              return a + sum(b, d, {.keepdims = true});
            case 5:
              return a - max(b, d, {.keepdims = true});
            case 6:
              return clip(a, -3, max(b));
            case 7:
              return astype(a, a.dtype() == f32 ? i32 : f32) + 1;
            default:
              return a + astype(iota(Shape(a.shape()), d), a.dtype());
          }
        },
        x, y);
  }

  Array Moved(const Array& x) {
    int op = dice_.Below(9), d = Dim(x), n = 1 + dice_.Below(3);
    std::vector<int64_t> dims(static_cast<size_t>(x.rank())), shape = x.shape();
    std::iota(dims.begin(), dims.end(), 0);
    std::rotate(dims.begin(), dims.begin() + d, dims.end());
    return Do(
        [&](const Array& a) -> Array {
          switch (op) {
            case 0:
              return transpose(a, dims);
            case 1:
              return a.reshape({-1});
            case 2:
              return a.reshape(Split(shape, d));
            case 3:
              return expand_dims(a, d);
            case 4:
              return broadcast_to(expand_dims(a, 0), Leading(n, shape));
            case 5:
              return tile(a, Repeats(shape.size(), d, n));
            case 6:
              return repeat(a, n, d);
            case 7:
              return a.rank() > 1 ? a.reshape(Merged(shape)) : stack({a, -a}, 0);
            default:
              return squeeze(a);
          }
        },
        x);
  }

  static std::vector<int64_t> Split(std::vector<int64_t> shape, int d) {
    int64_t n = shape[static_cast<size_t>(d)];
    for (int64_t f : {2, 3, 5})
      if (n % f == 0) {
        shape[static_cast<size_t>(d)] = n / f;
        shape.insert(shape.begin() + d, f);
        break;
      }
    return shape;
  }
  static std::vector<int64_t> Merged(std::vector<int64_t> shape) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
    return shape;
  }
  static std::vector<int64_t> Leading(int64_t n, std::vector<int64_t> shape) {
    shape.insert(shape.begin(), n);
    return shape;
  }
  static std::vector<int64_t> Repeats(size_t rank, int d, int64_t n) {
    std::vector<int64_t> repeats(rank, 1);
    repeats[static_cast<size_t>(d)] = n;
    return repeats;
  }

  Array Cut(const Array& x) {
    int op = dice_.Below(7), d = Dim(x);
    auto at = static_cast<size_t>(d);
    int64_t n = x.shape(d), begin = dice_.Below(n), end = begin + 1 + dice_.Below(n - begin);
    int64_t step = 1 + dice_.Below(3), shift = dice_.Below(7) - 3;
    std::vector<int64_t> lo(static_cast<size_t>(x.rank())), hi = x.shape(), by(lo.size(), 1);
    lo[at] = begin, hi[at] = end, by[at] = step;
    std::vector<Padding> padding(lo.size());
    padding[at] = {dice_.Below(5) - 1, dice_.Below(5) - 1, dice_.Below(3)};
    if (n < 3) padding[at].low = padding[at].high = 2;
    return Do(
        [&](const Array& a) -> Array {
          switch (op) {
            case 0:
              return slice(a, lo, hi, by);
            case 1:
              return pad(a, padding, 7);
            case 2:
              return rev(a, d);
            case 3:
              return roll(a, shift, d);
            case 4:
              return concatenate({slice(a, lo, hi), a, rev(a, d)}, d);
            case 5: {
              std::vector<int64_t> sizes{begin, n - begin};
              Arrays parts = split(a, sizes, d);
              return concatenate({parts[1], parts[0]}, d);
            }
            default:
              return concatenate({slice(a, lo, hi), slice(a, lo, hi)}, d);
          }
        },
        x);
  }

  Array Reduced(const Array& x) {
    int op = dice_.Below(9), d = Dim(x);
    bool all = dice_.Below(4) == 0;
    ReduceOptions keep{.keepdims = dice_.Below(2) == 0};
    Dims dims = all ? Dims(All) : Dims(d);
    return Do(
        [&](const Array& a) -> Array {
          switch (op) {
            case 0:
              return max(a, dims, keep);
            case 1:
              return min(a + 200, dims, keep);
            case 2:
              return sum(a + 1, dims, keep);
            case 3:
              return prod(a % 3 - 1, dims, keep);
            case 4:
              return any(a == 3, dims, keep);
            case 5:
              return tessera::all(a != 5, dims, keep);
            case 6:
              return argmax(a, d);
            case 7:
              return argmin(a, d);
            default:
              return sum(astype(a == 0, i32), dims, keep);  // padding is zero, too
          }
        },
        x);
  }

  Array Sorted(const Array& x) {
    int op = dice_.Below(8), d = Dim(x);
    SortOptions options{.descending = dice_.Below(2) == 0};
    CumOptions back{.reverse = dice_.Below(2) == 0};
    int64_t k = 1 + dice_.Below(x.shape(x.rank() - 1));
    return Do(
        [&](const Array& a) -> Array {
          switch (op) {
            case 0:
              return sort(a, d, options);
            case 1:
              return argsort(a, d, options);
            case 2:
              return sort(Arrays{a % 5, a}, d, options)[1];
            case 3:
              return top_k(a, k).values;
            case 4:
              return top_k(a, k).indices;
            case 5:
              return cummax(a, d, back);
            case 6:
              return cummin(a, d, back);
            default:
              return cumsum(a, d, back);
          }
        },
        x);
  }

  Array Looked(const Arrays& pool, const Array& x) {
    int op = dice_.Below(7), d = Dim(x);
    Array some = Pick(pool);
    Array index = astype(some, i32) % x.shape(d);
    auto at = [d](const Array& a, const Array& i) {
      std::vector<Index> entries(static_cast<size_t>(d), Index(All));
      entries.emplace_back(i);
      return At(a, entries);
    };
    Array start = Do([](const Array& a) { return max(a); }, index);
    std::vector<int64_t> sizes = x.shape();
    for (int64_t& n : sizes) n = 1 + dice_.Below(n);
    return Do(
        [&](const Array& a, const Array& i, const Array& s) -> Array {
          Arrays starts(sizes.size(), s);
          switch (op) {
            case 0:
              return take(a, i, d);
            case 1:
              return dynamic_slice(a, starts, sizes);
            case 2:
              return dynamic_update_slice(a, zeros(sizes, a.dtype()) + 9, starts);
            case 3:
              return at(a, i).set(5);
            case 4:
              return at(a, i).max(3);
            case 5:
              return take_along_dim(a, astype(a, i32) % a.shape(d), d);
            default:
              return one_hot(i, a.shape(d)) * 4;
          }
        },
        x, index, start);
  }

  Array Product(const Arrays& pool, const Array& x) {
    Array y = astype(Pick(pool), x.dtype());
    int p = Dim(x), q = -1;
    for (int e = 0; e < y.rank(); ++e)
      if (y.shape(e) == x.shape(p)) q = e;
    bool batch = dice_.Below(3) == 0;
    return Do(
        [&](const Array& a, const Array& b) -> Array {
          if (q < 0) return tensordot(a, a, {.lhs_contract = {p}, .rhs_contract = {p}});
          if (batch) return dot_general(a, b, {.lhs_batch = {p}, .rhs_batch = {q}});
          return dot_general(a, b, {.lhs_contract = {p}, .rhs_contract = {q}});
        },
        x, y);
  }

  // Adds a value that is compared approximately, and returns one that is exact.
  Array Close(const Array& x) {
    int op = dice_.Below(6), d = Dim(x);
    close_.push_back(Do(
        [&](const Array& a) -> Array {
          Array f = astype(a, f32) * 0.01f;
          switch (op) {
            case 0:
              return softmax(f, d);
            case 1:
              return logsumexp(f, d);
            case 2:
              return mean(exp(f), d);
            case 3:
              return sum(cos(f) * tanh(f + 1));
            case 4:
              return var(f, d);
            default:
              return cumlogsumexp(f, d);
          }
        },
        x));
    return x + 3;
  }

  // Values that a body makes stay inside.
  Array Body(Arrays pool, const Array& carry, int depth) {
    Arrays outside = std::exchange(close_, {});
    Array x = carry;
    pool.push_back(carry);
    for (int k = 1 + dice_.Below(3); k > 0; --k) Statement(pool, depth - 1);
    x = Like(Arrays(pool.begin() + static_cast<long>(pool.size() / 2), pool.end()), x);
    close_ = std::move(outside);
    x = Small(x + 1);
    return HasMode(Explicit) ? reshard(x, type_of(carry).spec()) : x;
  }

  void Control(Arrays& pool, const Array& start, int depth) {
    Array x = astype(start, start.dtype());
    Array number = Do([](const Array& a) { return astype(sum(a), i32) % 3; }, x);
    int trips = dice_.Below(4);
    auto body = [&](Array i, Array carry) {
      Arrays inner = pool;
      inner.push_back(i);
      return Body(inner, carry, depth);
    };
    auto branch = [&](Array a) { return Body(pool, a, depth); };
    auto step = [&](Array carry, NoneType) {
      Array next = Body(pool, carry, depth);
      return std::pair(next, next + carry);
    };
    switch (dice_.Below(5)) {
      case 0:
        return Keep(pool, fori_loop(0, trips, body, x));
      case 1:
        return Keep(pool, fori_loop(0, number, body, x));
      case 2:
        return Keep(pool, cond(number < 2, branch, branch, x));
      case 3:
        return Keep(pool, switch_case(number, std::tuple(branch, branch), x));
      default: {
        auto [last, all] = scan(step, x, None, {.length = trips, .reverse = trips == 2});
        auto again = [&](Array carry, Array slice) {
          Array next = Body(Arrays{slice, carry}, carry, depth);
          return std::pair(next, sum(slice));
        };
        auto [end, sums] = scan(again, last, all);
        Keep(pool, all);
        Keep(pool, end);
        if (trips > 0) Keep(pool, sums);
      }
    }
  }

  Dice dice_, layout_;
  Arrays close_;
};

}  // namespace

PartitionSpec RandomConstraint(Dice& dice, int rank) {
  std::vector<std::vector<AxisRef>> axes(static_cast<size_t>(rank));
  std::vector<AxisRef> replicated;
  for (const AxisRef& piece : Pieces(dice, Auto)) {
    int at = dice.Below(rank + 2);
    if (at < rank)
      axes[static_cast<size_t>(at)].push_back(piece);
    else if (at == rank && dice.Below(2) == 0)
      replicated.push_back(piece);
  }
  bool priorities = dice.Below(3) == 0;
  std::vector<DimSharding> dims;
  for (std::vector<AxisRef>& list : axes) {
    DimSharding dim(std::move(list));
    bool open = dice.Below(2) == 0;
    if (open) dim = Open(dim);
    if (priorities && (open || !dim.axes().empty())) dim = dim.priority(dice.Below(3));
    dims.push_back(dim);
  }
  return PartitionSpec(std::move(dims)).replicated(std::move(replicated));
}

PartitionSpec RandomSpec(Dice& dice, const std::vector<int64_t>& shape) {
  std::vector<std::vector<AxisRef>> axes(shape.size());
  std::vector<int64_t> left = shape;
  for (AxisRef piece : Pieces(dice, Explicit)) {
    auto at = static_cast<size_t>(dice.Below(static_cast<int>(shape.size()) + 1));
    if (at == shape.size()) continue;
    // Takes the largest part that divides the dim.
    const int64_t size = piece.size ? piece.size : MeshNow().axis_size(piece.name),
                  part = std::gcd(left[at], size);
    if (part == 1) continue;
    if (part < size) piece = SubAxis(piece.name, piece.pre, part);
    axes[at].push_back(piece);
    left[at] /= part;
  }
  std::vector<DimSharding> dims;
  for (std::vector<AxisRef>& list : axes) dims.emplace_back(std::move(list));
  return PartitionSpec(std::move(dims));
}

namespace {

// Returns the spec, or one that is reduced over the Explicit axes that the spec leaves free.
PartitionSpec MaybeReduced(Dice& dice, const PartitionSpec& spec) {
  std::vector<AxisRef> left;
  for (const MeshAxis& axis : MeshNow().axes()) {
    const auto has = [&](const AxisRef& a) { return a.name == axis.name; };
    const bool used =
        std::any_of(spec.dims().begin(), spec.dims().end(), [&](const DimSharding& dim) {
          return std::any_of(dim.axes().begin(), dim.axes().end(), has);
        });
    if (axis.mode == Explicit && !used) left.push_back({axis.name});
  }
  return left.empty() || dice.Below(3) > 0 ? spec : spec.reduced(left);
}

}  // namespace

Array LaidOut(Dice& dice, const Array& x) {
  Array y = x;
  if (HasMode(Explicit)) y = reshard(x, MaybeReduced(dice, RandomSpec(dice, x.shape())));
  return HasMode(Auto) ? with_sharding_constraint(y, RandomConstraint(dice, x.rank())) : y;
}

std::vector<Array> RandomArguments(int seed) {
  Dice dice(seed + 7919);
  std::vector<int64_t> sizes;
  for (int k = 0; k < 3; ++k) sizes.push_back(1 + dice.Below(9));
  // Many short rows run in other kernels than few.
  if (dice.Below(4) == 0) sizes = {32 + dice.Below(40), 1 + dice.Below(40), 1 + dice.Below(3)};
  std::vector<std::vector<int64_t>> shapes = {
      {sizes[0], sizes[1]}, {sizes[1], sizes[2]}, {sizes[0]}, {sizes[0], sizes[1], sizes[2]}};
  std::vector<Array> arguments;
  for (const auto& shape : shapes) {
    int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    std::vector<float> data;
    for (int64_t i = 0; i < n; ++i) data.push_back(static_cast<float>(dice.Below(41) - 20));
    Array x = array(data).reshape(Shape(shape));
    arguments.push_back(dice.Below(2) ? astype(x, i32) : x);
  }
  return arguments;
}

RandomResults RandomProgram(int seed, int layout, const std::vector<Array>& arguments) {
  return Maker(seed, layout).Run(arguments);
}

}  // namespace tessera::suite
