// Finds numbers of a program in the memory that a function object refers to.
#include "trace/captured_numbers.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "base/at.h"
#include "ir/host_tensor.h"
#include "trace/watch.h"

namespace tessera::trace {
namespace {

// Copies up to `size` bytes. Returns how many could be read.
size_t ReadMemory(const void* from, void* to, size_t size) {
  const iovec local{to, size}, remote{const_cast<void*>(from), size};
  const ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return n < 0 ? 0 : static_cast<size_t>(n);
}

struct WrittenNumber {
  DType dtype;
  base::ElementBits bits;
};
void AddLiterals(const ir::Program& program, std::vector<WrittenNumber>& literals) {
  for (const ir::Instruction& i : program.instructions) {
    for (const ir::RegionPtr& region : i.regions) AddLiterals(*region, literals);
    const auto* constant = std::get_if<ir::AsConstant>(&*i.op->lowering);
    if (!constant) continue;
    const WrittenNumber literal{program.type(i.results[0])->dtype(),
                                constant->bits(i.params.get())};
    if (literal.bits != base::ElementBits()) literals.push_back(literal);
  }
}

template <class T>
T As(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
size_t SizeOf(CapturedNumber::Kind kind) {
  return kind == CapturedNumber::kDouble || kind == CapturedNumber::kInt64 ? 8 : 4;
}
bool IsInt(CapturedNumber::Kind kind) { return kind >= CapturedNumber::kInt64; }
int64_t IntOf(const CapturedNumber& n) {
  return n.kind == CapturedNumber::kInt64 ? As<int64_t>(n.bits) : As<int32_t>(n.bits);
}
double FloatOf(const CapturedNumber& n) {
  return n.kind == CapturedNumber::kDouble ? As<double>(n.bits) : As<float>(n.bits);
}

// Whether the literal is this number in its dtype.
bool IsLiteral(const CapturedNumber& number, const WrittenNumber& literal) {
  const DType t = literal.dtype;
  ir::HostTensor made(t, {});
  if (IsInt(number.kind)) {
    const int64_t v = IntOf(number);
    if (v == 0 || v == 1) return false;
    if (t.is_inexact())
      made.SetFloat(0, static_cast<long double>(v));
    else
      made.SetInt(0, v);
  } else {
    if (!t.is_inexact() || !std::isfinite(FloatOf(number))) return false;
    made.SetFloat(0, FloatOf(number));
  }
  return std::memcmp(made.data.data(), literal.bits.data(), made.data.size()) == 0;
}

std::string Text(const CapturedNumber& n) {
  return IsInt(n.kind) ? fmt::format("{}", IntOf(n)) : fmt::format("{:.9g}", FloatOf(n));
}

}  // namespace

std::vector<SeenWord> WordsBehind(detail::FunctionBytes function) {
  std::vector<SeenWord> words;
  for (const void* address : WordsOf(function)) {
    SeenWord word{address, 0, 0};
    word.size = ReadMemory(address, &word.bits, sizeof word.bits);
    if (word.size >= 4) words.push_back(word);
  }
  return words;
}

std::vector<CapturedNumber> NumbersOf(const ir::Program& program,
                                      const std::vector<SeenWord>& words) {
  std::vector<CapturedNumber> numbers;
  if (words.empty()) return numbers;
  std::vector<WrittenNumber> literals;
  AddLiterals(program, literals);
  if (literals.empty()) return numbers;
  using enum CapturedNumber::Kind;
  for (const SeenWord& word : words) {
    for (const CapturedNumber::Kind kind : {kDouble, kFloat, kInt64, kInt32}) {
      const size_t size = SizeOf(kind);
      CapturedNumber number{word.address, kind, 0};
      std::memcpy(&number.bits, &word.bits, size);
      uint64_t now = 0;
      if (word.size < size || ReadMemory(word.address, &now, size) != size || now != number.bits)
        continue;
      const bool is_used =
          std::any_of(literals.begin(), literals.end(),
                      [&](const WrittenNumber& l) { return IsLiteral(number, l); });
      if (!is_used) continue;
      numbers.push_back(number);
      break;
    }
  }
  return numbers;
}

std::optional<std::string> ChangedNumber(const std::vector<CapturedNumber>& numbers) {
  for (const CapturedNumber& old : numbers) {
    CapturedNumber now = old;
    now.bits = 0;
    const size_t size = SizeOf(old.kind);
    if (ReadMemory(old.address, &now.bits, size) == size && now.bits != old.bits)
      return fmt::format("from {} to {}", Text(old), Text(now));
  }
  return {};
}

}  // namespace tessera::trace
