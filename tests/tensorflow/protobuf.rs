//! Graphs as TensorFlow writes them, made by hand.

/// Appends a number of variable length.
fn number(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// A field with a number.
pub(crate) fn int(field: u64, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    number(&mut bytes, field << 3);
    number(&mut bytes, value);
    bytes
}

/// A field with a string or a message.
pub(crate) fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    number(&mut bytes, field << 3 | 2);
    number(&mut bytes, value.as_ref().len() as u64);
    bytes.extend_from_slice(value.as_ref());
    bytes
}

/// A node of a `GraphDef`: name, op, inputs, and attributes by their encoded values.
pub(crate) fn node(
    name: &str,
    op: &str,
    inputs: &[&str],
    attributes: &[(&str, Vec<u8>)],
) -> Vec<u8> {
    let mut node = [bytes(1, name), bytes(2, op)].concat();
    for input in inputs {
        node.extend(bytes(3, input));
    }
    for (name, value) in attributes {
        node.extend(bytes(5, [bytes(1, name), bytes(2, value)].concat()));
    }
    bytes(1, node)
}

/// The attribute value `DT_FLOAT`.
pub(crate) fn float_type() -> Vec<u8> {
    int(6, 1)
}

/// The attribute value that is a tensor of rank 1, by its content.
pub(crate) fn float_tensor(values: &[f32]) -> Vec<u8> {
    let content: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    let shape = bytes(2, int(1, values.len() as u64));
    bytes(8, [int(1, 1), bytes(2, shape), bytes(4, content)].concat())
}
