/* A library in C that hands tensors out and takes tensors in, for tests/c_peer.rs.
 *
 * Managed tensors are passed as `void*` with a flag that says which of the two structs it is, so
 * that there is one function for both.
 */
#ifndef DLBRIDGE_TESTS_PEER_H_
#define DLBRIDGE_TESTS_PEER_H_

#include <dlpack/dlpack.h>
#include <stdbool.h>

#define PEER_MAX_RANK 255

/* Counts what happens to the tensors that were made with it, which are not to outlive it. */
struct peer_counts;

struct peer_counts* peer_counts_new(void);
void peer_counts_free(struct peer_counts* counts);

/* How often deleters were called. */
int peer_counts_deletions(struct peer_counts* counts);

/* How many tensors were not deleted. */
int peer_counts_live(struct peer_counts* counts);

/* ---- the producer ---- */

/* What to make. Memory element i has the value i. */
struct peer_recipe {
  DLDataType dtype;
  int32_t ndim;
  const int64_t* shape;
  /* NULL becomes NULL. */
  const int64_t* strides;
  /* How many elements there is memory for. */
  int64_t elements;
  /* Which of them the element of index 0 is. */
  int64_t first;
  /* The data pointer is so much in front of it. */
  uint64_t byte_offset;
  uint64_t flags;
};

/* Gives a managed tensor away. */
void* peer_make(bool versioned, const struct peer_recipe* recipe, struct peer_counts* counts);

/* Gives the malformed tensor of that number away. NULL, when there is no such one in this ABI. */
void* peer_make_malformed(int which, bool versioned, struct peer_counts* counts);

/* What is malformed about it. NULL behind the last one. */
const char* peer_malformed_name(int which);

/* ---- either side ---- */

DLTensor* peer_tensor(void* managed, bool versioned);
double peer_get(const DLTensor* tensor, const int64_t* index);
void peer_set(const DLTensor* tensor, const int64_t* index, double value);

/* ---- the consumer ---- */

/* Returns what a consumer may expect of this export, and is not so; or NULL. */
const char* peer_complaint(void* managed, bool versioned);

/* The sum of all elements. */
double peer_sum(const DLTensor* tensor);

/* Multiplies all elements. */
void peer_scale(const DLTensor* tensor, double factor);

/* Calls the deleter. */
void peer_delete(void* managed, bool versioned);

/* Sums and deletes on a new thread, while the caller goes on; the second one waits for it. */
struct peer_task;
struct peer_task* peer_start_sum(void* managed, bool versioned);
double peer_finish_sum(struct peer_task* task);

#endif /* DLBRIDGE_TESTS_PEER_H_ */
