//! C makes tensors, and Rust uses them.

use crate::library::{Library, Recipe, TWO_ROWS, trials};
use dlbridge::dlpack::{Abi, DLTensor, Flags, Managed};
use dlbridge::{DType, Element, Tensor};
use std::fmt::Debug;

trials!(
    values_of_every_type,
    layouts,
    writes_are_seen_on_both_sides,
    deleters_are_called_after_the_last_handle,
    flags,
    out_of_c_and_back_into_c,
);

/// C's own descriptor: it stays where it is until the deleter is called.
fn descriptor_of<'a, A: Abi>(managed: &Managed<A>) -> &'a DLTensor {
    let descriptor: *const DLTensor = managed.descriptor();
    // SAFETY: the trials look at it only while they have a handle to the tensor.
    unsafe { &*descriptor }
}

fn values_of_every_type<A: Abi>(library: &Library) {
    fn check<A: Abi, T: Element + PartialEq + Debug>(library: &Library, from: fn(u8) -> T) {
        let counts = library.counts();
        let recipe = Recipe {
            dtype: T::DTYPE,
            ..TWO_ROWS
        };
        let managed = library.make::<A>(&recipe, &counts);
        let descriptor = descriptor_of(&managed);
        let tensor = Tensor::from_dlpack(managed).unwrap();
        assert_eq!(tensor.dtype(), T::DTYPE);
        assert_eq!(
            (tensor.shape(), tensor.strides()),
            (&[2, 3][..], &[3, 1][..])
        );
        assert_eq!(tensor.data_ptr(), descriptor.data.cast_const().cast());
        let expected: Vec<T> = (0..6).map(from).collect();
        assert_eq!(tensor.to_vec::<T>().unwrap(), expected);
        drop(tensor);
        assert_eq!(counts.deletions_and_live(), (1, 0));
    }
    check::<A, f64>(library, f64::from);
    check::<A, f32>(library, f32::from);
    check::<A, i32>(library, i32::from);
    check::<A, i64>(library, i64::from);
    check::<A, u8>(library, u8::from);
}

/// All indices of a shape, the last one changing fastest.
fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![vec![]], |outer, &size| {
        let extend = |index: Vec<i64>| (0..size).map(move |at| [index.as_slice(), &[at]].concat());
        outer.into_iter().flat_map(extend).collect()
    })
}

fn layouts<A: Abi>(library: &Library) {
    let base = TWO_ROWS;
    // Shape, strides, elements in memory, and which of them is first.
    type Case<'a> = (&'a [i64], &'a [i64], i64, i64);
    let cases: [Case<'_>; 10] = [
        (&[3, 2], &[1, 3], 6, 0),
        (&[2, 3], &[-3, -1], 6, 5),
        (&[2, 2], &[6, -2], 12, 3),
        (&[4, 3], &[0, 1], 3, 0),
        (&[2, 2], &[1, 1], 3, 0),
        (&[1, 3, 1], &[i64::MAX, 2, i64::MIN], 8, 1),
        (&[], &[], 5, 4),
        (&[0, 3], &[i64::MAX, i64::MIN], 0, 0),
        (&[2; 8], &[1, 2, 4, 8, 16, 32, 64, 128], 256, 0),
        (
            &[1, 2, 1, 1, 3, 1, 1, 1, 1, 2],
            &[9, 6, 9, 9, 2, 9, 9, 9, 9, 1],
            12,
            0,
        ),
    ];
    for (shape, strides, elements, first) in cases {
        for byte_offset in [0, 8, 1 << 20] {
            let counts = library.counts();
            let recipe = Recipe {
                shape,
                strides: Some(strides),
                elements,
                first,
                byte_offset,
                ..base
            };
            let managed = library.make::<A>(&recipe, &counts);
            let (descriptor, sum) = (descriptor_of(&managed), library.sum(&managed));
            let tensor = Tensor::from_dlpack(managed).unwrap();
            let index_0 = descriptor.data.wrapping_byte_add(byte_offset as usize);
            assert_eq!(tensor.data_ptr(), index_0.cast_const().cast());
            let expected: Vec<f64> = indices(shape)
                .iter()
                // SAFETY: no code writes the elements.
                .map(|index| unsafe { library.get(descriptor, index) })
                .collect();
            assert_eq!(tensor.to_vec::<f64>().unwrap(), expected, "{shape:?}");
            assert_eq!(sum, expected.iter().sum::<f64>());
            assert_eq!(counts.deletions_and_live(), (0, 1));
            drop(tensor);
            assert_eq!(counts.deletions_and_live(), (1, 0));
        }
    }
}

fn writes_are_seen_on_both_sides<A: Abi>(library: &Library) {
    let counts = library.counts();
    let recipe = Recipe {
        dtype: DType::I32,
        strides: Some(&[-3, -1]),
        first: 5,
        ..TWO_ROWS
    };
    let managed = library.make::<A>(&recipe, &counts);
    let descriptor = descriptor_of(&managed);
    let mut tensor = Tensor::from_dlpack(managed).unwrap();
    assert!(tensor.view_mut::<i32>().is_err(), "C could be using it");
    // SAFETY: C uses the elements only when it is called, and then there is no view.
    unsafe {
        tensor.view_mut_unchecked::<i32>().unwrap()[[1, 0]] = -7;
        assert_eq!(library.get(descriptor, &[1, 0]), -7.0);
        library.set(descriptor, &[0, 2], 1000.0);
        assert_eq!(tensor.view::<i32>().unwrap()[[0, 2]], 1000);
        library.set(descriptor, &[1, 0], 8.0);
        assert_eq!(tensor.view::<i32>().unwrap()[[1, 0]], 8);
    }
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [5, 4, 1000, 8, 1, 0]);
}

fn deleters_are_called_after_the_last_handle<A: Abi>(library: &Library) {
    let counts = library.counts();
    let tensor = Tensor::from_dlpack(library.make::<A>(&TWO_ROWS, &counts)).unwrap();
    let row = tensor.select(0, 1).unwrap();
    let exported = row.to_dlpack_as::<A>().unwrap();
    let weak = row.storage().downgrade();
    drop((tensor, row));
    assert_eq!(counts.deletions_and_live(), (0, 1));
    assert_eq!(library.sum(&exported), 12.0);
    std::thread::scope(|scope| {
        scope.spawn(|| drop(exported));
    });
    assert_eq!(counts.deletions_and_live(), (1, 0));
    assert!(weak.upgrade().is_none());
    // One that is never imported.
    drop(library.make::<A>(&TWO_ROWS, &counts));
    assert_eq!(counts.deletions_and_live(), (2, 0));
}

fn flags<A: Abi>(library: &Library) {
    let counts = library.counts();
    let import = |flags: Flags| {
        let recipe = Recipe {
            flags: flags.bits(),
            ..TWO_ROWS
        };
        let managed = library.make::<A>(&recipe, &counts);
        assert_eq!(
            managed.flags(),
            if A::HAS_FLAGS { flags } else { Flags::empty() }
        );
        Tensor::from_dlpack(managed).unwrap()
    };
    let read_only = import(Flags::READ_ONLY);
    assert_eq!(read_only.is_read_only(), A::HAS_FLAGS);
    // SAFETY: no other code uses the memory.
    let view = unsafe { read_only.view_mut_unchecked::<f64>() };
    assert_eq!(view.is_err(), A::HAS_FLAGS);
    let mut copied = import(Flags::IS_COPIED);
    assert_eq!(copied.is_copied(), A::HAS_FLAGS);
    assert_eq!(copied.view_mut::<f64>().is_ok(), A::HAS_FLAGS);
}

fn out_of_c_and_back_into_c<A: Abi>(library: &Library) {
    let counts = library.counts();
    let managed = library.make::<A>(&TWO_ROWS, &counts);
    let data = managed.descriptor().data;
    let tensor = Tensor::from_dlpack(managed).unwrap();
    let shared = tensor.transpose().into_dlpack_as::<A>().unwrap();
    let moved = tensor
        .step_by(1, -1)
        .unwrap()
        .into_dlpack_as::<A>()
        .unwrap();
    drop(tensor);
    assert_eq!(library.complaint(&shared), None);
    assert_eq!(library.complaint(&moved), None);
    assert_eq!(shared.descriptor().data, data);
    assert_eq!(moved.descriptor().data, data.wrapping_byte_add(16));
    let (first, second) = (library.start_sum(shared), library.start_sum(moved));
    assert_eq!((first.finish(), second.finish()), (15.0, 15.0));
    assert_eq!(counts.deletions_and_live(), (1, 0));
}
