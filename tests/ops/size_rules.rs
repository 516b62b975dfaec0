//! The ops' rules of sizes: the same shapes as the functions that calls use, for random shapes and
//! attributes; and gradients that call ops that there are.

use dlbridge::DType;
use dlbridge::kernel::{Attribute, AttributeKind, GradientAttribute, GradientValue, OpHandle};
use dlbridge::kernel::{PartialShape, Registry};

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn shape(&mut self) -> Vec<usize> {
        let rank = [0, 1, 1, 2, 2, 2, 3, 3, 4][self.below(9) as usize];
        (0..rank)
            .map(|_| [1, 2, 2, 2, 3, 0][self.below(6) as usize])
            .collect()
    }

    fn attribute(&mut self, name: &str, kind: AttributeKind) -> Option<Attribute> {
        let axis = self.below(8) as i64 - 4;
        Some(match (name, kind) {
            ("axis", AttributeKind::Int) => axis.into(),
            ("axis", AttributeKind::OptionalInt) if axis > -4 => Some(axis).into(),
            ("axis", AttributeKind::OptionalInts) if axis > -4 => {
                let axes = [vec![], vec![axis], vec![axis, self.below(3) as i64]];
                Some(axes[self.below(3) as usize].clone()).into()
            }
            ("keepdims", _) => (self.below(2) == 1).into(),
            ("k", _) => (self.below(4) as i64).into(),
            ("dtype", AttributeKind::DType) => DType::F32.into(),
            _ => return None,
        })
    }
}

/// Calls a function with random shapes and attributes, and with what the op makes of them.
fn for_each_call(
    op: &OpHandle,
    mut check: impl FnMut(&[Vec<Vec<usize>>], &[Attribute], Result<Vec<Vec<usize>>, String>),
) {
    let definition = op.definition();
    let inputs: Vec<_> = definition
        .parameters()
        .filter(|(_, reads, _)| *reads)
        .collect();
    let variadic = op.name() == "concat";
    let optional = |name: &str| ["weight", "bias", "zero_point"].contains(&name);
    for seed in 0..3000 {
        let mut random = Random(seed * 7919 + 1);
        let first = random.shape();
        let shapes: Vec<Vec<Vec<usize>>> = inputs
            .iter()
            .enumerate()
            .map(|(at, (name, ..))| {
                let count = if variadic {
                    1 + random.below(3)
                } else {
                    u64::from(!optional(name) || random.below(2) == 0)
                };
                (0..count)
                    .map(|_| match (at, random.below(4)) {
                        (0, 0..3) | (_, 0) => first.clone(),
                        (_, 1) => first.iter().rev().copied().collect(),
                        (_, 2) => first.last().copied().into_iter().collect(),
                        _ => random.shape(),
                    })
                    .collect()
            })
            .collect();
        let given = definition
            .attributes()
            .filter_map(|(name, kind, _)| Some((name.to_owned(), random.attribute(name, kind)?)));
        let attributes = op.attributes(given.collect::<Vec<_>>()).unwrap();
        let dtype = |name: &str| match (op.name(), name) {
            (_, "indices") => DType::I64,
            ("where", "condition") => DType::BOOL,
            ("quantize" | "dequantize", "scale") => DType::F32,
            ("quantize" | "dequantize", "zero_point") => DType::I32,
            ("dequantize", "q") => DType::I8,
            ("nv12_to_rgb", _) => DType::U8,
            _ => DType::F32,
        };
        let tensors: Vec<Vec<_>> = inputs
            .iter()
            .zip(&shapes)
            .map(|((name, ..), shapes)| {
                shapes
                    .iter()
                    .map(|shape| (&shape[..], dtype(name)))
                    .collect()
            })
            .collect();
        let results = op.infer(&tensors, &attributes);
        let results = results.map(|results| results.into_iter().map(|(shape, _)| shape).collect());
        check(
            &shapes,
            &attributes,
            results.map_err(|error| error.to_string()),
        );
    }
}

#[test]
fn rules_of_sizes_agree_with_the_functions_of_shapes() {
    let mut without = Vec::new();
    for op in Registry::global().ops() {
        if op.name().contains('.') {
            continue; // A test's.
        }
        if op.definition().size_rule().is_none() {
            without.push(op.name().to_owned());
            continue;
        }
        let mut fitting = 0;
        for_each_call(&op, |shapes, attributes, results| {
            let partial = |shape: &Vec<usize>| -> PartialShape {
                Some(shape.iter().copied().map(Some).collect())
            };
            let inputs: Vec<Vec<_>> = shapes
                .iter()
                .map(|all| all.iter().map(partial).collect())
                .collect();
            let ruled = op.definition().partial_shapes(&inputs, attributes).unwrap();
            match (results, ruled) {
                (Ok(results), Ok(ruled)) => {
                    let results: Vec<_> = results.iter().map(partial).collect();
                    assert_eq!(results, ruled, "{op:?} of {shapes:?}, {attributes:?}");
                    fitting += 1;
                }
                // Functions may check more.
                (Err(_), _) => {}
                (Ok(results), Err(error)) => {
                    panic!("{op:?} of {shapes:?}, {attributes:?}: {results:?}, but {error}")
                }
            }
        });
        assert!(
            fitting >= 30,
            "{op:?}: only {fitting} calls have shapes that fit"
        );
    }
    assert_eq!(without, ["expand_dims", "image_to_tensor"]);
}

#[test]
fn unknown_sizes_give_what_known_ones_do() {
    for op in Registry::global().ops() {
        if op.name().contains('.') || op.definition().size_rule().is_none() {
            continue;
        }
        let mut random = Random(1);
        for_each_call(&op, |shapes, attributes, results| {
            let Ok(results) = results else { return };
            let mut hidden = |shape: &Vec<usize>| -> PartialShape {
                let mut size = |size: &usize| (random.below(2) == 0).then_some(*size);
                let sizes = shape.iter().map(&mut size).collect();
                (random.below(5) > 0).then_some(sizes)
            };
            let inputs: Vec<Vec<_>> = shapes
                .iter()
                .map(|all| all.iter().map(&mut hidden).collect())
                .collect();
            let partial = op.definition().partial_shapes(&inputs, attributes).unwrap();
            let partial = partial.unwrap_or_else(|error| {
                panic!("{op:?} of {inputs:?}, {attributes:?}: {results:?}, but {error}")
            });
            for (result, partial) in results.iter().zip(&partial) {
                let Some(partial) = partial else { continue };
                let agrees = result.len() == partial.len()
                    && result
                        .iter()
                        .zip(partial)
                        .all(|(size, known)| known.is_none_or(|known| known == *size));
                assert!(
                    agrees,
                    "{op:?} of {inputs:?}, {attributes:?}: {result:?}, {partial:?}"
                );
            }
        });
    }
}

#[test]
fn gradients_call_ops_that_there_are() {
    let registry = Registry::global();
    fn check(registry: &Registry, value: &GradientValue, of: &str) {
        let (op, inputs, attributes) = match value {
            GradientValue::Call {
                op,
                inputs,
                attributes,
            } => (op, inputs, attributes),
            GradientValue::Choice {
                given, otherwise, ..
            } => {
                check(registry, given, of);
                return check(registry, otherwise, of);
            }
            _ => return,
        };
        let called = registry
            .op(op)
            .unwrap_or_else(|error| panic!("{of}: {error}"));
        let called = called.definition();
        let most = called.parameters().filter(|(_, reads, _)| *reads).count();
        assert!(inputs.len() <= most, "{of}: {called}");
        for (name, value) in attributes {
            let kind = called.attributes().find(|(known, ..)| known == name);
            let (_, kind, _) = kind.unwrap_or_else(|| panic!("{of}: {called} has no {name}"));
            if let GradientAttribute::Is(value) = value {
                assert!(value.converted(kind).is_some(), "{of}: {name}={value}");
            }
        }
        inputs.iter().for_each(|input| check(registry, input, of));
    }
    let mut count = 0;
    for op in registry.ops() {
        for gradient in op.definition().gradients() {
            gradient
                .values
                .iter()
                .for_each(|value| check(registry, value, op.name()));
            count += 1;
        }
    }
    assert!(count > 20, "{count} gradients");
}
