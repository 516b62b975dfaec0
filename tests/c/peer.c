/* See peer.h. */
#define _POSIX_C_SOURCE 200809L

#include "peer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                             \
  do {                                                \
    if (!(condition)) return "C expected " #condition; \
  } while (0)

struct block;

struct peer_counts {
  atomic_int live;
  atomic_int deletions;
  /* All that were made, so that also a second deletion finds its block. */
  struct block* blocks;
};

/* Everything that one managed tensor needs, but for the elements. */
struct block {
  union {
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
  } managed;
  struct peer_counts* counts;
  struct block* next;
  atomic_bool deleted;
  void* memory;
  int64_t shape[PEER_MAX_RANK];
  int64_t strides[PEER_MAX_RANK];
};

/* A test that can't allocate can't say anything sensible. */
static void* allocate(size_t bytes) {
  void* memory = calloc(1, bytes);
  if (memory == NULL) abort();
  return memory;
}

struct peer_counts* peer_counts_new(void) { return allocate(sizeof(struct peer_counts)); }

void peer_counts_free(struct peer_counts* counts) {
  struct block* next;
  for (struct block* block = counts->blocks; block != NULL; block = next) {
    next = block->next;
    free(block);
  }
  free(counts);
}

int peer_counts_deletions(struct peer_counts* counts) { return atomic_load(&counts->deletions); }

int peer_counts_live(struct peer_counts* counts) { return atomic_load(&counts->live); }

/* ---- the producer ---- */

static void delete_block(struct block* block) {
  atomic_fetch_add(&block->counts->deletions, 1);
  if (atomic_exchange(&block->deleted, true)) return;
  atomic_fetch_sub(&block->counts->live, 1);
  /* Code that still reads sees garbage. */
  memset(block->shape, 0x5a, sizeof block->shape);
  memset(block->strides, 0x5a, sizeof block->strides);
  free(block->memory);
}

static void delete_legacy(DLManagedTensor* self) { delete_block(self->manager_ctx); }

static void delete_versioned(DLManagedTensorVersioned* self) { delete_block(self->manager_ctx); }

static void* make_blank(bool versioned, struct peer_counts* counts) {
  struct block* block = allocate(sizeof *block);
  block->counts = counts;
  block->next = counts->blocks;
  counts->blocks = block;
  atomic_fetch_add(&counts->live, 1);
  if (versioned) {
    block->managed.versioned.version.major = DLPACK_MAJOR_VERSION;
    block->managed.versioned.version.minor = DLPACK_MINOR_VERSION;
    block->managed.versioned.manager_ctx = block;
    block->managed.versioned.deleter = delete_versioned;
  } else {
    block->managed.legacy.manager_ctx = block;
    block->managed.legacy.deleter = delete_legacy;
  }
  return block;
}

void* peer_make(bool versioned, const struct peer_recipe* recipe, struct peer_counts* counts) {
  struct block* block = make_blank(versioned, counts);
  size_t size = recipe->dtype.bits / 8;
  /* One element more, so that there is memory where there are no elements. */
  block->memory = allocate(((size_t)recipe->elements + 1) * size);
  const DLTensor all = {.data = block->memory, .dtype = recipe->dtype, .ndim = 1,
                        .strides = (int64_t[]){1}};
  for (int64_t i = 0; i < recipe->elements; i++) peer_set(&all, &i, (double)i);

  DLTensor* tensor = peer_tensor(block, versioned);
  char* first = (char*)block->memory + (size_t)recipe->first * size;
  tensor->data = first - recipe->byte_offset;
  tensor->byte_offset = recipe->byte_offset;
  tensor->device.device_type = kDLCPU;
  tensor->dtype = recipe->dtype;
  tensor->ndim = recipe->ndim;
  tensor->shape = block->shape;
  size_t numbers = (size_t)recipe->ndim * sizeof(int64_t);
  memcpy(block->shape, recipe->shape, numbers);
  if (recipe->strides != NULL) {
    memcpy(block->strides, recipe->strides, numbers);
    tensor->strides = block->strides;
  }
  if (versioned) block->managed.versioned.flags = recipe->flags;
  return block;
}

/* ---- either side ---- */

DLTensor* peer_tensor(void* managed, bool versioned) {
  return versioned ? &((DLManagedTensorVersioned*)managed)->dl_tensor
                   : &((DLManagedTensor*)managed)->dl_tensor;
}

/* Row-major, where the strides are NULL. */
static int64_t stride_of(const DLTensor* tensor, int axis) {
  if (tensor->strides != NULL) return tensor->strides[axis];
  int64_t stride = 1;
  for (int inner = axis + 1; inner < tensor->ndim; inner++) stride *= tensor->shape[inner];
  return stride;
}

static void* element(const DLTensor* tensor, const int64_t* index) {
  int64_t offset = 0;
  for (int axis = 0; axis < tensor->ndim; axis++) offset += index[axis] * stride_of(tensor, axis);
  return (char*)tensor->data + tensor->byte_offset + offset * (tensor->dtype.bits / 8);
}

/* One case for each element type that the tests use. */
#define WITH_TYPE(tensor, ACTION)                                  \
  switch ((tensor)->dtype.code << 8 | (tensor)->dtype.bits) {      \
    case kDLInt << 8 | 32: ACTION(int32_t) break;                  \
    case kDLInt << 8 | 64: ACTION(int64_t) break;                  \
    case kDLUInt << 8 | 8: ACTION(uint8_t) break;                  \
    case kDLFloat << 8 | 32: ACTION(float) break;                  \
    case kDLFloat << 8 | 64: ACTION(double) break;                 \
    default: abort();                                              \
  }

double peer_get(const DLTensor* tensor, const int64_t* index) {
  const void* at = element(tensor, index);
  double value = 0;
#define READ(type) value = (double)*(const type*)at;
  WITH_TYPE(tensor, READ)
  return value;
}

void peer_set(const DLTensor* tensor, const int64_t* index, double value) {
  void* at = element(tensor, index);
#define WRITE(type) *(type*)at = (type)value;
  WITH_TYPE(tensor, WRITE)
}

/* The next index in row-major order; false behind the last one. */
static bool advance(const DLTensor* tensor, int64_t* index) {
  for (int axis = tensor->ndim - 1; axis >= 0; axis--) {
    if (++index[axis] < tensor->shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

static bool is_empty(const DLTensor* tensor) {
  for (int axis = 0; axis < tensor->ndim; axis++) {
    if (tensor->shape[axis] == 0) return true;
  }
  return false;
}

/* ---- the consumer ---- */

const char* peer_complaint(void* managed, bool versioned) {
  EXPECT(managed != NULL);
  if (versioned) {
    const DLManagedTensorVersioned* self = managed;
    EXPECT(self->version.major == DLPACK_MAJOR_VERSION);
    EXPECT(self->version.minor <= DLPACK_MINOR_VERSION);
    EXPECT(self->deleter != NULL);
    EXPECT(self->manager_ctx != NULL);
    EXPECT(self->flags < 8);
  } else {
    const DLManagedTensor* self = managed;
    EXPECT(self->deleter != NULL);
    EXPECT(self->manager_ctx != NULL);
  }
  const DLTensor* tensor = peer_tensor(managed, versioned);
  EXPECT(tensor->device.device_type == kDLCPU);
  EXPECT(tensor->device.device_id == 0);
  EXPECT(tensor->ndim >= 0 && tensor->ndim <= PEER_MAX_RANK);
  EXPECT(tensor->shape != NULL);
  EXPECT(tensor->strides != NULL);
  EXPECT(tensor->byte_offset == 0);
  EXPECT(tensor->dtype.lanes == 1);
  EXPECT(tensor->data != NULL);
  for (int axis = 0; axis < tensor->ndim; axis++) EXPECT(tensor->shape[axis] >= 0);
  return NULL;
}

double peer_sum(const DLTensor* tensor) {
  double sum = 0;
  int64_t index[PEER_MAX_RANK] = {0};
  if (is_empty(tensor)) return 0;
  do sum += peer_get(tensor, index);
  while (advance(tensor, index));
  return sum;
}

void peer_scale(const DLTensor* tensor, double factor) {
  int64_t index[PEER_MAX_RANK] = {0};
  if (is_empty(tensor)) return;
  do peer_set(tensor, index, factor * peer_get(tensor, index));
  while (advance(tensor, index));
}

void peer_delete(void* managed, bool versioned) {
  if (versioned) {
    ((DLManagedTensorVersioned*)managed)->deleter(managed);
  } else {
    ((DLManagedTensor*)managed)->deleter(managed);
  }
}

struct peer_task {
  pthread_t thread;
  void* managed;
  bool versioned;
  double sum;
};

static void* sum_in_task(void* argument) {
  struct peer_task* task = argument;
  task->sum = peer_sum(peer_tensor(task->managed, task->versioned));
  peer_delete(task->managed, task->versioned);
  return NULL;
}

struct peer_task* peer_start_sum(void* managed, bool versioned) {
  struct peer_task* task = allocate(sizeof *task);
  task->managed = managed;
  task->versioned = versioned;
  if (pthread_create(&task->thread, NULL, sum_in_task, task) != 0) abort();
  return task;
}

double peer_finish_sum(struct peer_task* task) {
  if (pthread_join(task->thread, NULL) != 0) abort();
  double sum = task->sum;
  free(task);
  return sum;
}
