// Reads and writes safetensors files. A header is checked before it is used: no memory is allocated
// for tensors that the file does not contain.
// Format: https://github.com/huggingface/safetensors, "Format".
#include "api/io/safetensors_file.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/at.h"
#include "base/error.h"
#include "base/shape.h"

namespace tessera::api {
namespace {

using Json = nlohmann::json;

constexpr int64_t kCountBytes = 8, kMostHeader = 100'000'000;  // the limit of the format's reader
constexpr const char* kMetadata = "__metadata__";

constexpr struct {
  const char* name;
  DType dtype;
} kDTypes[] = {{"BOOL", bool_}, {"I8", i8},   {"I16", i16},           {"I32", i32},
               {"I64", i64},    {"U8", u8},   {"U16", u16},           {"U32", u32},
               {"U64", u64},    {"F16", f16}, {"BF16", bf16},         {"F32", f32},
               {"F64", f64},    {"C64", c64}, {"F8_E4M3", f8_e4m3fn}, {"F8_E5M2", f8_e5m2}};

struct BadHeader {
  std::string reason;
};

// Builds the header's JSON and refuses a duplicate key, which nlohmann's own builder ignores.
class HeaderBuilder : public nlohmann::json_sax<Json> {
 public:
  Json Take() { return std::move(root_); }

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // text has none
  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool key(string_t& name) override {
    CheckDepth();
    auto& object = open_.back()->get_ref<Json::object_t&>();
    const size_t before = object.size();
    // Files list their tensors in the order of their names, or nearly.
    const auto at = object.try_emplace(object.end(), name);
    if (object.size() == before)
      throw BadHeader{fmt::format("the header has {} twice", ShownName(name))};
    value_ = &at->second;
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t at, const std::string&, const Json::exception& e) override {
    if (dynamic_cast<const Json::parse_error*>(&e))
      throw BadHeader{fmt::format("the header is not JSON from its byte {} on", at)};
    throw BadHeader{"the header has a number that is too large"};
  }

 private:
  void CheckDepth() const {
    constexpr size_t kDeepest = 2;  // the depth of lists such as shapes
    if (open_.size() > kDeepest) throw BadHeader{"the header is nested too deeply"};
  }
  bool Put(Json value) {
    *Place() = std::move(value);
    return true;
  }
  // Returns the place of the next value.
  Json* Place() {
    if (open_.empty()) return &root_;
    return open_.back()->is_array() ? &open_.back()->emplace_back() : value_;
  }
  bool Open(Json empty) {
    CheckDepth();
    Json* place = Place();
    *place = std::move(empty);
    open_.push_back(place);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // the objects and lists that are not complete
  Json* value_ = nullptr;    // of the last key
};

// Parses the header as JSON. Throws BadHeader for a duplicate key.
Json ParseJson(const std::string& text) {
  if (!text.starts_with('{')) throw BadHeader{"the header does not begin with {"};
  HeaderBuilder builder;
  Json::sax_parse(text, &builder);
  return builder.Take();
}

std::vector<int64_t> Sizes(const Json& list, const char* what) {
  std::vector<int64_t> sizes;
  if (!list.is_array()) throw BadHeader{fmt::format("its {} is not a list", what)};
  for (const Json& size : list) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{INT64_MAX})
      throw BadHeader{
          fmt::format("its {} has an element that is not an integer from 0 to 2^63 - 1", what)};
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

StoredTensor ParseTensor(const Json& entry) {
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!entry.is_object() || !entry.contains(key))
      throw BadHeader{fmt::format("it has no {}", key)};
  if (entry.size() != 3) throw BadHeader{"it has keys other than dtype, shape and data_offsets"};
  const Json& dtype = entry["dtype"];
  const auto* row = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                 [&](const auto& r) { return dtype == r.name; });
  if (row == std::end(kDTypes))
    throw BadHeader{fmt::format("elements of dtype {} are not supported",
                                dtype.is_string() ? ShownName(dtype.get<std::string>()) : "null")};
  base::Shape shape = Sizes(entry["shape"], "shape");
  if (std::string problem = ir::SizeProblem(shape); !problem.empty())
    throw BadHeader{"its shape has " + problem};
  const std::vector<int64_t> bytes = Sizes(entry["data_offsets"], "data_offsets");
  if (bytes.size() != 2 || bytes[0] > bytes[1])
    throw BadHeader{"its data_offsets must be [begin, end] with begin <= end"};
  const ir::Type* type = ir::Type::Get(std::move(shape), row->dtype);
  if (const int64_t need = type->elements() * type->dtype().size(); need != bytes[1] - bytes[0])
    throw BadHeader{fmt::format("{} needs {} bytes, but its data_offsets span {}", type->text(),
                                need, bytes[1] - bytes[0])};
  return {type, bytes[0], bytes[1]};
}

std::map<std::string, std::string> ParseMetadata(const Json& entry) {
  std::map<std::string, std::string> metadata;
  if (!entry.is_object()) throw BadHeader{"it is not an object"};
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) throw BadHeader{ShownName(key) + " is not a string"};
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

}  // namespace

std::string ShownName(const std::string& name) {
  constexpr size_t kLongest = 80;
  std::string shown = Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > kLongest) shown = shown.substr(0, kLongest) + "...\"";
  return shown;
}

std::string SafetensorsName(DType dtype) {
  for (const auto& row : kDTypes)
    if (row.dtype == dtype) return row.name;
  return "";
}

// ---- reading ----

SafetensorsFile::SafetensorsFile(const std::string& path, Call call) : file_(path, call) {
  try {
    Parse(ReadHeader());
    CheckPlaces();
  } catch (const BadHeader& e) {
    file_.Fail(e.reason);
  }
}

std::string SafetensorsFile::ReadHeader() {
  const int64_t end = file_.size();
  if (end < kCountBytes) throw BadHeader{fmt::format("a file of {} bytes has no header", end)};
  uint64_t size = 0;
  file_.ReadAt(0, kCountBytes, reinterpret_cast<std::byte*>(&size));  // little endian
  if (size > kMostHeader) throw BadHeader{fmt::format("a header of {} bytes is implausible", size)};
  data_ = kCountBytes + static_cast<int64_t>(size);
  if (data_ > end)
    throw BadHeader{fmt::format("{} of {} bytes of the header are missing", data_ - end, size)};
  std::string header(size, ' ');
  file_.ReadAt(kCountBytes, static_cast<int64_t>(size),
               reinterpret_cast<std::byte*>(header.data()));
  return header;
}

void SafetensorsFile::Parse(const std::string& header) {
  const Json json = ParseJson(header);
  for (const auto& [name, entry] : json.items()) {
    try {
      if (name == kMetadata)
        metadata_ = ParseMetadata(entry);
      else
        tensors_.emplace_hint(tensors_.end(), name, ParseTensor(entry));  // in the same order
    } catch (const BadHeader& e) {
      throw BadHeader{fmt::format("{}: {}", ShownName(name), e.reason)};
    }
  }
}

void SafetensorsFile::CheckPlaces() const {
  using Entry = std::pair<const std::string, StoredTensor>;
  std::vector<const Entry*> order;
  for (const Entry& entry : tensors_) order.push_back(&entry);
  absl::c_sort(order, [](const Entry* a, const Entry* b) {
    return std::tie(a->second.begin, a->second.end) < std::tie(b->second.begin, b->second.end);
  });
  const int64_t data_bytes = file_.size() - data_;
  int64_t at = 0;
  const std::string* before = nullptr;
  for (const Entry* entry : order) {
    const auto& [name, tensor] = *entry;
    if (tensor.begin < at)
      throw BadHeader{fmt::format("{} and {} overlap", ShownName(*before), ShownName(name))};
    if (tensor.begin > at)
      throw BadHeader{
          fmt::format("bytes {} to {} of the data belong to no tensor", at, tensor.begin)};
    if (tensor.end > data_bytes)
      throw BadHeader{fmt::format("{} ends at byte {} of the data, but the data has only {}",
                                  ShownName(name), tensor.end, data_bytes)};
    at = tensor.end;
    before = &name;
  }
  if (const int64_t rest = data_bytes - at; rest > 0)
    throw BadHeader{fmt::format("{} bytes follow the last tensor", rest)};
}

// ---- writing ----

void WriteSafetensors(const std::string& path, std::vector<NamedArray> arrays,
                      const std::map<std::string, std::string>& metadata, Call call) {
  // Tensors with larger elements come first, so that all tensors are aligned.
  absl::c_sort(arrays, [](const NamedArray& a, const NamedArray& b) {
    const int size_a = TypeOf(a.array)->dtype().size(), size_b = TypeOf(b.array)->dtype().size();
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  try {
    std::string header;
    if (!metadata.empty()) header = fmt::format("\"{}\":{}", kMetadata, Json(metadata).dump());
    int64_t begin = 0;
    for (const auto& [name, array] : arrays) {
      const ir::Type* type = TypeOf(array);
      const int64_t end = begin + type->elements() * type->dtype().size();
      header += fmt::format(R"({}{}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                            header.empty() ? "" : ",", Json(name).dump(),
                            SafetensorsName(type->dtype()), Json(type->shape()).dump(), begin, end);
      begin = end;
    }
    header = '{' + header + '}';
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t size = header.size();
    if (size > kMostHeader)
      FailFile(call, path, fmt::format("a header of {} bytes is too large for the format", size));
    header.insert(0, reinterpret_cast<const char*>(&size), sizeof size);
    std::vector<StoredArray> stored;
    auto at = static_cast<int64_t>(header.size());
    for (const auto& [name, array] : arrays) {
      stored.push_back({ShownName(name), array, at});
      at += TypeOf(array)->elements() * TypeOf(array)->dtype().size();
    }
    WriteArrays(path, header, stored, call);
  } catch (const Json::type_error&) {
    FailFile(call, path, "a name or the metadata is not UTF-8");
  }
}

}  // namespace tessera::api
