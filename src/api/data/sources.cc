// Records of files, which are read as they are asked for, and of arrays.
#include "api/data/sources.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "api/core/operands.h"
#include "api/io/npy.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/concrete.h"
#include "tessera/processes.h"

namespace tessera::data {

using api::ArrayReader;
using api::Call;

std::string FieldType::text() const {
  return fmt::format("{}[{}]", dtype.name(), fmt::join(shape, ","));
}
std::string TextOf(const std::vector<FieldType>& fields) {
  std::string text;
  for (const FieldType& f : fields) text += (text.empty() ? "" : ", ") + f.text();
  return text.empty() ? "nothing" : text;
}

// ---- records ----

Field::Field(DType dtype, Shape shape, Loc loc) : dtype_(dtype), shape_(shape.dims()) {
  api::CheckShape(shape_, {"Field", loc});
  bytes_.resize(base::Size(base::Elements(shape_) * dtype.size()));
}
void Field::Check(DType dtype, Loc loc) const {
  if (dtype != dtype_)
    api::FailDType({"data", loc}, 17,
                   fmt::format("the field's elements are {}, not {}", dtype_.name(), dtype.name()));
}

Record ReadRecord(const DataSource::Impl& source, int64_t record) {
  Record fields;
  for (size_t f = 0; f < source.fields().size(); ++f) {
    const FieldType& type = source.fields()[f];
    fields.emplace_back(type.dtype, Shape(type.shape));
    source.Read(f, record, 1, fields.back().bytes().data());
  }
  return fields;
}

int64_t DataSource::size() const { return impl_->size(); }
Record DataSource::read(int64_t record, Loc loc) const {
  if (record < 0 || record >= size())
    api::FailShape({"read", loc}, 1,
                   fmt::format("there is no record {}: the source has {}", record,
                               base::CountText(base::Size(size()), "record")));
  return ReadRecord(*impl_, record);
}

namespace {

// In a file any byte but 0 is true. In an array, bools are 0 or 1.
void MakeBools(DType dtype, std::byte* data, int64_t bytes) {
  if (!dtype.is_bool()) return;
  std::for_each(data, data + bytes, [](std::byte& b) { b = std::byte{b != std::byte{}}; });
}

// ---- rows of files ----

class FileRows final : public DataSource::Impl {
 public:
  FileRows(std::shared_ptr<const ArrayReader> file, int64_t begin, int64_t rows, FieldType row,
           api::Endian endian)
      : Impl(rows, {row}), file_(std::move(file)), begin_(begin), endian_(endian) {}
  void Read(size_t, int64_t first, int64_t count, std::byte* out) const override {
    const FieldType& row = fields()[0];
    const int64_t bytes = row.bytes();
    file_->ReadAt(begin_ + first * bytes, count * bytes, out);
    MakeBools(row.dtype, out, count * bytes);
    api::ToLittleEndian(endian_, row.dtype, out, count * bytes);
  }

 private:
  const std::shared_ptr<const ArrayReader> file_;
  const int64_t begin_;
  const api::Endian endian_;
};

DataSource RowsOf(std::shared_ptr<const ArrayReader> file, int64_t begin, base::Shape shape,
                  DType dtype, api::Endian endian) {
  if (shape.empty()) file->Fail("a scalar has no rows, which would be records");
  const int64_t rows = shape[0];
  shape.erase(shape.begin());
  return DataSource(std::make_shared<FileRows>(std::move(file), begin, rows,
                                               FieldType{dtype, std::move(shape)}, endian));
}

constexpr std::pair<int, DType> kIdxDTypes[] = {{0x08, u8},  {0x09, i8},  {0x0B, i16},
                                                {0x0C, i32}, {0x0D, f32}, {0x0E, f64}};

// Reads numbers of 32 bits, the most significant byte first.
std::vector<uint32_t> BigEndian(const ArrayReader& file, int64_t at, int64_t count) {
  std::vector<std::byte> bytes(base::Size(4 * count));
  if (file.size() < at + 4 * count) file.Fail("the header is cut off");
  file.ReadAt(at, 4 * count, bytes.data());
  std::vector<uint32_t> numbers(base::Size(count));
  for (size_t i = 0; i < bytes.size(); ++i)
    numbers[i / 4] = numbers[i / 4] << 8 | std::to_integer<uint32_t>(bytes[i]);
  return numbers;
}

}  // namespace

DataSource npy(const std::string& path, Loc loc) {
  auto file = std::make_shared<const ArrayReader>(path, Call{"npy", loc});
  api::NpyHeader h = api::ReadNpyHeader(*file, loc);
  if (h.fortran && h.shape.size() > 1)
    file->Fail(
        "its columns are stored one after the other (Fortran order), so a row is not one "
        "piece: save it in C order");
  return RowsOf(file, h.begin, std::move(h.shape), h.dtype, h.endian);
}

DataSource idx(const std::string& path, Loc loc) {
  auto file = std::make_shared<const ArrayReader>(path, Call{"idx", loc});
  const uint32_t magic = BigEndian(*file, 0, 1)[0];
  if (magic >> 16 == 0x1f8b) file->Fail("it is compressed: gunzip it first");
  const auto* dtype = absl::c_find_if(
      kIdxDTypes, [&](const auto& row) { return row.first == static_cast<int>(magic >> 8); });
  if (dtype == std::end(kIdxDTypes))
    file->Fail(
        fmt::format("it begins with {:#010x}, and an idx file with 0x00000803, for example: "
                    "two zeros, the dtype and the number of dims",
                    magic));
  const auto rank = static_cast<int64_t>(magic & 0xff);
  base::Shape shape;
  for (uint32_t size : BigEndian(*file, 4, rank)) shape.push_back(size);
  if (std::string problem = ir::SizeProblem(shape); !problem.empty())
    file->Fail("the shape has " + problem);
  const int64_t begin = 4 + 4 * rank, wanted = base::Elements(shape) * dtype->second.size();
  if (file->size() - begin != wanted)
    file->Fail(fmt::format("it has {} bytes after its header, which states {} of {}: {} bytes",
                           file->size() - begin, fmt::join(shape, " x "), dtype->second.name(),
                           wanted));
  return RowsOf(file, begin, std::move(shape), dtype->second, api::Endian::kBig);
}

DataSource bytes(const std::string& path, Loc loc) {
  auto file = std::make_shared<const ArrayReader>(path, Call{"bytes", loc});
  return RowsOf(file, 0, {file->size()}, u8, api::Endian::kLittle);
}

// ---- lines ----

namespace {

class Lines final : public DataSource::Impl {
 public:
  Lines(std::shared_ptr<const ArrayReader> file, std::vector<int64_t> begins, int64_t length,
        bool cut)
      : Impl(static_cast<int64_t>(begins.size()) - 1, {{u8, {length}}, {i32}}),
        file_(std::move(file)),
        begins_(std::move(begins)),
        length_(length),
        cut_(cut) {}
  void Read(size_t field, int64_t first, int64_t count, std::byte* out) const override {
    for (int64_t line = first; line < first + count; ++line) {
      const int64_t size = SizeOf(line);
      if (field == 0) {
        if (size > 0) file_->ReadAt(base::At(begins_, line), size, out);
        std::fill(out + size, out + length_, std::byte{});
        out += length_;
      } else {
        const auto number = static_cast<int32_t>(size);
        std::memcpy(out, &number, sizeof number);
        out += sizeof number;
      }
    }
  }

 private:
  // Returns the number of bytes of a line that are kept. A line break has one or two bytes.
  int64_t SizeOf(int64_t line) const {
    int64_t begin = base::At(begins_, line), end = base::At(begins_, line + 1);
    const int64_t tail = std::min<int64_t>(2, end - begin);
    std::byte last[2] = {};
    if (tail > 0) file_->ReadAt(end - tail, tail, last + 2 - tail);
    if (tail > 0 && last[1] == std::byte{'\n'}) {
      --end;
      if (tail > 1 && last[0] == std::byte{'\r'}) --end;
    }
    if (end - begin > length_ && !cut_)
      file_->Fail(
          fmt::format("line {} has {} bytes; {} is the most", line + 1, end - begin, length_));
    return std::min(end - begin, length_);
  }

  const std::shared_ptr<const ArrayReader> file_;
  const std::vector<int64_t> begins_;  // of each line, and the end of the file
  const int64_t length_;
  const bool cut_;
};

// Returns where each line begins, and the end of the file.
std::vector<int64_t> BeginsOfLines(const ArrayReader& file) {
  constexpr int64_t kBlock = int64_t{1} << 20;
  std::vector<int64_t> begins = {0};
  std::vector<std::byte> block(base::Size(std::min(kBlock, file.size())));
  for (int64_t at = 0; at < file.size(); at += kBlock) {
    const int64_t n = std::min(kBlock, file.size() - at);
    file.ReadAt(at, n, block.data());
    for (int64_t i = 0; i < n; ++i)
      if (base::At(block, i) == std::byte{'\n'}) begins.push_back(at + i + 1);
  }
  if (begins.back() != file.size()) begins.push_back(file.size());
  return begins;
}

}  // namespace

DataSource lines(const std::string& path, int64_t length, LinesOptions options, Loc loc) {
  const Call call{"lines", loc};
  if (length <= 0)
    api::FailShape(call, 1, fmt::format("the length must be above 0, not {}", length));
  auto file = std::make_shared<const ArrayReader>(path, call);
  std::vector<int64_t> begins = BeginsOfLines(*file);
  return DataSource(std::make_shared<Lines>(file, std::move(begins), length, options.cut));
}

// ---- arrays, and sources of sources ----

namespace {

class ArrayRows final : public DataSource::Impl {
 public:
  ArrayRows(int64_t rows, std::vector<FieldType> fields, std::vector<Array> whole)
      : Impl(rows, std::move(fields)), whole_(std::move(whole)) {}
  void Read(size_t field, int64_t first, int64_t count, std::byte* out) const override {
    const int64_t bytes = fields()[field].bytes();
    const auto& x = static_cast<const compile::Concrete&>(*whole_[field].impl());
    if (bytes > 0) std::memcpy(out, x.buffers.at(0) + first * bytes, base::Size(count * bytes));
  }

 private:
  const std::vector<Array> whole_;
};

class Zipped final : public DataSource::Impl {
 public:
  Zipped(int64_t size, std::vector<FieldType> fields, std::vector<DataSource> sources)
      : Impl(size, std::move(fields)), sources_(std::move(sources)) {
    for (const DataSource& s : sources_)
      for (size_t f = 0; f < s.impl().fields().size(); ++f) places_.push_back({&s.impl(), f});
  }
  void Read(size_t field, int64_t first, int64_t count, std::byte* out) const override {
    places_[field].source->Read(places_[field].field, first, count, out);
  }

 private:
  struct Place {
    const DataSource::Impl* source;
    size_t field;
  };
  const std::vector<DataSource> sources_;
  std::vector<Place> places_;
};

class Windows final : public DataSource::Impl {
 public:
  Windows(int64_t size, std::vector<FieldType> fields, DataSource source, int64_t length,
          int64_t stride)
      : Impl(size, std::move(fields)),
        source_(std::move(source)),
        length_(length),
        stride_(stride) {}
  void Read(size_t field, int64_t first, int64_t count, std::byte* out) const override {
    if (stride_ == length_) {
      source_.impl().Read(field, first * length_, count * length_, out);
      return;
    }
    for (int64_t i = first; i < first + count; ++i, out += fields()[field].bytes())
      source_.impl().Read(field, i * stride_, length_, out);
  }

 private:
  const DataSource source_;
  const int64_t length_, stride_;
};

}  // namespace

DataSource arrays(const std::vector<Array>& arrays, Loc loc) {
  const Call call{"arrays", loc};
  if (arrays.empty()) api::FailShape(call, 1, "no array is given");
  std::vector<FieldType> fields;
  std::vector<Array> whole;
  for (const Array& x : arrays) {
    const base::Shape& shape = x.shape(loc);
    if (shape.empty()) api::FailShape(call, 1, "a scalar has no rows, which would be records");
    if (shape[0] != arrays[0].shape(loc)[0])
      api::FailShape(
          call, 1,
          fmt::format("the arrays have {} and {} rows", arrays[0].shape(loc)[0], shape[0]));
    whole.push_back(gather_to_host(x, loc));
    fields.push_back({x.dtype(loc), {shape.begin() + 1, shape.end()}});
  }
  return DataSource(
      std::make_shared<ArrayRows>(arrays[0].shape(loc)[0], std::move(fields), std::move(whole)));
}

DataSource zip(const std::vector<DataSource>& sources, Loc loc) {
  const Call call{"zip", loc};
  if (sources.empty()) api::FailShape(call, 1, "no source is given");
  std::vector<FieldType> fields;
  for (const DataSource& s : sources) {
    if (s.size() != sources[0].size())
      api::FailShape(
          call, 1, fmt::format("the sources have {} and {} records", sources[0].size(), s.size()));
    fields.insert(fields.end(), s.impl().fields().begin(), s.impl().fields().end());
  }
  return DataSource(std::make_shared<Zipped>(sources[0].size(), std::move(fields), sources));
}

DataSource windows(const DataSource& source, int64_t length, DataWindowOptions options, Loc loc) {
  const Call call{"windows", loc};
  const int64_t stride = options.stride == 0 ? length : options.stride;
  if (length <= 0 || stride <= 0)
    api::FailShape(call, 1, fmt::format("length {} and stride {} must be above 0", length, stride));
  std::vector<FieldType> fields = source.impl().fields();
  for (FieldType& f : fields) {
    f.shape.insert(f.shape.begin(), length);
    api::CheckShape(f.shape, call);
  }
  const int64_t size = source.size() < length ? 0 : (source.size() - length) / stride + 1;
  return DataSource(std::make_shared<Windows>(size, std::move(fields), source, length, stride));
}

}  // namespace tessera::data
