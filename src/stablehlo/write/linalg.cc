// Factorisations of matrices, by the LAPACK functions that XLA's CPU backend calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "base/dtype.h"
#include "ops/params.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

// One call. Operands and results have the same batch dims, the leading ones.
struct LapackCall {
  std::string_view real, complex;  // names of the function, without its letter and "_ffi"
  std::string config = "";
  OutValues operands;
  OutTypes results;
  std::vector<std::pair<size_t, size_t>> in_place = {};  // results that overwrite operands
};

// Matrices are column-major.
std::string LayoutText(const OutType& type, int64_t batch) {
  std::vector<int64_t> order;
  for (int64_t d = batch; d < type.rank(); ++d) order.push_back(d);
  for (int64_t d = batch; d-- > 0;) order.push_back(d);
  return fmt::format("dense<{}> : tensor<{}xindex>", order.empty() ? "" : NumbersText(order),
                     order.size());
}

OutValues Call(const WriteCall& c, const LapackCall& call) {
  const OutType& first = call.operands[0].type;
  const DType t = first.dtype;
  const int64_t batch = c.type_in(0)->rank() - (c.name() == "tridiagonal_solve" ? 1 : 2);
  std::vector<std::string> operands, results, aliases;
  for (const OutValue& x : call.operands) operands.push_back(LayoutText(x.type, batch));
  for (const OutType& r : call.results) results.push_back(LayoutText(r, batch));
  for (const auto& [result, operand] : call.in_place)
    aliases.push_back(fmt::format(
        "#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {}, "
        "operand_tuple_indices = []>",
        call.results.size() == 1 ? "[]" : fmt::format("[{}]", result), operand));
  const char letter = t == f32 ? 's' : t == f64 ? 'd' : t == c64 ? 'c' : 'z';
  return c.w.Add(
      "stablehlo.custom_call", call.operands, call.results,
      fmt::format("api_version = 4 : i32, backend_config = {{{}}}, call_target_name = "
                  "\"lapack_{}{}_ffi\", operand_layouts = [{}], output_operand_aliases = [{}], "
                  "result_layouts = [{}]",
                  call.config, letter, t.is_complex() ? call.complex : call.real,
                  fmt::join(operands, ", "), fmt::join(aliases, ", "), fmt::join(results, ", ")));
}

// The sizes of the matrices [..., m, n] of operand 0.
struct Sizes {
  explicit Sizes(const OutType& a)
      : batch(a.shape.begin(), a.shape.end() - 2),
        m(*(a.shape.end() - 2)),
        n(a.shape.back()),
        least(std::min(m, n)),
        dtype(a.dtype) {}
  OutType type(std::initializer_list<int64_t> dims, DType t) const {
    OutType made{batch, t};
    made.shape.insert(made.shape.end(), dims);
    return made;
  }
  OutType matrix(int64_t rows, int64_t columns) const { return type({rows, columns}, dtype); }
  OutType info() const { return type({}, i32); }
  DType real() const { return base::PartOf(dtype); }

  base::Shape batch;
  int64_t m, n, least;
  DType dtype;
};

// Returns x with NaN in the matrices or vectors whose info tells of a failure.
OutValue Checked(TextWriter& w, const OutValue& x, const OutValue& info) {
  const OutValue good = w.Compare("EQ", info, w.Whole(info.type, 0));
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < info.type.rank(); ++d) dims.push_back(d);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return w.Select(w.Spread(good, x.type.shape, dims), x, w.Number(x.type, nan));
}

// Returns the elements where row >= column, or row <= column; else zeros.
OutValue Triangle(TextWriter& w, const OutValue& x, bool is_lower) {
  const OutType index{x.type.shape, i32};
  const int64_t rank = x.type.rank();
  const OutValue kept =
      w.Compare(is_lower ? "GE" : "LE", w.Iota(index, rank - 2), w.Iota(index, rank - 1));
  return w.Select(kept, x, w.Whole(x.type, 0));
}

OutValues Cholesky(const WriteCall& c) {
  const Sizes s(c.in[0].type);
  const OutValues made = Call(c, {.real = "potrf",
                                  .complex = "potrf",
                                  .config = "uplo = 76 : ui8",
                                  .operands = {c.in[0]},
                                  .results = {c.in[0].type, s.info()},
                                  .in_place = {{0, 0}}});
  return {Triangle(c.w, Checked(c.w, made[0], made[1]), true)};
}

OutValues TriangularSolve(const WriteCall& c) {
  const auto& p = c.params<ops::TriangularSolveParams>();
  OutValue a = c.in[0];
  const bool is_conjugate = p.conjugate_a && a.type.dtype.is_complex();
  if (is_conjugate && !p.transpose_a) {
    const OutType part{a.type.shape, base::PartOf(a.type.dtype)};
    a = c.w.One("stablehlo.complex",
                {c.w.One("stablehlo.real", {a}, part),
                 c.w.Unary("stablehlo.negate", c.w.One("stablehlo.imag", {a}, part))},
                a.type);
  }
  const std::string_view transpose = !p.transpose_a ? "NO_TRANSPOSE"
                                     : is_conjugate ? "ADJOINT"
                                                    : "TRANSPOSE";
  return {c.w.One("stablehlo.triangular_solve", {a, c.in[1]}, c.out(),
                  fmt::format("left_side = {}, lower = {}, transpose_a = #stablehlo<transpose {}>, "
                              "unit_diagonal = {}",
                              p.left_side, p.lower, transpose, p.unit_diagonal))};
}

// Returns the element at index k of the last dim, as a dim of size 1.
OutValue ElementAt(TextWriter& w, const OutValue& x, const OutValue& k) {
  OutValues operands = {x};
  for (int d = 1; d < x.type.rank(); ++d) operands.push_back(w.Whole(k.type, 0));
  operands.push_back(k);
  OutType one = x.type;
  one.shape.back() = 1;
  return w.One("stablehlo.dynamic_slice", operands, one,
               "slice_sizes = " + IntegersText(one.shape));
}

// Returns the permutation that exchanges element k and element pivots[k], for each k in turn.
OutValue PermutationOf(TextWriter& w, const OutValue& pivots, const OutType& out) {
  const OutType number{{}, i32};
  const OutValue places = w.Iota(out, out.rank() - 1);
  if (pivots.type.shape.back() == 0) return places;
  const OutTypes types = {number, out};
  const std::string condition = w.Region(types, [&](const OutValues& in) {
    return OutValues{w.Compare("LT", in[0], w.Whole(number, pivots.type.shape.back()))};
  });
  const std::string body = w.Region(types, [&](const OutValues& in) {
    const OutValue &k = in[0], &permutation = in[1];
    const OutValue is_pivot =
        w.Compare("EQ", places, w.SpreadTo(ElementAt(w, pivots, k), out.shape));
    const OutValue is_k = w.Compare("EQ", places, w.SpreadTo(k, out.shape));
    const OutValue old = w.SpreadTo(ElementAt(w, permutation, k), out.shape);
    const OutValue at_pivot =
        w.Reduce("stablehlo.add", w.Select(is_pivot, permutation, w.Whole(out, 0)),
                 w.Whole(number, 0), {out.rank() - 1});
    base::Shape one = out.shape;
    one.back() = 1;
    const OutValue other = w.SpreadTo(w.Reshape(at_pivot, one), out.shape);
    return OutValues{w.Binary("stablehlo.add", k, w.Whole(number, 1)),
                     w.Select(is_k, other, w.Select(is_pivot, old, permutation))};
  });
  return w.Add("stablehlo.while", {w.Whole(number, 0), places}, types, "", {condition, body})[1];
}

OutValues Lu(const WriteCall& c) {
  const Sizes s(c.in[0].type);
  const OutValues made = Call(c, {.real = "getrf",
                                  .complex = "getrf",
                                  .operands = {c.in[0]},
                                  .results = {c.in[0].type, s.type({s.least}, i32), s.info()},
                                  .in_place = {{0, 0}}});
  const OutValue pivots = c.w.Binary("stablehlo.subtract", made[1], c.w.Whole(made[1].type, 1));
  return {made[0], pivots, PermutationOf(c.w, pivots, c.out(2))};
}

// Returns the first columns of a product of reflectors.
OutValue Unitary(const WriteCall& c, const OutValue& reflectors, const OutValue& taus) {
  return Call(c, {.real = "orgqr",
                  .complex = "ungqr",
                  .operands = {reflectors, taus},
                  .results = {reflectors.type},
                  .in_place = {{0, 0}}})[0];
}

OutValues HouseholderProduct(const WriteCall& c) { return {Unitary(c, c.in[0], c.in[1])}; }

// The reflectors and r in one matrix, the factors of the reflectors, and if `pivoting` the columns
// in their new order, counted from 0.
OutValues PackedFactors(const WriteCall& c, bool pivoting) {
  TextWriter& w = c.w;
  const Sizes s(c.in[0].type);
  const OutType taus = s.type({s.least}, s.dtype), exchanged = s.type({s.n}, i32);
  const bool exchanges = pivoting && s.least > 0;  // LAPACK refuses empty matrices
  if (!exchanges) {
    OutValues made = Call(c, {.real = "geqrf",
                              .complex = "geqrf",
                              .operands = {c.in[0]},
                              .results = {c.in[0].type, taus},
                              .in_place = {{0, 0}}});
    if (pivoting) made.push_back(w.Iota(exchanged, exchanged.rank() - 1));
    return made;
  }
  const OutValues made = Call(c, {.real = "geqp3",
                                  .complex = "geqp3",
                                  .operands = {c.in[0], w.Whole(exchanged, 0)},
                                  .results = {c.in[0].type, exchanged, taus},
                                  .in_place = {{0, 0}, {1, 1}}});
  return {made[0], made[2], w.Binary("stablehlo.subtract", made[1], w.Whole(exchanged, 1))};
}

OutValues PackedQr(const WriteCall& c) {
  return PackedFactors(c, c.params<ops::PackedQrParams>().pivoting);
}

OutValues Qr(const WriteCall& c) {
  const auto& p = c.params<ops::QrParams>();
  TextWriter& w = c.w;
  const Sizes s(c.in[0].type);
  const OutValues made = PackedFactors(c, p.pivoting);
  const int64_t last = c.in[0].type.rank() - 1;
  const int64_t columns = p.full_matrices ? s.m : s.least;
  OutValue reflectors = w.SliceDim(made[0], last, 0, std::min(s.n, columns));
  if (columns > s.n)
    reflectors = w.Concatenate({reflectors, w.Whole(s.matrix(s.m, columns - s.n), 0)}, last);
  const OutValue r = Triangle(w, w.SliceDim(made[0], last - 1, 0, columns), false);
  OutValues results = {Unitary(c, reflectors, made[1]), r};
  if (p.pivoting) results.push_back(made[2]);
  return results;
}

OutValues Eigh(const WriteCall& c) {
  const bool vectors = c.params<ops::VectorsParams>().vectors;
  const Sizes s(c.in[0].type);
  const OutValues made =
      Call(c, {.real = "syevd",
               .complex = "heevd",
               .config = fmt::format("mode = {} : ui8, uplo = 76 : ui8", vectors ? 86 : 78),
               .operands = {c.in[0]},
               .results = {c.in[0].type, s.type({s.n}, s.real()), s.info()},
               .in_place = {{0, 0}}});
  const OutValue values = Checked(c.w, made[1], made[2]);
  return vectors ? OutValues{Checked(c.w, made[0], made[2]), values} : OutValues{values};
}

OutValues Eig(const WriteCall& c) {
  const bool vectors = c.params<ops::VectorsParams>().vectors;
  const Sizes s(c.in[0].type);
  const DType t = base::ComplexOf(s.real());
  OutTypes results(s.dtype.is_complex() ? 1 : 2, s.type({s.n}, s.dtype));
  for (int side = 0; side < 2; ++side) results.push_back(s.type({s.n, s.n}, t));
  results.push_back(s.info());
  OutValues made =
      Call(c, {.real = "geev",
               .complex = "geev",
               .config = fmt::format("compute_left = 78 : ui8, compute_right = {} : ui8",
                                     vectors ? 86 : 78),
               .operands = {c.in[0]},
               .results = results});
  if (!s.dtype.is_complex()) {
    made[1] = c.w.One("stablehlo.complex", {made[0], made[1]}, {made[0].type.shape, t});
    made.erase(made.begin());
  }
  const OutValue values = Checked(c.w, made[0], made[3]);
  return vectors ? OutValues{Checked(c.w, made[2], made[3]), values} : OutValues{values};
}

OutValues Svd(const WriteCall& c) {
  const auto& p = c.params<ops::SvdParams>();
  const Sizes s(c.in[0].type);
  const int64_t rows = p.full_matrices ? s.m : s.least, columns = p.full_matrices ? s.n : s.least;
  const int mode = !p.compute_uv ? 78 : p.full_matrices ? 65 : 83;
  const OutValues made =
      Call(c, {.real = "gesdd",
               .complex = "gesdd",
               .config = fmt::format("mode = {} : ui8", mode),
               .operands = {c.in[0]},
               .results = {c.in[0].type, s.type({s.least}, s.real()), s.matrix(s.m, rows),
                           s.matrix(columns, s.n), s.info()},
               .in_place = {{0, 0}}});
  const OutValue values = Checked(c.w, made[1], made[4]);
  if (!p.compute_uv) return {values};
  return {Checked(c.w, made[2], made[4]), values, Checked(c.w, made[3], made[4])};
}

OutValues Schur(const WriteCall& c) {
  const bool vectors = c.params<ops::VectorsParams>().vectors;
  const Sizes s(c.in[0].type);
  OutTypes results = {c.in[0].type, c.in[0].type};
  for (int part = s.dtype.is_complex() ? 1 : 0; part < 2; ++part)
    results.push_back(s.type({s.n}, s.dtype));
  results.push_back(s.info());  // the number of selected eigenvalues
  results.push_back(s.info());
  const OutValues made =
      Call(c, {.real = "gees",
               .complex = "gees",
               .config = fmt::format("mode = {} : ui8, sort = 78 : ui8", vectors ? 86 : 78),
               .operands = {c.in[0]},
               .results = results,
               .in_place = {{0, 0}}});
  const OutValue form = Checked(c.w, made[0], made.back());
  return vectors ? OutValues{form, Checked(c.w, made[1], made.back())} : OutValues{form};
}

OutValues Hessenberg(const WriteCall& c) {
  const Sizes s(c.in[0].type);
  const OutValues made = Call(c, {.real = "gehrd",
                                  .complex = "gehrd",
                                  .config = fmt::format("high = {} : i32, low = 1 : i32", s.n),
                                  .operands = {c.in[0]},
                                  .results = {c.in[0].type, c.out(1), s.info()},
                                  .in_place = {{0, 0}}});
  return {Checked(c.w, made[0], made[2]), Checked(c.w, made[1], made[2])};
}

OutValues Tridiagonal(const WriteCall& c) {
  const Sizes s(c.in[0].type);
  const bool is_lower = c.params<ops::TridiagonalParams>().lower;
  OutValues made = Call(c, {.real = "sytrd",
                            .complex = "hetrd",
                            .config = fmt::format("uplo = {} : ui8", is_lower ? 76 : 85),
                            .operands = {c.in[0]},
                            .results = {c.in[0].type, c.out(1), c.out(2), c.out(3), s.info()},
                            .in_place = {{0, 0}}});
  for (size_t k = 0; k < 4; ++k) made[k] = Checked(c.w, made[k], made[4]);
  made.pop_back();
  return made;
}

OutValues TridiagonalSolve(const WriteCall& c) {
  OutTypes results = TypesOf(c.in);
  results.push_back({{c.in[0].type.shape.begin(), c.in[0].type.shape.end() - 1}, i32});
  return {Call(c, {.real = "gtsv",
                   .complex = "gtsv",
                   .operands = c.in,
                   .results = results,
                   .in_place = {{0, 0}, {1, 1}, {2, 2}, {3, 3}}})[3]};
}

}  // namespace

std::vector<OpWriter> LinalgWriters() {
  return {
      {"cholesky", Cholesky},
      {"eig", Eig},
      {"eigh", Eigh},
      {"hessenberg", Hessenberg},
      {"householder_product", HouseholderProduct},
      {"lu", Lu},
      {"packed_qr", PackedQr},
      {"qr", Qr},
      {"schur", Schur},
      {"svd", Svd},
      {"triangular_solve", TriangularSolve},
      {"tridiagonal", Tridiagonal},
      {"tridiagonal_solve", TridiagonalSolve},
  };
}

}  // namespace tessera::stablehlo
