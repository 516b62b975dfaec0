// Prints what cuBLASLt's headers say, a name and a value a line, and doesn't compile where
// functions have other arguments than are given here.

#include <cublasLt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NUMBER(name) printf("%s %lld\n", #name, (long long)(name))
#define FIELD(name, field)                                                                     \
  printf("%s.%s %zu %zu\n", #name, #field, offsetof(name, field), sizeof(((name *)0)->field))

// The sizes of some types.
#define SIZES_1(a) sizeof(a)
#define SIZES_2(a, ...) sizeof(a), SIZES_1(__VA_ARGS__)
#define SIZES_3(a, ...) sizeof(a), SIZES_2(__VA_ARGS__)
#define SIZES_4(a, ...) sizeof(a), SIZES_3(__VA_ARGS__)
#define SIZES_5(a, ...) sizeof(a), SIZES_4(__VA_ARGS__)
#define SIZES_6(a, ...) sizeof(a), SIZES_5(__VA_ARGS__)
#define SIZES_7(a, ...) sizeof(a), SIZES_6(__VA_ARGS__)
#define SIZES_8(a, ...) sizeof(a), SIZES_7(__VA_ARGS__)
#define SIZES_9(a, ...) sizeof(a), SIZES_8(__VA_ARGS__)
#define SIZES_10(a, ...) sizeof(a), SIZES_9(__VA_ARGS__)
#define SIZES_11(a, ...) sizeof(a), SIZES_10(__VA_ARGS__)
#define SIZES_12(a, ...) sizeof(a), SIZES_11(__VA_ARGS__)
#define SIZES_13(a, ...) sizeof(a), SIZES_12(__VA_ARGS__)
#define SIZES_14(a, ...) sizeof(a), SIZES_13(__VA_ARGS__)
#define SIZES_15(a, ...) sizeof(a), SIZES_14(__VA_ARGS__)
#define SIZES_16(a, ...) sizeof(a), SIZES_15(__VA_ARGS__)

// A function with arguments of these types.
#define FUNCTION(name, answer, count, ...)                                                     \
  do {                                                                                         \
    _Static_assert(                                                                            \
        __builtin_types_compatible_p(__typeof__(&name), answer (*)(__VA_ARGS__)), #name);      \
    size_t sizes[] = {SIZES_##count(__VA_ARGS__)};                                             \
    print_function(#name, sizeof(answer), sizes, count);                                       \
  } while (0)

static void print_function(const char *name, size_t answer, const size_t *sizes, int count) {
  printf("%s", name);
  for (int k = 0; k < count; ++k) printf(" %zu", sizes[k]);
  printf(" -> %zu\n", answer);
}

typedef cublasLtHandle_t Handle;
typedef cublasLtMatmulDesc_t Operation;
typedef cublasLtMatrixLayout_t Layout;
typedef cublasLtMatmulPreference_t Preference;
typedef cublasStatus_t Status;

static void print_functions(void) {
  _Static_assert(__builtin_types_compatible_p(__typeof__(&cublasLtGetVersion), size_t (*)(void)),
                 "cublasLtGetVersion");
  print_function("cublasLtGetVersion", sizeof(size_t), NULL, 0);
  FUNCTION(cublasLtGetStatusName, const char *, 1, Status);
  FUNCTION(cublasLtCreate, Status, 1, Handle *);
  FUNCTION(cublasLtMatmulDescCreate, Status, 3, Operation *, cublasComputeType_t, cudaDataType_t);
  FUNCTION(cublasLtMatmulDescDestroy, Status, 1, Operation);
  FUNCTION(cublasLtMatmulDescSetAttribute, Status, 4, Operation, cublasLtMatmulDescAttributes_t,
           const void *, size_t);
  FUNCTION(cublasLtMatrixLayoutCreate, Status, 5, Layout *, cudaDataType, uint64_t, uint64_t,
           int64_t);
  FUNCTION(cublasLtMatrixLayoutDestroy, Status, 1, Layout);
  FUNCTION(cublasLtMatmulPreferenceCreate, Status, 1, Preference *);
  FUNCTION(cublasLtMatmulPreferenceDestroy, Status, 1, Preference);
  FUNCTION(cublasLtMatmulPreferenceSetAttribute, Status, 4, Preference,
           cublasLtMatmulPreferenceAttributes_t, const void *, size_t);
  FUNCTION(cublasLtMatmulAlgoGetHeuristic, Status, 10, Handle, Operation, Layout, Layout, Layout,
           Layout, Preference, int, cublasLtMatmulHeuristicResult_t *, int *);
  FUNCTION(cublasLtMatmul, Status, 16, Handle, Operation, const void *, const void *, Layout,
           const void *, Layout, const void *, const void *, Layout, void *, Layout,
           const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t);
}

int main(void) {
  NUMBER(CUBLAS_STATUS_INVALID_VALUE);
  NUMBER(CUBLAS_STATUS_NOT_SUPPORTED);
  NUMBER(CUBLAS_OP_T);
  NUMBER(CUDA_R_16F);
  NUMBER(CUDA_R_16BF);
  NUMBER(CUDA_R_32F);
  NUMBER(CUDA_R_64F);
  NUMBER(CUBLAS_COMPUTE_32F);
  NUMBER(CUBLAS_COMPUTE_64F);
  NUMBER(CUBLASLT_MATMUL_DESC_TRANSA);
  NUMBER(CUBLASLT_MATMUL_DESC_TRANSB);
  NUMBER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  NUMBER(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  NUMBER(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  FIELD(cublasLtMatmulHeuristicResult_t, algo);
  FIELD(cublasLtMatmulHeuristicResult_t, workspaceSize);
  FIELD(cublasLtMatmulHeuristicResult_t, state);
  FIELD(cublasLtMatmulHeuristicResult_t, wavesCount);
  FIELD(cublasLtMatmulHeuristicResult_t, reserved);
  printf("cublasLtMatmulHeuristicResult_t %zu\n", sizeof(cublasLtMatmulHeuristicResult_t));
  print_functions();
  return 0;
}
