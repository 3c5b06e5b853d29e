// Functions of one thing mapped over many.
//
//   Array each = vmap(grad(loss), {.in_dims = {None, 0}})(w, xs);  // one gradient per row of xs
//
// f is traced once, for one lane, and its program is then computed for all lanes at once: there is
// no loop over lanes. The mapped dim keeps its sharding.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "tessera/transforms.h"

namespace TESSERA_PUBLIC tessera {

// The dim of an array along which a function is mapped, counted from the end if negative; None: the
// array has none.
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
// Makes designated initialisers mandatory: vmap(f, {0, 1}) would say something of the results too.
struct Named {};
}  // namespace detail

struct VmapOptions {
  detail::Named named = {};
  MapDims in_dims = 0;               // of the arguments; None: f gets the array whole in every lane
  MapDims out_dims = 0;              // of the results; None: a result that is the same in all lanes
  std::optional<int64_t> size = {};  // number of lanes; needed where no argument is mapped
  // How the mapped dim lies. Over Explicit axes the arguments say that; over Auto axes it is what
  // constraints inside of f say of it, which otherwise leave it open.
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

// Returns f mapped: a call gives f, lane by lane, the slices of its arguments along their mapped
// dims, and returns the results joined along theirs. All mapped dims have one size and one
// sharding, which results keep; what is not mapped may not lie over its axes. A condition that
// differs by lane makes `cond` compute both branches and choose; a while_loop then runs until all
// lanes are done, and leaves those that are done as they are. Throws ShapeError and ShardingError
// for dims that do not go together.
template <class F>
auto vmap(F f, VmapOptions options = {}, Loc loc = Loc::Current()) {
  detail::Vmap transform(std::move(options), f);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

}  // namespace tessera
