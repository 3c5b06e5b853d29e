// The last step of the lessons on shard_map: a comparison with a plain version on one device.
#pragma once
#include <tessera/tessera.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline std::vector<double> numbers_of(const std::vector<tessera::Array>& arrays) {
  std::vector<double> all;
  for (const tessera::Array& x : arrays)
    for (double v : x.to_vector<double>()) all.push_back(v);
  return all;
}

// Prints the largest difference between two trees. Exits with 1 if it is more than `most`, or NaN.
template <class T>
void compare(const char* what, T tree, T plain, double most) {
  const auto ours = numbers_of(tessera::tree_leaves(tree));
  const auto theirs = numbers_of(tessera::tree_leaves(plain));
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(ours[i] - theirs.at(i));
    largest = difference <= largest ? largest : difference;
  }
  if (most == 0 && largest == 0)
    std::printf("%s: the same numbers as on one device\n", what);
  else
    std::printf("%s: differs from one device by %.1e (at most %.0e)\n", what, largest, most);
  if (!(largest <= most)) std::exit(1);
}
