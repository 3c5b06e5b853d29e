// Reads boxes of arrays, and merges the boxes of shards into long writes.
#include "api/io/array_file.h"

#include <absl/algorithm/container.h>
#include <absl/functional/function_ref.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "api/core/elements.h"
#include "base/at.h"
#include "base/box_runs.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"
#include "compile/host/agree.h"
#include "compile/host/host_array.h"
#include "compile/host/processes.h"
#include "compile/run/executor.h"
#include "runtime/meeting.h"
#include "runtime/only_thread.h"
#include "runtime/transport.h"
#include "sharding/local.h"

namespace tessera::api {

void FailFile(Call call, const std::string& path, const std::string& reason,
              std::vector<std::string> notes) {
  base::ThrowRuntime(base::Refusal(call.name, "file", base::Where(call.loc), path + ": " + reason,
                                   std::move(notes)));
}

// ---- reading ----

ArrayReader::ArrayReader(std::string path, Call call) : path_(std::move(path)), call_(call) {
  if (std::string why = base::WhyUnreadable(path_); !why.empty())
    Fail("the file cannot be read: " + why);
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    Fail("the file cannot be read: it is not a regular file");
  file_.value = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_.value < 0 || fstat(file_.value, &info) != 0)
    Fail("the file cannot be read: " + base::ErrnoText());
  size_ = info.st_size;
}

void ArrayReader::ReadAt(int64_t at, int64_t bytes, std::byte* out) const {
  while (bytes > 0) {
    const ssize_t n = pread(file_.value, out, base::Size(bytes), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Fail("the file cannot be read: " + base::ErrnoText());
    if (n == 0) Fail("the file became shorter while it was read");
    at += n, bytes -= n, out += n;
  }
}

void ArrayReader::ReadBox(int64_t begin, const ir::Type& type, const base::Shape& first,
                          const base::Shape& box, std::byte* out) const {
  // Runs that are closer than a page are read in one call, together with the bytes between them.
  constexpr int64_t kNear = 4096, kMost = int64_t{1} << 20;
  if (base::Elements(box) == 0) return;
  base::BoxRuns runs(type.shape(), type.dtype().size(), first, box);
  std::vector<int64_t> near;
  std::vector<std::byte> span;
  for (bool more = true; more;) {
    near.clear();
    do near.push_back(runs.begin());
    while ((more = runs.Next()) && runs.begin() - near.back() < runs.bytes() + kNear &&
           runs.begin() + runs.bytes() - near[0] <= kMost);
    if (near.size() == 1) {
      ReadAt(begin + near[0], runs.bytes(), out);
      out += runs.bytes();
      continue;
    }
    span.resize(base::Size(near.back() + runs.bytes() - near[0]));
    ReadAt(begin + near[0], static_cast<int64_t>(span.size()), span.data());
    for (int64_t run : near) {
      std::memcpy(out, span.data() + (run - near[0]), base::Size(runs.bytes()));
      out += runs.bytes();
    }
  }
}

void ToLittleEndian(Endian stored, DType dtype, std::byte* data, int64_t bytes) {
  if (stored == Endian::kLittle) return;
  const auto size = base::Size(base::PartOf(dtype).size());
  for (std::byte* at = data; at < data + bytes; at += size) std::reverse(at, at + size);
}

Array ArrayReader::ReadArray(int64_t begin, const ir::Type* type, const ir::Type* placed,
                             Endian endian) const {
  compile::Install();
  const sharding::TensorSharding& s = placed->sharding();
  const base::Shape local = sharding::LocalShape(type->shape(), s);
  const int64_t elements = base::Elements(local), bytes = elements * type->dtype().size();
  const auto fill = [&](int64_t position, std::byte* out) {
    // The first device of an unreduced sum gets the value, and the others get 0.
    if (s.kind == Reduction::kSum && !s.unreduced.empty() &&
        sharding::ShardIndex(*s.mesh, s.unreduced, position) != 0) {
      std::fill_n(out, bytes, std::byte{});
      return;
    }
    base::Shape first(local.size());
    for (size_t d = 0; s.mesh && d < first.size(); ++d)
      first[d] = sharding::ShardIndex(*s.mesh, s.dims[d].axes, position) * local[d];
    ReadBox(begin, *type, first, local, out);
    ToLittleEndian(endian, type->dtype(), out, bytes);
    // In a file any byte but 0 is true. In an array, bools are 0 or 1.
    if (type->dtype().is_bool())
      std::for_each(out, out + elements, [](std::byte& b) { b = std::byte{b != std::byte{}}; });
  };
  return Array(compile::NewFilled(type, placed, call_.loc, fill));
}

// ---- writing ----

namespace {

using compile::Concrete;

// A shard in memory, and the bytes of the file that it fills next. They are in the order of the
// file.
class ShardInFile {
 public:
  ShardInFile(base::BoxRuns runs, const std::byte* data) : runs_(std::move(runs)), data_(data) {}
  bool has_more() const { return has_more_; }
  // The next contiguous bytes, counted from the start of the array.
  int64_t begin() const { return runs_.begin() + taken_; }
  int64_t bytes() const { return runs_.bytes() - taken_; }
  // Returns the next bytes, and goes on to those after them.
  const std::byte* Take(int64_t bytes) {
    taken_ += bytes;
    if (taken_ == runs_.bytes()) {
      taken_ = 0;
      has_more_ = runs_.Next();
    }
    return std::exchange(data_, data_ + bytes);
  }

 private:
  base::BoxRuns runs_;
  const std::byte* data_;
  int64_t taken_ = 0;  // of the current run
  bool has_more_ = true;
};

// A part of a file. Some of its bytes are known. One serves many arrays, because most are small.
class FileWindow {
 public:
  static constexpr int64_t kBytes = int64_t{1} << 20;
  explicit FileWindow(base::NewFile& file) : file_(file), bytes_(kBytes), is_known_(kBytes) {}
  // Copies the bytes that the shard has from `begin` of the array on.
  void Copy(ShardInFile& shard, int64_t begin) {
    while (shard.has_more() && shard.begin() < begin + kBytes) {
      const int64_t at = shard.begin() - begin, n = std::min(shard.bytes(), kBytes - at);
      std::memcpy(bytes_.data() + at, shard.Take(n), base::Size(n));
      std::memset(is_known_.data() + at, 1, base::Size(n));
      end_ = std::max(end_, at + n);
    }
  }
  // Writes the known bytes. The window begins at `offset` of the file.
  void Write(int64_t offset) {
    const char *const first = is_known_.data(), *const last = first + end_;
    const auto find = [&](const char* from, char value) {
      const void* found = std::memchr(from, value, base::Size(last - from));
      return found ? static_cast<const char*>(found) : last;
    };
    for (const char* begin = find(first, 1); begin != last;) {
      const char* end = find(begin, 0);
      file_.WriteAt(offset + (begin - first), bytes_.data() + (begin - first),
                    base::Size(end - begin));
      begin = find(end, 1);
    }
    std::fill_n(is_known_.begin(), end_, 0);
    end_ = 0;
  }

 private:
  base::NewFile& file_;
  std::vector<std::byte> bytes_;
  std::vector<char> is_known_;
  int64_t end_ = 0;  // no byte from here on is known
};

// Returns the shards that no process before this one has.
std::vector<ShardInFile> ShardsToWrite(const Concrete& x) {
  const ir::Type& type = *x.placed();
  const std::vector<int32_t> instances = compile::InstancesByPosition(x);
  std::vector<ShardInFile> shards;
  for (int64_t p : compile::PositionsFirstHere(type)) {
    base::Shape first, box;
    for (const IndexRange& r : compile::RangesOf(type, p)) {
      first.push_back(r.begin);
      box.push_back(r.end - r.begin);
    }
    if (base::Elements(box) == 0) continue;
    shards.emplace_back(base::BoxRuns(type.shape(), type.dtype().size(), first, box),
                        x.buffers.at(base::At(instances, p)));
  }
  return shards;
}

// Writes the shards of an array that begins at `offset` of the file. Short runs of several shards
// are merged in the window.
void WriteShards(base::NewFile& file, FileWindow& window, const Concrete& x, int64_t offset) {
  std::vector<ShardInFile> shards = ShardsToWrite(x);
  while (!shards.empty()) {
    ShardInFile& next = *std::min_element(
        shards.begin(), shards.end(),
        [](const ShardInFile& a, const ShardInFile& b) { return a.begin() < b.begin(); });
    const int64_t begin = next.begin(), bytes = next.bytes();
    if (bytes >= FileWindow::kBytes) {
      file.WriteAt(offset + begin, next.Take(bytes), base::Size(bytes));
    } else {
      for (ShardInFile& shard : shards) window.Copy(shard, begin);
      window.Write(offset + begin);
    }
    std::erase_if(shards, [](const ShardInFile& shard) { return !shard.has_more(); });
  }
}

// Throws RuntimeError on every process if one of them writes another file.
void CheckAgreement(const std::string& path, const std::string& header,
                    const std::vector<StoredArray>& arrays, Call call) {
  if (compile::Processes() == 1) return;
  std::string text = path + '\n';
  for (const StoredArray& a : arrays)
    text += fmt::format("{}{}{} // {}\n", a.name, a.name.empty() ? "" : ": ",
                        TypeOf(a.array)->text(), base::Where(a.array.impl()->loc()));
  text += "no more arrays\n" + header;
  // Headers have a few bytes that are no text.
  std::erase_if(text, [](unsigned char c) { return std::iscntrl(c) && c != '\n'; });
  runtime::Meet({.what = fmt::format("calling {}", call.name),
                 .where = base::Where(call.loc),
                 .hash = runtime::SharedHash(text),
                 .text = [&] { return text; },
                 .hint = "all processes must save the same arrays under the same path",
                 .object = "for " + path});
}

// A file that all processes write together. If one of them fails, all throw the same RuntimeError.
class SharedFile {
 public:
  SharedFile(const std::string& path, Call call) : path_(path), call_(call) {}
  // All processes call these.
  void Make(const std::string& header) {
    OnEvery([&] {
      if (!IsOwner()) return;
      file_.emplace(path_);
      file_->WriteAt(0, header.data(), header.size());
    });
  }
  void Write(const std::vector<StoredArray>& arrays,
             const std::vector<std::shared_ptr<const Concrete>>& summed) {
    OnEvery([&] {
      if (!IsOwner()) file_.emplace(path_, base::NewFile::Role::kHelper);
      FileWindow window(*file_);
      for (size_t i = 0; i < arrays.size(); ++i)
        WriteShards(*file_, window, *summed[i], arrays[i].begin);
      file_->Sync();
    });
  }
  void Commit() {
    OnEvery([&] {
      if (IsOwner()) file_->Commit();
    });
  }

 private:
  static bool IsOwner() { return compile::Process() == 0; }
  // Calls f on every process. If it fails on one, removes the file and throws on all.
  void OnEvery(absl::FunctionRef<void()> f) {
    std::string problem;
    try {
      f();
    } catch (const base::FileError& e) {
      problem = e.what();
    }
    problem = compile::FirstProblem(problem);
    if (problem.empty()) return;
    file_.reset();  // before the program ends, if no one catches the error
    FailFile(call_, path_, "the file cannot be written: " + problem);
  }

  const std::string path_;
  const Call call_;
  std::optional<base::NewFile> file_;
};

}  // namespace

void WriteArrays(const std::string& path, const std::string& header,
                 const std::vector<StoredArray>& arrays, Call call) {
  std::optional<runtime::OnlyThread> only;
  if (compile::Processes() > 1) only.emplace(call.name, call.loc);
  const runtime::WaitingFor waiting(
      [&] { return fmt::format("{} of {} at {}", call.name, path, base::Where(call.loc)); });
  CheckAgreement(path, header, arrays, call);
  // All processes compute a sum together, so sums come before the file, which may fail on one of
  // them.
  std::vector<std::shared_ptr<const Concrete>> summed;
  for (const StoredArray& a : arrays) summed.push_back(Summed(a.array, call));
  SharedFile file(path, call);
  file.Make(header);
  file.Write(arrays, summed);
  file.Commit();
}

}  // namespace tessera::api
