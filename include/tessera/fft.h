// Discrete Fourier transforms.
//
//   Array y = fft::fft(x);                                   // along the last dim
//   Array z = fft::fftn(x, {.out_sharding = P("x", "y")});   // over dims that may be sharded
//
// The names are those of jnp.fft. The transform of x[0], ..., x[n - 1] is
// y[k] = sum of x[j] exp(-2 pi i j k / n), and the inverse has exp(+2 pi i j k / n) and is divided
// by n. Any length is fast, also prime ones. f64 and c128 give c128, and all other dtypes c64.
//
// A transformed dim must be whole on each device; the other dims keep their mesh axes. With an
// out_sharding a transformed dim may be sharded: its axes move to another dim while it is
// transformed ("pencils"), with the moves that send the fewest bytes. A layout that already fits
// needs none.
//
// All functions throw ShapeError for a dim that does not exist or is named twice, and for a
// transform of less than one element.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/ops.h"
#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {
namespace fft {

// Which of the two transforms is divided: the inverse by n, both by sqrt(n), or the other by n.
enum class Norm : uint8_t { kBackward, kOrtho, kForward };

struct FftOptions {
  std::optional<int64_t> n = {};  // elements of a transform: x is cut, or padded with zeros
  int64_t dim = -1;
  Norm norm = Norm::kBackward;
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns the transform along a dim: [..., n, ...].
Array fft(Operand x, FftOptions options = {}, Loc loc = Loc::Current());
// Returns the inverse: [..., n, ...].
Array ifft(Operand x, FftOptions options = {}, Loc loc = Loc::Current());
// Returns the first n / 2 + 1 elements of fft(x) for a real x: [..., n / 2 + 1, ...]. The others
// are their conjugates. Throws DTypeError for complex numbers.
Array rfft(Operand x, FftOptions options = {}, Loc loc = Loc::Current());
// Returns the inverse of rfft, which is real: [..., n, ...] for x [..., n / 2 + 1, ...]. Without
// `n` the result has an even number of elements. Imaginary parts that no real numbers have, of
// element 0 and of element n / 2, are ignored.
Array irfft(Operand x, FftOptions options = {}, Loc loc = Loc::Current());
// Returns the real transform of x and its conjugates, n * irfft(conj(x)): [..., n, ...].
Array hfft(Operand x, FftOptions options = {}, Loc loc = Loc::Current());
// Returns the inverse of hfft: [..., n / 2 + 1, ...]. Throws DTypeError for complex numbers.
Array ihfft(Operand x, FftOptions options = {}, Loc loc = Loc::Current());

struct FftnOptions {
  std::optional<std::vector<int64_t>> sizes = {};  // one per dim: x is cut, or padded with zeros
  // Default: as many of the last dims as `sizes` has, or else all; two for fft2 and its kin.
  std::optional<std::vector<int64_t>> dims = {};
  Norm norm = Norm::kBackward;
  std::optional<PartitionSpec> out_sharding = {};
};
// Return the transform over several dims, and its inverse. They have the shape of x.
Array fftn(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());
Array ifftn(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());
Array fft2(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());
Array ifft2(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());
// Return the transform of real numbers, and its inverse: the last of the dims as in rfft and irfft,
// all others as in fft and ifft.
Array rfftn(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());
Array irfftn(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());
Array rfft2(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());
Array irfft2(Operand x, FftnOptions options = {}, Loc loc = Loc::Current());

// Returns x with element 0 of each dim moved to element size / 2; its sharding and dtype are those
// of x.
Array fftshift(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns the inverse of fftshift.
Array ifftshift(Operand x, Dims dims = All, Loc loc = Loc::Current());

struct FftfreqOptions {
  double d = 1;      // distance between samples
  DType dtype = {};  // default: the default float
};
// Returns the frequencies of the elements of fft, in cycles per unit of d: [n].
Array fftfreq(int64_t n, FftfreqOptions options = {}, Loc loc = Loc::Current());
// Returns the frequencies of the elements of rfft: [n / 2 + 1].
Array rfftfreq(int64_t n, FftfreqOptions options = {}, Loc loc = Loc::Current());

}  // namespace fft
}  // namespace tessera
