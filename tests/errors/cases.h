// Tables of programs that must be refused, one test each.
#pragma once
#include <gmock/gmock.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "golden.h"

// A program that must be refused. Its name is part of its golden's.
struct RefusedCase {
  const char* name;
  std::function<void()> program;
  friend void PrintTo(const RefusedCase& c, std::ostream* os) { *os << c.name; }
};

// Makes a test of each case for the suite, whose parameter is a RefusedCase.
#define INSTANTIATE_CASES(suite, cases)                          \
  INSTANTIATE_TEST_SUITE_P(All, suite, testing::ValuesIn(cases), \
                           [](const auto& info) { return std::string(info.param.name); })
