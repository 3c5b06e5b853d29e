// Fourier transforms, Cholesky factors and triangular systems.
#include "tessera/linalg.h"

#include "base/at.h"
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {
namespace {

Array Transform(const ReadCall& c, const ir::OpDef& op, const Array& x, int64_t dim, int64_t n) {
  return api::Run(op, ir::MakeParams(ops::FourierParams{{dim}, n}), {x}, c.call());
}

// Transforms the last dims, as many as lengths. The last of them is the one of a real side.
Arrays Fft(ReadCall& c) {
  const std::string_view type = c.Word("fft_type");
  const std::vector<int64_t> lengths = c.Integers("fft_length");
  const auto count = static_cast<int64_t>(lengths.size());
  Array x = c.In(0);
  const int64_t first = api::Rank(x) - count;
  if (first < 0 || count == 0) c.Fail("it needs a length for each of the last dims");
  const bool inverse = type == "IFFT" || type == "IRFFT";
  const int64_t last = api::Rank(x) - 1;
  if (type == "RFFT") x = Transform(c, ops::kRfft, x, last, lengths.back());
  const bool real_side = type == "RFFT" || type == "IRFFT";
  for (int64_t k = 0; k < count - (real_side ? 1 : 0); ++k)
    x = Transform(c, inverse ? ops::kIfft : ops::kFft, x, first + k, lengths[base::Size(k)]);
  if (type == "IRFFT") x = Transform(c, ops::kIrfft, x, last, lengths.back());
  return {x};
}

Arrays Cholesky(ReadCall& c) {
  const bool upper = c.Has("lower") && !c.Flag("lower");
  Array a = c.In(0);
  if (api::Rank(a) < 2) c.Fail("it needs matrices");
  if (upper) a = linalg::matrix_transpose(conj(a, c.loc()), c.loc());
  Array l = api::Run(ops::kCholesky, nullptr, {a}, c.call());
  if (upper) l = linalg::matrix_transpose(conj(l, c.loc()), c.loc());
  return {l};
}

Arrays TriangularSolve(ReadCall& c) {
  const std::string_view transpose = c.Word("transpose_a");
  const ops::TriangularSolveParams params{
      .left_side = c.Flag("left_side"),
      .lower = c.Flag("lower"),
      .transpose_a = transpose == "TRANSPOSE" || transpose == "ADJOINT",
      .conjugate_a = transpose == "ADJOINT",
      .unit_diagonal = c.Flag("unit_diagonal")};
  return {c.Run(ops::kTriangularSolve, ir::MakeParams(params), c.in)};
}

}  // namespace

std::vector<OpReader> LinalgReaders() {
  return {
      {"stablehlo.cholesky", Cholesky},
      {"stablehlo.fft", Fft},
      {"stablehlo.triangular_solve", TriangularSolve},
  };
}

}  // namespace tessera::stablehlo
