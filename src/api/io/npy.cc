// NumPy's .npy files. Format: numpy.lib.format, versions 1 to 3.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/file.h"
#include "base/reader.h"
#include "compile/host/concrete.h"
#include "tessera/io.h"

namespace tessera {

using namespace api;

namespace {

constexpr char kMagic[] = "\x93NUMPY";

[[noreturn]] void FailNpy(const char* op, const std::string& path, std::string reason, Loc loc) {
  base::ThrowRuntime(base::Refusal(op, "file", base::Where(loc), path + ": " + reason));
}

struct Header {
  DType dtype;
  bool fortran = false;
  base::Shape shape;
};

DType FromDescr(const std::string& descr) {
  struct {
    const char* text;
    DType dtype;
  } const kTable[] = {{"|b1", bool_}, {"|i1", i8},  {"<i2", i16},  {"<i4", i32}, {"<i8", i64},
                      {"|u1", u8},    {"<u2", u16}, {"<u4", u32},  {"<u8", u64}, {"<f2", f16},
                      {"<f4", f32},   {"<f8", f64}, {"|V2", bf16}, {"<V2", bf16}};
  for (const auto& row : kTable)
    if (descr == row.text) return row.dtype;
  return DType{};
}
std::string ToDescr(DType t) {
  if (t == bf16) return "|V2";
  char kind = t.is_bool() ? 'b' : t.is_floating() ? 'f' : t.is_signed() ? 'i' : 'u';
  return fmt::format("{}{}{}", t.size() == 1 ? '|' : '<', kind, t.size());
}

// Reads `'text'`.
std::string Quoted(base::Reader& in) {
  in.Expect("'");
  size_t begin = in.position();
  while (!in.Peek("'")) {
    if (in.AtEnd()) in.Fail("expected a closing quote");
    in.set_position(in.position() + 1);
  }
  std::string text(in.Since(begin));
  in.Expect("'");
  return text;
}

Header ParseHeader(const std::string& text, Loc loc) {
  base::Reader in(text, "npy header", loc);
  Header h;
  bool have_descr = false, have_order = false, have_shape = false;
  in.Expect("{");
  while (!in.Accept("}")) {
    std::string key = Quoted(in);
    in.Expect(":");
    if (key == "descr") {
      std::string descr = Quoted(in);
      h.dtype = FromDescr(descr);
      if (h.dtype.is_default()) in.Fail("elements of dtype '" + descr + "' are not supported");
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

std::string ReadHeaderText(std::ifstream& file, const std::string& path, Loc loc) {
  char start[8];
  if (!file.read(start, 8) || std::memcmp(start, kMagic, 6) != 0)
    FailNpy("load_npy", path, "not a .npy file", loc);
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3)
    FailNpy("load_npy", path, fmt::format("version {} of the format is not known", version), loc);
  unsigned char length[4] = {};
  int digits = version == 1 ? 2 : 4;
  if (!file.read(reinterpret_cast<char*>(length), digits))
    FailNpy("load_npy", path, "the header is cut off", loc);
  uint32_t size = 0;
  for (int i = digits; i-- > 0;) size = size << 8 | length[i];
  if (size > (1u << 20))
    FailNpy("load_npy", path, fmt::format("a header of {} bytes is implausible", size), loc);
  std::string text(size, ' ');
  if (!file.read(text.data(), size)) FailNpy("load_npy", path, "the header is cut off", loc);
  return text;
}

}  // namespace

Array load_npy(const std::string& path, OutOptions options, Loc loc) {
  if (std::string why = base::WhyUnreadable(path); !why.empty())
    FailNpy("load_npy", path, "the file cannot be read: " + why, loc);
  std::ifstream file(path, std::ios::binary);
  if (!file) FailNpy("load_npy", path, "the file cannot be opened", loc);
  Header h = ParseHeader(ReadHeaderText(file, path, loc), loc);
  int64_t elements = ir::CheckedElements(h.shape), bytes = elements * h.dtype.size();
  auto begin = file.tellg();
  file.seekg(0, std::ios::end);
  int64_t left = static_cast<int64_t>(file.tellg() - begin);
  // The size is checked before memory is allocated, so a hostile shape costs nothing.
  if (left < bytes)
    FailNpy("load_npy", path,
            fmt::format("{} of {} bytes of elements are missing", bytes - left, bytes), loc);
  file.seekg(begin);
  std::vector<char> data(base::Size(bytes));
  if (!file.read(data.data(), bytes)) FailNpy("load_npy", path, "the elements cannot be read", loc);
  // In a file any byte but 0 is true. In an array, bools are 0 or 1.
  if (h.dtype.is_bool())
    for (char& b : data) b = b != 0;
  base::Shape stored = h.shape;
  if (h.fortran) absl::c_reverse(stored);
  Array x = detail::ArrayFromHost({data.data(), elements, h.dtype}, {.shape = Shape(stored)}, loc);
  if (h.fortran) x = transpose(x, All, loc);
  if (!options.out_sharding) return x;
  return ReshardNamed(x, *options.out_sharding, {"load_npy", loc}, [&] { return path; });
}

void save_npy(const std::string& path, const Array& x, Loc loc) {
  const ir::Type* type = OnDevices(x, {"save_npy", loc}).type();
  const base::Shape& shape = type->shape();
  DType t = type->dtype();
  if (t.is_key())
    FailDType({"save_npy", loc}, 17,
              fmt::format("{} holds random keys, which are not numbers", type->text()),
              {"save random::key_data(x), and read it with random::wrap_key_data"});
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
  std::ofstream file(path, std::ios::binary);
  if (!file) FailNpy("save_npy", path, "the file cannot be written: " + base::ErrnoText(), loc);
  auto n = static_cast<uint16_t>(header.size());
  file.write(kMagic, 6).write("\x01\x00", 2).write(reinterpret_cast<const char*>(&n), 2);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  base::VisitDType(t, [&](auto tag) {
    using E = decltype(tag);
    if constexpr (std::is_same_v<E, bool>) {
      for (bool b : x.to_vector<bool>(loc)) file.put(b ? 1 : 0);
    } else {
      std::vector<E> values = x.to_vector<E>(loc);
      file.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * sizeof(E)));
    }
  });
  file.flush();
  if (!file) FailNpy("save_npy", path, "the file cannot be written completely", loc);
}

}  // namespace tessera
