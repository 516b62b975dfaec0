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

/// A field with a string or a message, whose length takes a byte more than it needs.
pub(crate) fn bytes_with_long_length(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    let length = [u8::try_from(value.len()).unwrap() | 0x80, 0];
    assert!(value.len() < 0x80);
    let mut bytes = Vec::new();
    number(&mut bytes, field << 3 | 2);
    [bytes.as_slice(), &length, value].concat()
}

/// The library of a `GraphDef`, with a function of a tensor of floats: its name, nodes, and the
/// output that it returns.
pub(crate) fn library(name: &str, nodes: &[u8], output: &str) -> Vec<u8> {
    let argument = |name: &str| [bytes(1, name), int(3, 1)].concat();
    let signature = [
        bytes(1, name),
        bytes(2, argument("x")),
        bytes(3, argument("y")),
    ];
    let returned = [bytes(1, "y"), bytes(2, output)].concat();
    let function = [
        bytes(1, signature.concat()),
        nodes.to_vec(),
        bytes(4, returned),
    ];
    bytes(2, bytes(1, function.concat()))
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
