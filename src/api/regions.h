// Functions of the user's: as regions of an instruction, and called by transforms.
#pragma once
#include "api/operands.h"
#include "trace/function.h"
#include "trace/tree.h"

namespace tessera::api {

using detail::Body;
using detail::FunctionResult;
using ir::Type;
using trace::Leaves;
using trace::TracedFunction;

using Arrays = std::vector<Array>;

// Returns what a transform makes of a call: inside a trace it is traced there; at top level the
// whole is compiled once per type, and `kept` keeps it.
detail::FunctionResult CallTransformed(const detail::FunctionCall& f, const detail::Jit& kept,
                                       const detail::Body& in_trace, Call call);

// Returns the trace of a region on parameters of these types. It knows the traces around it.
trace::TracedFunction TraceRegion(const std::vector<const ir::Type*>& types, const detail::Body& f,
                                  Call call, trace::RegionRuns runs = {});

// Brings arrays into the region or shard_map that is traced now (trace::Enter). Throws TraceError
// for arrays that cannot be used.
void BringIn(std::vector<Array>& arrays, Call call);

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

// Returns the edit that makes a value of type `from` one of type `to`; empty where none does.
std::string Edit(const ir::Type& from, const ir::Type& to, const std::string& name);
// Returns a value as an error shows it.
ErrorOperand Shown(const std::string& name, const ir::Type& type, Loc loc);

}  // namespace tessera::api
