// Programs of JAX for other languages: a flat interface of strings and buffers, for C11 and C++.
//
//   tessera_program program;
//   char* text;
//   if (tessera_load_file("step.mlir", NULL, NULL, NULL, &program) != TESSERA_OK ||
//       tessera_explain(program, "%3", NULL, &text) != TESSERA_OK)
//     fputs(tessera_last_error(), stderr);
//
// Every function that can fail returns a status: TESSERA_OK, or the kind of the error, whose text
// is then tessera_last_error(). After an error all handles are as they were, and nothing has been
// written through the pointers. All functions may be called from several threads at once.
//
// A handle is a number that is never used again: 0, a handle that was closed, and a number that was
// never a handle are errors, not crashes. Strings end in a zero byte and are UTF-8. A string that a
// function makes is the caller's, who passes it to tessera_free.
#ifndef TESSERA_C_H_
#define TESSERA_C_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TESSERA_C_FUNCTION __attribute__((visibility("default")))
#else
#define TESSERA_C_FUNCTION
#endif

// The kind of an error.
typedef int32_t tessera_status;
enum {
  TESSERA_OK = 0,
  TESSERA_ARGUMENT_ERROR = 1,  // a null pointer, a bad size or handle, a word that is none
  TESSERA_SHAPE_ERROR = 2,     // the wrong rank, size or number of arrays
  TESSERA_DTYPE_ERROR = 3,
  TESSERA_SHARDING_ERROR = 4,
  TESSERA_TRACE_ERROR = 5,
  TESSERA_RUNTIME_ERROR = 6,  // files, malformed text, unsupported operations, memory
  TESSERA_INTERNAL_ERROR = 7  // a bug in the library
};

// The type of the elements of a buffer. Values are never used again for another type.
typedef int32_t tessera_dtype;
enum {
  TESSERA_BOOL = 1,             // 1 byte: 0 or 1
  TESSERA_I2 = 2,               // 1 byte: -2 to 1
  TESSERA_I4 = 3,               // 1 byte: -8 to 7
  TESSERA_I8 = 4,               // 1 byte
  TESSERA_I16 = 5,              // 2 bytes
  TESSERA_I32 = 6,              // 4 bytes
  TESSERA_I64 = 7,              // 8 bytes
  TESSERA_U2 = 8,               // 1 byte: 0 to 3
  TESSERA_U4 = 9,               // 1 byte: 0 to 15
  TESSERA_U8 = 10,              // 1 byte
  TESSERA_U16 = 11,             // 2 bytes
  TESSERA_U32 = 12,             // 4 bytes
  TESSERA_U64 = 13,             // 8 bytes
  TESSERA_F8_E3M4 = 14,         // 1 byte, as the six that follow, in the formats of ml_dtypes
  TESSERA_F8_E4M3 = 15,         //
  TESSERA_F8_E4M3B11FNUZ = 16,  //
  TESSERA_F8_E4M3FN = 17,       //
  TESSERA_F8_E4M3FNUZ = 18,     //
  TESSERA_F8_E5M2 = 19,         //
  TESSERA_F8_E5M2FNUZ = 20,     //
  TESSERA_F16 = 21,             // 2 bytes, IEEE
  TESSERA_BF16 = 22,            // 2 bytes, the upper half of an f32
  TESSERA_F32 = 23,             // 4 bytes, IEEE
  TESSERA_F64 = 24,             // 8 bytes, IEEE
  TESSERA_C64 = 25,             // 8 bytes: two f32, the real part first
  TESSERA_C128 = 26             // 16 bytes: two f64, the real part first
};

// A handle of a program; 0 is none.
typedef uint64_t tessera_program;
// A handle of an array that a run has made; 0 is none.
typedef uint64_t tessera_array;

// The arguments or the results of a program.
typedef int32_t tessera_side;
enum { TESSERA_INPUTS = 0, TESSERA_OUTPUTS = 1 };

// The elements of an array, row-major and without gaps. The memory is the caller's, or of a
// tessera_array.
typedef struct tessera_buffer {
  const void* data;     // may be null if there are no elements
  int64_t bytes;        // the size of the data
  const int64_t* dims;  // `rank` sizes; may be null if rank is 0
  int32_t rank;
  tessera_dtype dtype;
} tessera_buffer;

// Figures of a program that is lowered for its mesh, per device.
typedef struct tessera_costs {
  int64_t comm_bytes;   // payload that leaves the device
  int64_t collectives;  // number of collectives that run
  int64_t peak_bytes;   // arguments, results and temporaries
  int64_t flops;
  int64_t split_flops;  // if all devices shared the work evenly and did nothing twice
} tessera_costs;

// Returns "0.1.0".
TESSERA_C_FUNCTION const char* tessera_version(void);
// Returns the text of this thread's last error, with its place and the edits that would help; ""
// before the first error. It is valid until the next error of this thread.
TESSERA_C_FUNCTION const char* tessera_last_error(void);
// Frees a string that a function has made; null is allowed.
TESSERA_C_FUNCTION void tessera_free(char* text);

// ---- programs ----

// Reads `bytes` bytes of StableHLO text, such as jax.jit(f).lower(...).as_text() prints. Options
// that are null or empty leave the text as it is:
//   mesh      "x=4,y=2": takes the place of the text's meshes, whose axes it must have. No device
//             is needed: programs for 1024 devices can be explained anywhere
//   settings  lines ARGUMENT=SHARDING, such as `params['w']=[{"x"}, {}]`, in place of the text's
//             shardings. An argument is "%arg0", "0", or its name in JAX; `*` matches any text
//   modes     "auto": propagation chooses shardings. "explicit": those of arguments are types, and
//             a result that the typing rules do not decide is an error at its line
TESSERA_C_FUNCTION tessera_status tessera_load(const char* text, int64_t bytes, const char* mesh,
                                               const char* settings, const char* modes,
                                               tessera_program* program);
// Same, for a file.
TESSERA_C_FUNCTION tessera_status tessera_load_file(const char* path, const char* mesh,
                                                    const char* settings, const char* modes,
                                                    tessera_program* program);
// Reads a text as tessera_load does, and lowers it, for its errors alone.
TESSERA_C_FUNCTION tessera_status tessera_check(const char* text, int64_t bytes, const char* mesh,
                                                const char* settings, const char* modes);
// Ends the use of a handle. Functions that run with it in other threads finish.
TESSERA_C_FUNCTION tessera_status tessera_close(tessera_program program);

// Returns the number of arguments or results.
TESSERA_C_FUNCTION tessera_status tessera_count(tessera_program program, tessera_side side,
                                                int64_t* count);
// Returns the type of one of them as text: "f32[8@x,4]".
TESSERA_C_FUNCTION tessera_status tessera_type(tessera_program program, tessera_side side,
                                               int64_t index, char** text);
// Returns its dtype, rank and dims: the first `rank` of the `capacity` elements of `dims`. `dims`
// may be null if `capacity` is 0, which asks for the dtype and the rank alone. A positive capacity
// below the rank is an error.
TESSERA_C_FUNCTION tessera_status tessera_shape(tessera_program program, tessera_side side,
                                                int64_t index, tessera_dtype* dtype, int32_t* rank,
                                                int64_t* dims, int64_t capacity);
// Returns the name of an argument, also JAX's if the text has it: "%arg1 (params['w'])".
TESSERA_C_FUNCTION tessera_status tessera_input_name(tessera_program program, int64_t index,
                                                     char** name);

// ---- reports ----

// Returns the program with the sharding of every value, as text. `strategy` is the last one of
// propagation: "basic", "aggressive", "op-priority" or "user-priority"; null: the last.
TESSERA_C_FUNCTION tessera_status tessera_propagate(tessera_program program, const char* strategy,
                                                    char** text);
// Returns why a value is sharded as it is. `value` is its name in the text that was loaded, such as
// "%3" or "@relu/%0"; the name of an argument, such as "%arg1" or "params['w']"; or a line, such as
// "model.py:12", for all values that it makes.
TESSERA_C_FUNCTION tessera_status tessera_explain(tessera_program program, const char* value,
                                                  const char* strategy, char** text);
// Returns the collectives of the lowered program one per line, their sum, the FLOPs and the peak
// memory, as text.
TESSERA_C_FUNCTION tessera_status tessera_report(tessera_program program, char** text);
// Returns the collectives as a JSON array of objects: "kind", "axes", "bytes", "times", "where",
// "backward", "implied", "repeats" (in a loop whose trip count is not known), "scope" (JAX's name
// stack), and the cause: "made_by", the op that makes the value, with its line "made_at", and
// "read_by", the op that reads the received value, with "read_at".
TESSERA_C_FUNCTION tessera_status tessera_comm(tessera_program program, char** json);
// Writes the first `bytes` bytes of the figures. Callers pass sizeof(tessera_costs), to which later
// versions may add; a size that cuts a figure is an error.
TESSERA_C_FUNCTION tessera_status tessera_costs_of(tessera_program program, tessera_costs* costs,
                                                   int64_t bytes);
// Returns the program of one device, with local shapes and collectives, as text; with `stop_after`,
// the program as that pass leaves it (null: all run).
TESSERA_C_FUNCTION tessera_status tessera_lower(tessera_program program, const char* stop_after,
                                                char** text);
// Returns a page of HTML that needs no other file: the values with their shardings and the reasons,
// and the communication. `title` may be null.
TESSERA_C_FUNCTION tessera_status tessera_html(tessera_program program, const char* title,
                                               char** page);

// ---- runs ----

// Runs the program on simulated devices of this process, as many as its mesh has. Reads the
// elements of the buffers during the call alone. Writes one handle for each result; `num_results`
// must be their number.
TESSERA_C_FUNCTION tessera_status tessera_run(tessera_program program, const tessera_buffer* inputs,
                                              int64_t num_inputs, tessera_array* results,
                                              int64_t num_results);
// Returns the elements of an array that a run has made, whole, without a copy: they are read-only,
// and valid until the handle is released. So are the dims.
TESSERA_C_FUNCTION tessera_status tessera_array_buffer(tessera_array array, tessera_buffer* buffer);
// Ends the use of a handle.
TESSERA_C_FUNCTION tessera_status tessera_release(tessera_array array);

#ifdef __cplusplus
}
#endif

#endif  // TESSERA_C_H_
