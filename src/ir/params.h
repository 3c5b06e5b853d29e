// Parameters of ops: a plain struct per op, with one list of its fields. Hash, text and parsing use
// the list.
//
//   struct CumParams {
//     OperandDims<0> dim;
//     bool reverse = false;
//     friend bool operator==(const CumParams&, const CumParams&) = default;
//     template <class S, class F>
//     static void Fields(S& s, F f) {
//       f("dim", s.dim);
//       f("reverse", s.reverse);
//     }
//   };
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "base/element_bits.h"
#include "base/reader.h"
#include "sharding/tensor_sharding.h"
#include "tessera/dtype.h"
#include "tessera/reduction.h"

namespace tessera::ir {

class Type;

// A field's type says whose dims its numbers are. From that follows, once for all ops, how the
// numbers change when operands and results get a leading batch dim (vmap).

// Dim numbers of operand k, dim numbers of the result, and pairs of dims of the first two operands.
template <int k>
struct OperandDims : std::vector<int64_t> {
  using std::vector<int64_t>::vector;
  OperandDims(std::vector<int64_t> v) : std::vector<int64_t>(std::move(v)) {}
};
struct ResultDims : std::vector<int64_t> {
  using std::vector<int64_t>::vector;
  ResultDims(std::vector<int64_t> v) : std::vector<int64_t>(std::move(v)) {}
};
struct PairedDims {
  std::vector<int64_t> lhs, rhs;
  friend bool operator==(const PairedDims&, const PairedDims&) = default;
};
// Pairs of dims that are dims of the result too. A batch dim of both operands is one more pair; a
// batch dim of one operand alone, if `alone` allows it, is one more unpaired dim.
enum class Alone { kEither, kLhs };
template <Alone alone>
struct BatchDims : PairedDims {
  BatchDims() = default;
  BatchDims(PairedDims pairs) : PairedDims(std::move(pairs)) {}
  BatchDims(std::vector<int64_t> l, std::vector<int64_t> r)
      : PairedDims{std::move(l), std::move(r)} {}
  friend bool operator==(const BatchDims&, const BatchDims&) = default;
};
// DimOfEach: for each dim of one side, its dim number on the other. PerDim: a number for each dim,
// where `neutral` leaves the dim as it is (kWholeDim: the dim's size).
template <class Dims>
struct DimOfEach : Dims {
  using Dims::Dims;
};
inline constexpr int64_t kWholeDim = -1;
template <int64_t neutral>
struct PerDim : std::vector<int64_t> {
  using std::vector<int64_t>::vector;
  PerDim(std::vector<int64_t> v) : std::vector<int64_t>(std::move(v)) {}
};
// The dims in `Dims` that run along dims of the operand. They include a batch dim that the operand
// has and the indices lack.
template <class Dims>
struct WindowDims : Dims {
  using Dims::Dims;
};
// One number, as the bits of an element of the result's dtype.
struct Literal {
  DType dtype;
  base::ElementBits bits;
  friend bool operator==(const Literal&, const Literal&) = default;
};

// Operands that get a leading batch dim. Their results get it too.
struct Mapping {
  std::vector<bool> operands;  // whether each operand gets it
  int64_t size = 0;
  sharding::DimAxes lies = {.axes = {}, .open = true};  // its axes in shardings that params hold
};

// Adapts a field to the batch dim.
template <class Scalar>
requires(std::is_scalar_v<Scalar> || std::is_same_v<Scalar, DType> ||
         std::is_same_v<Scalar, Literal>) inline void MapField(const Mapping&, Scalar&) {}
void Shift(std::vector<int64_t>& dims, bool mapped);
void PushFront(std::vector<int64_t>& list, int64_t value);
template <int k>
void MapField(const Mapping& m, OperandDims<k>& dims) {
  Shift(dims, m.operands[k]);
}
inline void MapField(const Mapping&, ResultDims& dims) { Shift(dims, true); }
void MapField(const Mapping& m, PairedDims& dims);
template <Alone alone>
void MapField(const Mapping& m, BatchDims<alone>& dims) {
  MapField(m, static_cast<PairedDims&>(dims));
  if (!m.operands[0] || !m.operands[1]) return;
  PushFront(dims.lhs, 0);
  PushFront(dims.rhs, 0);
}
template <class Dims>
void MapField(const Mapping&, DimOfEach<Dims>& dims) {
  Shift(dims, true);
  PushFront(dims, 0);
}
template <int64_t neutral>
void MapField(const Mapping& m, PerDim<neutral>& list) {
  PushFront(list, neutral == kWholeDim ? m.size : neutral);
}
template <class Dims>
void MapField(const Mapping& m, WindowDims<Dims>& dims) {
  Shift(dims, true);
  if (m.operands[0] && !m.operands[1]) PushFront(dims, 0);
}
void MapField(const Mapping& m, sharding::TensorSharding& sharding);
// Lists in device programs, which are made after functions were mapped.
template <class T>
void MapField(const Mapping&, std::vector<T>&) requires(!std::is_same_v<T, int64_t>) {}

class Params {
 public:
  virtual ~Params() = default;
  // Returns the params for operands and results with the batch dim.
  virtual std::shared_ptr<const Params> Mapped(const Mapping& mapping) const = 0;
  // Whether operand 0, and operand 1, may get the batch dim alone.
  virtual std::array<bool, 2> alone() const = 0;
  virtual bool Equals(const Params& other) const = 0;
  virtual size_t Hash() const = 0;
  virtual std::string text() const = 0;  // "dim=[1], reverse=true"; empty without fields
};
using ParamsPtr = std::shared_ptr<const Params>;

inline std::array<bool, 2> AloneIn(const auto&) { return {}; }
template <Alone alone>
std::array<bool, 2> AloneIn(const BatchDims<alone>&) {
  return {true, alone == Alone::kEither};
}

// Text and parsing of one field.
std::string FieldText(int64_t v);
std::string FieldText(bool v);
std::string FieldText(DType v);
std::string FieldText(Reduction v);
std::string FieldText(const std::vector<int64_t>& v);
std::string FieldText(const std::vector<std::vector<int64_t>>& v);
std::string FieldText(const Type* v);
std::string FieldText(const std::vector<const Type*>& v);
std::string FieldText(const PairedDims& v);
std::string FieldText(const Literal& v);
std::string FieldText(const sharding::TensorSharding& v);
void ReadField(base::Reader& in, int64_t& v);
void ReadField(base::Reader& in, bool& v);
void ReadField(base::Reader& in, DType& v);
void ReadField(base::Reader& in, Reduction& v);
void ReadField(base::Reader& in, std::vector<int64_t>& v);
void ReadField(base::Reader& in, std::vector<std::vector<int64_t>>& v);
void ReadField(base::Reader& in, PairedDims& v);
void ReadField(base::Reader& in, Literal& v);
// Reads places and shardings on the program's mesh. Its modes do not apply, and dims need
// not divide.
void ReadField(base::Reader& in, const sharding::MeshDef* mesh, const Type*& v);
void ReadField(base::Reader& in, const sharding::MeshDef* mesh, std::vector<const Type*>& v);
void ReadField(base::Reader& in, const sharding::MeshDef* mesh, sharding::TensorSharding& v);

// Reads the name of a dtype: f32, key<fry>.
DType ReadDType(base::Reader& in);

inline size_t MixHash(size_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 29); }
inline size_t FieldHash(size_t h, int64_t v) { return MixHash(h, static_cast<uint64_t>(v)); }
inline size_t FieldHash(size_t h, bool v) { return MixHash(h, v); }
inline size_t FieldHash(size_t h, DType v) { return MixHash(h, v.code()); }
inline size_t FieldHash(size_t h, Reduction v) { return MixHash(h, static_cast<uint64_t>(v)); }
inline size_t FieldHash(size_t h, const Literal& v) {
  return MixHash(MixHash(FieldHash(h, v.dtype), v.bits.low), v.bits.high);
}
inline size_t FieldHash(size_t h, const Type* v) { return MixHash(h, std::hash<const Type*>()(v)); }
template <class E>
size_t FieldHash(size_t h, const std::vector<E>& v) {
  h = MixHash(h, v.size());
  for (const E& e : v) h = FieldHash(h, e);
  return h;
}
size_t FieldHash(size_t h, const sharding::TensorSharding& v);
inline size_t FieldHash(size_t h, const PairedDims& v) {
  return FieldHash(FieldHash(h, v.lhs), v.rhs);
}

template <class T>
class ParamsOf final : public Params {
 public:
  explicit ParamsOf(T v) : value(std::move(v)) {}
  bool Equals(const Params& other) const override {
    return typeid(other) == typeid(*this) && static_cast<const ParamsOf&>(other).value == value;
  }
  size_t Hash() const override {
    size_t h = 0;
    T::Fields(value, [&](const char*, const auto& field) { h = FieldHash(h, field); });
    return h;
  }
  ParamsPtr Mapped(const Mapping& mapping) const override {
    T mapped = value;
    T::Fields(mapped, [&](const char*, auto& field) { MapField(mapping, field); });
    return std::make_shared<const ParamsOf>(std::move(mapped));
  }
  std::array<bool, 2> alone() const override {
    std::array<bool, 2> out{};
    T::Fields(value, [&](const char*, const auto& field) {
      const std::array<bool, 2> these = AloneIn(field);
      out = {out[0] || these[0], out[1] || these[1]};
    });
    return out;
  }
  std::string text() const override {
    std::string out;
    T::Fields(value, [&](const char* name, const auto& field) {
      out += (out.empty() ? "" : ", ") + std::string(name) + "=" + FieldText(field);
    });
    return out;
  }
  const T value;
};

// How an op's params are read from text.
struct ParamsKind {
  // Reads the text between '{' and '}' of an instruction in a program on `mesh`.
  ParamsPtr (*read)(base::Reader& in, const sharding::MeshDef* mesh) = nullptr;
};

template <class T>
ParamsPtr MakeParams(T value) {
  return std::make_shared<const ParamsOf<T>>(std::move(value));
}

// Whether text left out a field that has no default: a type or a sharding.
inline bool IsMissing(const Type* v) { return !v; }
inline bool IsMissing(const sharding::TensorSharding& v) { return !v.mesh; }
template <class E>
bool IsMissing(const E&) {
  return false;
}

template <class T>
ParamsPtr ReadParams(base::Reader& in, const sharding::MeshDef* mesh) {
  T value{};
  do {
    std::string name = in.Word();
    in.Expect("=");
    bool known = false;
    T::Fields(value, [&](const char* field_name, auto& field) {
      if (name != field_name) return;
      known = true;
      if constexpr (requires { ReadField(in, field); })
        ReadField(in, field);
      else
        ReadField(in, mesh, field);
    });
    if (!known) in.Fail("there is no parameter '" + name + "'");
  } while (in.Accept(","));
  T::Fields(value, [&](const char* name, const auto& field) {
    if (IsMissing(field)) in.Fail("the parameter '" + std::string(name) + "' is missing");
  });
  return MakeParams(std::move(value));
}

template <class T>
constexpr ParamsKind KindOf() {
  return {ReadParams<T>};
}

// Returns the params of an instruction whose op has params of type T.
template <class T>
const T& As(const Params* params) {
  return static_cast<const ParamsOf<T>*>(params)->value;
}

}  // namespace tessera::ir
