// Writes programs with the arrays that they capture, and maps these from the file.
#include "api/io/saved_program.h"

#include <absl/algorithm/container.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/io/array_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/shape.h"
#include "compile/host/concrete.h"
#include "compile/host/processes.h"
#include "compile/run/executor.h"
#include "ir/host_call.h"
#include "ir/program_text.h"
#include "runtime/arena.h"
#include "tessera/processes.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera::api {
namespace {

using Json = nlohmann::json;

constexpr char kProgramMagic[] = "\x93TESSERA";
constexpr uint64_t kProgramVersion = 1;
constexpr int64_t kProgramMagicBytes = 8, kStartBytes = 32;
constexpr int64_t kMostProgramHeader = int64_t{1} << 30;

// ---- writing ----

Json ToJson(const ProgramBorder& border) {
  Json numbers = Json::array();
  for (size_t k = 0; k < border.donated.size(); ++k)
    if (border.donated[k]) numbers.push_back(k);
  return {{"inputs", border.inputs}, {"outputs", border.outputs}, {"donated", numbers}};
}

void CheckCanBeSaved(const Program& program, Call call) {
  const ir::Program& p = *program.program();
  const auto refuse = [&](const char* check, std::string reason, std::vector<std::string> notes) {
    base::ThrowRuntime(base::Refusal(call.name, check, base::Where(call.loc), std::move(reason),
                                     std::move(notes)));
  };
  if (p.per_device)
    refuse("device", "a device program cannot run in another process",
           {"save the traced one: lowered.program()"});
  if (ir::HasHostFunctions(p))
    refuse("host", "the program calls functions of this process, which no file can hold",
           {"leave out callbacks, and save the rest"});
  if (absl::c_any_of(p.captures, [](const ir::Capture& c) { return !c.array; }))
    refuse("captures", "the program captures arrays that its text does not hold", {});
}

// Returns the arrays that the program captures, whole.
std::vector<Array> Constants(const ir::Program& program, Call call) {
  std::vector<Array> constants;
  for (const trace::ArrayRef& x : trace::WithCaptures({}, program, call.name, call.loc))
    constants.push_back(gather_to_host(Array(x), call.loc));
  return constants;
}

std::span<const std::byte> BytesOf(const Array& whole) {
  const auto& x = static_cast<const compile::Concrete&>(*whole.impl());
  return {x.buffers.at(0), base::Size(x.type()->elements() * x.type()->dtype().size())};
}

// Returns the start of the file and its header, which ends where elements may begin.
std::string StartOf(Json header) {
  std::string text = header.dump();
  const auto total =
      runtime::RoundUp(kStartBytes + static_cast<int64_t>(text.size()), runtime::kLine);
  text.resize(base::Size(total - kStartBytes), ' ');
  const uint64_t numbers[] = {kProgramVersion, text.size(),
                              base::Checksum(text.data(), text.size())};
  return std::string(kProgramMagic, base::Size(kProgramMagicBytes)) +
         std::string(reinterpret_cast<const char*>(numbers), sizeof numbers) + text;
}

}  // namespace

void WriteProgram(const std::string& path, const Program& program, Call call) {
  CheckCanBeSaved(program, call);
  const std::vector<Array> constants = Constants(*program.program(), call);
  Json header = ToJson(program.border());
  header["text"] = program.text();
  std::string start;
  std::vector<StoredArray> stored;
  // The places of the elements are counted from the end of the header.
  int64_t at = 0;
  header["constants"] = Json::array();
  for (const Array& x : constants) {
    const std::span<const std::byte> bytes = BytesOf(x);
    const int64_t end = at + static_cast<int64_t>(bytes.size());
    header["constants"].push_back(
        {at, end, fmt::format("{:016x}", base::Checksum(bytes.data(), bytes.size()))});
    stored.push_back({"", x, at});
    at = runtime::RoundUp(end, runtime::kLine);
  }
  try {
    start = StartOf(std::move(header));
  } catch (const Json::type_error&) {
    FailFile(call, path, "a name in the program is not UTF-8");
  }
  for (StoredArray& x : stored) x.begin += static_cast<int64_t>(start.size());
  WriteArrays(path, start, stored, call);
}

// ---- reading ----

namespace {

struct BadProgram {
  std::string reason;
};

struct StoredConstant {
  int64_t begin, end;
  std::string checksum;
};
struct ProgramHeader {
  std::string text;
  ProgramBorder border;
  std::vector<StoredConstant> constants;
};

// Parses the header. Its checksum is right, so only another writer can have made it wrong.
ProgramHeader ParseProgramHeader(const std::string& text) try {
  const Json json = Json::parse(text);
  ProgramHeader h{.text = json.at("text"),
                  .border = {.inputs = json.at("inputs"), .outputs = json.at("outputs")},
                  .constants = {}};
  for (const Json& c : json.at("constants")) h.constants.push_back({c.at(0), c.at(1), c.at(2)});
  h.border.donated.resize(h.border.inputs.size());
  for (const Json& k : json.at("donated")) h.border.donated.at(k.get<size_t>()) = true;
  return h;
} catch (const std::exception&) {
  throw BadProgram{"the header is not of a saved program"};
}

// The bytes of a file, mapped as long as an array uses them.
std::shared_ptr<const std::byte> Mapped(const std::string& path, int64_t bytes) {
  base::Descriptor file;
  file.value = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* at = mmap(nullptr, base::Size(bytes), PROT_READ, MAP_PRIVATE, file.value, 0);
  if (file.value < 0 || at == MAP_FAILED)
    throw BadProgram{"the file cannot be mapped: " + base::ErrnoText()};
  return {static_cast<const std::byte*>(at),
          [bytes](const std::byte* p) { munmap(const_cast<std::byte*>(p), base::Size(bytes)); }};
}

class ProgramReader {
 public:
  ProgramReader(const std::string& path, Call call) : path_(path), call_(call), file_(path, call) {}

  Program Read() try {
    ProgramHeader header = ParseProgramHeader(HeaderText());
    ir::Program program = ir::ParseProgram(header.text, call_.loc);
    CheckDevices(program);
    CheckBorder(program, header.border);
    CheckConstants(program, header.constants);
    if (!header.constants.empty()) bytes_ = Mapped(path_, file_.size());
    for (size_t i = 0; i < program.captures.size(); ++i) {
      ir::Capture& c = program.captures[i];
      c.array = trace::Keep(
          Constant(program.type(c.value), program.place(c.value), header.constants[i], i));
    }
    return Program(ir::Shared(std::move(program)), std::move(header.border));
  } catch (const BadProgram& e) {
    file_.Fail(e.reason);
  }

 private:
  std::string HeaderText() {
    std::byte start[kStartBytes];
    if (file_.size() < kStartBytes) throw BadProgram{"the header is cut off"};
    file_.ReadAt(0, kStartBytes, start);
    uint64_t numbers[3];  // the version, the size and the checksum of the header
    std::memcpy(numbers, start + kProgramMagicBytes, sizeof numbers);
    if (numbers[0] != kProgramVersion)
      throw BadProgram{fmt::format("version {} of the format is not known; this library reads {}",
                                   numbers[0], kProgramVersion)};
    if (numbers[1] > uint64_t{kMostProgramHeader})
      throw BadProgram{fmt::format("a header of {} bytes is implausible", numbers[1])};
    const auto size = static_cast<int64_t>(numbers[1]);
    if (file_.size() - kStartBytes < size) throw BadProgram{"the header is cut off"};
    std::string text(numbers[1], ' ');
    file_.ReadAt(kStartBytes, size, reinterpret_cast<std::byte*>(text.data()));
    if (base::Checksum(text.data(), text.size()) != numbers[2])
      throw BadProgram{"the header is damaged: its checksum differs"};
    data_ = kStartBytes + size;
    return text;
  }

  void CheckDevices(const ir::Program& program) const {
    if (!program.mesh) return;
    int64_t devices = 0;
    for (int64_t p = 0; p < program.mesh->size(); ++p)
      devices = std::max(devices, program.mesh->Device(p) + 1);
    if (devices <= trace::Devices()) return;
    FailFile(
        call_, path_,
        fmt::format("the program is for {} devices; DeviceCount() is {}", devices,
                    trace::Devices()),
        {"mesh: " + program.mesh->text(), fmt::format("call SetDeviceCount({}) first", devices)});
  }

  static void CheckBorder(const ir::Program& program, const ProgramBorder& border) {
    const bool named = !border.inputs.empty() || !border.outputs.empty();
    if (named && (border.inputs.size() != program.inputs.size() ||
                  border.outputs.size() != program.outputs.size()))
      throw BadProgram{"the header does not name each argument and result of the program"};
  }

  void CheckConstants(const ir::Program& program,
                      const std::vector<StoredConstant>& constants) const {
    if (constants.size() != program.captures.size())
      throw BadProgram{fmt::format("the program captures {}, but the file has {}",
                                   base::CountText(program.captures.size(), "array"),
                                   constants.size())};
    int64_t at = 0;
    for (size_t i = 0; i < constants.size(); ++i) {
      const ir::Type* type = program.type(program.captures[i].value);
      const StoredConstant& c = constants[i];
      const int64_t left = file_.size() - data_;
      if (c.begin != at || c.end - c.begin != type->elements() * type->dtype().size())
        throw BadProgram{fmt::format("the place of constant {} does not fit {}", i, type->text())};
      if (c.end > left)
        throw BadProgram{fmt::format("{} of {} bytes of constant {} are missing",
                                     std::min(c.end - left, c.end - c.begin), c.end - c.begin, i)};
      at = runtime::RoundUp(c.end, runtime::kLine);
    }
    const int64_t end = constants.empty() ? 0 : constants.back().end;
    if (file_.size() - data_ != end)
      throw BadProgram{
          fmt::format("{} bytes follow the last constant", file_.size() - data_ - end)};
  }

  trace::ArrayRef Constant(const ir::Type* type, const ir::Type* place, const StoredConstant& c,
                           size_t number) const {
    const std::byte* data = bytes_.get() + data_ + c.begin;
    const int64_t bytes = c.end - c.begin;
    if (fmt::format("{:016x}", base::Checksum(data, base::Size(bytes))) != c.checksum)
      throw BadProgram{fmt::format("constant {} is damaged: its checksum differs", number)};
    const ir::Type* placed = place ? place : compile::WithoutModes(type);
    const sharding::TensorSharding& s = placed->sharding();
    const bool is_whole = s.dims_empty() && s.unreduced.empty();
    const bool is_aligned = reinterpret_cast<uintptr_t>(data) % runtime::kLine == 0;
    // In a file any byte but 0 is true, so bools are read.
    if (!is_whole || !is_aligned || !compile::SharesReplicas() || bytes == 0 ||
        type->dtype().is_bool())
      return file_.ReadArray(data_ + c.begin, type, placed).impl();
    return compile::NewShared(type, placed, call_.loc, {bytes_, data});
  }

  const std::string path_;
  const Call call_;
  const ArrayReader file_;
  int64_t data_ = 0;  // the offset of the first constant
  std::shared_ptr<const std::byte> bytes_;
};

}  // namespace

bool IsSavedProgram(const std::string& path) {
  char start[kProgramMagicBytes] = {};
  std::ifstream(path, std::ios::binary).read(start, kProgramMagicBytes);
  return std::memcmp(start, kProgramMagic, base::Size(kProgramMagicBytes)) == 0;
}

Program ReadProgram(const std::string& path, Call call) {
  compile::Install();
  return ProgramReader(path, call).Read();
}

}  // namespace tessera::api
