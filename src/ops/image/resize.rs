//! Bilinear interpolation: what lies between pixels whose centres are at a half, edges going on
//! outside.

/// Where one pixel of the result is, along a dimension of the image: which two it is between, and
/// how far it is from the first towards the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    first: usize,
    second: usize,
    part: f32,
}

/// Returns where the pixels of the result are, of as many as `wanted` says along a dimension of
/// `size` pixels.
pub(super) fn samples(size: usize, wanted: usize) -> Vec<Sample> {
    let step = size as f32 / wanted as f32;
    let sample = |at: usize| {
        let place = (step * (at as f32 + 0.5) - 0.5).max(0.0);
        let first = (place as usize).min(size - 1);
        Sample {
            first,
            second: (first + 1).min(size - 1),
            part: (place - first as f32).min(1.0),
        }
    };
    (0..wanted).map(sample).collect()
}

/// Returns each row with each column.
pub(super) fn pairs<'a>(
    rows: &'a [Sample],
    columns: &'a [Sample],
) -> impl Iterator<Item = (Sample, Sample)> {
    rows.iter()
        .flat_map(|row| columns.iter().map(|column| (*row, *column)))
}

/// Returns the value between four pixels.
pub(super) fn between(row: Sample, column: Sample, value_at: impl Fn(usize, usize) -> f32) -> f32 {
    let along = |row: usize| {
        let (first, second) = (value_at(row, column.first), value_at(row, column.second));
        mixed(first, second, column.part)
    };
    mixed(along(row.first), along(row.second), row.part)
}

fn mixed(first: f32, second: f32, part: f32) -> f32 {
    (1.0 - part) * first + part * second
}
