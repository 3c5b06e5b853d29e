// Random bits and numbers.
#include "tessera/random.h"

#include "base/dtype.h"
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {
namespace {

RandomAlgorithm AlgorithmOf(const ReadCall& c) {
  const std::string_view name = c.Word("rng_algorithm");
  if (name == "THREE_FRY") return RandomAlgorithm::kThreefry;
  if (name == "PHILOX") return RandomAlgorithm::kPhilox;
  return RandomAlgorithm::kDefault;
}

// Bits of signed integers are those of unsigned ones.
DType UnsignedOf(DType t) {
  const int size = t.size();
  return size == 8 ? u64 : size == 4 ? u32 : size == 2 ? u16 : u8;
}

Arrays RngBitGenerator(ReadCall& c) {
  const DType t = c.ResultDType(1), bits = t.is_unsigned() ? t : UnsignedOf(t);
  const GeneratedBits made = random::rng_bit_generator(
      c.In(0), Shape(c.ResultShape(1)), {.dtype = bits, .algorithm = AlgorithmOf(c)}, c.loc());
  return {made.state, t == bits ? made.bits : bitcast_convert_type(made.bits, t, c.loc())};
}

// XLA does not define its numbers. The key is a fixed one, so that a program gives the same numbers
// each time; the place in the text makes numbers of different operations independent.
Arrays Rng(ReadCall& c) {
  const Loc loc = c.loc();
  const Array key = random::fold_in(random::key(0, loc), static_cast<int64_t>(c.op().place), loc);
  const Array &a = c.In(0), &b = c.In(1);
  const Shape shape(c.ResultShape());
  const DType t = c.ResultDType();
  if (c.Word("rng_distribution") == "NORMAL")
    return {add(a, mul(random::normal(key, shape, {.dtype = t}, loc), b, {}, loc), {}, loc)};
  if (t.is_integer()) return {random::randint(key, shape, a, b, {.dtype = t}, loc)};
  return {random::uniform(key, shape, {.dtype = t, .minval = a, .maxval = b}, loc)};
}

}  // namespace

std::vector<OpReader> RandomReaders() {
  return {
      {"stablehlo.rng", Rng},
      {"stablehlo.rng_bit_generator", RngBitGenerator},
  };
}

}  // namespace tessera::stablehlo
