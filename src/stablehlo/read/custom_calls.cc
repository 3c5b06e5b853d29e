// Custom calls: LAPACK's functions as XLA calls them on a CPU, their relatives of other platforms,
// and operations of older texts.
#include "base/at.h"
#include "base/dtype.h"
#include "stablehlo/read/importer.h"
#include "tessera/combiners.h"
#include "tessera/linalg.h"

namespace tessera::stablehlo {
namespace {

// Returns a number of the configuration, which is a dictionary. The pretty form moves it to a
// second attribute.
int64_t Configured(const ReadCall& c, std::string_view field, int64_t otherwise) {
  for (const char* name : {"mhlo.backend_config", "backend_config"})
    if (const Attribute* config = c.op().Find(name);
        config && config->kind == Attribute::Kind::kDictionary)
      return c.FieldInteger(name, field, otherwise);
  return otherwise;
}

// Returns a letter of the configuration, as LAPACK names its choices: 'L' of `uplo = 76 : ui8`.
char Letter(const ReadCall& c, std::string_view field, char otherwise) {
  return static_cast<char>(Configured(c, field, otherwise));
}

Array Adjoint(const Array& a, Loc loc) { return linalg::matrix_transpose(conj(a, loc), loc); }

// Returns zeros of the type of result k.
Array ZerosOf(const ReadCall& c, size_t k) {
  return zeros(Shape(c.ResultShape(k)), {.dtype = c.ResultDType(k)}, c.loc());
}

// Results that say whether all is well: zeros.
Arrays WithInfo(const ReadCall& c, Arrays results) {
  while (results.size() < c.op().result_types.size()) results.push_back(ZerosOf(c, results.size()));
  return results;
}

// Checks for matrices before their dims are used.
const Array& Matrices(const ReadCall& c, size_t k) {
  const Array& a = c.In(k);
  if (api::Rank(a) < 2) c.Fail("it needs matrices");
  return a;
}

// The other triangle keeps its elements.
Arrays Potrf(ReadCall& c) {
  const Loc loc = c.loc();
  const bool upper = Letter(c, "uplo", 'L') == 'U';
  const Array& a = Matrices(c, 0);
  const Array lower = upper ? Adjoint(a, loc) : a;
  const Array l = api::Run(ops::kCholesky, nullptr, {lower}, c.call());
  const Array whole =
      upper ? add(Adjoint(l, loc), tril(a, -1, loc), {}, loc) : add(l, triu(a, 1, loc), {}, loc);
  const Array failed = any(isnan(l, loc), {-2, -1}, {}, loc);
  return {whole, api::Convert(failed, i32, c.call())};
}

// LAPACK counts pivots from 1.
Arrays Getrf(ReadCall& c) {
  const linalg::Lu made = linalg::lu(Matrices(c, 0), {}, c.loc());
  return WithInfo(c, {made.lu, add(made.pivots, Operand(1, c.loc()), {}, c.loc())});
}
Arrays LuDecomposition(ReadCall& c) {
  const linalg::Lu made = linalg::lu(Matrices(c, 0), {}, c.loc());
  return {made.lu, made.pivots, made.permutation};
}
Arrays PivotsToPermutation(ReadCall& c) {
  return {linalg::lu_pivots_to_permutation(c.In(0), c.ResultShape().back(), c.loc())};
}

Arrays Geqrf(ReadCall& c) {
  return WithInfo(c, api::RunAll(ops::kPackedQr, ir::MakeParams(ops::PackedQrParams{}),
                                 {Matrices(c, 0)}, c.call()));
}
Arrays Geqp3(ReadCall& c) {
  const Arrays made = api::RunAll(ops::kPackedQr, ir::MakeParams(ops::PackedQrParams{true}),
                                  {Matrices(c, 0)}, c.call());
  return WithInfo(c, {made[0], add(made[2], Operand(1, c.loc()), {}, c.loc()), made[1]});
}
Arrays Orgqr(ReadCall& c) {
  return WithInfo(c, {linalg::householder_product(Matrices(c, 0), c.In(1), c.loc())});
}

Arrays Hermitian(ReadCall& c, bool upper, bool vectors) {
  const Array& a = Matrices(c, 0);
  const Array lower = upper ? Adjoint(a, c.loc()) : a;
  const Arrays made =
      api::RunAll(ops::kEigh, ir::MakeParams(ops::VectorsParams{vectors}), {lower}, c.call());
  return WithInfo(c, vectors ? made : Arrays{a, made[0]});
}
Arrays Syevd(ReadCall& c) {
  return Hermitian(c, Letter(c, "uplo", 'L') == 'U', Letter(c, "mode", 'V') == 'V');
}
// Its configuration is "lower,sort,iterations,tolerance".
Arrays Eigh(ReadCall& c) { return Hermitian(c, c.Word("backend_config").starts_with('0'), true); }

// Returns vectors in columns, each with norm 1.
Array Normalised(const Array& v, Loc loc) {
  const Array size = norm(v, {-2}, {.keepdims = true}, loc);
  return div(v, size.astype(api::TypeOf(v)->dtype()), {}, loc);
}

// The values of a real matrix come as two real arrays.
Arrays Geev(ReadCall& c) {
  const Loc loc = c.loc();
  const Array& a = Matrices(c, 0);
  const bool left = Letter(c, "compute_left", 'N') == 'V',
             right = Letter(c, "compute_right", 'N') == 'V', vectors = left || right;
  const Arrays made =
      api::RunAll(ops::kEig, ir::MakeParams(ops::VectorsParams{vectors}), {a}, c.call());
  Arrays results = {made.back()};
  if (!api::TypeOf(a)->dtype().is_complex())
    results = {real(made.back(), loc), imag(made.back(), loc)};
  const size_t next = results.size();
  // v^-1 a v is diagonal, so the rows of v^-1 are the left eigenvectors.
  results.push_back(left ? Normalised(Adjoint(linalg::inv(made[0], loc), loc), loc)
                         : ZerosOf(c, next));
  results.push_back(right ? made[0] : ZerosOf(c, next + 1));
  return WithInfo(c, std::move(results));
}

Arrays Gesdd(ReadCall& c) {
  const char mode = Letter(c, "mode", 'N');
  const Array& a = Matrices(c, 0);
  const bool vectors = mode != 'N';
  const Arrays made =
      api::RunAll(ops::kSvd, ir::MakeParams(ops::SvdParams{vectors, mode == 'A'}), {a}, c.call());
  if (vectors) return WithInfo(c, {a, made[1], made[0], made[2]});
  return WithInfo(c, {a, made[0]});
}

// Returns the imaginary parts of the eigenvalues of a real Schur form: those of a block of two rows
// are conjugate, the positive one first.
Array ImaginaryParts(const Array& t, Loc loc) {
  const Array below = diagonal(t, {.offset = -1, .dim1 = -2, .dim2 = -1}, loc),
              above = diagonal(t, {.offset = 1, .dim1 = -2, .dim2 = -1}, loc);
  const Array size = mul(sqrt(abs(below, loc), loc), sqrt(abs(above, loc), loc), {}, loc);
  std::vector<Padding> after(base::Size(api::Rank(size))), before = after;
  after.back().high = before.back().low = 1;
  return sub(pad(size, after, 0, loc), pad(size, before, 0, loc), {}, loc);
}

Arrays Gees(ReadCall& c) {
  const Loc loc = c.loc();
  if (Letter(c, "sort", 'N') != 'N') c.Fail("sorted Schur forms are not supported");
  const bool vectors = Letter(c, "mode", 'V') == 'V';
  const Arrays made = api::RunAll(ops::kSchur, ir::MakeParams(ops::VectorsParams{vectors}),
                                  {Matrices(c, 0)}, c.call());
  Arrays results = {made[0], vectors ? made[1] : ZerosOf(c, 1),
                    diagonal(made[0], {.dim1 = -2, .dim2 = -1}, loc)};
  if (!api::TypeOf(made[0])->dtype().is_complex()) results.push_back(ImaginaryParts(made[0], loc));
  return WithInfo(c, std::move(results));
}

Arrays Gehrd(ReadCall& c) {
  return WithInfo(c, api::RunAll(ops::kHessenberg, nullptr, {Matrices(c, 0)}, c.call()));
}
Arrays Sytrd(ReadCall& c) {
  const ops::TridiagonalParams params{Letter(c, "uplo", 'L') != 'U'};
  return WithInfo(
      c, api::RunAll(ops::kTridiagonal, ir::MakeParams(params), {Matrices(c, 0)}, c.call()));
}

// Older texts have a factor of b as third operand.
Arrays Trsm(ReadCall& c) {
  const char transpose = Letter(c, "trans_x", 'N');
  const ops::TriangularSolveParams params{.left_side = Letter(c, "side", 'L') == 'L',
                                          .lower = Letter(c, "uplo", 'L') == 'L',
                                          .transpose_a = transpose != 'N',
                                          .conjugate_a = transpose == 'C',
                                          .unit_diagonal = Letter(c, "diag", 'N') == 'U'};
  Array b = c.In(1);
  if (c.in.size() > 2) b = mul(b, c.In(2), {}, c.loc());
  return {c.Run(ops::kTriangularSolve, ir::MakeParams(params), {Matrices(c, 0), b})};
}

// LAPACK overwrites the diagonals, which no program uses.
Arrays Gtsv(ReadCall& c) {
  const Array x = tridiagonal_solve(c.In(0), c.In(1), c.In(2), c.In(3), c.loc());
  return WithInfo(c, {c.In(0), c.In(1), c.In(2), x});
}

// ---- the largest elements -----------------------------------------------------------------------

Array FirstAlong(const ReadCall& c, const Array& x, size_t k) {
  const base::Shape limits = c.ResultShape(k);
  return slice(x, std::vector<int64_t>(limits.size(), 0), limits, {}, c.loc());
}

// Sorts by the function that the call names, which compares two elements of each array. The result
// is exact, as XLA's is on a CPU.
Arrays ApproxTopK(ReadCall& c) {
  const Attribute* functions = c.op().Find("called_computations");
  if (!functions || functions->items().size() != 1) c.Fail("it needs one called computation");
  const std::string_view comparator = functions->items()[0].text;
  const size_t arrays = c.in.size() / 2;
  const auto dim = Configured(c, "reduction_dim", -1);
  const Arrays sorted = sort(
      Arrays(c.in.begin(), c.in.begin() + static_cast<ptrdiff_t>(arrays)),
      [&](const Arrays& a, const Arrays& b) {
        Arrays pairs;
        for (size_t k = 0; k < a.size(); ++k) {
          pairs.push_back(a[k]);
          pairs.push_back(b[k]);
        }
        return c.Only(c.importer().Call(comparator, pairs, c));
      },
      static_cast<int>(dim), {}, c.loc());
  Arrays results;
  for (size_t k = 0; k < sorted.size(); ++k) results.push_back(FirstAlong(c, sorted[k], k));
  return results;
}

// The largest elements along the last dim and their indices, as many as the result has.
Arrays OlderTopK(ReadCall& c) {
  const Attribute* attributes = c.op().Find("mhlo.attributes");
  const Attribute* largest = attributes ? attributes->Find("largest") : nullptr;
  if (largest && IntegerOf(c.importer().module(), *largest) == 0)
    c.Fail("the smallest elements are not supported");
  const ops::TopKParams params{c.ResultShape().empty() ? 1 : c.ResultShape().back()};
  return api::RunAll(ops::kTopK, ir::MakeParams(params), c.in, c.call());
}

// ---- operations of chlo, as older exports write them --------------------------------------------

template <plan::ScalarOp kOp>
Arrays OneOp(ReadCall& c) {
  return {c.Run(ops::Elementwise(kOp), nullptr, c.in)};
}

}  // namespace

std::vector<OpReader> CustomCallReaders() {
  using enum plan::ScalarOp;
  // Functions of real and of complex numbers have letters of their own.
  constexpr struct {
    const char* names[4];
    ReadOp read;
  } kOfLapack[] = {
      {{"lapack_spotrf_ffi", "lapack_dpotrf_ffi", "lapack_cpotrf_ffi", "lapack_zpotrf_ffi"}, Potrf},
      {{"lapack_sgetrf_ffi", "lapack_dgetrf_ffi", "lapack_cgetrf_ffi", "lapack_zgetrf_ffi"}, Getrf},
      {{"lapack_sgeqrf_ffi", "lapack_dgeqrf_ffi", "lapack_cgeqrf_ffi", "lapack_zgeqrf_ffi"}, Geqrf},
      {{"lapack_sgeqp3_ffi", "lapack_dgeqp3_ffi", "lapack_cgeqp3_ffi", "lapack_zgeqp3_ffi"}, Geqp3},
      {{"lapack_sorgqr_ffi", "lapack_dorgqr_ffi", "lapack_cungqr_ffi", "lapack_zungqr_ffi"}, Orgqr},
      {{"lapack_ssyevd_ffi", "lapack_dsyevd_ffi", "lapack_cheevd_ffi", "lapack_zheevd_ffi"}, Syevd},
      {{"lapack_sgeev_ffi", "lapack_dgeev_ffi", "lapack_cgeev_ffi", "lapack_zgeev_ffi"}, Geev},
      {{"lapack_sgesdd_ffi", "lapack_dgesdd_ffi", "lapack_cgesdd_ffi", "lapack_zgesdd_ffi"}, Gesdd},
      {{"lapack_sgees_ffi", "lapack_dgees_ffi", "lapack_cgees_ffi", "lapack_zgees_ffi"}, Gees},
      {{"lapack_sgehrd_ffi", "lapack_dgehrd_ffi", "lapack_cgehrd_ffi", "lapack_zgehrd_ffi"}, Gehrd},
      {{"lapack_ssytrd_ffi", "lapack_dsytrd_ffi", "lapack_chetrd_ffi", "lapack_zhetrd_ffi"}, Sytrd},
      {{"lapack_strsm_ffi", "lapack_dtrsm_ffi", "lapack_ctrsm_ffi", "lapack_ztrsm_ffi"}, Trsm},
      {{"lapack_sgtsv_ffi", "lapack_dgtsv_ffi", "lapack_cgtsv_ffi", "lapack_zgtsv_ffi"}, Gtsv},
  };
  std::vector<OpReader> readers = {
      {"ApproxTopK", ApproxTopK},
      {"Eigh", Eigh},
      {"LuDecomposition", LuDecomposition},
      {"ProductOfElementaryHouseholderReflectors", Orgqr},
      {"Qr", Geqrf},
      {"TopK", OlderTopK},
      {"cu_lu_pivots_to_permutation", PivotsToPermutation},
      {"hip_lu_pivots_to_permutation", PivotsToPermutation},
      {"mhlo.acos", OneOp<kAcos>},
      {"mhlo.acosh", OneOp<kAcosh>},
      {"mhlo.asin", OneOp<kAsin>},
      {"mhlo.asinh", OneOp<kAsinh>},
      {"mhlo.atanh", OneOp<kAtanh>},
      {"mhlo.cosh", OneOp<kCosh>},
      {"mhlo.erf", OneOp<kErf>},
      {"mhlo.sinh", OneOp<kSinh>},
      {"mhlo.tan", OneOp<kTan>},
      {"mhlo.topk", OlderTopK},
  };
  for (const auto& family : kOfLapack)
    for (const char* name : family.names) readers.push_back({name, family.read});
  return readers;
}

}  // namespace tessera::stablehlo
