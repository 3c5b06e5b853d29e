// The passes from a traced program to its plan: one list, in the order in which they run.
#pragma once
#include <absl/types/span.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "plan/plan.h"
#include "spmd/emit/kernel_factories.h"
#include "spmd/lower/value_places.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// The list has four stages, named after the form of the program that they leave.
enum class PassStage : uint8_t { kPropagated, kDevice, kSchedule, kPlan };

// Passes and kernels of the layers above this one. A pass without a function changes nothing.
struct OuterPasses {
  using Rewrite =
      std::function<std::shared_ptr<const ir::Program>(std::shared_ptr<const ir::Program>)>;
  Rewrite watch_values = {}, check_nans = {}, check_promises = {}, propagate = {},
          choose_parts = {}, keep_only = {};
  std::function<void(const ir::Program& device)> check_policies = {};
  std::function<ir::ValueSet(const ir::Program& device)> share_buffers = {};
  KernelFactories kernels = {};
  int32_t devices = 1;             // of the process
  std::vector<bool> donated = {};  // per input and capture
  std::function<plan::Plan(plan::Plan)> localise = {};
  std::function<void(plan::Plan)> prepare = {};
};

struct LoweringPass;

// The program on its way through the list, and how the list is run.
struct PassState {
  std::shared_ptr<const ir::Program> program = {};  // over whole arrays
  AskedMoves asked = {};                            // by choose_places
  ir::Program device = {};                          // by partition
  bool has_block_loops = false;                     // by run_in_blocks
  ir::ValueSet shares = {};                         // see Fuse; by share_buffers
  Schedule schedule = {};                           // by fuse
  plan::Plan plan = {};                             // by build_plan

  // A region's program: see ChoosePlaces; and the mesh of the program around it.
  size_t steady = 0;
  const sharding::MeshDef* mesh_around = nullptr;
  const ir::Program* scheduled = nullptr;  // that kSchedule reads; null: `device`
  RunBy run_by = RunBy::kAllDevices;

  const OuterPasses* outer = nullptr;
  const LoweringPass* stop_after = nullptr;  // the last pass that runs; null: all run
  const LoweringPass* skip = nullptr;        // a pass that does not run
  // Called after each pass, but not for the programs of regions.
  std::function<void(const LoweringPass&, const PassState&)> after_pass = {};
};

struct LoweringPass {
  std::string_view name;
  PassStage stage;
  void (*run)(PassState&);
  std::string_view file;           // that has the pass; a path in src
  std::string_view needs, leaves;  // for people: the table in docs/design.md prints both
};

// Returns the list.
absl::Span<const LoweringPass> LoweringPasses();
// Returns the pass of that name, null if there is none.
const LoweringPass* FindPass(std::string_view name);
// Returns the names in order, a line for each stage: "device: choose_places, partition, ...".
std::vector<std::string> PassNames();
// Returns the list as a table in Markdown.
std::string PassTable();

// Runs the passes of one stage. Verifies the program after each one if ir::VerifiesPrograms.
// Returns whether the next stage may run: it may not once `stop_after` has run.
bool RunPasses(PassState& state, PassStage stage);

// Returns the program that each device runs, of a program whose values have places: runs the stage
// kDevice.
ir::Program Lower(const ir::Program& program);

// Returns the schedule of a device program: runs the stage kSchedule. `shares`: see Fuse.
Schedule MakeSchedule(const ir::Program& device, const ir::ValueSet& shares);

}  // namespace tessera::spmd
