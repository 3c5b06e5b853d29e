// Each pass by itself: tests/unit/spmd/PASS/*.txt, one fact each. A file has
//   a comment that says the fact, and one per setting (`// with NAN_WATCH`, see Settings)
//   the program that is lowered
//   ---- before    the program before the pass, where the pass reads a device program or a schedule
//   ---- after     the program after it, or `unchanged`
// UPDATE_GOLDEN=1 writes the text after the first program.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "compile/checks/nan_watch.h"
#include "compile/checks/policy.h"
#include "compile/checks/value_watch.h"
#include "compile/host/concrete.h"
#include "compile/run/executor.h"
#include "compile/run/lower.h"
#include "compile/run/plan.h"
#include "ir/program_text.h"
#include "ir/verify.h"
#include "runtime/memory_text.h"
#include "runtime/transport.h"
#include "trace/scopes.h"

namespace tessera::compile {
namespace {

namespace fs = std::filesystem;

// Before main, and so before the first program asks for it.
const int verifies = setenv("TESSERA_VERIFY", "1", 1);
using spmd::LoweringPass;
using spmd::PassStage;

const fs::path kFolder = TESSERA_SOURCE_DIR "/tests/unit/spmd";

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> FilesOf(const LoweringPass& pass) {
  std::vector<fs::path> files;
  if (fs::exists(kFolder / pass.name))
    for (const auto& entry : fs::directory_iterator(kFolder / pass.name))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// A process that could run with others, but never does.
struct OneOfSeveral final : runtime::Transport {
  int32_t number = 0, count = 1;
  int32_t process() const override { return number; }
  int32_t processes() const override { return count; }
  int32_t AddRuns(const runtime::ByteRuns&) override { return 0; }
  int32_t AddGroup(const std::vector<int32_t>&) override { return 0; }
  int32_t AddCombine(plan::CombineFn, int64_t) override { return 0; }
  Ticket Start(const runtime::Shipment&) override { return 0; }
  void BeginRun(uint64_t, std::string_view, std::string_view) override {}
  void FailRun(const std::string&) override {}
  std::vector<uint64_t> GatherNumbers(uint64_t) override { return {}; }
  std::vector<std::string> GatherTexts(std::string_view) override { return {}; }
  void Poll() override {}
  void Finish(Ticket) override {}
  void Abort(int) override { std::abort(); }
};

// The settings of a file, while it is lowered.
class Settings {
 public:
  explicit Settings(const std::string& input) {
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line) && line.starts_with("//");)
      if (line.starts_with("// with ")) Set(line.substr(8));
  }
  ~Settings() {
    SetNanChecks(NanChecks::kNone);
    SetValueWatch(nullptr);
    SetSharesReplicas(true);
    for (; policies_ > 0; --policies_) PopPolicy();
    runtime::SetTransport(nullptr);
    trace::SetDevices(1);
  }
  PassChoice choice;

 private:
  void Set(const std::string& setting) {
    if (setting == "a watch") {
      SetValueWatch(std::make_shared<ValueWatch>());
    } else if (setting.starts_with("a watch of %")) {
      SetValueWatch(std::make_shared<ValueWatch>(WatchTarget{std::stoll(setting.substr(12)), 0}));
    } else if (setting == "NanWatch") {
      SetNanChecks(NanChecks::kNans);
    } else if (setting == "replicas apart") {
      SetSharesReplicas(false);
    } else if (setting == "no communication") {
      PushPolicy({.rule = CommRule::kForbid}, Loc::Unknown());
      ++policies_;
    } else if (setting.starts_with("process ")) {
      std::istringstream numbers(setting);
      std::string word;
      int devices = 0;
      auto process = std::make_unique<OneOfSeveral>();
      numbers >> word >> process->number >> word >> process->count >> word >> devices;
      runtime::SetTransport(std::move(process));
      trace::SetDevices(devices);
    } else if (setting.starts_with("only ")) {
      choice.only.push_back(setting.substr(5));
    } else {
      ADD_FAILURE() << "there is no setting " << setting;
    }
  }
  int policies_ = 0;
};

std::string SharesText(const ir::ValueSet& shares) {
  if (shares.empty()) return "all values share buffers\n";
  return fmt::format("{} of {} values share buffers\n",
                     std::count(shares.begin(), shares.end(), true), shares.size());
}

// Functions of the host have the numbers of this process.
std::string WithoutNumbers(const std::string& text) {
  static const std::regex number("function=[0-9]+");
  return std::regex_replace(text, number, "function=N");
}

// Returns the text of the program after the pass.
std::string TextAfterPass(const LoweringPass& pass, const std::string& input) {
  Settings settings(input);
  settings.choice.stop_after = &pass;
  const auto program = ir::Shared(ir::ParseProgram(input, Loc::Unknown()));
  try {
    const auto lowered = LowerProgram(program, {}, settings.choice);
    if (pass.name == "share_buffers") return SharesText(lowered->passes.shares);
    const std::string text = WithoutNumbers(TextAfter(pass, *lowered));
    if (pass.stage != PassStage::kPlan) return text;
    const size_t memory = text.find("\nmemory\n");
    return pass.name == "prepare" ? text.substr(memory + 1) : text.substr(0, memory);
  } catch (const Error& e) {
    return std::string(e.what()) + "\n";
  }
}

// Whether a pass reads the form of the program that the pass before it left.
bool HasBefore(const LoweringPass& pass) {
  return pass.stage != PassStage::kPropagated && pass.name != "choose_places" &&
         pass.name != "partition" && pass.name != "share_buffers" && pass.name != "prepare";
}

std::string ResultOf(const LoweringPass& pass, const std::string& input) {
  const std::string after = TextAfterPass(pass, input);
  if (!HasBefore(pass)) return "---- after\n" + after;
  // share_buffers leaves the device program as it is.
  const LoweringPass& last = pass.name == "fuse" ? *spmd::FindPass("check_policies") : *(&pass - 1);
  const std::string before = TextAfterPass(last, input);
  return "---- before\n" + before + "---- after\n" + (after == before ? "unchanged\n" : after);
}

class PassTest : public testing::TestWithParam<const LoweringPass*> {};

TEST_P(PassTest, DoesWhatItsFilesSay) {
  Install();
  const LoweringPass& pass = *GetParam();
  const std::vector<fs::path> files = FilesOf(pass);
  EXPECT_GE(files.size(), 3u) << "each pass has three facts at least, in " << kFolder / pass.name;
  for (const fs::path& path : files) {
    const std::string text = Read(path);
    ASSERT_TRUE(text.starts_with("// ")) << path << " begins with its fact";
    const std::string input = text.substr(0, text.find("---- "));
    const std::string result = input + ResultOf(pass, input);
    if (std::getenv("UPDATE_GOLDEN"))
      std::ofstream(path) << result;
    else
      EXPECT_EQ(result, text) << path;
  }
}

std::string NameOf(const testing::TestParamInfo<const LoweringPass*>& info) {
  return std::string(info.param->name);
}

std::vector<const LoweringPass*> Pointers() {
  std::vector<const LoweringPass*> all;
  for (const LoweringPass& pass : spmd::LoweringPasses()) all.push_back(&pass);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Passes, PassTest, testing::ValuesIn(Pointers()), NameOf);

TEST(Passes, FoldersAreOfPasses) {
  for (const auto& entry : fs::directory_iterator(kFolder))
    EXPECT_TRUE(!entry.is_directory() || spmd::FindPass(entry.path().filename().string())) << entry;
}

TEST(Passes, StagesFollowOneAnother) {
  PassStage last = PassStage::kPropagated;
  std::set<std::string_view> names;
  for (const LoweringPass& pass : spmd::LoweringPasses()) {
    EXPECT_GE(pass.stage, last) << pass.name;
    last = pass.stage;
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_TRUE(fs::exists(fs::path(TESSERA_SOURCE_DIR "/src") / pass.file)) << pass.file;
  }
}

// Runs the stage kPropagated on a program of two instructions, with this pass in front.
void RunWith(ir::Program (*rewrite)(ir::Program)) {
  Install();
  const auto program = ir::Shared(ir::ParseProgram(R"(
mesh @mesh = <["x"=2]> explicit={"x"}
func @main(%0: f32[8@x]) -> f32[8@x] {
  %1: f32[8@x] = exp %0
  %2: f32[8@x] = neg %1
  return %2
})",
                                                   Loc::Unknown()));
  const spmd::OuterPasses outer{
      .check_nans = [&](std::shared_ptr<const ir::Program> p) { return ir::Shared(rewrite(*p)); }};
  spmd::PassState state{.program = program, .outer = &outer};
  spmd::RunPasses(state, PassStage::kPropagated);
}

// Returns the message of the error that RunWith throws.
std::string MessageWith(ir::Program (*rewrite)(ir::Program)) {
  try {
    RunWith(rewrite);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "no error";
}

// A pass that breaks the program is named.
TEST(Passes, AreVerified) {
  ASSERT_TRUE(verifies == 0 && ir::VerifiesPrograms());
  EXPECT_NO_THROW(RunWith([](ir::Program p) { return p; }));
  EXPECT_THAT(MessageWith([](ir::Program p) {
                std::swap(p.instructions[0], p.instructions[1]);
                return p;
              }),
              testing::HasSubstr("after check_nans: it uses a value before it is defined"));
  EXPECT_THAT(
      MessageWith([](ir::Program p) {
        ir::Value& v = p.values[p.outputs[0]];
        v.type = ir::Type::Get(v.type->shape(), v.type->dtype(), v.type->mesh());
        return p;
      }),
      testing::HasSubstr("after check_nans: its result has type f32[8@x], but f32[8] is declared"));
  EXPECT_THAT(MessageWith([](ir::Program p) {
                p.outputs[0] = p.AddValue(p.type(p.outputs[0]), Loc::Unknown());
                return p;
              }),
              testing::HasSubstr("after check_nans: it returns a value that nothing defines"));
}

const ir::Type* ReplicatedPlace(const ir::Type* type) {
  return type->WithSharding(sharding::Replicated(type->mesh()->WithoutModes(), type->rank()));
}

TEST(Passes, GivePlacesToAllValuesOrNone) {
  ASSERT_TRUE(verifies == 0 && ir::VerifiesPrograms());
  EXPECT_THAT(MessageWith([](ir::Program p) {
                p.SetPlace(p.outputs[0], ReplicatedPlace(p.type(p.outputs[0])));
                return p;
              }),
              testing::HasSubstr("after check_nans: its result has no place, but others have"));
  EXPECT_THAT(MessageWith([](ir::Program p) {
                p.SetPlace(p.outputs[0], ReplicatedPlace(ir::Type::Get({4}, f32, p.mesh)));
                return p;
              }),
              testing::HasSubstr("a value of type f32[8@x] has the place f32[4]"));
}

// docs/design.md has the list as a table. UPDATE_GOLDEN=1 writes it.
TEST(Passes, AreTheTableOfTheDesign) {
  const fs::path path = TESSERA_SOURCE_DIR "/docs/design.md";
  const std::string text = Read(path),
                    begin = "<!-- passes: written by tests/unit/compile/passes_test.cc -->\n",
                    end = "<!-- end of passes -->\n";
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != text.npos && to != text.npos);
  const std::string wanted =
      text.substr(0, from + begin.size()) + spmd::PassTable() + text.substr(to);
  if (std::getenv("UPDATE_GOLDEN"))
    std::ofstream(path) << wanted;
  else
    EXPECT_EQ(text, wanted) << "run with UPDATE_GOLDEN=1 and read what changes in " << path;
}

}  // namespace
}  // namespace tessera::compile
