// vmap: maps a function of one example over a batch.
//
//   Array each = vmap(grad(loss), {.in_dims = {None, 0}})(w, xs);  // one gradient per row of xs
//
// A call traces f once, for one batch element. Its program is then batched: one run computes all
// batch elements, without a loop. The mapped dim keeps its sharding. Outside of a trace, the
// program is compiled, as by jit; it is reused as long as later calls trace the same program.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "tessera/transforms.h"

namespace TESSERA_PUBLIC tessera {

// The mapped dim of an array, counted from the end if negative. None: the array is not mapped.
class MapDim {
 public:
  MapDim() : dim_(0) {}
  MapDim(NoneType) {}
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) MapDim(T dim) : dim_(dim) {}
  const std::optional<int64_t>& dim() const { return dim_; }

 private:
  std::optional<int64_t> dim_;
};
using MapDims = PerArray<MapDim>;

namespace detail {
// Makes designated initialisers mandatory: vmap(f, {0, 1}) would also set out_dims.
struct Named {};
}  // namespace detail

struct VmapOptions {
  detail::Named named = {};
  MapDims in_dims = 0;               // of the arguments; None: passed whole to every element
  MapDims out_dims = 0;              // of the results; None: the same for all elements
  std::optional<int64_t> size = {};  // batch size; required if no argument is mapped
  // Sharding of the mapped dim. Over Explicit axes the arguments determine it. Over Auto axes the
  // constraints inside of f apply it to the mapped dim; by default they leave that dim open.
  DimSharding sharding = {};
};

namespace detail {

class Vmap : public SameTree {
 public:
  template <class F>
  Vmap(VmapOptions options, const F& f)
      : options_(std::move(options)), jit_("vmap", SharedAs<Vmap>(TextOf(options_), f)) {}
  FunctionResult Call(const FunctionCall& call) const;
  const void* shared() const { return jit_.shared(); }

 private:
  static std::string TextOf(const VmapOptions& options);
  VmapOptions options_;
  Jit jit_;
};

}  // namespace detail

// Returns the batched f. A call runs f on the slices of its arguments along their mapped dims and
// stacks the results along `out_dims`:
//
//   f: [a...] -> [r...]     vmap(f): [n, a...] -> [n, r...]
//
// All mapped dims must have one size and one sharding, which the results keep; arguments that are
// not mapped may not use its axes. If the predicate of a `cond` is mapped, both branches are
// computed and each batch element selects one. If the condition of a while_loop is mapped, the loop
// runs until every element is done; finished elements keep their values. Throws ShapeError and
// ShardingError for mapped dims that do not match.
template <class F>
auto vmap(F f, VmapOptions options = {}, Loc loc = Loc::Current()) {
  detail::Vmap transform(std::move(options), f);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}
void vmap(detail::UserFunction, MapDims) = delete;  // write vmap(f, {.in_dims = {0, 1}})

}  // namespace tessera
