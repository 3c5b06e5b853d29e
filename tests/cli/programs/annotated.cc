// A function whose types are in annotated.json.
Array layer(Array x, Array w) {
  Array h = matmul(x, w);  // the product
  return tanh(h);          // f32[1]
}
