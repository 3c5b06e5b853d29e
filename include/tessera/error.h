// Error classes and source locations.
#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/visibility.h"

namespace TESSERA_PUBLIC tessera {

class PartitionSpec;

// A line of the user's program. Every public function has a last parameter of this type, which
// defaults to the caller's line.
class Loc {
 public:
  static constexpr Loc Current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Loc(file, line);
  }
  // Returns an unknown location, which is printed as nothing.
  static constexpr Loc Unknown() { return Loc("", 0); }
  // Returns the path of the file as it was passed to the compiler.
  constexpr const char* file() const { return file_; }
  constexpr int line() const { return line_; }
  // Whether this marks the backward pass of the line. The line itself is the same.
  constexpr bool is_backward() const { return is_backward_; }
  constexpr Loc Backward() const {
    Loc loc = *this;
    loc.is_backward_ = true;
    return loc;
  }
  // Returns the scope of the line in the program of another front end, such as JAX's name stack
  // "jit(step)/mlp/dot_general"; "" if it has none.
  const char* scope() const;
  Loc In(std::string_view scope) const;

 private:
  // There is no default constructor, so that `{}` after a function's options is never a Loc.
  constexpr Loc(const char* file, int line) : file_(file), line_(line) {}
  const char* file_;
  int line_;
  bool is_backward_ : 1 = false;
  uint32_t scope_ : 31 = 0;  // its number among all scopes of the process; 0: none
};

// An operand of the failing op, as the message shows it: `lhs: f32[4@x]  from model.cc:3`.
struct ErrorOperand {
  std::string name, type, where;
};

struct Fix;

// The data of an error, in addition to its rendered text.
struct ErrorDetail {
  std::string kind;    // "ShardingError", ...
  std::string op;      // the op or function that failed
  std::string label;   // "add.C3": identifies the check; stable across releases
  std::string where;   // "model.cc:44", or a position in a text
  std::string reason;  // one sentence
  std::vector<ErrorOperand> operands;
  std::vector<std::string> notes;  // further lines, one fact each
  std::vector<Fix> fixes;
};

// Base class of all exceptions of the library. Copies are cheap. Every error except
// RuntimeError is thrown before anything runs. After an error the library stays usable and all
// scopes are unchanged.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorDetail detail);
  const std::string& op() const { return detail_->op; }
  const std::string& label() const { return detail_->label; }
  const std::string& where() const { return detail_->where; }
  const std::string& reason() const { return detail_->reason; }
  const std::vector<ErrorOperand>& operands() const { return detail_->operands; }
  // Returns edits that fix the error, the cheapest first; empty if none is known.
  const std::vector<Fix>& fixes() const;
  const ErrorDetail& detail() const { return *detail_; }
  // Returns the error as one JSON object for editors and scripts: its class, op, code, message,
  // place, operands, notes, and the fixes with the edit that each one makes (docs/tools.md).
  std::string json() const;

 private:
  std::shared_ptr<const ErrorDetail> detail_;
};

// Wrong rank, size, index or dim number; overflow; einsum subscripts.
class ShapeError : public Error {
  using Error::Error;
};
// Dtypes that do not promote, StrictTypes, narrowing reads, literals out of range.
class DTypeError : public Error {
  using Error::Error;
};
// Typing rules, ambiguous results, unknown, repeated or non-dividing axes, mesh
// mismatch, CommPolicy.
class ShardingError : public Error {
  using Error::Error;
};
// Reading a traced or abstract array, an escaped tracer, an Array without a value.
class TraceError : public Error {
  using Error::Error;
};
// Files, malformed text, too few devices, memory, failures on a device.
class RuntimeError : public Error {
  using Error::Error;
};
// A bug in the library, with the program and the pass.
class InternalError : public Error {
  using Error::Error;
};

}  // namespace tessera
