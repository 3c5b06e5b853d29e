// The pass watch_values: host calls that keep fingerprints of values, or a few values whole.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compile/checks/made_values.h"
#include "ir/host_tensor.h"
#include "ir/program.h"

namespace tessera::compile {

// A value of a program in a scope of a watch.
struct WatchedValue {
  std::string op;     // that makes it; "argument", or "input" of a region
  std::string where;  // "model.cc:12"
  std::string name;   // by the user, or ""
  std::string type;   // "f32[8@data,64]"
  bool backward = false;
  std::string result = {};  // "2.0": result 0 of the third program of the run that computes; or ""
};

// A value, whole. If it varies over manual axes, dim 0 counts the devices' own arrays.
struct WholeValue {
  int64_t value = 0;
  const ir::Type* place = nullptr;
  ir::HostTensor elements;
  bool replicas_differ = false;
};

// The moment at which a value is kept whole.
struct WatchTarget {
  int64_t value = 0;
  int64_t occurrence = 0;  // how often it was made before
  int64_t device = -1;
};

// Sees the values of all programs that a thread compiles while the watch is current. Without a
// target it keeps fingerprints of the values that kernels and collectives of the user make, and of
// all that leave a program or a region, so that few fusions are lost. With a target it
// keeps the target whole, once, and all values that it is computed from by ops that may be fused.
class ValueWatch : public std::enable_shared_from_this<ValueWatch> {
 public:
  explicit ValueWatch(std::optional<WatchTarget> target = {});

  // Returns the program with host calls. Values get the numbers that follow those of the programs
  // before it.
  std::shared_ptr<const ir::Program> Watched(const std::shared_ptr<const ir::Program>& program);

  const std::vector<WatchedValue>& values() const { return values_; }
  // Returns the fingerprints in the order of MadeValues::InOrder.
  std::vector<MadeValue> made() const { return made_.InOrder(paths_); }
  // Returns the values that were kept whole: in program order, the target last.
  const std::vector<WholeValue>& whole() const { return whole_; }
  // Returns the numbers of the operands of the instruction that makes a value.
  const std::vector<int64_t>& operands(int64_t value) const {
    return operands_[static_cast<size_t>(value)];
  }
  int64_t id() const { return id_; }  // differs for each watch of the process

  // The number of the next program, counted from 0.
  int64_t next_program() const { return next_program_; }
  // A run of a program begins.
  void BeginRun(int64_t program) { made_.BeginRun(program); }

  // Called by the host calls.
  void Add(MadePart part) { made_.Add(std::move(part)); }
  void AddWhole(const std::vector<int64_t>& numbers, const ir::HostArguments& arguments);

 private:
  using Numbers = base::IdVector<ir::ValueId, int64_t>;
  // `path`: of the instruction that runs the program; empty: none.
  ir::Program Rewritten(const ir::Program& program, const Numbers& numbers,
                        const InstructionPath& path);
  // Sets WatchedValue::result of the results of a program.
  void NumberResults(const ir::Program& program, const Numbers& numbers);
  Numbers NumbersOf(const ir::Program& program, const InstructionPath& path);
  void WatchMade(const ir::Program& program, const ir::Instruction& i, const ir::ValueSet& outputs,
                 const Numbers& numbers, ir::Program& out);
  void WatchWhole(const ir::Program& program, const ir::Instruction& i, const Numbers& numbers,
                  ir::Program& out);

  const std::optional<WatchTarget> target_;
  const int64_t id_;
  int64_t programs_ = 0;  // that compute numbers
  std::vector<WatchedValue> values_;
  std::vector<std::vector<int64_t>> operands_;  // by value
  std::vector<InstructionPath> paths_;          // by value
  int64_t next_program_ = 0;
  MadeValues made_;
  std::mutex mutex_;  // of the fields below
  std::vector<WholeValue> whole_;
  std::map<int64_t, int64_t> reached_;  // device -> how often the target was made
};

// The watch of programs that this thread compiles; null: none.
const std::shared_ptr<ValueWatch>& CurrentValueWatch();
void SetValueWatch(std::shared_ptr<ValueWatch> watch);

// Returns the program with the host calls of the current watch.
std::shared_ptr<const ir::Program> WithValueWatch(
    const std::shared_ptr<const ir::Program>& program);

}  // namespace tessera::compile
