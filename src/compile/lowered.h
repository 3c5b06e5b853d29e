// A program at each stage of its way to the plan.
#pragma once
#include <memory>

#include "compile/inspect/dump.h"
#include "ir/program.h"
#include "spmd/pipeline.h"
#include "tessera/program.h"

namespace tessera {

struct Lowered::Impl {
  std::shared_ptr<const ir::Program> program;     // as traced
  std::shared_ptr<const ir::Program> propagated;  // as the stage kPropagated leaves it; `program`
                                                  // itself if no pass of that stage changes it
  spmd::PassState passes;                         // the device program and its schedule
  compile::PassDump dump;
  ProgramBorder border = {};     // of `program`
  bool keeps_sum_order = false;  // lowered in a Deterministic scope

  const ir::Program& device() const { return passes.device; }
  const spmd::Schedule& schedule() const { return passes.schedule; }
};

namespace compile {

// The reason for refusing to lower, propagate or explain a device program.
inline constexpr const char* kOfDevice = "the program is already a device program";

}  // namespace compile
}  // namespace tessera
