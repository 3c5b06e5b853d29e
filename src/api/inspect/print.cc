// Prints arrays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/error.h"
#include "base/shape.h"
#include "compile/host/concrete.h"
#include "tessera/debug.h"
#include "tessera/fmt.h"
#include "tessera/random.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// All elements on the host: as doubles for floats, as complex numbers, and as 64-bit integers for
// other dtypes.
struct Elements {
  DType dtype;
  base::Shape shape;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::complex<double>> numbers;
};

Elements Fetch(const Array& x, Loc loc) {
  const ir::Type* type = TypeOf(x);
  Elements e{
      .dtype = type->dtype(), .shape = type->shape(), .floats = {}, .ints = {}, .numbers = {}};
  if (e.dtype.is_floating())
    e.floats = x.to_vector<double>(loc);
  else if (e.dtype.is_complex())
    e.numbers = x.to_vector<std::complex<double>>(loc);
  else if (e.dtype.is_key()) {
    trace::TraceScope now(nullptr);  // compute now, even if a function is being traced
    const std::vector<uint32_t> words = random::key_data(x, loc).to_vector<uint32_t>(loc);
    for (size_t i = 0; i < words.size(); i += 2)
      e.ints.push_back(static_cast<int64_t>(uint64_t{words[i]} << 32 | words[i + 1]));
  } else if (e.dtype == u64) {
    for (uint64_t v : x.to_vector<uint64_t>(loc)) e.ints.push_back(static_cast<int64_t>(v));
  } else {
    e.ints = x.to_vector<int64_t>(loc);
  }
  return e;
}

class Formatter {
 public:
  Formatter(const Elements& e, const TextOptions& o) : e_(e), o_(o) {
    abbreviate_ = base::Elements(e.shape) > o.threshold;
  }

  std::string Run() {
    Measure(0, 0);
    std::string out;
    Append(out, 0, 0);
    return out;
  }

 private:
  std::string Number(double v) const {  // a NaN without a sign
    return std::isnan(v) ? "nan" : fmt::format("{:.{}g}", v, o_.precision);
  }
  std::string Element(int64_t i) const {
    if (e_.dtype.is_floating()) return Number(base::At(e_.floats, i));
    if (e_.dtype.is_complex()) {
      const std::complex<double> z = base::At(e_.numbers, i);
      const std::string imag = Number(z.imag());
      return Number(z.real()) + (imag[0] == '-' ? "" : "+") + imag + "j";
    }
    if (e_.dtype.is_key())
      return fmt::format("{:016x}", static_cast<uint64_t>(base::At(e_.ints, i)));
    if (e_.dtype.is_bool()) return base::At(e_.ints, i) ? "true" : "false";
    if (e_.dtype == u64) return std::to_string(static_cast<uint64_t>(base::At(e_.ints, i)));
    return std::to_string(base::At(e_.ints, i));
  }

  // Calls f(i) for each index i of dim d that is printed, and f(-1) for the gap.
  template <class F>
  void Shown(size_t d, F f) const {
    int64_t n = e_.shape[d];
    bool gap = abbreviate_ && n > 2 * o_.edge_items;
    for (int64_t i = 0; i < n; ++i) {
      if (gap && i == o_.edge_items) {
        f(-1);
        i = n - o_.edge_items;
      }
      f(i);
    }
  }
  int64_t Stride(size_t d) const {
    int64_t stride = 1;
    for (size_t k = d + 1; k < e_.shape.size(); ++k) stride *= e_.shape[k];
    return stride;
  }

  void Measure(size_t d, int64_t base) {
    if (d == e_.shape.size()) {
      width_ = std::max(width_, Element(base).size());
      return;
    }
    Shown(d, [&](int64_t i) {
      if (i >= 0) Measure(d + 1, base + i * Stride(d));
    });
  }

  void Append(std::string& out, size_t d, int64_t base) {
    if (d == e_.shape.size()) {
      out += fmt::format("{:>{}}", Element(base), e_.shape.empty() ? 0 : width_);
      return;
    }
    bool last = d + 1 == e_.shape.size(), first = true;
    size_t column = d + 1;
    out += "[";
    std::string indent = std::string(e_.shape.size() - d - 1, '\n') + std::string(d + 1, ' ');
    Shown(d, [&](int64_t i) {
      std::string item = "...";
      if (i >= 0) {
        item.clear();
        Append(item, d + 1, base + i * Stride(d));
      }
      if (!first && last && column + item.size() + 2 > base::Size(o_.width)) {
        out += ",\n" + std::string(d + 1, ' ');
        column = d + 1;
      } else if (!first) {
        out += last ? ", " : "," + indent;
        column += 2;
      }
      out += item;
      column += item.size();
      first = false;
    });
    out += "]";
  }

  const Elements& e_;
  const TextOptions& o_;
  bool abbreviate_;
  size_t width_ = 1;
};

std::string WithoutData(const Array& x) {
  if (!x.is_given()) return "Array()";
  std::string type = TypeOf(x)->text();
  if (x.is_traced()) return "traced " + type + " from " + base::Where(x.impl()->loc());
  return "abstract " + type;
}

// Returns the text of an array. Errors name `call`, the function that the user called.
std::string ArrayText(const Array& x, const TextOptions& options, Call call) {
  if (!x.is_given() || x.is_traced() || x.is_abstract()) return WithoutData(x);
  trace::Use(x, call.name, call.loc);
  if (const ir::Type& type = *TypeOf(x); IsOnePerDevice(type))
    return type.text() + ", and each device has its own (see debug_callback)";
  Elements e = Fetch(x, call.loc);
  std::string type = type_of(x, call.loc).text();
  return type + (e.shape.empty() ? " " : "\n") + Formatter(e, options).Run();
}

}  // namespace

std::string to_text(const Array& x, TextOptions options, Loc loc) {
  return ArrayText(x, options, {"to_text", loc});
}

std::string detail::PrintedText(const Array& array, Loc loc) {
  return ArrayText(array, {}, {"operator<<", loc});
}
std::ostream& operator<<(std::ostream& os, Printed printed) {
  return os << detail::PrintedText(printed.array(), printed.loc());
}

fmt::format_context::iterator detail::FormatText(const fmt::formatter<fmt::string_view>& spec,
                                                 const std::string& text,
                                                 fmt::format_context& context) {
  return spec.format(text, context);
}

}  // namespace tessera
