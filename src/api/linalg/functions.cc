// Powers, exponentials, norms and products of matrices.
#include <fmt/format.h>

#include <cmath>

#include "api/array/reductions.h"
#include "api/core/edits.h"
#include "api/core/option_fields.h"
#include "api/linalg/systems.h"
#include "base/dtype.h"
#include "tessera/control.h"
#include "tessera/gradients.h"
#include "tessera/linalg.h"

namespace tessera::linalg {

using namespace api;

Array matrix_power(Operand a, int64_t n, Loc loc) {
  const Call call{"matrix_power", loc};
  return AsOne(call, {a, n}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    Array square = ToSquare(n < 0 ? Operand(ToFloat(x, call), loc) : x, call, OwnDims::kSharded);
    if (n >= 0) square = ToArray(x, call);
    if (n == 0) return f.Add(zeros_like(square, {}, loc), f.Identity(square, RowsOf(square)));
    if (n < 0) square = inv(square, loc);
    Array power;
    for (uint64_t left = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n); left > 0;
         left /= 2) {
      if (left % 2 == 1) power = power.is_given() ? f.MatMul(power, square) : square;
      if (left > 1) square = f.MatMul(square, square);
    }
    return power;
  });
}

namespace {

// The coefficients of the Pade approximation of e^x, whose denominator has them with alternating
// signs, and the 1-norm up to which it has the dtype's precision (Higham, The scaling and squaring
// method for the matrix exponential revisited, 2005).
struct Pade {
  std::vector<double> coefficients;
  double largest;
};
Pade PadeOf(DType dtype) {
  if (base::PartOf(dtype) == f64)
    return {{64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800.,
             129060195264000., 10559470521600., 670442572800., 33522128640., 1323241920., 40840800.,
             960960., 16380., 182., 1.},
            5.371920351148152};
  return {{17297280., 8648640., 1995840., 277200., 25200., 1512., 56., 1.}, 3.925724783138660};
}

constexpr int64_t kMostSquarings = 16;

Array Exponential(const Array& a, const MatrixFormulas& f) {
  const Loc loc = f.loc();
  const Pade pade = PadeOf(TypeOf(a)->dtype());
  const Array size = stop_gradient(matrix_norm(a, {.ord = 1, .keepdims = true}, loc), loc);
  const Array logarithm = log2(f.Scaled(size, 1 / pade.largest), loc);
  const Array squarings = maximum(ceil(logarithm, loc), Operand(0, loc), {}, loc);
  const Array scaled = f.Mul(a, exp2(neg(squarings, loc), loc));
  const Array identity = f.Identity(a, RowsOf(a)), square = f.MatMul(scaled, scaled);
  Array odd = f.Scaled(identity, pade.coefficients[1]),
        even = f.Scaled(identity, pade.coefficients[0]);
  Array power = square;
  for (size_t k = 2; k < pade.coefficients.size(); k += 2) {
    even = f.Add(even, f.Scaled(power, pade.coefficients[k]));
    odd = f.Add(odd, f.Scaled(power, pade.coefficients[k + 1]));
    if (k + 2 < pade.coefficients.size()) power = f.MatMul(power, square);
  }
  odd = f.MatMul(scaled, odd);
  const Array start = SolveSystem(f.Sub(even, odd), f.Add(even, odd), f);
  const Array most = reduce_max(squarings, All, {}, loc);
  const auto [result, none] = scan(
      [=](Array x, Array step) {
        const Array next = tessera::cond(
            lt(step, most, {}, loc),
            [=](Array y) { return f.Where(lt(step, squarings, {}, loc), f.MatMul(y, y), y); },
            [](Array y) { return y; }, x);
        return std::pair(next, None);
      },
      start, arange(kMostSquarings, {.dtype = TypeOf(size)->dtype()}, loc), {}, loc);
  const Array far = gt(squarings, Operand(kMostSquarings, loc), {}, loc);
  return f.Where(far, f.NumberLike(a, std::numeric_limits<double>::quiet_NaN()), result);
}

}  // namespace

Array expm(Operand a, Loc loc) {
  const Call call{"expm", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    const Array m = ToSquare(x, call);
    return TypeOf(m)->elements() == 0 ? m : Exponential(m, MatrixFormulas(call));
  });
}

ExpmFrechet expm_frechet(Operand a, Operand e, Loc loc) {
  const Call call{"expm_frechet", loc};
  std::vector<Array> made =
      AsOne(call, {{"a", a}, {"e", e}}, [&](const Operand& x, const Operand& direction) {
        const DType t = FloatOf(PromotedDType({x, direction}, call));
        const Array m = ToSquare(Convert(ToArray(x, call), t, call), call);
        const Array d = ToSquare(Convert(ToArray(direction, call), t, call), call);
        if (ShapeOf(m) != ShapeOf(d))
          FailShape(call, 13,
                    fmt::format("a and e have one shape, not {} and {}", ir::FieldText(ShapeOf(m)),
                                ir::FieldText(ShapeOf(d))));
        const auto both =
            jvp([loc](Array y) { return expm(y, loc); }, std::tuple(m), std::tuple(d), loc);
        return std::vector<Array>{both.first, both.second};
      });
  return {made[0], made[1]};
}

Array matrix_transpose(Operand x, Loc loc) {
  const Call call{"matrix_transpose", loc};
  return AsOne(call, {x}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    if (Rank(a) < 2)
      FailShape(call, 11, fmt::format("a matrix has rank 2 or more, not {}", Rank(a)));
    return swapaxes(a, -1, -2, loc);
  });
}

Array norm(Operand x, Dims dims, NormOptions options, Loc loc) {
  return tessera::norm(std::move(x), std::move(dims), std::move(options), loc);
}

static std::string Code(const VectorNormOptions& v) {
  return OptionFields().Add("ord", v.ord, NormOrder(2)).Add("keepdims", v.keepdims, false).code();
}
static std::string Code(const MatrixNormOptions& v) {
  return OptionFields()
      .Add("ord", v.ord, NormOrder("fro"))
      .Add("keepdims", v.keepdims, false)
      .code();
}

Array vector_norm(Operand x, Dims dims, VectorNormOptions options, Loc loc) {
  const Call call{"vector_norm", loc};
  return AsOne(call, {x, dims, options}, [&](const Operand& operand) {
    Array a = ToFloat(operand, call);
    const int64_t rank = Rank(a);
    const std::vector<int64_t> own = NormalDims(dims, rank, call);
    // The dims move to the end and become one.
    std::vector<int64_t> order;
    base::Shape shape, kept(ShapeOf(a));
    int64_t size = 1;
    for (int64_t d = 0; d < rank; ++d)
      if (std::find(own.begin(), own.end(), d) == own.end()) {
        order.push_back(d);
        shape.push_back(ShapeOf(a)[static_cast<size_t>(d)]);
      }
    for (int64_t d : own) {
      order.push_back(d);
      size *= ShapeOf(a)[static_cast<size_t>(d)];
      kept[static_cast<size_t>(d)] = 1;
    }
    if (own.size() != 1) {
      shape.push_back(size);
      a = Reshape(transpose(a, order, loc), shape, call);
      const Array y = tessera::norm(a, {-1}, {.ord = options.ord}, loc);
      return options.keepdims ? Reshape(y, kept, call) : y;
    }
    return tessera::norm(a, own, {.ord = options.ord, .keepdims = options.keepdims}, loc);
  });
}

Array matrix_norm(Operand x, MatrixNormOptions options, Loc loc) {
  const Call call{"matrix_norm", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    return tessera::norm(ToMatrices(operand, call, OwnDims::kSharded), {-2, -1},
                         {.ord = options.ord, .keepdims = options.keepdims}, loc);
  });
}

namespace {

// Multiplies the matrices [first, last] in the cheapest order: `split[first][last]` is the last of
// the left factor.
Array Multiplied(const std::vector<Array>& ms, const std::vector<std::vector<size_t>>& split,
                 size_t first, size_t last, const MatrixFormulas& f) {
  if (first == last) return ms[first];
  const size_t middle = split[first][last];
  return f.MatMul(Multiplied(ms, split, first, middle, f),
                  Multiplied(ms, split, middle + 1, last, f));
}

}  // namespace

Array multi_dot(std::vector<Array> matrices, Loc loc) {
  const Call call{"multi_dot", loc};
  return AsOne(call, {matrices}, [&](std::vector<Array> ms) {
    const size_t n = ms.size();
    if (n < 2) FailShape(call, 13, fmt::format("it multiplies two or more matrices, not {}", n));
    // Matrix i is [sizes[i], sizes[i + 1]]; a vector at an end counts as one row or column.
    std::vector<double> sizes;
    for (size_t i = 0; i < n; ++i) {
      const bool vector = Rank(ms[i]) == 1 && (i == 0 || i + 1 == n);
      if (Rank(ms[i]) != 2 && !vector)
        FailShape(call, 11, fmt::format("array {} has rank {}, not 2", i, Rank(ms[i])));
      sizes.push_back(vector && i == 0 ? 1 : static_cast<double>(ShapeOf(ms[i])[0]));
    }
    sizes.push_back(Rank(ms.back()) == 1 ? 1 : static_cast<double>(ShapeOf(ms.back())[1]));
    std::vector<std::vector<double>> cost(n, std::vector<double>(n));
    std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n));
    for (size_t length = 1; length < n; ++length)
      for (size_t first = 0; first + length < n; ++first) {
        const size_t last = first + length;
        cost[first][last] = std::numeric_limits<double>::infinity();
        for (size_t middle = first; middle < last; ++middle) {
          const double total = cost[first][middle] + cost[middle + 1][last] +
                               sizes[first] * sizes[middle + 1] * sizes[last + 1];
          if (total >= cost[first][last]) continue;
          cost[first][last] = total;
          split[first][last] = middle;
        }
      }
    return Multiplied(ms, split, 0, n - 1, MatrixFormulas(call));
  });
}

Array cross(Operand a, Operand b, int dim, Loc loc) {
  const Call call{"cross", loc};
  return AsOne(call, {a, b, dim}, [&](const Operand& left, const Operand& right) {
    const MatrixFormulas f(call);
    const std::vector<Array> both = Promote({left, right}, call);
    const Array &x = both[0], &y = both[1];
    for (const Array& v : both)
      if (ShapeOf(v)[static_cast<size_t>(NormalDim(dim, Rank(v), call))] != 3)
        FailShape(call, 13, fmt::format("dim {} of {} must have size 3", dim, TypeOf(v)->text()));
    const auto rolled = [&](const Array& v, int64_t by) { return roll(v, by, dim, loc); };
    return f.Sub(f.Mul(rolled(x, -1), rolled(y, -2)), f.Mul(rolled(x, -2), rolled(y, -1)));
  });
}

}  // namespace tessera::linalg
