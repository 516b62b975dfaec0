// What the kernels use of CUDA, on the CPU: their source is compiled as C++ after this header, and
// run one thread at a time.
//
// A thread gives way where it waits for others: at a barrier, or in an exchange with its warp. So it
// runs on a fiber, a stack of its own; those that never wait share one. A warp runs ahead of the
// others as far as it can. Which one is first, and which lane, and which block of a grid, is the
// caller's choice, so that what depends on the order shows. A barrier that not all threads come to, and an exchange with a lane that isn't
// there, are mistakes. Shared memory keeps what the block before left there, as on a device.
#pragma once

#include <dlfcn.h>
#include <setjmp.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
// Where nobody watches, nobody is told of other stacks.
static void __sanitizer_start_switch_fiber(void **, const void *, size_t) {}
static void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {}
#endif
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define __global__ inline  // Entries that no test calls are then left out.
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static

struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};

namespace on_cpu {

struct Place {
  unsigned x, y, z;
};

// Who waits gives way until everyone whom it waits for is there.
enum class Waits { For_nothing, For_block, For_warp, Is_done };

constexpr unsigned WARP = 32;
constexpr size_t STACK = 1 << 18;

struct Fiber {
  ucontext_t start;
  jmp_buf left;  // where it gave way
  bool has_begun = false;
  void *fake_stack = nullptr;
  std::unique_ptr<char[]> stack{new char[STACK]};
};

struct Thread {
  Place place;
  Waits waits;
  Fiber *fiber;
  unsigned lanes;      // whom it waits for in its warp
  unsigned exchanges;  // how many it took part in, to know which of two slots is the present one
  uint64_t slots[2];   // what it offered
};

// Goes on where a fiber, or the host, gave way. A context would do that, too, but asks the kernel for
// the signals each time. It is the C library's function, and not the sanitizer's around it, which
// marks the whole stack as unused at each switch and takes a hundred times as long; it is told of the
// switches as it is.
inline const auto jump = reinterpret_cast<void (*)(jmp_buf, int)>(
    dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "_longjmp"));

class Device {
 public:
  // Runs a grid, and says what was wrong, if anything was.
  template <class Body>
  std::string run(Place grid, Place block, unsigned order, Body body) {
    grid_size = grid;
    block_size = block;
    call = [](void *context) { (*static_cast<Body *>(context))(); };
    call_context = &body;
    unsigned count = block.x * block.y * block.z;
    threads.resize(count);
    mistake.clear();
    unsigned begin = std::min(first_block, grid.x), end = std::min(end_of_blocks, grid.x);
    for (unsigned number : ordered(end - begin, order)) {
      block_place = {begin + number, 0, 0};
      run_block(count, ordered((count + WARP - 1) / WARP, order), ordered(WARP, order));
      if (mistake.empty()) continue;
      fibers.clear();  // Some are in the middle of something.
      free_fibers.clear();
      break;
    }
    return mistake;
  }

  void wait_for_block() {
    current->waits = Waits::For_block;
    give_way(*current->fiber);
  }

  // Offers a value to the lanes in the mask, and returns what another of them offers.
  uint64_t exchange(unsigned lanes, uint64_t value, unsigned lane_mask) {
    unsigned number = number_of(*current);
    unsigned source = number ^ lane_mask;
    if (!(lanes >> (number % WARP) & 1)) mistake = "a lane exchanges that isn't in the mask";
    if (lane_mask >= WARP || !(lanes >> (source % WARP) & 1) || source >= count_of_threads()) {
      mistake = "a lane is asked that isn't in the mask";
      source = number;
    }
    unsigned slot = current->exchanges++ % 2;
    current->slots[slot] = value;
    current->lanes = lanes;
    current->waits = Waits::For_warp;
    give_way(*current->fiber);
    return threads[source].slots[slot];
  }

  Place grid_size, block_size, block_place;
  Thread *current;
  // Those that are run: of a grid that is too large for that, some will do.
  unsigned first_block = 0, end_of_blocks = -1u;

 private:
  unsigned count_of_threads() const { return block_size.x * block_size.y * block_size.z; }
  unsigned number_of(const Thread &thread) const {
    return thread.place.x + block_size.x * (thread.place.y + block_size.y * thread.place.z);
  }

  // 0: forwards, 1: backwards, others: shuffled.
  static std::vector<unsigned> ordered(unsigned count, unsigned order) {
    std::vector<unsigned> numbers(count);
    for (unsigned k = 0; k < count; ++k) numbers[k] = order == 1 ? count - 1 - k : k;
    uint64_t state = order * 0x9e3779b97f4a7c15u;
    for (unsigned k = count; order > 1 && k > 1; --k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      std::swap(numbers[k - 1], numbers[(state >> 33) % k]);
    }
    return numbers;
  }

  // One warp after another, each as far ahead of the others as barriers let it.
  void run_block(unsigned count, const std::vector<unsigned> &warps, const std::vector<unsigned> &lanes) {
    for (unsigned number = 0; number < count; ++number) {
      unsigned y = number / block_size.x % block_size.y;
      Place place = {number % block_size.x, y, number / block_size.x / block_size.y};
      threads[number] = {place, Waits::For_nothing, nullptr, 0, 0, {0, 0}};
    }
    do {
      for (unsigned warp : warps) run_warp(warp * WARP, lanes);
    } while (can_go_on(count));
  }

  void run_warp(unsigned first, const std::vector<unsigned> &lanes) {
    begun.clear();
    for (unsigned lane : lanes) {
      bool has_begun = first + lane >= threads.size() || threads[first + lane].fiber != nullptr;
      if (!has_begun) begun.push_back(&threads[first + lane]);
    }
    for (next = 0; next < begun.size();) resume(free_fiber());
    do {
      for (unsigned lane : lanes) {
        if (first + lane >= threads.size() || threads[first + lane].waits != Waits::For_nothing) continue;
        current = &threads[first + lane];
        resume(*current->fiber);
      }
    } while (release_lanes(first));
  }

  // Lets those of a warp go on of which all lanes have come that they wait for.
  bool release_lanes(unsigned first) {
    bool has_released = false;
    unsigned end = std::min<unsigned>(first + WARP, threads.size());
    for (unsigned number = first; number < end; ++number) {
      if (threads[number].waits != Waits::For_warp) continue;
      unsigned lanes = threads[number].lanes, arrived = 0;
      for (unsigned other = first; other < end; ++other) {
        bool is_there = threads[other].waits == Waits::For_warp && threads[other].lanes == lanes;
        arrived |= unsigned(is_there) << (other - first);
      }
      if (arrived != lanes) continue;
      for (unsigned other = first; other < end; ++other) {
        if (lanes >> (other - first) & 1) threads[other].waits = Waits::For_nothing;
      }
      has_released = true;
    }
    return has_released;
  }

  // Lets all go on if all are at a barrier; otherwise they have ended, or there is a mistake.
  bool can_go_on(unsigned count) {
    unsigned ended = 0, at_barrier = 0;
    for (const Thread &thread : threads) {
      ended += thread.waits == Waits::Is_done;
      at_barrier += thread.waits == Waits::For_block;
    }
    if (!mistake.empty() || ended == count) return false;
    if (at_barrier < count) {
      mistake = std::to_string(at_barrier) + " of " + std::to_string(count) +
                " threads are at a barrier, and " + std::to_string(ended) + " have ended";
      return false;
    }
    for (Thread &thread : threads) thread.waits = Waits::For_nothing;
    return true;
  }

  Fiber &free_fiber() {
    if (free_fibers.empty()) {
      Fiber &fiber = *fibers.emplace_back(new Fiber);
      getcontext(&fiber.start);
      fiber.start.uc_stack.ss_sp = fiber.stack.get();
      fiber.start.uc_stack.ss_size = STACK;
      fiber.start.uc_link = nullptr;
      makecontext(&fiber.start, enter, 0);
      return fiber;
    }
    Fiber &fiber = *free_fibers.back();
    free_fibers.pop_back();
    return fiber;
  }

  static void enter();

  // Runs the threads that are to begin, until one waits: then the fiber is that thread's.
  void main_of_fiber() {
    Fiber &fiber = *running;
    __sanitizer_finish_switch_fiber(nullptr, &host_stack, &host_stack_size);
    while (true) {
      while (next < begun.size()) {
        current = begun[next++];
        current->fiber = &fiber;
        call(call_context);
        current->waits = Waits::Is_done;
      }
      free_fibers.push_back(&fiber);
      give_way(fiber);
    }
  }

  void resume(Fiber &fiber) {
    running = &fiber;
    __sanitizer_start_switch_fiber(&host_fake_stack, fiber.stack.get(), STACK);
    if (_setjmp(host) == 0) {
      if (fiber.has_begun) jump(fiber.left, 1);
      fiber.has_begun = true;
      setcontext(&fiber.start);
    }
    __sanitizer_finish_switch_fiber(host_fake_stack, nullptr, nullptr);
  }

  void give_way(Fiber &fiber) {
    __sanitizer_start_switch_fiber(&fiber.fake_stack, host_stack, host_stack_size);
    if (_setjmp(fiber.left) == 0) jump(host, 1);
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &host_stack, &host_stack_size);
  }

  void (*call)(void *);
  void *call_context;
  std::vector<Thread> threads;
  std::vector<Thread *> begun;  // those that are to begin, in their order
  size_t next;                  // of them
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber *> free_fibers;
  Fiber *running;
  std::string mistake;
  jmp_buf host;
  void *host_fake_stack = nullptr;
  const void *host_stack = nullptr;
  size_t host_stack_size = 0;
};

inline Device device;

inline void Device::enter() { device.main_of_fiber(); }

template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// Cut off instead of rounded: at most one step back from the nearest.
template <class Wide>
float cut_off(Wide value) {
  float near = float(value);
  bool is_above = std::isinf(near) ? !std::isinf((long double)value)
                                   : std::fabs((long double)near) > std::fabs((long double)value);
  return is_above ? std::nextafter(near, 0.0f) : near;
}

template <class... Argument, size_t... number>
void call_with(void (*kernel)(Argument...), void **arguments, std::index_sequence<number...>) {
  kernel(*static_cast<std::remove_const_t<Argument> *>(arguments[number])...);
}

// Runs a kernel; `arguments` are pointers to them, as the driver takes them.
template <class... Argument>
std::string launch(void (*kernel)(Argument...), void **arguments, unsigned blocks, Place block,
                   unsigned order) {
  auto body = [&] { call_with(kernel, arguments, std::index_sequence_for<Argument...>()); };
  return device.run({blocks, 1, 1}, block, order, body);
}

}  // namespace on_cpu

#define threadIdx (on_cpu::device.current->place)
#define blockIdx (on_cpu::device.block_place)
#define blockDim (on_cpu::device.block_size)
#define gridDim (on_cpu::device.grid_size)

inline void __syncthreads() { on_cpu::device.wait_for_block(); }

template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int lane_mask) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = on_cpu::device.exchange(lanes, bits, lane_mask);
  memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
void __stwb(T *to, T value) {
  *to = value;
}

inline float __uint_as_float(unsigned bits) { return on_cpu::same_bits<float>(bits); }
inline unsigned __float_as_uint(float value) { return on_cpu::same_bits<unsigned>(value); }
inline float __double2float_rz(double value) { return on_cpu::cut_off(value); }
inline float __ll2float_rz(long long value) { return on_cpu::cut_off(value); }
inline float __ull2float_rz(unsigned long long value) { return on_cpu::cut_off(value); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  uint64_t bytes = uint64_t(high) << 32 | low;
  unsigned result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    result |= unsigned(bytes >> (selector >> 4 * k & 7) * 8 & 0xff) << 8 * k;
  }
  return result;
}
inline float __expf(float value) { return std::exp(value); }

inline float f16_to_f32(unsigned short bits) { return on_cpu::same_bits<_Float16>(bits); }
inline unsigned short f16_from_f32(float value) {
  return on_cpu::same_bits<unsigned short>(_Float16(value));
}
