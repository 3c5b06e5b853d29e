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

#include "api/core/elements.h"
#include "base/at.h"
#include "base/box_runs.h"
#include "base/error.h"
#include "base/shape.h"
#include "compile/host/agree.h"
#include "compile/host/host_array.h"
#include "compile/host/processes.h"
#include "compile/run/executor.h"
#include "runtime/only_thread.h"
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

Array ArrayReader::ReadArray(int64_t begin, const ir::Type* type, const ir::Type* placed) const {
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
    // In a file any byte but 0 is true. In an array, bools are 0 or 1.
    if (type->dtype().is_bool())
      std::for_each(out, out + elements, [](std::byte& b) { b = std::byte{b != std::byte{}}; });
  };
  return Array(compile::NewFilled(type, placed, call_.loc, fill));
}

// ---- writing ----

namespace {

using compile::Concrete;

// Joins bytes that are next to each other in the file. They are added in the order of the file.
class JoinedWrites {
 public:
  explicit JoinedWrites(base::NewFile& file) : file_(file) {}
  void Add(int64_t at, const std::byte* data, int64_t bytes) {
    const auto held = static_cast<int64_t>(bytes_.size());
    if (at != begin_ + held || held + bytes > kMost) Flush();
    if (bytes > kMost) return file_.WriteAt(at, data, base::Size(bytes));
    if (bytes_.empty()) begin_ = at;
    bytes_.insert(bytes_.end(), data, data + bytes);
  }
  void Flush() {
    if (!bytes_.empty()) file_.WriteAt(begin_, bytes_.data(), bytes_.size());
    bytes_.clear();
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 20;
  base::NewFile& file_;
  std::vector<std::byte> bytes_;
  int64_t begin_ = 0;  // the offset of the first byte held
};

// A shard in memory, as the runs of the file that it fills.
struct ShardInFile {
  base::BoxRuns runs;
  const std::byte* data;
};

// Writes the shards that no process before this one has.
void WriteShards(base::NewFile& file, const Concrete& x, int64_t begin) {
  const ir::Type& type = *x.placed();
  const std::vector<int32_t> instances = compile::InstancesByPosition(x);
  const auto later = [](const ShardInFile& a, const ShardInFile& b) {
    return a.runs.begin() > b.runs.begin();
  };
  std::vector<ShardInFile> shards;  // a heap; the first has the least offset
  for (int64_t p : compile::PositionsFirstHere(type)) {
    base::Shape first, box;
    for (const IndexRange& r : compile::RangesOf(type, p)) {
      first.push_back(r.begin);
      box.push_back(r.end - r.begin);
    }
    if (base::Elements(box) == 0) continue;
    shards.push_back({base::BoxRuns(type.shape(), type.dtype().size(), first, box),
                      x.buffers.at(base::At(instances, p))});
  }
  absl::c_make_heap(shards, later);
  JoinedWrites writes(file);
  while (!shards.empty()) {
    absl::c_pop_heap(shards, later);
    ShardInFile& next = shards.back();
    writes.Add(begin + next.runs.begin(), next.data, next.runs.bytes());
    next.data += next.runs.bytes();
    if (next.runs.Next())
      absl::c_push_heap(shards, later);
    else
      shards.pop_back();
  }
  writes.Flush();
}

// Calls f on every process. If it fails on one, throws the same RuntimeError on all.
void OnEvery(const std::string& path, Call call, absl::FunctionRef<void()> f) {
  std::string problem;
  try {
    f();
  } catch (const base::FileError& e) {
    problem = e.what();
  }
  problem = compile::FirstProblem(problem);
  if (!problem.empty()) FailFile(call, path, "the file cannot be written: " + problem);
}

// Throws RuntimeError on every process if one of them writes another file.
void CheckAgreement(const std::string& path, const std::string& header,
                    const std::vector<StoredArray>& arrays, Call call) {
  if (compile::Processes() == 1) return;
  std::string text = path;
  for (const StoredArray& a : arrays)
    text += fmt::format("\n{}{}{}", a.name, a.name.empty() ? "" : ": ", TypeOf(a.array)->text());
  text += '\n' + header;
  // Headers have a few bytes that are no text.
  std::erase_if(text, [](unsigned char c) { return std::iscntrl(c) && c != '\n'; });
  compile::AgreeOn(call.name, text, call.loc);
}

}  // namespace

void WriteArrays(const std::string& path, const std::string& header,
                 const std::vector<StoredArray>& arrays, Call call) {
  std::optional<runtime::OnlyThread> only;
  if (compile::Processes() > 1) only.emplace(call.name, call.loc);
  CheckAgreement(path, header, arrays, call);
  const bool is_owner = compile::Process() == 0;
  std::optional<base::NewFile> file;
  OnEvery(path, call, [&] {
    if (!is_owner) return;
    file.emplace(path);
    file->WriteAt(0, header.data(), header.size());
  });
  // All processes compute a sum together, so sums come before writes, which may fail on one of
  // them.
  std::vector<std::shared_ptr<const Concrete>> summed;
  for (const StoredArray& a : arrays) summed.push_back(Summed(a.array, call));
  OnEvery(path, call, [&] {
    if (!is_owner) file.emplace(path, base::NewFile::Role::kHelper);
    for (size_t i = 0; i < arrays.size(); ++i) WriteShards(*file, *summed[i], arrays[i].begin);
    file->Sync();
  });
  OnEvery(path, call, [&] {
    if (is_owner) file->Commit();
  });
}

}  // namespace tessera::api
