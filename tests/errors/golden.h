// Golden text files, one fact each. UPDATE_GOLDEN=1 rewrites them.
#pragma once
#include <functional>
#include <string>

// Fails the test where `text` differs from golden/NAME.txt. Line numbers of test files read `:N`.
void ExpectGolden(const std::string& name, const std::string& text);

// Expects that the program is refused with one error of the caller's, which golden/NAME.txt shows.
void ExpectRefused(const std::string& name, const std::function<void()>& program);

// Expects that nothing was lost by an error: no scope is left open, and arrays compute.
void ExpectUsable();
