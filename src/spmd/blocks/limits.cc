// Keeps the limits of the innermost scope, per thread.
#include "spmd/blocks/limits.h"

namespace tessera::spmd {
namespace {

thread_local BlockLimits current_block_limits;

}  // namespace

BlockLimitsScope::BlockLimitsScope(const BlockLimits& limits) : before_(current_block_limits) {
  current_block_limits = limits;
}
BlockLimitsScope::~BlockLimitsScope() { current_block_limits = before_; }

const BlockLimits& CurrentBlockLimits() { return current_block_limits; }

}  // namespace tessera::spmd
