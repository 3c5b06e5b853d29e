// Random numbers: the block function of Threefry-2x32.
#include <array>

#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

OutValue Shifted(TextWriter& w, std::string_view op, const OutValue& x, int64_t by) {
  return w.Binary(op, x, w.Whole(x.type, by));
}
OutValue Rotated(TextWriter& w, const OutValue& x, int by) {
  return w.Binary("stablehlo.or", Shifted(w, "stablehlo.shift_left", x, by),
                  Shifted(w, "stablehlo.shift_right_logical", x, 32 - by));
}

// Encrypts the two words of a counter with the two words of a key (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011). The first words are the high ones.
OutValues Threefry(TextWriter& w, const OutValues& in) {
  constexpr std::array<std::array<int, 4>, 2> kRotations = {{{17, 29, 16, 24}, {13, 15, 26, 6}}};
  const auto add = [&](const OutValue& a, const OutValue& b) {
    return w.Binary("stablehlo.add", a, b);
  };
  const OutValue parity = w.Binary("stablehlo.xor", w.Binary("stablehlo.xor", in[0], in[1]),
                                   w.Whole(in[0].type, 0x1BD11BDA));
  const std::array<OutValue, 3> keys = {in[0], in[1], parity};
  OutValue x0 = add(in[2], keys[0]), x1 = add(in[3], keys[1]);
  for (size_t group = 1; group <= 5; ++group) {
    for (const int by : kRotations[group % 2]) {
      x0 = add(x0, x1);
      x1 = w.Binary("stablehlo.xor", Rotated(w, x1, by), x0);
    }
    x0 = add(x0, keys[group % 3]);
    x1 = add(add(x1, keys[(group + 1) % 3]), w.Whole(x1.type, static_cast<int64_t>(group)));
  }
  return {x0, x1};
}

// Returns both words of the block function of a key and a counter of 64 bits.
OutValues Words(const WriteCall& c) {
  TextWriter& w = c.w;
  const base::Shape& shape = c.type_out()->shape();
  const OutValue counter = w.SpreadTo(c.in[1], shape);
  const OutValue high = w.Convert(Shifted(w, "stablehlo.shift_right_logical", counter, 32), u32);
  return w.Call(
      "threefry2x32",
      {w.Word(c.in[0], 0, shape), w.Word(c.in[0], 1, shape), high, w.Convert(counter, u32)},
      [&](const OutValues& in) { return Threefry(w, in); });
}

OutValues FoldIn(const WriteCall& c) {
  base::Shape one = c.type_out()->shape();
  one.push_back(1);
  OutValues words = Words(c);
  for (OutValue& word : words) word = c.w.Reshape(word, one);
  return {c.w.Concatenate(words, static_cast<int64_t>(one.size()) - 1)};
}

OutValues Bits64(const WriteCall& c) {
  const OutValues words = Words(c);
  return {c.w.Binary("stablehlo.or",
                     Shifted(c.w, "stablehlo.shift_left", c.w.Convert(words[0], u64), 32),
                     c.w.Convert(words[1], u64))};
}

OutValues Bits32(const WriteCall& c) {
  const OutValues words = Words(c);
  return {c.w.Binary("stablehlo.xor", words[0], words[1])};
}

}  // namespace

std::vector<OpWriter> RandomWriters() {
  return {
      {"random_bits32", Bits32},
      {"random_bits64", Bits64},
      {"random_fold_in", FoldIn},
  };
}

}  // namespace tessera::stablehlo
