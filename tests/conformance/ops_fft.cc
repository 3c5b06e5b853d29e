// jax.lax.fft and jax.numpy.fft.
#include "ops.h"
#include "tessera/fft.h"

namespace tessera::conformance {
namespace {

using Arrays = std::vector<Array>;

fft::Norm NormOf(const Call& c) {
  const std::string norm = c.text("norm", "backward");
  return norm == "ortho"     ? fft::Norm::kOrtho
         : norm == "forward" ? fft::Norm::kForward
                             : fft::Norm::kBackward;
}

// The last dims, one per length.
Arrays Fft(const Call& c) {
  const std::string type = c.text("fft_type", "FFT");
  const fft::FftnOptions options{.sizes = c.integers("fft_lengths")};
  const auto transform = type == "FFT"    ? fft::fftn
                         : type == "IFFT" ? fft::ifftn
                         : type == "RFFT" ? fft::rfftn
                                          : fft::irfftn;
  return {transform(c.in(0), options, c.loc())};
}

}  // namespace

void AddFft(OpTable& table) {
  table["fft"] = Fft;
  const auto along_dim = [](Array (*f)(Operand, fft::FftOptions, Loc)) {
    return [f](const Call& c) {
      fft::FftOptions options{.dim = c.dim("axis", -1), .norm = NormOf(c)};
      if (c.has("n")) options.n = c.integer("n");
      return Arrays{f(c.in(0), options, c.loc())};
    };
  };
  table["np.fft.fft"] = along_dim(fft::fft);
  table["np.fft.ifft"] = along_dim(fft::ifft);
  table["np.fft.rfft"] = along_dim(fft::rfft);
  table["np.fft.irfft"] = along_dim(fft::irfft);
  table["np.fft.hfft"] = along_dim(fft::hfft);
  table["np.fft.ihfft"] = along_dim(fft::ihfft);
  const auto along_dims = [](Array (*f)(Operand, fft::FftnOptions, Loc)) {
    return [f](const Call& c) {
      fft::FftnOptions options{.norm = NormOf(c)};
      if (c.has("s")) options.sizes = c.integers("s");
      if (c.has("axes")) options.dims = c.integers("axes");
      return Arrays{f(c.in(0), options, c.loc())};
    };
  };
  table["np.fft.fftn"] = along_dims(fft::fftn);
  table["np.fft.ifftn"] = along_dims(fft::ifftn);
  table["np.fft.rfftn"] = along_dims(fft::rfftn);
  table["np.fft.irfftn"] = along_dims(fft::irfftn);
  table["np.fft.fft2"] = along_dims(fft::fft2);
  table["np.fft.ifft2"] = along_dims(fft::ifft2);
  table["np.fft.rfft2"] = along_dims(fft::rfft2);
  table["np.fft.irfft2"] = along_dims(fft::irfft2);
  table["np.fft.fftshift"] = [](const Call& c) {
    return Arrays{fft::fftshift(c.in(0), c.dims("axes"), c.loc())};
  };
  table["np.fft.ifftshift"] = [](const Call& c) {
    return Arrays{fft::ifftshift(c.in(0), c.dims("axes"), c.loc())};
  };
}

}  // namespace tessera::conformance
