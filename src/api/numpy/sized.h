// Results whose size depends on the elements.
#pragma once
#include "api/core/located.h"
#include "tessera/sets.h"

namespace tessera::api {

// Returns the size of a result: the option, or `needed`, a scalar that is read. C17: throws
// ShapeError for a negative size, and TraceError for a scalar that is traced or abstract.
int64_t SizeOr(const std::optional<int64_t>& size, const Array& needed, Call call);
// Returns x in row-major order. It moves the elements of sharded dims.
Array Flat(const Array& x, Call call);
// Returns x with this dim whole on every device.
Array WholeAlong(const Array& x, int64_t dim, Call call);
// Returns the elements of x in one dim, which stays sharded as the first dim of x. Other sharded
// dims are refused.
Array Line(const Array& x, Call call);
// Returns the layout of x if a dim is sharded, for functions that ask for it.
std::optional<PartitionSpec> OwnSpec(const Array& x);
// Returns x whole on each device.
Array Gathered(const Array& x, Call call);
// Returns the rows of x [n, ...] where mask [n] is true, in order: [size, ...], filled at the end.
Array Kept(const Array& x, const Array& mask, int64_t size, const Scalar& fill, Call call);
// Returns `updates` [n, ...] combined into x [m, ...] at rows [n]; others than 0 to m - 1 are
// dropped.
using ScatterCall = Array (*)(Operand, Operand, Operand, ScatterDims, ScatterOptions, Loc);
Array AtRows(ScatterCall scatter, const Array& x, const Array& rows, const Array& updates,
             ScatterOptions options, Call call);

}  // namespace tessera::api
