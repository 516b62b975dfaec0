//! One buffer goes from library to library, and stays where it is.
//!
//! Each row is a hand-over: who got the tensor, through what, and whether its elements are still
//! at the address where the `Vec` put them. The last lines write through one library's tensor and
//! read through another's.

use dlbridge::dlpack::{Legacy, Managed, Versioned};
use dlbridge::{Error, Tensor};
use std::sync::Arc;

fn row(who: &str, through: &str, data: *const u8, origin: *const u8) {
    let shared = if data == origin { "shared" } else { "COPIED" };
    println!("{who:<28} {through:<26} {data:?}  {shared}");
}

fn main() -> Result<(), Error> {
    let numbers: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let origin = numbers.as_ptr().cast::<u8>();
    println!("{:<28} {:<26} elements at", "who has it", "got through");
    row("a Vec<f32>", "", origin, origin);

    let tensor = Tensor::from_vec(numbers, &[3, 4])?;
    row("dlbridge::Tensor", "from_vec", tensor.data_ptr(), origin);

    // Another library of the field: dlpark's users hold the same struct in their own owner.
    let theirs: dlpark::Managed<Versioned> = tensor.to_dlpack().into();
    let data = theirs.validate().expect("a valid tensor").data_ptr();
    row("dlpark", "DLManagedTensorVersioned", data.cast(), origin);
    // SAFETY: the managed tensor is our own export, whose promise still holds.
    let back = unsafe { Managed::from_dlpark(theirs) }.expect("a version that we know");
    let back = Tensor::from_dlpack(back)?;
    row(
        "dlbridge, again",
        "DLManagedTensorVersioned",
        back.data_ptr(),
        origin,
    );

    let legacy = back.transpose().to_dlpack_as::<Legacy>()?;
    let legacy = Tensor::from_dlpack(legacy)?;
    row(
        "dlbridge, transposed",
        "DLManagedTensor (legacy)",
        legacy.data_ptr(),
        origin,
    );

    let view = legacy.view::<f32>()?;
    row("a typed view", "view::<f32>", view.as_ptr().cast(), origin);
    println!("\nThe last one's elements:\n{legacy}");

    // SAFETY: this program has one thread, and no other view of these elements.
    unsafe { legacy.view_mut_unchecked::<f32>() }?[[3, 2]] = -1.0;
    println!("\nWritten through the transposed one, read through the first one:\n{tensor}");

    let words: Arc<[i64]> = Arc::from([1, 2, 3]);
    let shared = Tensor::from_owner(Arc::clone(&words), &[3])?;
    let refused = shared.to_dlpack_as::<Legacy>().unwrap_err();
    println!("\nAn Arc<[i64]> is read-only. {refused}");
    // SAFETY: it is read, and not written, until it is dropped.
    let unmarked = unsafe { shared.into_dlpack_unmarked::<Legacy>() }?;
    let first = unmarked.descriptor().data.cast_const().cast();
    row(
        "the Arc, on a promise",
        "DLManagedTensor (legacy)",
        first,
        words.as_ptr().cast(),
    );
    Ok(())
}
