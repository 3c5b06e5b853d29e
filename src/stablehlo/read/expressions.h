// Functions of regions as expressions, by which the ones that JAX writes are recognised.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

// Returns the number of a constant of one real number: "0", "-inf", "nan"; "" for another
// operation.
std::string NumberText(const Module& module, const Operation& op);

// How a region of two lists of scalars lists its arguments: all left ones, then all right ones, or
// a left and a right one in turn.
enum class ComparedSides : uint8_t { kInTurn, kOneAfterTheOther };

// Returns the results of a region as texts such as "select(gt(l0,r0),l1,r1)": argument k of the
// left and of the right side are lk and rk. A comparison in the total order is marked:
// "lt!(l0,r0)". Results that are long, and those that are not of scalars, are "".
std::vector<std::string> ExpressionsOf(const Module& module, const TextRegion& region,
                                       ComparedSides sides);

// The keys of a comparator: the first arrays, all in one direction. In that order NaNs are equal
// and the largest, and zeros are equal.
struct ComparedKeys {
  int64_t count = 0;
  bool descending = false;
};
// Returns the keys of a comparator that JAX writes for arrays of these types; none for another one.
std::optional<ComparedKeys> KeysOf(const Module& module, const TextRegion& region,
                                   const std::vector<const TextType*>& types);

// Whether the region chooses of two pairs of an element and its number the one with the larger
// (smaller) element, with a NaN, or with the lower number.
enum class ChosenPair : uint8_t { kNeither, kLarger, kSmaller };
ChosenPair ChosenPairOf(const Module& module, const TextRegion& region);

}  // namespace tessera::stablehlo
