// Ids of the tables that Prepare makes.
#pragma once
#include <cstdint>

namespace tessera::runtime {

// A node of the flow, in the order of the run.
enum class FlowNodeId : int32_t {};
inline constexpr FlowNodeId kNoNode{-1};

// Memory of one value, or of several that share it.
enum class StorageId : int32_t {};
inline constexpr StorageId kNoStorage{-1};

// Values whose instance i is at the same address, if they are in one storage.
enum class FamilyId : int32_t {};
inline constexpr FamilyId kNoFamily{-1};

// The buffers of one value in a run. A value whose memory is in the workers' frames has none.
enum class ViewId : int32_t {};
inline constexpr ViewId kNoView{-1};

// A loop of the flow. Inner loops come before the loops around them.
enum class LoopId : int32_t {};
inline constexpr LoopId kNoLoop{-1};

}  // namespace tessera::runtime
