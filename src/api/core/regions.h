// Functions of the user's as regions of an instruction.
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

// Returns the trace of a region on parameters of these types. It knows the traces around it.
trace::TracedFunction TraceRegion(const std::vector<const ir::Type*>& types, const detail::Body& f,
                                  Call call, trace::RegionRuns runs = {});

// Brings arrays into the region or shard_map that is traced now (trace::Enter). Throws TraceError
// for arrays that cannot be used, ShardingError for those of another mesh.
void BringIn(Leaves& leaves, Call call);

// The arguments of a call.
struct CallArguments {
  CallArguments(const detail::FunctionCall& f, Call call);
  Leaves leaves;
  std::vector<ArrayRef> refs;
  std::vector<const Type*> types;
};

// Returns what a traced region makes of the arrays: run, or recorded where it is called.
std::vector<Array> CallRegion(const trace::TracedFunction& region, const std::vector<Array>& arrays,
                              Call call);

// Whether applying the regions does nothing: no results, and no effects.
bool DoNothing(const std::vector<trace::TracedFunction>& regions);

// Returns the results of an op of these constants, arguments and regions.
std::vector<Array> ApplyRegions(const ir::OpDef& op, ir::ParamsPtr params,
                                const std::vector<ArrayRef>& constants,
                                const std::vector<Array>& arguments,
                                std::vector<trace::TracedFunction>& regions, Call call);

// Checks that loops and branches share.
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

// Returns the edit that makes a value of type `from` one of type `to`; empty where none does.
std::string Edit(const ir::Type& from, const ir::Type& to, const std::string& name);
// Returns a value as an error shows it.
ErrorOperand Shown(const std::string& name, const ir::Type& type, Loc loc);

}  // namespace tessera::api
