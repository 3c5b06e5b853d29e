// Parameters of calls: ops that run a user's function, with a derivative rule or a policy
// for saving.
#pragma once
#include "ir/program.h"
#include "ops/params.h"
#include "tessera/checkpoint.h"

namespace tessera {

// Text, parsing and hash of a policy, as of every field of params.
std::string FieldText(Remat save);
void ReadField(base::Reader& in, Remat& save);
inline size_t FieldHash(size_t h, Remat save) {
  return ir::MixHash(h, static_cast<uint64_t>(save));
}

}  // namespace tessera

namespace tessera::ops {

// operands: the inputs of the region.
struct CheckpointParams {
  Remat save = Remat::kNothing;
  NameList names;
  friend bool operator==(const CheckpointParams&, const CheckpointParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("save", s.save);
    f("names", s.names);
  }
};

// operands: constants, arguments. All regions begin with the constants.
// Floating values have tangents.
//   custom_jvp: f(constants, arguments) -> results
//               rule(constants, arguments, tangents of the floating ones)
//                 -> results, tangents of the floating ones
//   custom_vjp: f
//               forward(constants, arguments) -> results, residuals
//               backward(constants, residuals, cotangents of the floating results)
//                 -> cotangents of the floating arguments
struct CallParams {
  int64_t constants = 0;
  friend bool operator==(const CallParams&, const CallParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("constants", s.constants);
  }
};

// A linear map that is known by its transpose alone. operands: known ones, tangents
// transpose(known ones, cotangents of the results) -> cotangents of the tangents
struct CustomLinearParams {
  int64_t known = 0;
  friend bool operator==(const CustomLinearParams&, const CustomLinearParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("known", s.known);
  }
};

// The solution x of a(x) = b for a linear function a, by a function of the user. operands:
// constants, b; results: x like b, then other values, which have no tangents. All regions begin
// with the constants.
//   solve(constants, b) -> x, other values
//   a(constants, x) -> b
// If the solution can be transposed, also
//   solve of the transpose of a(constants, cotangents of x) -> cotangents of b, other values
//   transpose of a(constants, cotangents of b) -> cotangents of x
struct CustomLinearSolveParams {
  int64_t constants = 0;
  friend bool operator==(const CustomLinearSolveParams&, const CustomLinearSolveParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("constants", s.constants);
  }
};

std::vector<const ir::Type*> InputTypes(const ir::Program& program);
std::vector<const ir::Type*> OutputTypes(const ir::Program& program);

// Returns the values of a checkpoint's region that the derivative keeps.
ir::ValueSet KeptBy(const CheckpointParams& params, const ir::Program& region);

// Returns the tangents of the floating operands from `first` on, with zeros for missing ones.
std::vector<ir::ValueId> FloatingTangents(const ir::DiffCall& call,
                                          absl::Span<const ir::ValueId> tangents, size_t first);
// Returns the results' tangents (kNoValue: none) by a linear map that is known by its
// transpose (CustomLinearParams).
std::vector<ir::ValueId> TangentsByTranspose(const ir::DiffCall& call,
                                             const std::vector<ir::ValueId>& known,
                                             const std::vector<ir::ValueId>& tangents,
                                             const ir::RegionPtr& transpose);

}  // namespace tessera::ops
