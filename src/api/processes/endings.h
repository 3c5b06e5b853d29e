// How a process ends that runs together with others. If it fails, all end.
#pragma once

namespace tessera::api {

// Makes all processes end if this one ends before it leaves: by an exception that nobody catches,
// or by exit.
void EndAllWithThis();

// How a process leaves the scope in which processes run together.
enum class Leaving {
  kInOrder,      // waits for the others
  kByException,  // ends the others; whoever catches the exception prints it
};
// Leaves, if this process runs together with others.
void Leave(Leaving leaving) noexcept;

}  // namespace tessera::api
