// Running results along a sharded dim.
#pragma once
#include "ir/builder.h"
#include "ops/params.h"

namespace tessera::ops {

struct Scan {
  const OpDef& op;  // of CumulativeParams
  CumulativeParams params;
  ir::ParamsPtr identity;  // a literal
  // Returns the combination of two values of type `type`.
  ir::ValueId (*combine)(ir::Builder& b, const ir::Type* type, ir::ValueId a, ir::ValueId other);
};

// Returns the running results of x, laid out as x. Every device computes those of its shard, and
// then combines them with the last results of the shards before it.
ir::ValueId ScanOnShards(ir::Builder& b, ir::ValueId x, const Scan& scan);

}  // namespace tessera::ops
