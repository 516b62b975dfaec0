/* Prints what dlpack.h says, one fact a line: a dotted name, a space, a value.
 *
 * tests/header.rs compares the lines with what Rust says of the same names. Types are spelled as
 * tests/header/c_type.rs spells them; the compiler decides whether the header means the same type,
 * so that `int` and `int32_t` are one where they are one.
 */
#include <dlpack/dlpack.h>
#include <stdio.h>

/* The type is variadic, because function types contain commas. */
#define SPELLING(value, ...) _Generic((value), __VA_ARGS__ : #__VA_ARGS__, default : "not " #__VA_ARGS__)

#define MACRO(group, name) printf(#group "." #name " %llu\n", (unsigned long long)name)

#define MEMBER(enumeration, name) printf(#enumeration "." #name " %lld\n", (long long)name)

#define SIZE(type) \
  printf(#type ".size %zu\n" #type ".align %zu\n", sizeof(type), _Alignof(type))

#define FIELD(type, field, ...)                                               \
  printf(#type "." #field ".offset %zu\n" #type "." #field ".size %zu\n" #type \
               "." #field ".type %s\n",                                       \
         offsetof(type, field), sizeof(((type*)0)->field),                    \
         SPELLING(((type*)0)->field, __VA_ARGS__))

#define FUNCTION(name, ...) \
  printf("function_types." #name " %s\n", SPELLING((name)0, __VA_ARGS__))

static void constants(void) {
  MACRO(version, DLPACK_MAJOR_VERSION);
  MACRO(version, DLPACK_MINOR_VERSION);
  MACRO(flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  MACRO(flags, DLPACK_FLAG_BITMASK_IS_COPIED);
  MACRO(flags, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

  SIZE(DLDeviceType);
  MEMBER(DLDeviceType, kDLCPU);
  MEMBER(DLDeviceType, kDLCUDA);
  MEMBER(DLDeviceType, kDLCUDAHost);
  MEMBER(DLDeviceType, kDLOpenCL);
  MEMBER(DLDeviceType, kDLVulkan);
  MEMBER(DLDeviceType, kDLMetal);
  MEMBER(DLDeviceType, kDLVPI);
  MEMBER(DLDeviceType, kDLROCM);
  MEMBER(DLDeviceType, kDLROCMHost);
  MEMBER(DLDeviceType, kDLExtDev);
  MEMBER(DLDeviceType, kDLCUDAManaged);
  MEMBER(DLDeviceType, kDLOneAPI);
  MEMBER(DLDeviceType, kDLWebGPU);
  MEMBER(DLDeviceType, kDLHexagon);
  MEMBER(DLDeviceType, kDLMAIA);
  MEMBER(DLDeviceType, kDLTrn);

  /* No size: where DLPack stores a code, it stores it in a byte, and not in this enumeration. */
  MEMBER(DLDataTypeCode, kDLInt);
  MEMBER(DLDataTypeCode, kDLUInt);
  MEMBER(DLDataTypeCode, kDLFloat);
  MEMBER(DLDataTypeCode, kDLOpaqueHandle);
  MEMBER(DLDataTypeCode, kDLBfloat);
  MEMBER(DLDataTypeCode, kDLComplex);
  MEMBER(DLDataTypeCode, kDLBool);
  MEMBER(DLDataTypeCode, kDLFloat8_e3m4);
  MEMBER(DLDataTypeCode, kDLFloat8_e4m3);
  MEMBER(DLDataTypeCode, kDLFloat8_e4m3b11fnuz);
  MEMBER(DLDataTypeCode, kDLFloat8_e4m3fn);
  MEMBER(DLDataTypeCode, kDLFloat8_e4m3fnuz);
  MEMBER(DLDataTypeCode, kDLFloat8_e5m2);
  MEMBER(DLDataTypeCode, kDLFloat8_e5m2fnuz);
  MEMBER(DLDataTypeCode, kDLFloat8_e8m0fnu);
  MEMBER(DLDataTypeCode, kDLFloat6_e2m3fn);
  MEMBER(DLDataTypeCode, kDLFloat6_e3m2fn);
  MEMBER(DLDataTypeCode, kDLFloat4_e2m1fn);
}

static void tensors(void) {
  SIZE(DLPackVersion);
  FIELD(DLPackVersion, major, uint32_t);
  FIELD(DLPackVersion, minor, uint32_t);

  SIZE(DLDevice);
  FIELD(DLDevice, device_type, DLDeviceType);
  FIELD(DLDevice, device_id, int32_t);

  SIZE(DLDataType);
  FIELD(DLDataType, code, uint8_t);
  FIELD(DLDataType, bits, uint8_t);
  FIELD(DLDataType, lanes, uint16_t);

  SIZE(DLTensor);
  FIELD(DLTensor, data, void*);
  FIELD(DLTensor, device, DLDevice);
  FIELD(DLTensor, ndim, int32_t);
  FIELD(DLTensor, dtype, DLDataType);
  FIELD(DLTensor, shape, int64_t*);
  FIELD(DLTensor, strides, int64_t*);
  FIELD(DLTensor, byte_offset, uint64_t);

  SIZE(DLManagedTensor);
  FIELD(DLManagedTensor, dl_tensor, DLTensor);
  FIELD(DLManagedTensor, manager_ctx, void*);
  FIELD(DLManagedTensor, deleter, void (*)(DLManagedTensor*));

  SIZE(DLManagedTensorVersioned);
  FIELD(DLManagedTensorVersioned, version, DLPackVersion);
  FIELD(DLManagedTensorVersioned, manager_ctx, void*);
  FIELD(DLManagedTensorVersioned, deleter, void (*)(DLManagedTensorVersioned*));
  FIELD(DLManagedTensorVersioned, flags, uint64_t);
  FIELD(DLManagedTensorVersioned, dl_tensor, DLTensor);
}

static void exchange(void) {
  FUNCTION(DLPackManagedTensorAllocator,
           int32_t (*)(DLTensor*, DLManagedTensorVersioned**, void*,
                       void (*)(void*, const char*, const char*)));
  FUNCTION(DLPackManagedTensorFromPyObjectNoSync, int32_t (*)(void*, DLManagedTensorVersioned**));
  FUNCTION(DLPackManagedTensorToPyObjectNoSync, int32_t (*)(DLManagedTensorVersioned*, void**));
  FUNCTION(DLPackDLTensorFromPyObjectNoSync, int32_t (*)(void*, DLTensor*));
  FUNCTION(DLPackCurrentWorkStream, int32_t (*)(DLDeviceType, int32_t, void**));

  SIZE(DLPackExchangeAPIHeader);
  FIELD(DLPackExchangeAPIHeader, version, DLPackVersion);
  FIELD(DLPackExchangeAPIHeader, prev_api, DLPackExchangeAPIHeader*);

  SIZE(DLPackExchangeAPI);
  FIELD(DLPackExchangeAPI, header, DLPackExchangeAPIHeader);
  FIELD(DLPackExchangeAPI, managed_tensor_allocator,
        int32_t (*)(DLTensor*, DLManagedTensorVersioned**, void*,
                    void (*)(void*, const char*, const char*)));
  FIELD(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync,
        int32_t (*)(void*, DLManagedTensorVersioned**));
  FIELD(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync,
        int32_t (*)(DLManagedTensorVersioned*, void**));
  FIELD(DLPackExchangeAPI, dltensor_from_py_object_no_sync, int32_t (*)(void*, DLTensor*));
  FIELD(DLPackExchangeAPI, current_work_stream, int32_t (*)(DLDeviceType, int32_t, void**));
}

int main(void) {
  constants();
  tensors();
  exchange();
  return 0;
}
