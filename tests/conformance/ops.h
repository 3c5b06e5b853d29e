// The ops that the tables may name, as calls of the library.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "call.h"

namespace tessera::conformance {

using OpFunction = std::function<std::vector<Array>(const Call&)>;
using OpTable = std::map<std::string, OpFunction>;

void AddElementwise(OpTable& table);
void AddCreation(OpTable& table);
void AddMovement(OpTable& table);
void AddPieces(OpTable& table);
void AddLookups(OpTable& table);
void AddReductions(OpTable& table);
void AddContractions(OpTable& table);
void AddWindows(OpTable& table);
void AddNumpy(OpTable& table);
void AddLinalg(OpTable& table);
void AddFft(OpTable& table);
void AddRandom(OpTable& table);
void AddCollectives(OpTable& table);

// All of the above, by JAX's names: `NAME` is jax.lax's, `np.NAME` and `nn.NAME` the modules'.
const OpTable& Ops();

// Returns the results of the instruction for these operands. jax.lax's ops run under StrictTypes.
std::vector<Array> Apply(const Instruction& instruction, std::vector<Operand> in, Loc loc);

}  // namespace tessera::conformance
