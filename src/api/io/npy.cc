// NumPy's .npy files. Format: numpy.lib.format, versions 1 to 3.
#include "api/io/npy.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/reader.h"
#include "compile/host/concrete.h"
#include "compile/run/executor.h"
#include "tessera/io.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

constexpr char kMagic[] = "\x93NUMPY";

DType FromDescr(const std::string& descr) {
  struct {
    const char* text;
    DType dtype;
  } const kTable[] = {{"|b1", bool_}, {"|i1", i8},   {"<i2", i16},     {"<i4", i32},
                      {"<i8", i64},   {"|u1", u8},   {"<u2", u16},     {"<u4", u32},
                      {"<u8", u64},   {"<f2", f16},  {"<f4", f32},     {"<f8", f64},
                      {"|V2", bf16},  {"<V2", bf16}, {"<f1", f8_e5m2}, {"|f1", f8_e5m2},
                      {"<c8", c64},   {"<c16", c128}};
  for (const auto& row : kTable)
    if (descr == row.text) return row.dtype;
  return DType{};
}
std::string ToDescr(DType t) {
  if (t == bf16) return "|V2";
  if (t == f8_e5m2) return "<f1";  // as ml_dtypes writes it
  char kind = t.is_bool()       ? 'b'
              : t.is_floating() ? 'f'
              : t.is_complex()  ? 'c'
              : t.is_signed()   ? 'i'
                                : 'u';
  return fmt::format("{}{}{}", t.size() == 1 ? '|' : '<', kind, t.size());
}

// Reads 'text' or "text".
std::string Quoted(base::Reader& in) {
  const char* quote = in.Peek("\"") ? "\"" : "'";
  in.Expect(quote);
  size_t begin = in.position();
  while (!in.Peek(quote)) {
    if (in.AtEnd()) in.Fail("expected a closing quote");
    in.set_position(in.position() + 1);
  }
  std::string text(in.Since(begin));
  in.Expect(quote);
  return text;
}

// Reads the description of the elements. `>` stands for big-endian ones.
void ReadDescr(base::Reader& in, NpyHeader& h) {
  if (in.Peek("["))
    in.Fail(
        "the elements are structs, which have several dtypes: save one field of them, x['name'], "
        "with numpy.save");
  std::string descr = Quoted(in), little = descr;
  if (little.starts_with('>')) {
    little[0] = little.ends_with('1') && little.size() == 3 ? '|' : '<';
    h.endian = Endian::kBig;
  }
  h.dtype = FromDescr(little);
  if (!h.dtype.is_default()) return;
  in.Fail(descr.size() > 1 && descr[1] == 'O'
              ? "the elements are Python objects, not numbers"
              : "elements of dtype '" + descr + "' are not supported");
}

NpyHeader ParseHeader(const std::string& text, Loc loc) {
  base::Reader in(text, "npy header", loc);
  NpyHeader h;
  bool have_descr = false, have_order = false, have_shape = false;
  in.Expect("{");
  while (!in.Accept("}")) {
    std::string key = Quoted(in);
    in.Expect(":");
    if (key == "descr") {
      ReadDescr(in, h);
      have_descr = true;
    } else if (key == "fortran_order") {
      h.fortran = in.Accept("True");
      if (!h.fortran) in.Expect("False");
      have_order = true;
    } else if (key == "shape") {
      in.Expect("(");
      while (!in.Accept(")")) {
        h.shape.push_back(in.Integer());
        if (!in.Accept(",")) {
          in.Expect(")");
          break;
        }
      }
      have_shape = true;
    } else {
      in.Fail("unknown key '" + key + "'");
    }
    in.Accept(",");
  }
  in.ExpectEnd();
  if (!have_descr || !have_order || !have_shape)
    in.Fail("descr, fortran_order and shape are all needed");
  if (std::string problem = ir::SizeProblem(h.shape); !problem.empty())
    in.Fail("the shape has " + problem);
  return h;
}

// Reads the text of the header. Returns it with the offset of the first element.
std::pair<std::string, int64_t> ReadHeaderText(const ArrayReader& file) {
  constexpr int64_t kStart = 8;  // the magic bytes and the version
  std::byte start[kStart];
  if (file.size() < kStart) file.Fail("not a .npy file");
  file.ReadAt(0, kStart, start);
  if (std::memcmp(start, kMagic, 6) != 0) file.Fail("not a .npy file");
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3)
    file.Fail(fmt::format("version {} of the format is not known", version));
  const int64_t digits = version == 1 ? 2 : 4, begin = kStart + digits;
  if (file.size() < begin) file.Fail("the header is cut off");
  uint32_t size = 0;
  file.ReadAt(kStart, digits, reinterpret_cast<std::byte*>(&size));  // little endian
  if (size > (1u << 20)) file.Fail(fmt::format("a header of {} bytes is implausible", size));
  if (file.size() < begin + size) file.Fail("the header is cut off");
  std::string text(size, ' ');
  file.ReadAt(begin, size, reinterpret_cast<std::byte*>(text.data()));
  return {text, begin + size};
}

// Returns the type with its dims in the opposite order.
const ir::Type* Transposed(const ir::Type* type) {
  base::Shape shape = type->shape();
  sharding::TensorSharding s = type->sharding();
  absl::c_reverse(shape);
  absl::c_reverse(s.dims);
  return ir::Type::Get(std::move(shape), type->dtype(), std::move(s));
}

Array AbstractArray(const ir::Type* type, Loc loc) {
  return Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc));
}

}  // namespace

NpyHeader api::ReadNpyHeader(const ArrayReader& file, Loc loc) {
  const auto [text, begin] = ReadHeaderText(file);
  NpyHeader h = [&, &header = text] {
    try {
      return ParseHeader(header, loc);
    } catch (const RuntimeError& e) {
      file.Fail("in its header: " + e.reason());
    }
  }();
  h.begin = begin;
  const int64_t bytes = ir::CheckedElements(h.shape) * h.dtype.size(), left = file.size() - begin;
  // The size is checked before memory is allocated, so a hostile shape costs nothing.
  if (left < bytes)
    file.Fail(fmt::format("{} of {} bytes of elements are missing", bytes - left, bytes));
  return h;
}

Array load_npy(const std::string& path, OutOptions options, Loc loc) {
  const Call call{"load_npy", loc};
  const ArrayReader file(path, call);
  const NpyHeader h = ReadNpyHeader(file, loc);
  compile::Install();
  Array like = AbstractArray(ir::Type::Get(h.shape, h.dtype, trace::CurrentMesh()), loc);
  if (options.out_sharding)
    like = ReshardNamed(like, *options.out_sharding, call, [&] { return path; });
  const ir::Type* type = TypeOf(like);
  if (type->mesh() && type->mesh()->is_abstract()) return like;
  const ir::Type* stored = h.fortran ? Transposed(type) : type;
  const Array x = file.ReadArray(h.begin, stored, compile::WithoutModes(stored), h.endian);
  return h.fortran ? transpose(x, All, loc) : x;
}

void save_npy(const std::string& path, const Array& x, Loc loc) {
  const ir::Type* type = OnDevices(x, {"save_npy", loc}).type();
  const base::Shape& shape = type->shape();
  DType t = type->dtype();
  if (t.is_key())
    FailDType({"save_npy", loc}, 17,
              fmt::format("{} holds random keys, which are not numbers", type->text()),
              {"save random::key_data(x), and read it with random::wrap_key_data"});
  if (t.is_storage() && t != f8_e5m2)
    FailDType({"save_npy", loc}, 17,
              fmt::format("{}: NumPy has no name for {}, so the file could not be read",
                          type->text(), t.name()),
              {fmt::format("convert first: x.astype({}){}", base::ComputedIn(t).name(),
                           t == f8_e4m3fn ? "; save_safetensors keeps the dtype" : "")});
  std::string dims;
  for (int64_t s : shape) dims += fmt::format("{}, ", s);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", ToDescr(t),
                  shape.size() == 1 ? dims.substr(0, dims.size() - 1) : dims);
  // The elements begin at a multiple of 64 bytes. The header ends with a line break.
  size_t total = (10 + header.size() + 1 + 63) / 64 * 64;
  header.resize(total - 10 - 1, ' ');
  header += '\n';
  const auto n = static_cast<uint16_t>(header.size());
  const std::string start = std::string(kMagic, 6) + std::string("\x01\x00", 2) +
                            std::string(reinterpret_cast<const char*>(&n), 2) + header;
  WriteArrays(path, start, {{"", x, static_cast<int64_t>(start.size())}}, {"save_npy", loc});
}

}  // namespace tessera
