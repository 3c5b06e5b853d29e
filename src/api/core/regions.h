// Traces functions of the user as regions of an instruction, and applies ops to them.
#pragma once
#include "api/core/operands.h"
#include "api/core/tree_match.h"
#include "trace/function.h"

namespace tessera::api {

using detail::Body;
using detail::FunctionResult;
using ir::Type;
using trace::Leaves;
using trace::TracedFunction;

using Arrays = std::vector<Array>;

// Traces f as a region with parameters of these types, inside the current trace.
trace::TracedFunction TraceRegion(const std::vector<const ir::Type*>& types, const detail::Body& f,
                                  Call call, trace::RegionRuns runs = {});

// Makes arrays from outside usable in the region or shard_map that is traced now (trace::Enter).
// Throws TraceError for arrays that cannot be used, ShardingError for arrays on another mesh.
void BringIn(Leaves& leaves, Call call);

// The arrays among the arguments of a call, made usable by BringIn.
struct CallArguments {
  CallArguments(const detail::FunctionCall& f, Call call);
  Leaves leaves;
  std::vector<ArrayRef> refs;
  std::vector<const Type*> types;
};

// Calls a traced region on the arrays and returns its results. Inside a trace the call is recorded,
// elsewhere it runs.
std::vector<Array> CallRegion(const trace::TracedFunction& region, const std::vector<Array>& arrays,
                              Call call);

// Whether no region has a result or an effect.
bool HasNoResultOrEffect(const std::vector<trace::TracedFunction>& regions);

// Applies an op to these constants, arguments and regions, and returns its results.
std::vector<Array> ApplyRegions(const ir::OpDef& op, ir::ParamsPtr params,
                                const std::vector<ArrayRef>& constants,
                                const std::vector<Array>& arguments,
                                std::vector<trace::TracedFunction>& regions, Call call);

// Numbers of the checks that loops and branches share.
enum ControlCheck {
  kTypes = 1,
  kTree = 2,
  kPredicate = 3,
  kSizes = 4,
  kLength = 5,
  kShardedSteps = 6
};

// Throws TraceError for arrays that cannot be used.
void CheckUsable(const std::vector<Array>& arrays, Call call);

// Returns the code that converts the value `name` from one type to another; empty if none does.
std::string Edit(const ir::Type& from, const ir::Type& to, const std::string& name);
// Returns a value as an error shows it.
ErrorOperand Shown(const std::string& name, const ir::Type& type, Loc loc);

}  // namespace tessera::api
