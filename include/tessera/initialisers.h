// Initial values of parameters, with the bits of jax.nn.initializers.
//
//   Array w = initialisers::glorot_uniform(key, {512, 128}, {.out_sharding = P("x", "y")});
//
// Each device makes its own shard, and the numbers do not depend on the sharding. The dtype is the
// default float unless the options set one. The fans of a shape are its numbers of inputs and of
// outputs: the sizes of the `in_dims` and of the `out_dims`, each times the sizes of all other dims
// except `batch_dims`. Functions of fans throw ShapeError for a shape without these dims.
#pragma once
#include <cstdint>
#include <optional>

#include "tessera/options.h"
#include "tessera/random.h"

namespace TESSERA_PUBLIC tessera {

// The number that divides the variance.
enum class FanMode : uint8_t { kIn, kOut, kAverage, kGeometricAverage };
enum class FanDistribution : uint8_t { kTruncatedNormal, kNormal, kUniform };

struct FanOptions {
  DType dtype = {};
  Dims in_dims = -2, out_dims = -1, batch_dims = std::vector<int64_t>{};
  std::optional<PartitionSpec> out_sharding = {};
};
struct TruncatedOptions {
  DType dtype = {};
  double lower = -2, upper = 2;
  std::optional<PartitionSpec> out_sharding = {};
};
struct OrthogonalMatrixOptions {
  DType dtype = {};
  double scale = 1;
  int column_dim = -1;
  std::optional<PartitionSpec> out_sharding = {};
};

namespace initialisers {

// Return arrays [shape] of zeros, of ones, and of one value; the key is not used.
Array zeros(Operand key, Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
Array ones(Operand key, Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
Array constant(Operand key, Shape shape, Operand value, CreateOptions options = {},
               Loc loc = Loc::Current());
// Returns numbers in [0, scale).
Array uniform(Operand key, Shape shape, double scale = 1e-2, CreateOptions options = {},
              Loc loc = Loc::Current());
// Returns normal numbers of this standard deviation.
Array normal(Operand key, Shape shape, double stddev = 1e-2, CreateOptions options = {},
             Loc loc = Loc::Current());
// Returns stddev times normal numbers between the bounds.
Array truncated_normal(Operand key, Shape shape, double stddev = 1e-2,
                       TruncatedOptions options = {}, Loc loc = Loc::Current());
// Returns numbers of mean 0 and variance scale / fan. Throws ShapeError for a negative scale.
Array variance_scaling(Operand key, Shape shape, double scale, FanMode mode,
                       FanDistribution distribution, FanOptions options = {},
                       Loc loc = Loc::Current());
// Return variance_scaling of scale 1 and the average fan.
Array glorot_uniform(Operand key, Shape shape, FanOptions options = {}, Loc loc = Loc::Current());
Array glorot_normal(Operand key, Shape shape, FanOptions options = {}, Loc loc = Loc::Current());
// Return variance_scaling of scale 1 and the number of inputs.
Array lecun_uniform(Operand key, Shape shape, FanOptions options = {}, Loc loc = Loc::Current());
Array lecun_normal(Operand key, Shape shape, FanOptions options = {}, Loc loc = Loc::Current());
// Return variance_scaling of scale 2 and the number of inputs.
Array he_uniform(Operand key, Shape shape, FanOptions options = {}, Loc loc = Loc::Current());
Array he_normal(Operand key, Shape shape, FanOptions options = {}, Loc loc = Loc::Current());
// JAX's other names.
inline Array xavier_uniform(Operand key, Shape shape, FanOptions options = {},
                            Loc loc = Loc::Current()) {
  return glorot_uniform(std::move(key), std::move(shape), std::move(options), loc);
}
inline Array xavier_normal(Operand key, Shape shape, FanOptions options = {},
                           Loc loc = Loc::Current()) {
  return glorot_normal(std::move(key), std::move(shape), std::move(options), loc);
}
inline Array kaiming_uniform(Operand key, Shape shape, FanOptions options = {},
                             Loc loc = Loc::Current()) {
  return he_uniform(std::move(key), std::move(shape), std::move(options), loc);
}
inline Array kaiming_normal(Operand key, Shape shape, FanOptions options = {},
                            Loc loc = Loc::Current()) {
  return he_normal(std::move(key), std::move(shape), std::move(options), loc);
}
// Returns scale times a matrix with orthonormal rows or columns, whose columns are `column_dim` and
// whose rows are all other dims. Throws ShapeError for fewer than two dims.
Array orthogonal(Operand key, Shape shape, OrthogonalMatrixOptions options = {},
                 Loc loc = Loc::Current());
// Returns a kernel [spatial..., in, out] of a convolution that is an orthogonal matrix at its
// centre and 0 elsewhere. Throws ShapeError unless it has 1 to 3 spatial dims and out is at least
// in.
Array delta_orthogonal(Operand key, Shape shape, OrthogonalMatrixOptions options = {},
                       Loc loc = Loc::Current());

}  // namespace initialisers
}  // namespace tessera
