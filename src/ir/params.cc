// Text, parsing and hashes of the fields of params.
#include "ir/params.h"

#include <absl/hash/hash.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "base/error.h"
#include "base/reductions.h"
#include "ir/host_tensor.h"
#include "ir/type.h"
#include "sharding/text.h"

namespace tessera::ir {

void Shift(std::vector<int64_t>& dims, bool mapped) {
  for (int64_t& d : dims) d += mapped;
}
void PushFront(std::vector<int64_t>& list, int64_t value) { list.insert(list.begin(), value); }
void MapField(const Mapping& m, PairedDims& dims) {
  Shift(dims.lhs, m.operands[0]);
  Shift(dims.rhs, m.operands[1]);
}
void MapField(const Mapping& m, sharding::TensorSharding& sharding) {
  sharding.dims.insert(sharding.dims.begin(), m.lies);
}

std::string FieldText(int64_t v) { return std::to_string(v); }
std::string FieldText(bool v) { return v ? "true" : "false"; }
std::string FieldText(DType v) { return v.name(); }
std::string FieldText(Reduction v) { return sharding::ReductionName(v); }
std::string FieldText(const sharding::TensorSharding& v) { return sharding::Text(v); }
std::string FieldText(const std::vector<int64_t>& v) {
  return fmt::format("[{}]", fmt::join(v, ", "));
}
std::string FieldText(const std::vector<std::vector<int64_t>>& v) {
  const auto row_text = [](std::string* out, const std::vector<int64_t>& row) {
    *out += FieldText(row);
  };
  return "[" + absl::StrJoin(v, ", ", row_text) + "]";
}
std::string FieldText(const Type* v) { return v->text(); }
std::string FieldText(const std::vector<const Type*>& v) {
  const auto type_text = [](std::string* out, const Type* type) { *out += type->text(); };
  return "[" + absl::StrJoin(v, ", ", type_text) + "]";
}
std::string FieldText(const PairedDims& v) { return FieldText(v.lhs) + "x" + FieldText(v.rhs); }

namespace {

// Returns the shortest text that reads back to the same bits. A NaN shows its bits.
std::string NumberText(const Literal& v) {
  HostTensor t(v.dtype, {1});
  std::memcpy(t.data.data(), v.bits.data(), t.data.size());
  if (v.dtype.is_bool()) return t.Int(0) ? "true" : "false";
  if (v.dtype == u64 || v.dtype.is_key()) return std::to_string(static_cast<uint64_t>(t.Int(0)));
  if (v.dtype.is_integer()) return std::to_string(t.Int(0));
  if (std::isnan(t.Float(0))) return fmt::format("nan.{:x}", v.bits.low);
  if (v.dtype == f64) return fmt::format("{}", t.Float(0));
  return fmt::format("{}", static_cast<float>(t.Float(0)));
}

// Returns the real and the imaginary part of a complex number.
std::array<Literal, 2> PartsOf(const Literal& v) {
  const DType part = base::PartOf(v.dtype);
  std::array<Literal, 2> parts{Literal{part, {}}, Literal{part, {}}};
  const int64_t size = part.size();
  for (int64_t k = 0; k < 2; ++k) std::copy_n(v.bits.data() + k * size, size, parts[k].bits.data());
  return parts;
}

}  // namespace

// Returns `f32 2.5` or `c64 (2.5, -1)`.
std::string FieldText(const Literal& v) {
  if (!v.dtype.is_complex()) return std::string(v.dtype.name()) + " " + NumberText(v);
  const std::array<Literal, 2> parts = PartsOf(v);
  return fmt::format("{} ({}, {})", v.dtype.name(), NumberText(parts[0]), NumberText(parts[1]));
}

size_t FieldHash(size_t h, const sharding::TensorSharding& v) {
  return MixHash(h, absl::HashOf(v));
}

void ReadField(base::Reader& in, int64_t& v) { v = in.Integer(); }
void ReadField(base::Reader& in, bool& v) {
  if (in.Accept("true"))
    v = true;
  else if (in.Accept("false"))
    v = false;
  else
    in.Fail("expected true or false");
}
DType ReadDType(base::Reader& in) {
  std::string word = in.Word();
  if (word == "key" && in.Accept("<")) {
    word += "<" + in.Word() + ">";
    in.Expect(">");
  }
  const DType dtype = base::ParseDType(word);
  if (dtype.is_default()) in.Fail("there is no dtype '" + word + "'");
  return dtype;
}
void ReadField(base::Reader& in, DType& v) { v = ReadDType(in); }
void ReadField(base::Reader& in, Reduction& v) {
  const std::string word = in.Word();
  for (Reduction r : base::kReductions)
    if (word == sharding::ReductionName(r)) {
      v = r;
      return;
    }
  in.Fail("there is no reduction '" + word + "'");
}
void ReadField(base::Reader& in, std::vector<int64_t>& v) {
  v.clear();
  in.List("[", "]", [&] { v.push_back(in.Integer()); });
}
void ReadField(base::Reader& in, std::vector<std::vector<int64_t>>& v) {
  v.clear();
  in.List("[", "]", [&] { ReadField(in, v.emplace_back()); });
}
void ReadField(base::Reader& in, PairedDims& v) {
  ReadField(in, v.lhs);
  in.Expect("x");
  ReadField(in, v.rhs);
}

void ReadField(base::Reader& in, const sharding::MeshDef* mesh, const Type*& v) {
  v = ReadPlace(in, mesh);
}
void ReadField(base::Reader& in, const sharding::MeshDef* mesh, std::vector<const Type*>& v) {
  v.clear();
  in.List("[", "]", [&] { v.push_back(ReadPlace(in, mesh)); });
}

void ReadField(base::Reader& in, const sharding::MeshDef* mesh, sharding::TensorSharding& v) {
  if (!mesh) in.Fail("a sharding without a mesh");
  in.Peek("");
  size_t begin = in.position();
  in.Expect("<");
  while (!in.Peek(">")) {
    if (in.AtEnd()) in.Fail("the sharding does not end");
    if (in.Peek("\""))
      in.Quoted();
    else
      in.set_position(in.position() + 1);
  }
  in.Expect(">");
  v = sharding::ParseSharding(in.Since(begin), mesh->WithoutModes(), in.Here());
}

namespace {

base::ElementBits ReadNumber(base::Reader& in, DType dtype) {
  base::ElementBits bits;
  std::string word = in.NumberWord();
  char* end = nullptr;
  HostTensor t(dtype, {1});
  if (word.rfind("nan.", 0) == 0) {
    bits = std::strtoull(word.c_str() + 4, &end, 16);
  } else {
    if (word == "true" || word == "false") {
      t.SetInt(0, word == "true");
      end = word.data() + word.size();
    } else if (dtype.is_floating()) {
      t.SetFloat(0, std::strtod(word.c_str(), &end));
    } else if (word[0] == '-') {
      t.SetInt(0, std::strtoll(word.c_str(), &end, 10));
    } else {
      t.SetInt(0, static_cast<int64_t>(std::strtoull(word.c_str(), &end, 10)));
    }
    std::memcpy(bits.data(), t.data.data(), t.data.size());
  }
  if (!end || *end) in.Fail("expected a number, not '" + word + "'");
  return bits;
}

}  // namespace

void ReadField(base::Reader& in, Literal& v) {
  ReadField(in, v.dtype);
  if (!v.dtype.is_complex()) {
    v.bits = ReadNumber(in, v.dtype);
    return;
  }
  const DType part = base::PartOf(v.dtype);
  int64_t begin = 0;
  in.List("(", ")", [&] {
    if (begin == v.dtype.size()) in.Fail("a complex number has two parts");
    const base::ElementBits bits = ReadNumber(in, part);
    std::copy_n(bits.data(), part.size(), v.bits.data() + begin);
    begin += part.size();
  });
  if (begin < v.dtype.size()) in.Fail("a complex number has two parts");
}

}  // namespace tessera::ir
