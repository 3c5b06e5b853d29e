// Compares or rewrites a golden file, and runs a program that must be refused.
#include "golden.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

void ExpectGolden(const std::string& name, const std::string& text) {
  std::string shown =
      std::regex_replace(text, std::regex("_test\\.cc:[0-9]+"), "_test.cc:N") + "\n";
  // The live memory depends on the machine, so the golden has none.
  shown = std::regex_replace(shown, std::regex("live: .*"), "live: ...");
  std::filesystem::path path = std::filesystem::path(GOLDEN_DIR) / (name + ".txt");
  if (std::getenv("UPDATE_GOLDEN")) {
    std::filesystem::create_directories(GOLDEN_DIR);
    std::ofstream(path) << shown;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << "there is no " << path
                    << ": run with UPDATE_GOLDEN=1 and read what it writes";
  std::stringstream wanted;
  wanted << file.rdbuf();
  EXPECT_EQ(shown, wanted.str()) << "in " << path;
}

void ExpectRefused(const std::string& name, const std::function<void()>& program) {
  try {
    program();
    FAIL() << name << " was accepted";
  } catch (const tessera::InternalError& e) {
    FAIL() << "a fault of ours: " << e.what();
  } catch (const tessera::Error& e) {
    ExpectGolden(name, e.what());
  }
}

void ExpectUsable() {
  EXPECT_TRUE(tessera::current_mesh().empty());
  EXPECT_EQ((tessera::ones({2}) + 1).to_vector<float>(), std::vector<float>({2, 2}));
}
