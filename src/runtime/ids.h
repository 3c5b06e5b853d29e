// Ids of the tables that Prepare makes. Values have the numbers of Plan::values.
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

}  // namespace tessera::runtime
