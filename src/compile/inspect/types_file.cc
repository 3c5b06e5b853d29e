// Collects types of values and writes them at exit.
#include "compile/inspect/types_file.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "compile/host/processes.h"

namespace tessera::compile {
namespace {

using Json = nlohmann::ordered_json;

struct TypeEntry {
  std::string file;
  int line;
  std::string op, type;
  bool backward, result;
  auto operator<=>(const TypeEntry&) const = default;
};

// Adds the values of a program and its regions. `last` has the last entry of each line of the
// forward pass.
void Collect(const ir::Program& program, std::vector<TypeEntry>& entries,
             std::map<std::pair<std::string, int>, size_t>& last) {
  for (const ir::Instruction& i : program.instructions) {
    for (const ir::RegionPtr& r : i.regions) Collect(*r, entries, last);
    if (!*i.loc.file() || i.loc.line() <= 0) continue;
    for (ir::ValueId v : i.results) {
      const ir::Type* type = program.place(v) ? program.place(v) : program.type(v);
      const bool backward = i.loc.is_backward();
      if (!backward) last[{i.loc.file(), i.loc.line()}] = entries.size();
      entries.push_back({.file = i.loc.file(),
                         .line = i.loc.line(),
                         .op = std::string(i.op->name),
                         .type = type->text(),
                         .backward = backward,
                         .result = false});
    }
  }
}

class TypesFile {
 public:
  // Forks hold its mutex, so it lives forever.
  static TypesFile& At(const char* path) {
    static TypesFile& file = *[path] {
      auto* made = new TypesFile(path);
      std::atexit([] { At("").Write(); });
      return made;
    }();
    return file;
  }

  void Add(const ir::Program& program) {
    std::vector<TypeEntry> entries;
    std::map<std::pair<std::string, int>, size_t> last;
    Collect(program, entries, last);
    for (const auto& [line, k] : last) entries[k].result = true;
    const base::MutexLock lock(mutex_);
    for (TypeEntry& e : entries) {
      if (seen_.size() >= kMostTypes && !seen_.contains(e)) {
        truncated_ = true;
        return;
      }
      const auto [at, is_new] = seen_.insert(std::move(e));
      if (is_new) in_order_.push_back(&*at);
    }
  }

 private:
  explicit TypesFile(std::string path) : path_(std::move(path)) { base::HoldOverFork(mutex_); }

  void Write() {
    const base::MutexLock lock(mutex_);
    Json values = Json::array();
    for (const TypeEntry* e : in_order_)
      values.push_back({{"file", e->file},
                        {"line", e->line},
                        {"op", e->op},
                        {"type", e->type},
                        {"backward", e->backward},
                        {"result", e->result}});
    const Json json = {{"version", 1}, {"truncated", truncated_}, {"values", std::move(values)}};
    const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    try {
      base::NewFile file(path_);
      file.WriteAt(0, text.data(), text.size());
      file.Commit();
    } catch (const base::FileError& e) {
      std::fprintf(stderr, "TESSERA_TYPES: cannot write %s: %s\n", path_.c_str(), e.what());
    }
  }

  const std::string path_;
  base::Mutex mutex_;
  std::set<TypeEntry> seen_ ABSL_GUARDED_BY(mutex_);
  std::vector<const TypeEntry*> in_order_ ABSL_GUARDED_BY(mutex_);
  bool truncated_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

void AddTypes(const ir::Program& program) {
  static const char* const path = std::getenv("TESSERA_TYPES");
  if (!path || !*path || Process() > 0) return;  // all processes lower the same programs
  TypesFile::At(path).Add(program);
}

}  // namespace tessera::compile
