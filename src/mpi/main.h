// The two names of `main` that the linker makes of one (--wrap=main).
#pragma once

extern "C" {
int __real_main(int argc, char** argv);  // of the program
int __wrap_main(int argc, char** argv);  // called at the start
}
