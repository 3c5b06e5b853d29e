// Where and what went wrong: source locations and the error classes.
#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/visibility.h"

namespace TESSERA_PUBLIC tessera {

class PartitionSpec;

// A line of the user's program. Every public function takes one last, by default the caller's.
class Loc {
 public:
  static constexpr Loc Current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Loc(file, line);
  }
  // Returns a place that is not known, shown as nothing.
  static constexpr Loc Unknown() { return Loc("", 0); }
  // Returns the file as the compiler was given it.
  constexpr const char* file() const { return file_; }
  constexpr int line() const { return line_; }
  // Whether this is what a gradient's backward pass computes for the line; the same place as such.
  constexpr bool is_backward() const { return is_backward_; }
  constexpr Loc Backward() const {
    Loc loc = *this;
    loc.is_backward_ = true;
    return loc;
  }

 private:
  // No default constructor: `{}` after a function's options is never a Loc.
  constexpr Loc(const char* file, int line) : file_(file), line_(line) {}
  const char* file_;
  int line_;
  bool is_backward_ = false;
};

// An operand of the failing op as the message shows it: `lhs: f32[4@x]  from model.cc:3`.
struct ErrorOperand {
  std::string name, type, where;
};

struct Fix;

// What every user error carries beside its rendered text.
struct ErrorDetail {
  std::string kind;    // "ShardingError", ...
  std::string op;      // the op or function that refused
  std::string label;   // "add.C3": names the check; stable across releases
  std::string where;   // "model.cc:44", or a place in a text
  std::string reason;  // one sentence
  std::vector<ErrorOperand> operands;
  std::vector<std::string> notes;  // further lines, one fact each
  std::vector<Fix> fixes;
};

// Base of everything the library throws. Copies are cheap. Thrown before anything runs, but for
// RuntimeError; afterwards the library is usable and all scopes still hold.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorDetail detail);
  const std::string& op() const { return detail_->op; }
  const std::string& label() const { return detail_->label; }
  const std::string& where() const { return detail_->where; }
  const std::string& reason() const { return detail_->reason; }
  const std::vector<ErrorOperand>& operands() const { return detail_->operands; }
  // Returns edits that work, the cheapest first; empty where none is known.
  const std::vector<Fix>& fixes() const;
  const ErrorDetail& detail() const { return *detail_; }

 private:
  std::shared_ptr<const ErrorDetail> detail_;
};

// Rank, size, index, dim number, overflow, einsum subscripts.
class ShapeError : public Error {
  using Error::Error;
};
// dtypes that do not promote, StrictTypes, narrowing reads, literals that do not fit.
class DTypeError : public Error {
  using Error::Error;
};
// Typing rules, ambiguity, unknown, repeated or non-dividing axes, mesh mismatch, CommPolicy.
class ShardingError : public Error {
  using Error::Error;
};
// The value of a traced or abstract array, an escaped tracer, an Array never given a value.
class TraceError : public Error {
  using Error::Error;
};
// Files and malformed text, too few devices, memory, what failed on a device.
class RuntimeError : public Error {
  using Error::Error;
};
// A fault of ours, with the program and the pass.
class InternalError : public Error {
  using Error::Error;
};

}  // namespace tessera
