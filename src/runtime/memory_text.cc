// Prints where the values of a plan are in memory.
#include "runtime/memory_text.h"

#include <fmt/format.h>

#include "runtime/flow.h"
#include "runtime/memory_plan.h"

namespace tessera::runtime {
namespace {

std::string PlaceText(const Allocation& place) {
  // A value in place of another has the memory of the other.
  switch (place.how) {
    case Binding::kInput:
      return "as given";
    case Binding::kConstant:
      return "constant";
    case Binding::kBlock:
      if (place.from == plan::kNoPlanValue) return fmt::format("block +{}", place.offset);
      return fmt::format("in the buffers of v{} before it is made, +{}", base::Number(place.from),
                         place.offset);
    case Binding::kFresh:
      return place.frame ? fmt::format("frame +{}", place.offset) : "allocated";
    case Binding::kTake:
      return fmt::format("takes the buffers of donated v{}", base::Number(place.from));
    case Binding::kSame:
      return fmt::format("in place of v{}", base::Number(place.from));
    case Binding::kAlias:
      return fmt::format("is v{} in another order or size", base::Number(place.from));
    case Binding::kWindow:
      return fmt::format("is the current slice of v{}", base::Number(place.from));
  }
  return "";
}

}  // namespace

std::string MemoryText(const plan::Plan& plan) {
  const MemoryPlan memory = PlanMemory(plan, Analyse(plan));
  std::string out;
  for (plan::PlanValueId v : memory.places.ids())
    if (memory.places[v].storage != kNoStorage)
      out += fmt::format("v{}: {}\n", base::Number(v), PlaceText(memory.places[v]));
  for (const CarryUpdate& swap : memory.swaps)
    out += fmt::format("v{} and v{} change places after each iteration\n", base::Number(swap.value),
                       base::Number(swap.next));
  for (const CarryUpdate& update : memory.reorders)
    out += fmt::format("v{} is in the order of v{} after each iteration\n",
                       base::Number(update.value), base::Number(update.next));
  return out + fmt::format("block {} B, frame of each worker {} B, at most {} B of a device\n",
                           memory.block_bytes, memory.frame_bytes, memory.peak_bytes);
}

}  // namespace tessera::runtime
