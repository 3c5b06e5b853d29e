// The registry of types, and their parser.
#include "ir/type.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <absl/types/span.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/fork.h"
#include "base/reader.h"
#include "base/reductions.h"
#include "ir/params.h"
#include "sharding/text.h"

namespace tessera::ir {
namespace {

struct Key {
  const Shape& shape;
  DType dtype;
  const sharding::TensorSharding& sharding;
  bool weak;
};
Key KeyOf(const Type* t) { return {t->shape(), t->dtype(), t->sharding(), t->weak()}; }
Key KeyOf(const Key& k) { return k; }

struct HashKey {
  using is_transparent = void;
  template <class T>
  size_t operator()(const T& t) const {
    Key k = KeyOf(t);
    return absl::HashOf(k.shape, k.dtype.code(), k.sharding, k.weak);
  }
};
struct EqualKey {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    Key x = KeyOf(a), y = KeyOf(b);
    return x.dtype == y.dtype && x.weak == y.weak && x.shape == y.shape && x.sharding == y.sharding;
  }
};
using Set = absl::flat_hash_set<const Type*, HashKey, EqualKey>;

// Types are never freed, so each thread caches those it has seen, and locks only for new ones.
struct Registry {
  Registry() { base::HoldOverFork(mutex); }
  std::mutex mutex;
  Set types;
};
Registry& TheRegistry() {
  static Registry* registry = new Registry;
  return *registry;
}
thread_local Set seen;

}  // namespace

const Type* Type::Get(Shape shape, DType dtype, sharding::TensorSharding sharding, bool weak) {
  Key key{shape, dtype, sharding, weak};
  if (auto it = seen.find(key); it != seen.end()) return *it;
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  auto it = registry.types.find(key);
  if (it == registry.types.end()) {
    auto* type = new Type;
    type->shape_ = std::move(shape);
    type->dtype_ = dtype;
    type->sharding_ = std::move(sharding);
    type->weak_ = weak;
    for (int64_t size : type->shape_) type->elements_ *= size;
    type->text_ = dtype.name() + sharding::TypeSuffix(type->shape_, type->sharding_);
    it = registry.types.insert(type).first;
  }
  seen.insert(*it);
  return *it;
}

const Type* Type::Get(Shape shape, DType dtype, const sharding::MeshDef* mesh, bool weak) {
  int rank = static_cast<int>(shape.size());
  return Get(std::move(shape), dtype, sharding::Replicated(mesh, rank), weak);
}

const Type* Type::WithSharding(sharding::TensorSharding sharding) const {
  return Get(shape_, dtype_, std::move(sharding), weak_);
}
const Type* Type::WithDType(DType dtype) const { return Get(shape_, dtype, sharding_, weak_); }
const Type* Type::WithWeak(bool weak) const {
  return weak == weak_ ? this : Get(shape_, dtype_, sharding_, weak);
}

bool SameType(const Type* a, const Type* b) {
  if (a == b) return true;
  if (a->shape() != b->shape() || a->dtype() != b->dtype()) return false;
  const auto &x = a->sharding(), &y = b->sharding();
  if (x.mesh != y.mesh && x.mesh && y.mesh) return false;
  if (x.trivial() && y.trivial()) return true;
  return x.dims == y.dims && x.unreduced == y.unreduced && x.reduced == y.reduced &&
         x.varying == y.varying && x.kind == y.kind;
}

int64_t CheckedElements(const Shape& shape) {
  if (absl::c_any_of(shape, [](int64_t size) { return size < 0; })) return -1;
  if (absl::c_count(shape, 0) > 0) return 0;
  int64_t n = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(n, size, &n) || n > (int64_t{1} << 59)) return -1;
  return n;
}

std::string SizeProblem(const Shape& shape) {
  if (CheckedElements(shape) >= 0) return "";
  bool negative = absl::c_any_of(shape, [](int64_t size) { return size < 0; });
  return negative ? "a negative size" : "more than 2^59 elements";
}

namespace {

sharding::AxisPart ReadAxisName(base::Reader& in, const sharding::MeshDef* mesh) {
  std::string name = in.Word();
  int axis = mesh ? mesh->Find(name) : -1;
  if (axis < 0)
    in.Fail(fmt::format("there is no axis \"{}\" in the mesh {}", name,
                        mesh ? mesh->text() : "(none)"));
  return sharding::ReadPart(in, *mesh, axis);
}

sharding::AxisList ReadAxes(base::Reader& in, const sharding::MeshDef* mesh) {
  sharding::AxisList axes;
  auto add = [&] {
    sharding::AxisPart a = ReadAxisName(in, mesh);
    if (mesh->axis_size(a.axis) > 1) axes.push_back(a);
  };
  if (in.Peek("("))
    in.List("(", ")", add);
  else
    add();
  return axes;
}

// Reads varying, reduced and unreduced axes. `kinds`: the reductions that partial values may have.
void ReadSets(base::Reader& in, const sharding::MeshDef* mesh, absl::Span<const Reduction> kinds,
              sharding::TensorSharding& s) {
  do {
    std::string tag = in.Word();
    in.Expect(":");
    bool known = tag == "V" || tag == "R" || tag == "U";
    for (Reduction kind : kinds)
      if (kind != Reduction::kSum && tag == std::string("U_") + sharding::ReductionName(kind))
        s.kind = kind, known = true;
    if (!known) in.Fail(fmt::format("expected V, U, U_max, U_min or R, not '{}'", tag));
    sharding::AxisList axes = ReadAxes(in, mesh);
    absl::c_sort(axes, sharding::MeshOrder);
    (tag == "V" ? s.varying : tag == "R" ? s.reduced : s.unreduced) = axes;
  } while (in.Accept(","));
  if (s.unreduced.empty()) s.kind = Reduction::kSum;
}

const Type* ReadAnyType(base::Reader& in, const sharding::MeshDef* mesh,
                        absl::Span<const Reduction> kinds) {
  const DType dtype = ReadDType(in);
  Shape shape;
  sharding::TensorSharding s;
  s.mesh = mesh;
  in.List("[", "]", [&] {
    shape.push_back(in.Integer());
    if (shape.back() < 0) in.Fail("a size is negative");
    s.dims.emplace_back();
    if (in.Accept("@")) s.dims.back().axes = ReadAxes(in, mesh);
  });
  // A brace after a blank is not the type's: it opens a function's body.
  size_t end = in.position();
  if (in.Peek("{") && in.position() == end) {
    in.Expect("{");
    ReadSets(in, mesh, kinds, s);
    in.Expect("}");
  }
  if (std::string problem = SizeProblem(shape); !problem.empty())
    in.Fail("the shape has " + problem);
  if (auto problem = sharding::Verify(s)) in.Fail(problem->reason);
  return Type::Get(std::move(shape), dtype, std::move(s));
}

}  // namespace

const Type* ReadPlace(base::Reader& in, const sharding::MeshDef* mesh) {
  return ReadAnyType(in, mesh ? mesh->WithoutModes() : nullptr, base::kReductions);
}

const Type* ReadType(base::Reader& in, const sharding::MeshDef* mesh,
                     const sharding::MeshDef* (*modes)(base::Reader&, const sharding::MeshDef*)) {
  const Type* type = ReadAnyType(in, mesh, {Reduction::kMax, Reduction::kMin});
  if (modes && mesh) {
    sharding::TensorSharding own = type->sharding();
    own.mesh = mesh = modes(in, mesh);
    type = type->WithSharding(std::move(own));
  }
  const Shape& shape = type->shape();
  const sharding::TensorSharding& s = type->sharding();
  for (const auto* axes : {&s.unreduced, &s.reduced})
    for (sharding::AxisPart a : *axes)
      if (mesh->axes()[a.axis].mode == AxisMode::Auto)
        in.Fail("unreduced and reduced axes must be Explicit or Manual");
  for (sharding::AxisPart a : s.varying)
    if (mesh->axes()[a.axis].mode != AxisMode::Manual) in.Fail("varying axes must be Manual");
  int uneven = sharding::FirstUnevenDim(s, shape);
  if (uneven >= 0) {
    const sharding::AxisList &axes = s.dims[uneven].axes,
                             even = sharding::PrefixThatDivides(axes, shape[uneven]);
    in.Fail(fmt::format("dim {} has size {}, which its {} shards do not divide{}", uneven,
                        shape[uneven], sharding::SizeOf(axes),
                        even.empty() ? "" : ": those over " + PlainAxesText(*mesh, even) + " do"));
  }
  return type;
}

const Type* ParseType(std::string_view text, const sharding::MeshDef* mesh, Loc loc) {
  base::Reader in(text, "type", loc);
  const Type* type = ReadType(in, mesh);
  in.ExpectEnd();
  return type;
}

}  // namespace tessera::ir
