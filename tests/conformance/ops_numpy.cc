// NumPy's functions without a counterpart in lax, except those defined next to similar ones.
#include "compare.h"
#include "ops.h"

namespace tessera::conformance {
namespace {

// An optional operand that may be an operand of the instruction, or a number among its attributes.
Array Given(const Call& c, size_t i, const std::string& key) {
  if (c.has(key)) return Array(ParseScalar(c.attr(key)), c.loc());
  return c.size() > i ? c.array(i) : Array();
}

// A number; infinities are texts.
std::optional<double> Real(const Call& c, const std::string& key) {
  if (!c.has(key)) return std::nullopt;
  return Number(c.attr(key));
}

void AddMatrices(OpTable& table) {
  auto triangle = [](Array (*f)(Operand, int64_t, Loc)) {
    return [f](const Call& c) { return std::vector{f(c.in(0), c.integer("k", 0), c.loc())}; };
  };
  table["np.tril"] = triangle(tril);
  table["np.triu"] = triangle(triu);
  table["np.diag"] = [](const Call& c) {
    return std::vector{diag(c.in(0), c.integer("k", 0), {}, c.loc())};
  };
  table["np.diagonal"] = [](const Call& c) {
    DiagonalOptions options{
        .offset = c.integer("offset", 0), .dim1 = c.dim("axis1", 0), .dim2 = c.dim("axis2", 1)};
    return std::vector{diagonal(c.in(0), options, c.loc())};
  };
  table["np.trace"] = [](const Call& c) {
    TraceOptions options{.dtype = c.dtype(),
                         .offset = c.integer("offset", 0),
                         .dim1 = c.dim("axis1", 0),
                         .dim2 = c.dim("axis2", 1)};
    return std::vector{matrix_trace(c.in(0), options, c.loc())};
  };
  table["np.linalg.norm"] = [](const Call& c) {
    NormOptions options{.keepdims = c.flag("keepdims")};
    if (c.has("ord") && (c.attr("ord") == "fro" || c.attr("ord") == "nuc"))
      options.ord = NormOrder(c.attr("ord") == "fro" ? "fro" : "nuc");
    else if (const std::optional<double> ord = Real(c, "ord"))
      options.ord = NormOrder(*ord);
    return std::vector{norm(c.in(0), c.dims(), options, c.loc())};
  };
}

void AddProducts(OpTable& table) {
  auto product = [](Array (*f)(Operand, Operand, DotOptions, Loc)) {
    return [f](const Call& c) {
      DotOptions options{.dtype = c.dtype("preferred_element_type")};
      return std::vector{f(c.in(0), c.in(1), options, c.loc())};
    };
  };
  table["np.inner"] = product(inner);
  table["np.vdot"] = product(vdot);
  table["np.outer"] = [](const Call& c) {
    return std::vector{outer(c.in(0), c.in(1), {}, c.loc())};
  };
  table["np.kron"] = [](const Call& c) { return std::vector{kron(c.in(0), c.in(1), {}, c.loc())}; };
}

void AddComparisons(OpTable& table) {
  auto close = [](Array (*f)(Operand, Operand, CloseOptions, Loc)) {
    return [f](const Call& c) {
      CloseOptions options;
      options.rtol = Real(c, "rtol").value_or(options.rtol);
      options.atol = Real(c, "atol").value_or(options.atol);
      options.equal_nan = c.flag("equal_nan");
      return std::vector{f(c.in(0), c.in(1), options, c.loc())};
    };
  };
  table["np.isclose"] = close(isclose);
  table["np.allclose"] = close(allclose);
  table["np.array_equal"] = [](const Call& c) {
    EqualOptions options{.equal_nan = c.flag("equal_nan")};
    return std::vector{array_equal(c.in(0), c.in(1), options, c.loc())};
  };
}

void AddGrids(OpTable& table) {
  table["np.meshgrid"] = [](const Call& c) {
    std::string indexing = c.text("indexing", "xy");
    MeshgridOptions options{.indexing = indexing, .sparse = c.flag("sparse")};
    return meshgrid(c.arrays(), options, c.loc());
  };
  table["np.logspace"] = [](const Call& c) {
    LogspaceOptions options{.dtype = c.dtype(), .endpoint = c.flag("endpoint", true)};
    options.base = Real(c, "base").value_or(options.base);
    return std::vector{logspace(c.in(0), c.in(1), c.integer("num", 50), options, c.loc())};
  };
}

}  // namespace

void AddNumpy(OpTable& table) {
  AddMatrices(table);
  AddProducts(table);
  AddComparisons(table);
  AddGrids(table);
  table["np.rint"] = [](const Call& c) { return std::vector{rint(c.in(0), c.loc())}; };
  table["np.round"] = [](const Call& c) {
    return std::vector{round(c.in(0), {.decimals = c.dim("decimals", 0)}, c.loc())};
  };
  table["np.logaddexp"] = [](const Call& c) {
    return std::vector{logaddexp(c.in(0), c.in(1), {}, c.loc())};
  };
  table["np.nan_to_num"] = [](const Call& c) {
    NanToNumOptions options{.posinf = Real(c, "posinf"), .neginf = Real(c, "neginf")};
    options.nan = Real(c, "nan").value_or(options.nan);
    return std::vector{nan_to_num(c.in(0), options, c.loc())};
  };
  table["np.diff"] = [](const Call& c) {
    DiffOptions options{
        .n = c.integer("n", 1), .prepend = Given(c, 1, "prepend"), .append = Given(c, 2, "append")};
    return std::vector{diff(c.in(0), c.dim("axis", -1), options, c.loc())};
  };
  table["np.average"] = [](const Call& c) {
    AverageOptions options{.weights = Given(c, 1, "weights"), .keepdims = c.flag("keepdims")};
    return std::vector{average(c.in(0), c.dims(), options, c.loc())};
  };
}

}  // namespace tessera::conformance
