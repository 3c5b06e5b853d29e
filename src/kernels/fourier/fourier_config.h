// The configuration of a Fourier kernel, and its code for the instruction set of this machine.
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/fourier/fourier.h"
#include "kernels/fourier/lengths.h"

namespace tessera::kernels {

template <class T>
struct FourierConfig {
  FourierDesc desc;
  // The length of the complex transforms: n / 2 for real arrays with an even n.
  int64_t length = 1;
  // Either many transforms at once, or row by row.
  std::unique_ptr<const LaneTransform<T>> lanes;
  std::unique_ptr<const RowTransform<T>> row;
  // exp(-2 pi i k / n) for k in [0, n / 2], if the array is real and n is even.
  std::vector<std::complex<T>> roots;

  bool is_real() const {
    return desc.kind == FourierKind::kFromReal || desc.kind == FourierKind::kToReal;
  }
  bool is_paired() const { return is_real() && desc.n % 2 == 0; }
  int64_t in_length() const { return FourierInSize(desc.kind, desc.n); }
  int64_t out_length() const { return FourierOutSize(desc.kind, desc.n); }
};

template <class T>
struct FourierCode {
  int64_t lanes = 1;  // of a vector
  int64_t (*scratch_bytes)(const FourierConfig<T>&) = nullptr;
  plan::KernelFn run = nullptr;
};
template <class T>
FourierCode<T> FourierCodeOf();

}  // namespace tessera::kernels
