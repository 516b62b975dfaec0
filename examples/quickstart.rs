//! Making, viewing, exporting and dropping a tensor.

use dlbridge::{DType, Error, Tensor};

fn main() -> Result<(), Error> {
    // Made of a Vec, which is not copied.
    let mut tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
    println!("{tensor:?}");

    // Read and written as what it is.
    let mut view = tensor.view_mut::<f32>()?;
    view[[0, 0]] = 10.0;
    view.iter_mut().for_each(|x| *x /= 2.0);

    // Other views of the same memory.
    let column = tensor.select(1, 2)?;
    let bits = column.bit_cast(DType::U32)?;
    println!("column {column}, its bits {bits}");

    // What is shared can't be written: not by accident, and not by anyone who isn't alone.
    let refused = tensor.view_mut::<f32>().unwrap_err();
    println!("refused: {refused}");

    // Out, to any library that speaks DLPack, and in again.
    let managed = tensor.to_dlpack();
    let back = Tensor::from_dlpack(managed)?;
    println!("the same memory: {}", back.data_ptr() == tensor.data_ptr());

    drop((tensor, column, bits));
    println!("still there: {back}"); // the last handle, with which the Vec goes
    Ok(())
}
