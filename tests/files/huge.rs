//! Tensors of more elements than memory, which broadcasting makes.

use super::{numbered, refused};
use dlbridge::files::{Format, SaveOptions};
use dlbridge::{DType, Tensor};

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

#[test]
fn save_of_more_bits_or_bytes_than_memory_has_is_an_error() {
    let len = 1_usize << 62;
    let folder = tempfile::tempdir().unwrap();
    for (dtype, nbytes) in [
        (DType::U8, len),
        (DType::F16, 2 * len),
        (DType::I32, usize::MAX),
    ] {
        let repeated = numbered(&[1], dtype).broadcast_to(&[len]).unwrap();
        let save = |options: SaveOptions| {
            let path = folder.path().join("x");
            options.save(path, &[("x", &repeated)])
        };
        let too_large = format!("can't allocate {nbytes} bytes of memory");
        for format in [Format::Safetensors, Format::Npy, Format::Npz] {
            refused(save(SaveOptions::new(format)), &too_large);
        }
        for format in [Format::TfProto, Format::OnnxProto] {
            refused(
                save(SaveOptions::new(format)),
                &format!(
                    "{format}: a message of {nbytes} bytes, more than 2147483647; write it to \
                     safetensors"
                ),
            );
        }
        let external = SaveOptions::new(Format::OnnxProto).external("x.bin");
        refused(save(external), &too_large);
    }
    // The sum of the sizes overflows.
    let repeated = numbered(&[1], DType::F16).broadcast_to(&[len]).unwrap();
    refused(
        SaveOptions::new(Format::Safetensors).save(
            folder.path().join("x"),
            &[("x", &repeated), ("y", &repeated)],
        ),
        &format!("can't allocate {} bytes of memory", usize::MAX),
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
