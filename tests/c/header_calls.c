/* The C half of tests/header/calls.rs, as a library that Rust loads.
 *
 * For every function pointer in dlpack.h there is here a function of its type, and one that calls
 * what Rust put there. Rust has the same two, and what the functions do with their arguments is the
 * same in both languages: each gives them back, in its result or through its pointers.
 *
 * Callers return NULL, or what they expected and did not see.
 */
#include <dlpack/dlpack.h>
#include <string.h>

#define EXPECT(condition)                             \
  do {                                                \
    if (!(condition)) return "C expected " #condition; \
  } while (0)

struct error {
  const char* kind;
  const char* message;
};

static void set_error(void* error_ctx, const char* kind, const char* message) {
  struct error* error = error_ctx;
  error->kind = kind;
  error->message = message;
}

/* ---- what Rust calls ---- */

static int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                    void (*SetError)(void* error_ctx, const char* kind, const char* message)) {
  SetError(error_ctx, "BufferError", "no room");
  *out = prototype->data;
  return prototype->ndim;
}

static int managed_from_object(void* py_object, DLManagedTensorVersioned** out) {
  *out = py_object;
  return -2;
}

static int managed_to_object(DLManagedTensorVersioned* tensor, void** out_py_object) {
  *out_py_object = tensor;
  return -3;
}

static int tensor_from_object(void* py_object, DLTensor* out) {
  out->data = py_object;
  out->device.device_type = kDLTrn;
  out->device.device_id = -5;
  out->ndim = 2;
  out->dtype.code = kDLFloat4_e2m1fn;
  out->dtype.bits = 4;
  out->dtype.lanes = 515;
  out->shape = (int64_t*)py_object + 1;
  out->strides = (int64_t*)py_object + 2;
  out->byte_offset = UINT64_C(0xfedcba9876543210);
  return -4;
}

static int work_stream(DLDeviceType device_type, int32_t device_id, void** out_current_stream) {
  *out_current_stream = (char*)*out_current_stream + 1;
  return 1000 * device_id + (int)device_type;
}

static void delete_legacy(DLManagedTensor* self) { *(DLManagedTensor**)self->manager_ctx = self; }

static void delete_versioned(DLManagedTensorVersioned* self) {
  *(DLManagedTensorVersioned**)self->manager_ctx = self;
}

void fill_exchange_api(DLPackExchangeAPI* out) {
  out->header.version.major = 21;
  out->header.version.minor = 22;
  out->header.prev_api = &out->header;
  out->managed_tensor_allocator = allocate;
  out->managed_tensor_from_py_object_no_sync = managed_from_object;
  out->managed_tensor_to_py_object_no_sync = managed_to_object;
  out->dltensor_from_py_object_no_sync = tensor_from_object;
  out->current_work_stream = work_stream;
}

void empty_exchange_api(DLPackExchangeAPI* out) {
  out->managed_tensor_allocator = NULL;
  out->managed_tensor_from_py_object_no_sync = NULL;
  out->managed_tensor_to_py_object_no_sync = NULL;
  out->dltensor_from_py_object_no_sync = NULL;
  out->current_work_stream = NULL;
}

void fill_legacy_deleter(DLManagedTensor* out) { out->deleter = delete_legacy; }

void empty_legacy_deleter(DLManagedTensor* out) { out->deleter = NULL; }

void fill_versioned_deleter(DLManagedTensorVersioned* out) { out->deleter = delete_versioned; }

void empty_versioned_deleter(DLManagedTensorVersioned* out) { out->deleter = NULL; }

/* ---- what calls Rust ---- */

const char* call_managed_tensor_allocator(const DLPackExchangeAPI* api) {
  DLManagedTensorVersioned managed;
  DLManagedTensorVersioned* out = NULL;
  DLTensor prototype = {.data = &managed, .ndim = -7};
  struct error error = {NULL, NULL};
  EXPECT(api->managed_tensor_allocator != NULL);
  EXPECT(api->managed_tensor_allocator(&prototype, &out, &error, set_error) == -7);
  EXPECT(out == &managed);
  EXPECT(error.kind != NULL && strcmp(error.kind, "BufferError") == 0);
  EXPECT(error.message != NULL && strcmp(error.message, "no room") == 0);
  return NULL;
}

const char* call_managed_tensor_from_py_object_no_sync(const DLPackExchangeAPI* api) {
  DLManagedTensorVersioned managed;
  DLManagedTensorVersioned* out = NULL;
  EXPECT(api->managed_tensor_from_py_object_no_sync != NULL);
  EXPECT(api->managed_tensor_from_py_object_no_sync(&managed, &out) == -2);
  EXPECT(out == &managed);
  return NULL;
}

const char* call_managed_tensor_to_py_object_no_sync(const DLPackExchangeAPI* api) {
  DLManagedTensorVersioned managed;
  void* out = NULL;
  EXPECT(api->managed_tensor_to_py_object_no_sync != NULL);
  EXPECT(api->managed_tensor_to_py_object_no_sync(&managed, &out) == -3);
  EXPECT(out == &managed);
  return NULL;
}

const char* call_dltensor_from_py_object_no_sync(const DLPackExchangeAPI* api) {
  int64_t object[3];
  DLTensor out = {.data = NULL};
  EXPECT(api->dltensor_from_py_object_no_sync != NULL);
  EXPECT(api->dltensor_from_py_object_no_sync(object, &out) == -4);
  EXPECT(out.data == object);
  EXPECT(out.device.device_type == kDLTrn);
  EXPECT(out.device.device_id == -5);
  EXPECT(out.ndim == 2);
  EXPECT(out.dtype.code == kDLFloat4_e2m1fn);
  EXPECT(out.dtype.bits == 4);
  EXPECT(out.dtype.lanes == 515);
  EXPECT(out.shape == object + 1);
  EXPECT(out.strides == object + 2);
  EXPECT(out.byte_offset == UINT64_C(0xfedcba9876543210));
  return NULL;
}

const char* call_current_work_stream(const DLPackExchangeAPI* api) {
  char streams[2];
  void* stream = streams;
  EXPECT(api->current_work_stream != NULL);
  EXPECT(api->current_work_stream(kDLTrn, -5, &stream) == -4982);
  EXPECT(stream == streams + 1);
  return NULL;
}

const char* call_legacy_deleter(DLManagedTensor* tensor) {
  DLManagedTensor* deleted = NULL;
  EXPECT(tensor->deleter != NULL);
  tensor->manager_ctx = &deleted;
  tensor->deleter(tensor);
  tensor->manager_ctx = NULL;
  EXPECT(deleted == tensor);
  return NULL;
}

const char* call_versioned_deleter(DLManagedTensorVersioned* tensor) {
  DLManagedTensorVersioned* deleted = NULL;
  EXPECT(tensor->deleter != NULL);
  tensor->manager_ctx = &deleted;
  tensor->deleter(tensor);
  tensor->manager_ctx = NULL;
  EXPECT(deleted == tensor);
  return NULL;
}
