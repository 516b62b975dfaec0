//! Invariants 1 to 6, one by one.

use crate::validator::{Fields, read};
use dlbridge::error::LayoutError;
use dlbridge::layout::{Layout, MAX_RANK};
use std::ptr::without_provenance;

#[test]
fn invariant_1_ranks() {
    let fields = |ndim, numbers: Option<Vec<i64>>| Fields {
        ndim,
        shape: numbers.clone(),
        strides: numbers,
    };
    for rank in [-1, i32::MIN] {
        let found = fields(rank, None).read();
        assert!(matches!(found, Err(LayoutError::NegativeRank { rank: told }) if told == rank));
    }
    let most = fields(255, Some(vec![1; 255])).read().unwrap();
    assert_eq!((most.rank(), most.len()), (MAX_RANK, 1));
    let found = fields(256, Some(vec![1; 256])).read();
    assert!(matches!(
        found,
        Err(LayoutError::RankTooLarge { rank: 256 })
    ));
    let found = Layout::contiguous(&[1; 1000]);
    assert!(matches!(
        found,
        Err(LayoutError::RankTooLarge { rank: 1000 })
    ));
}

#[test]
fn invariant_1_a_rejected_rank_reads_no_memory() {
    // Under Miri, or on any machine, following these would be noticed.
    let nowhere = without_provenance(8);
    for rank in [-1, 256, i32::MAX, i32::MIN] {
        // SAFETY: the pointers need lead nowhere for a rank that is not allowed.
        let found = unsafe { Layout::from_c(rank, nowhere, nowhere) };
        assert!(matches!(
            found,
            Err(LayoutError::NegativeRank { .. } | LayoutError::RankTooLarge { .. })
        ));
    }
    // SAFETY: no number is read for rank 0.
    let scalar = unsafe { Layout::from_c(0, nowhere, nowhere) }.unwrap();
    assert_eq!((scalar.rank(), scalar.len()), (0, 1));
}

#[test]
fn invariant_2_null_shapes() {
    for rank in [1, 8, 9, 255] {
        for strides in [None, Some(vec![1; rank])] {
            let fields = Fields {
                ndim: rank as i32,
                shape: None,
                strides,
            };
            let found = fields.read();
            assert!(matches!(found, Err(LayoutError::NullShape { rank: told }) if told == rank));
        }
    }
    let scalar = Fields {
        ndim: 0,
        shape: None,
        strides: None,
    };
    assert_eq!(scalar.read(), Layout::contiguous(&[]));
}

#[test]
fn invariant_3_negative_sizes() {
    for size in [-1, i64::MIN] {
        for shape in [[2, 0, size], [1, i64::MAX, size], [7, 7, size]] {
            let found = read(&shape, None);
            let told = matches!(found, Err(LayoutError::NegativeSize { axis: 2, size: told }) if told == size);
            // On a 32-bit machine another size may already be too large.
            let earlier = i64::try_from(isize::MAX).unwrap() < shape[1];
            assert!(told || earlier, "{found:?}");
        }
    }
}

#[test]
fn invariant_4_strides() {
    let found = Layout::strided(&[2, 3], &[1]);
    assert!(matches!(
        found,
        Err(LayoutError::StrideCount {
            sizes: 2,
            strides: 1
        })
    ));
    let found = Layout::strided(&[], &[1]);
    assert!(matches!(
        found,
        Err(LayoutError::StrideCount {
            sizes: 0,
            strides: 1
        })
    ));
    assert_eq!(read(&[2, 0, 3], None).unwrap().strides(), [3, 3, 1]);
    assert_eq!(read(&[4, 2, 3], None).unwrap().strides(), [6, 3, 1]);
}

#[test]
fn invariant_5_numbers_of_elements() {
    let most = isize::MAX as i64;
    for strides in [None, Some(&[0, 0, 0][..])] {
        assert_eq!(
            read(&[1, most, 1], strides).unwrap().len(),
            isize::MAX as usize
        );
        assert_eq!(read(&[most, 0, 1], strides).unwrap().len(), 0);
        // An empty tensor is checked too: products of some sizes are calculated with elsewhere.
        for shape in [[most, 2, 1], [most, 0, 2], [2, most, 0], [0, most, most]] {
            let found = read(&shape, strides);
            assert!(matches!(found, Err(LayoutError::TooManyElements)));
        }
    }
    let found = Layout::contiguous(&[isize::MAX as usize + 1]);
    assert!(matches!(found, Err(LayoutError::TooManyElements)));
    let found = Layout::contiguous(&[usize::MAX, 0]);
    assert!(matches!(found, Err(LayoutError::TooManyElements)));
}

#[test]
fn invariant_6_far_strides() {
    let (most, least) = (isize::MAX, isize::MIN);
    for (shape, strides) in [
        (&[2][..], &[most][..]),
        (&[2], &[-most]),
        (&[3], &[most / 2]),
        (&[2, 2], &[most / 2, -(most / 2) - 1]),
        (&[1, 2], &[least, 1]),
        (&[0, 2], &[least, most]),
        (&[5, 0], &[most, most]),
    ] {
        let layout = Layout::strided(shape, strides).unwrap();
        assert_eq!(layout.strides(), strides);
    }
    for (shape, strides) in [
        (&[2][..], &[least][..]),
        (&[3], &[most / 2 + 1]),
        (&[2, 2], &[most, 1]),
        (&[2, 2], &[most, -1]),
        (&[2, 2], &[-most, -1]),
        (&[2, 2], &[-most, -most]),
        (&[2, 2, 2], &[most / 2, -(most / 2) - 1, 1]),
    ] {
        let found = Layout::strided(shape, strides);
        assert!(
            matches!(found, Err(LayoutError::TooFar)),
            "{shape:?} {strides:?}"
        );
    }
}

#[cfg(target_pointer_width = "32")]
#[test]
fn invariant_6_rejects_relevant_strides_out_of_range() {
    for stride in [1_i64 << 31, i64::MAX, -(1_i64 << 40)] {
        let found = read(&[2], Some(&[stride]));
        assert!(matches!(found, Err(LayoutError::TooFar)));
        assert_eq!(read(&[1], Some(&[stride])).unwrap().len(), 1);
        assert_eq!(read(&[2, 0], Some(&[stride, 1])).unwrap().len(), 0);
    }
}
