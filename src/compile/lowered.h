// A program at each stage of its way to the plan.
#pragma once
#include <memory>

#include "ir/program.h"
#include "spmd/schedule/schedule.h"
#include "tessera/program.h"

namespace tessera {

struct Lowered::Impl {
  std::shared_ptr<const ir::Program> program;     // as traced
  std::shared_ptr<const ir::Program> propagated;  // calls inlined, every value placed; `program`
                                                  // itself where there is nothing to do
  ir::Program device;
  spmd::Schedule schedule;
  int dump = 0;  // the number of its files, see dump.h
};

namespace compile {

// Why a device program is not lowered, propagated or explained again.
inline constexpr const char* kOfDevice = "the program is already a device program";

}  // namespace compile
}  // namespace tessera
