// function_calls FILE: makes the calls of random_calls.py, one per line, and prints those whose
// values, gradients or refusals are not JAX's: eager, then under jit with shards on a mesh.
#include <fstream>
#include <iostream>

#include "conformance/compare.h"
#include "functions/arrays.h"
#include "functions/calls/calls.h"

namespace tessera::functions {

namespace {

using Made = std::vector<Array>;

const CallTable& AllCalls() {
  static const CallTable all = [] {
    CallTable calls = NumpyCalls();
    calls.insert(ElementCalls().begin(), ElementCalls().end());
    calls.insert(MatrixCalls().begin(), MatrixCalls().end());
    return calls;
  }();
  return all;
}

// Returns how the arrays differ from those of the line, or "".
std::string Difference(const char* kind, const Made& got, const Json& want, double tolerance) {
  if (got.size() != want.size())
    return std::string(kind) + ": there are " + std::to_string(got.size()) + " and not " +
           std::to_string(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].is_null()) continue;
    const std::string place = std::string(kind) + " " + std::to_string(i) + ": ";
    const ArrayType wanted = ArrayType::Parse(want[i]["type"].get<std::string>());
    if (got[i].dtype() != wanted.dtype() || got[i].shape() != wanted.shape())
      return place + ArrayType(type_of(got[i])).text() + " and not " + wanted.text();
    const auto problem = conformance::CompareData(
        got[i], want[i]["data"], tolerance > 0 ? std::optional(tolerance) : std::nullopt);
    if (problem) return place + *problem;
  }
  return "";
}

class Line {
 public:
  explicit Line(const Json& json) : json_(json) {
    for (const Json& one : json["arguments"]) operands_.push_back(FromJson(one));
    if (json.contains("cotangents"))
      for (const Json& one : json["cotangents"]) cotangents_.push_back(FromJson(one));
    tolerance_ = json.value("tolerance", 0.0);
  }

  // Returns the problems of this call, each after the way in which it was made.
  std::vector<std::string> Problems() const {
    std::vector<std::string> problems;
    const auto add = [&](const char* way, const std::string& problem) {
      if (!problem.empty()) problems.push_back(std::string(way) + ": " + problem);
    };
    add("eager", Guarded([&] { return Values(operands_); }));
    if (!problems.empty() || json_.contains("refused")) return problems;
    if (json_.contains("gradients")) add("gradient", Guarded([&] { return Gradients(operands_); }));
    if (json_.value("traced", true) && json_.contains("layout")) {
      for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
        MeshScope scope(make_mesh({{"x", 2, mode}}));
        add(mode == AxisMode::Auto ? "auto" : "explicit", Guarded([&] { return OfShards(mode); }));
      }
    }
    return problems;
  }

 private:
  template <class F>
  std::string Guarded(const F& f) const {
    const bool is_refused = json_.contains("refused");
    try {
      const std::string problem = f();
      return is_refused ? "accepted, but JAX says: " + json_["refused"].get<std::string>()
                        : problem;
    } catch (const InternalError& e) {
      return std::string("INTERNAL ") + e.what();
    } catch (const Error& e) {
      return is_refused ? "" : "refused: " + std::string(e.what());
    }
  }
  Made Call(const Made& xs) const {
    return AllCalls().at(json_["name"].get<std::string>())(RandomCall(xs, json_["options"]));
  }
  std::string Values(const Made& xs) const {
    const Made made = Call(xs);
    return json_.contains("refused") ? ""
                                     : Difference("result", made, json_["results"], tolerance_);
  }
  std::string Gradients(const Made& xs) const {
    const auto loss = [this](const Made& v) {
      const Made made = Call(v);
      Array total = array(0.0, {.dtype = f64});
      size_t next = 0;
      for (const Array& y : made)
        if (y.dtype().is_inexact()) total += astype(sum(real(y * cotangents_[next++])), f64);
      return total;
    };
    return Difference("gradient", grad(loss)(xs), json_["gradients"], tolerance_);
  }
  std::string OfShards(AxisMode mode) const {
    Made placed;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Json& dim = json_["layout"][i];
      if (dim.is_null()) {
        placed.push_back(operands_[i]);
        continue;
      }
      std::vector<DimSharding> dims(dim.get<size_t>() + 1);
      dims.back() = "x";
      placed.push_back(
          jit([](Array x) { return x; }, {.out_shardings = PartitionSpec(dims)})(operands_[i]));
    }
    try {
      return Difference("result", jit([this](const Made& v) { return Call(v); })(placed),
                        json_["results"], tolerance_);
    } catch (const ShardingError& e) {
      return mode == AxisMode::Explicit ? "" : e.what();
    }
  }

  const Json& json_;
  Made operands_, cotangents_;
  double tolerance_ = 0;
};

int Main(const char* path) {
  SetDeviceCount(2);
  const DefaultDtypes wide(i64, f64);
  std::ifstream file(path);
  size_t calls = 0, wrong = 0, accepted = 0;
  for (std::string text; std::getline(file, text); ++calls) {
    const Json json = Json::parse(text);
    if (!AllCalls().contains(json["name"].get<std::string>())) {
      std::cout << json["name"] << ": no such call\n";
      ++wrong;
      continue;
    }
    const std::vector<std::string> problems = Line(json).Problems();
    // A call that JAX alone refuses is for people to judge: ours may be wrong to accept it.
    (json.contains("refused") ? accepted : wrong) += !problems.empty();
    for (const std::string& problem : problems)
      std::cout << json["call"].get<std::string>() << "\n  " << problem << std::endl;
  }
  std::cout << calls << " calls, of which " << wrong << " differ and JAX alone refuses " << accepted
            << "\n";
  return wrong > 0;
}

}  // namespace
}  // namespace tessera::functions

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "function_calls FILE\n";
    return 2;
  }
  return tessera::functions::Main(argv[1]);
}
