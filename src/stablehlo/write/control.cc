// Loops and branches. Their regions see the values around them, so constants are not carried.
#include <fmt/format.h>

#include "ir/control_params.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

OutValues Part(const OutValues& values, int64_t begin, int64_t end) {
  return {values.begin() + begin, values.begin() + end};
}
OutValues Joined(OutValues a, const OutValues& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

OutValues While(const WriteCall& c) {
  const int64_t constants = c.params<ir::WhileParams>().constants;
  const OutValues outside = Part(c.in, 0, constants);
  const OutValues carry = Part(c.in, constants, static_cast<int64_t>(c.in.size()));
  const OutTypes types = TypesOf(carry);
  std::vector<std::string> regions;
  for (const ir::RegionPtr& region : c.instruction.regions)
    regions.push_back(c.w.Region(types, [&](const OutValues& arguments) {
      return c.exporter.Run(*region, Joined(outside, arguments));
    }));
  return c.w.Add("stablehlo.while", carry, types, "", regions);
}

// Returns the indices of step i of xs, and of ys: i along the first dim.
OutValues At(TextWriter& w, const OutValue& i, int rank) {
  OutValues at = {i};
  for (int d = 1; d < rank; ++d) at.push_back(w.Whole(i.type, 0));
  return at;
}
OutValue SliceAt(TextWriter& w, const OutValue& x, const OutValue& i) {
  OutType one = x.type;
  one.shape[0] = 1;
  const OutValue slice = w.One("stablehlo.dynamic_slice", Joined({x}, At(w, i, x.type.rank())), one,
                               "slice_sizes = " + IntegersText(one.shape));
  return w.Reshape(slice, {one.shape.begin() + 1, one.shape.end()});
}
OutValue UpdateAt(TextWriter& w, const OutValue& x, const OutValue& slice, const OutValue& i) {
  OutType one = x.type;
  one.shape[0] = 1;
  return w.One("stablehlo.dynamic_update_slice",
               Joined({x, w.Reshape(slice, one.shape)}, At(w, i, x.type.rank())), x.type);
}

// A loop that counts its steps, reads slices of xs and writes slices of ys.
OutValues Scan(const WriteCall& c) {
  const auto& p = c.params<ir::ScanParams>();
  TextWriter& w = c.w;
  const OutValues outside = Part(c.in, 0, p.constants);
  const OutValues xs = Part(c.in, p.constants + p.carries, static_cast<int64_t>(c.in.size()));
  const OutType number{{}, i32};
  OutValues carry = Joined({w.Whole(number, 0)}, Part(c.in, p.constants, p.constants + p.carries));
  for (size_t k = static_cast<size_t>(p.carries); k < c.instruction.results.size(); ++k)
    carry.push_back(w.Whole(c.out(k), 0));
  const OutTypes types = TypesOf(carry);
  const std::string condition = w.Region(types, [&](const OutValues& in) {
    return OutValues{w.Compare("LT", in[0], w.Whole(number, p.length))};
  });
  const std::string body = w.Region(types, [&](const OutValues& in) {
    OutValue i = in[0];
    if (p.reverse) i = w.Binary("stablehlo.subtract", w.Whole(number, p.length - 1), i);
    OutValues arguments = Joined(outside, Part(in, 1, 1 + p.carries));
    for (const OutValue& x : xs) arguments.push_back(SliceAt(w, x, i));
    const OutValues made = c.exporter.Run(*c.instruction.regions[0], arguments);
    OutValues next =
        Joined({w.Binary("stablehlo.add", in[0], w.Whole(number, 1))}, Part(made, 0, p.carries));
    for (size_t k = static_cast<size_t>(p.carries); k < made.size(); ++k)
      next.push_back(UpdateAt(w, in[1 + k], made[k], i));
    return next;
  });
  const OutValues results = w.Add("stablehlo.while", carry, types, "", {condition, body});
  return Part(results, 1, static_cast<int64_t>(results.size()));
}

std::vector<std::string> Branches(const WriteCall& c) {
  const OutValues arguments = Part(c.in, 1, static_cast<int64_t>(c.in.size()));
  std::vector<std::string> regions;
  for (const ir::RegionPtr& region : c.instruction.regions)
    regions.push_back(
        c.w.Region({}, [&](const OutValues&) { return c.exporter.Run(*region, arguments); }));
  return regions;
}
OutTypes ResultTypes(const WriteCall& c) {
  OutTypes types;
  for (size_t k = 0; k < c.instruction.results.size(); ++k) types.push_back(c.out(k));
  return types;
}

OutValues Cond(const WriteCall& c) {
  return c.w.Add("stablehlo.if", {c.in[0]}, ResultTypes(c), "", Branches(c));
}

// An index out of range takes the last branch, but a negative one takes the first.
OutValues Switch(const WriteCall& c) {
  TextWriter& w = c.w;
  const OutValue& given = c.in[0];
  const auto last = static_cast<int64_t>(c.instruction.regions.size()) - 1;
  const OutValue index = w.One(
      "stablehlo.clamp", {w.Whole(given.type, 0), given, w.Whole(given.type, last)}, given.type);
  return w.Add("stablehlo.case", {w.Convert(index, i32)}, ResultTypes(c), "", Branches(c));
}

}  // namespace

std::vector<OpWriter> ControlWriters() {
  return {
      {"cond", Cond},
      {"scan", Scan},
      {"switch_case", Switch},
      {"while_loop", While},
  };
}

}  // namespace tessera::stablehlo
