// A program in C11 that loads a text, explains it and runs it.
#include <stdio.h>
#include <tessera/c.h>

// Prints the last error. Returns the exit code.
static int Failed(void) {
  fprintf(stderr, "%s\n", tessera_last_error());
  return 1;
}

int main(int argc, char** argv) {
  tessera_program program;
  if (argc != 2 || tessera_load_file(argv[1], NULL, NULL, NULL, &program) != TESSERA_OK)
    return Failed();
  char* text;
  if (tessera_explain(program, "%0", NULL, &text) != TESSERA_OK) return Failed();
  fputs(text, stdout);
  tessera_free(text);

  const float x[4] = {1, 2, 3, 4};
  const int64_t dims[1] = {4};
  const tessera_buffer input = {x, sizeof x, dims, 1, TESSERA_F32};
  tessera_array result;
  tessera_buffer made;
  if (tessera_run(program, &input, 1, &result, 1) != TESSERA_OK ||
      tessera_array_buffer(result, &made) != TESSERA_OK)
    return Failed();
  const float* y = made.data;
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  if (tessera_release(result) != TESSERA_OK || tessera_close(program) != TESSERA_OK)
    return Failed();
  return 0;
}
