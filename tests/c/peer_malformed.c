/* The producer of malformed tensors; see peer.h. Each is two rows of three floats, but for what
 * its name says. */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

/* What there is to spoil. */
struct subject {
  DLTensor* tensor;
  /* NULL in the legacy ABI. */
  DLManagedTensorVersioned* versioned;
};

static void nothing(struct subject it) { (void)it; }
static void negative_rank(struct subject it) { it.tensor->ndim = -1; }
static void rank_of_256(struct subject it) { it.tensor->ndim = 256; }
static void largest_rank(struct subject it) { it.tensor->ndim = INT32_MAX; }
static void null_shape(struct subject it) { it.tensor->shape = NULL; }
static void negative_size(struct subject it) { it.tensor->shape[1] = -3; }
static void too_many_elements(struct subject it) {
  it.tensor->shape[0] = it.tensor->shape[1] = INT64_C(1) << 32;
  it.tensor->strides = NULL;
}
static void too_many_bytes(struct subject it) { it.tensor->shape[0] = INT64_C(1) << 59; }
static void stride_too_large(struct subject it) { it.tensor->strides[0] = INT64_C(1) << 60; }
static void strides_that_overflow(struct subject it) { it.tensor->strides[1] = INT64_MIN; }
static void null_data(struct subject it) { it.tensor->data = NULL; }
static void byte_offset_that_overflows(struct subject it) {
  it.tensor->data = (void*)(uintptr_t)64;
  it.tensor->byte_offset = UINT64_MAX;
}
static void elements_below_address_0(struct subject it) {
  it.tensor->data = (void*)(uintptr_t)8;
  it.tensor->strides[0] = -3;
}
static void unknown_type_code(struct subject it) { it.tensor->dtype.code = 18; }
static void float_of_12_bits(struct subject it) { it.tensor->dtype.bits = 12; }
static void no_lanes(struct subject it) { it.tensor->dtype.lanes = 0; }
static void unknown_device(struct subject it) { it.tensor->device.device_type = (DLDeviceType)5; }
static void negative_device(struct subject it) { it.tensor->device.device_id = -1; }
static void older_major_version(struct subject it) { it.versioned->version.major = 0; }
static void newer_major_version(struct subject it) {
  it.versioned->version.major = DLPACK_MAJOR_VERSION + 1;
  /* The content of that version is unknown. */
  memset(&it.versioned->flags, 0x5a, sizeof(DLManagedTensorVersioned) -
                                         offsetof(DLManagedTensorVersioned, flags));
}
static void padding_of_several_lanes(struct subject it) {
  it.tensor->dtype.code = kDLInt;
  it.tensor->dtype.bits = 4;
  it.tensor->dtype.lanes = 3;
  it.versioned->flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
}

#define CASE(function, abi) {#function, function, abi}
enum abi { BOTH, VERSIONED_ONLY };

static const struct {
  const char* name;
  void (*spoil)(struct subject it);
  enum abi abi;
} CASES[] = {
    CASE(nothing, BOTH),
    CASE(negative_rank, BOTH),
    CASE(rank_of_256, BOTH),
    CASE(largest_rank, BOTH),
    CASE(null_shape, BOTH),
    CASE(negative_size, BOTH),
    CASE(too_many_elements, BOTH),
    CASE(too_many_bytes, BOTH),
    CASE(stride_too_large, BOTH),
    CASE(strides_that_overflow, BOTH),
    CASE(null_data, BOTH),
    CASE(byte_offset_that_overflows, BOTH),
    CASE(elements_below_address_0, BOTH),
    CASE(unknown_type_code, BOTH),
    CASE(float_of_12_bits, BOTH),
    CASE(no_lanes, BOTH),
    CASE(unknown_device, BOTH),
    CASE(negative_device, BOTH),
    CASE(older_major_version, VERSIONED_ONLY),
    CASE(newer_major_version, VERSIONED_ONLY),
    CASE(padding_of_several_lanes, VERSIONED_ONLY),
};

#define CASE_COUNT ((int)(sizeof CASES / sizeof CASES[0]))

const char* peer_malformed_name(int which) {
  return which < CASE_COUNT ? CASES[which].name : NULL;
}

void* peer_make_malformed(int which, bool versioned, struct peer_counts* counts) {
  static const int64_t shape[] = {2, 3}, strides[] = {3, 1};
  static const struct peer_recipe two_rows = {
      .dtype = {.code = kDLFloat, .bits = 32, .lanes = 1},
      .ndim = 2,
      .shape = shape,
      .strides = strides,
      .elements = 6,
  };
  if (CASES[which].abi == VERSIONED_ONLY && !versioned) return NULL;
  void* managed = peer_make(versioned, &two_rows, counts);
  CASES[which].spoil((struct subject){
      .tensor = peer_tensor(managed, versioned),
      .versioned = versioned ? managed : NULL,
  });
  return managed;
}
