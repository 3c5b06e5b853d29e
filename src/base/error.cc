// Renders every error message in one format.
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/fork.h"
#include "base/mutex.h"

namespace tessera {
namespace {

// Texts that are kept for the life of the process, so that a Loc can refer to them.
struct Kept {
  Kept() { base::HoldOverFork(mutex); }
  base::Mutex mutex;
  std::map<std::string, uint32_t, std::less<>> numbers ABSL_GUARDED_BY(mutex);
  std::vector<const char*> texts ABSL_GUARDED_BY(mutex);

  uint32_t NumberOf(std::string_view text) {
    const base::MutexLock lock(mutex);
    auto found = numbers.find(text);
    if (found == numbers.end()) {
      found = numbers.emplace(text, static_cast<uint32_t>(texts.size())).first;
      texts.push_back(found->first.c_str());
    }
    return found->second;
  }
  const char* Text(uint32_t number) {
    const base::MutexLock lock(mutex);
    return texts[number];
  }
};

Kept& Scopes() {
  static Kept& scopes = *[] {
    auto* kept = new Kept;
    kept->NumberOf("");
    return kept;
  }();
  return scopes;
}

}  // namespace

const char* Loc::scope() const { return scope_ == 0 ? "" : Scopes().Text(scope_); }
Loc Loc::In(std::string_view scope) const {
  Loc loc = *this;
  loc.scope_ = Scopes().NumberOf(scope);
  return loc;
}

Error::Error(ErrorDetail detail)
    : std::runtime_error(base::Render(detail)),
      detail_(std::make_shared<const ErrorDetail>(std::move(detail))) {}

const std::vector<Fix>& Error::fixes() const { return detail_->fixes; }

namespace base {

namespace {

template <class E>
[[noreturn]] void Throw(const char* kind, ErrorDetail&& detail) {
  detail.kind = kind;
  throw E(std::move(detail));
}

}  // namespace

void ThrowShape(ErrorDetail&& d) { Throw<ShapeError>("ShapeError", std::move(d)); }
void ThrowDType(ErrorDetail&& d) { Throw<DTypeError>("DTypeError", std::move(d)); }
void ThrowSharding(ErrorDetail&& d) { Throw<ShardingError>("ShardingError", std::move(d)); }
void ThrowTrace(ErrorDetail&& d) { Throw<TraceError>("TraceError", std::move(d)); }
void ThrowRuntime(ErrorDetail&& d) { Throw<RuntimeError>("RuntimeError", std::move(d)); }
void ThrowInternal(ErrorDetail&& d) { Throw<InternalError>("InternalError", std::move(d)); }

ErrorDetail Refusal(std::string op, const std::string& check, std::string where, std::string reason,
                    std::vector<std::string> notes) {
  ErrorDetail d;
  d.label = op + "." + check;
  d.op = std::move(op);
  d.where = std::move(where);
  d.reason = std::move(reason);
  d.notes = std::move(notes);
  return d;
}
ErrorDetail Refusal(std::string op, int check, std::string where, std::string reason,
                    std::vector<std::string> notes) {
  return Refusal(std::move(op), "C" + std::to_string(check), std::move(where), std::move(reason),
                 std::move(notes));
}

std::string Where(Loc loc) {
  if (!*loc.file()) return "";
  const char* slash = std::strrchr(loc.file(), '/');
  return fmt::format("{}:{}", slash ? slash + 1 : loc.file(), loc.line());
}

Loc LineOf(std::string_view file, int line) {
  static Kept& files = *new Kept;
  return Loc::Current(files.Text(files.NumberOf(file)), line);
}

std::string CountText(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string Render(const ErrorDetail& d) {
  std::string out;
  if (!d.where.empty()) out += d.where + ": ";
  out += d.kind.empty() ? "Error" : d.kind;
  if (!d.op.empty()) out += " in " + d.op;
  if (!d.label.empty()) out += " [" + d.label + "]";
  out += ": " + d.reason;
  size_t name_width = 0, type_width = 0;
  for (const ErrorOperand& o : d.operands) {
    name_width = std::max(name_width, o.name.size());
    type_width = std::max(type_width, o.type.size());
  }
  for (const ErrorOperand& o : d.operands) {
    const std::string line = fmt::format("\n  {:<{}} {}", o.name + ":", name_width + 1, o.type);
    out += line;
    if (o.where.empty()) continue;
    out += fmt::format("{:{}}   from {}", "", type_width - o.type.size(), o.where);
  }
  for (const std::string& note : d.notes) out += "\n  " + note;
  if (d.fixes.size() == 1) out += "\n  write\n    " + d.fixes[0].text;
  if (d.fixes.size() > 1) {
    out += "\n  choose one, e.g.";
    for (size_t i = 0; i < std::min<size_t>(d.fixes.size(), 3); ++i)
      out += "\n    " + d.fixes[i].text;
  }
  return out;
}

}  // namespace base
}  // namespace tessera
