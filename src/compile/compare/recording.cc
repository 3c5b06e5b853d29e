// A line per value, then the fingerprints in the order of the run.
#include "compile/compare/recording.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <cstring>

#include "base/at.h"
#include "base/error.h"

namespace tessera::compile {
namespace {

constexpr std::string_view kFirstLine = "tessera recording 2\n";

template <class T>
void Put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Reads a recording. Fails at a byte that none can have there.
class RecordingReader {
 public:
  RecordingReader(const std::string& bytes, const std::string& path, Loc loc)
      : bytes_(bytes), path_(path), loc_(loc) {}

  RunValues Read() {
    if (!std::string_view(bytes_).starts_with(kFirstLine)) Fail("it is not a recording");
    at_ = kFirstLine.size();
    RunValues run;
    const auto values = Next<int64_t>(), made = Next<int64_t>();
    // Each of them needs some bytes, so wrong counts take no memory.
    if (values < 0 || made < 0 || base::Size(values) > bytes_.size() ||
        base::Size(made) > bytes_.size() / sizeof(Fingerprint))
      Fail("its counts are wrong");
    for (int64_t k = 0; k < values; ++k) run.values.push_back(NextValue());
    for (int64_t k = 0; k < made; ++k) run.made.push_back(NextMade(values));
    if (at_ != bytes_.size()) Fail("it goes on after its end");
    return run;
  }

 private:
  [[noreturn]] void Fail(std::string_view reason) const {
    base::ThrowRuntime(base::Refusal("first_difference", 1, base::Where(loc_),
                                     fmt::format("{}: {}", path_, reason),
                                     {"record_run writes recordings"}));
  }
  template <class T>
  T Next() {
    T value;
    if (bytes_.size() - at_ < sizeof value) Fail("it is truncated");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  WatchedValue NextValue() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string::npos) Fail("it is truncated");
    const std::string line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    const std::vector<std::string> fields = absl::StrSplit(line.c_str(), '\t');
    if (fields.size() != 6) Fail("a line of it has not six fields");
    return {fields[0], fields[1], fields[2], fields[3], fields[4] == "1", fields[5]};
  }
  MadeValue NextMade(int64_t values) {
    MadeValue made;
    made.value = Next<int64_t>();
    if (made.value < 0 || made.value >= values) Fail("it has a value without a line");
    made.device = Next<int64_t>();
    const auto loops = Next<int64_t>();
    if (loops < 0 || base::Size(loops) > (bytes_.size() - at_) / sizeof(int64_t))
      Fail("it is truncated");
    for (int64_t k = 0; k < loops; ++k) made.iterations.push_back(Next<int64_t>());
    made.print = Next<Fingerprint>();
    return made;
  }

  const std::string &bytes_, &path_;
  const Loc loc_;
  size_t at_ = 0;
};

}  // namespace

std::string Recording(const RunValues& run) {
  std::string out(kFirstLine);
  Put(out, static_cast<int64_t>(run.values.size()));
  Put(out, static_cast<int64_t>(run.made.size()));
  for (const WatchedValue& v : run.values)
    out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", v.op, v.where, v.name, v.type,
                       v.backward ? 1 : 0, v.result);
  for (const MadeValue& made : run.made) {
    Put(out, made.value);
    Put(out, made.device);
    Put(out, static_cast<int64_t>(made.iterations.size()));
    for (int64_t i : made.iterations) Put(out, i);
    Put(out, made.print);
  }
  return out;
}

RunValues FromRecording(const std::string& bytes, const std::string& path, Loc loc) {
  return RecordingReader(bytes, path, loc).Read();
}

}  // namespace tessera::compile
