//! Tensors of more elements than memory, which broadcasting makes.

use super::refused;
use dlbridge::Tensor;
use dlbridge::files::{Format, SaveOptions};

#[test]
fn bytes_of_more_elements_than_memory_are_an_error() {
    let bytes = 1_usize << 60;
    // Repeating costs nothing until it is written.
    let repeated = Tensor::scalar(1_u8).broadcast_to(&[bytes]).unwrap();
    let capacity = |tensors: usize| tensors * bytes + 512 * (tensors + 1);
    for format in Format::ALL {
        refused(
            SaveOptions::new(*format).to_bytes(&[("x", &repeated)]),
            &format!("can't allocate {} bytes of memory", capacity(1)),
        );
    }
    // The sum of the sizes overflows.
    let names: Vec<_> = (0..17).map(|i| i.to_string()).collect();
    let tensors: Vec<_> = names.iter().map(|name| (&name[..], &repeated)).collect();
    refused(
        SaveOptions::new(Format::Npz).to_bytes(&tensors),
        &format!("can't allocate {} bytes of memory", usize::MAX),
    );
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let path = folder.path().join(format.name());
        let saved = SaveOptions::new(*format).save(path, &[("x", &repeated)]);
        assert!(saved.is_err(), "{format}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
