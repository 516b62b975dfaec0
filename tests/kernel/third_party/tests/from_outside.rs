//! Tests that ops of another crate are found, listed and called like dlbridge's own.

use dlbridge::Tensor;
use dlbridge::kernel::{KernelInfo, Reason, RegistrationError, Registry};
// Nothing of it is named: it only has to be linked.
use third_party as _;

fn origins(op: &str) -> Vec<(String, &'static str)> {
    let op = Registry::global().op(op).unwrap();
    let kernels = op.kernels().into_iter();
    let mut all: Vec<_> = kernels
        .map(|kernel| (kernel.description, kernel.origin))
        .collect();
    all.sort();
    all
}

#[test]
fn foreign_op_is_listed_with_its_origin() {
    let expected = [
        ("third_party.scale (cpu, T=int64)", "third_party::inner"),
        ("third_party.scale scaled (cpu, T=float64)", "third_party"),
    ];
    let expected = expected.map(|(kernel, origin)| (kernel.to_owned(), origin));
    assert_eq!(origins("third_party.scale"), expected);
}

#[test]
fn foreign_op_is_called() {
    let scale = Registry::global().op("third_party.scale").unwrap();
    let x = Tensor::from([1.0, 2.5]);
    let call = || scale.call().input(&x);
    assert_eq!(call().make().unwrap().to_vec::<f64>().unwrap(), [2.0, 5.0]);
    let tenfold = call().attribute("factor", 10).make().unwrap();
    assert_eq!(tenfold.to_vec::<f64>().unwrap(), [10.0, 25.0]);
    let of_integers = scale.call().input(&Tensor::from([4_i64])).make().unwrap();
    assert_eq!(of_integers.to_vec::<i64>().unwrap(), [8]);
}

#[test]
fn another_crate_adds_kernels_to_an_existing_op() {
    let all = Registry::global().kernels();
    let theirs = all.iter().filter(|kernel| kernel.origin == "third_party");
    let theirs: Vec<_> = theirs.filter(|kernel| kernel.op == "add").collect();
    assert_eq!(theirs.len(), 2);
    assert!(theirs.iter().all(|kernel| kernel.label == "saturating"));
    let ours =
        |kernel: &&KernelInfo| kernel.op == "add" && kernel.origin.starts_with("dlbridge::ops");
    assert!(all.iter().filter(ours).count() >= 12);

    let add = Registry::global().op("add").unwrap();
    let (a, b) = (Tensor::from([100_u8, 200]), Tensor::from([100_u8, 100]));
    let call = || add.call().input(&a).input(&b);
    let wrapped = call().make().unwrap().to_vec::<u8>().unwrap();
    assert_eq!(wrapped, [200, 44]);
    let stopped = call().label("saturating").make().unwrap();
    assert_eq!(stopped.to_vec::<u8>().unwrap(), [200, 255]);
}

#[test]
fn op_with_rejected_kernel_reports_it() {
    let twice = Registry::global().op("third_party.twice").unwrap();
    let error = twice
        .call()
        .input(&Tensor::from([1.0_f32]))
        .make()
        .unwrap_err();
    let Reason::Refused(RegistrationError::Ambiguous { op, kernel, other }) = &*error.reason else {
        panic!("{error}");
    };
    assert_eq!(op, "third_party.twice");
    assert_eq!(kernel, other);
    assert!(
        error
            .to_string()
            .starts_with("third_party.twice: the op can't be used: ")
    );
}

#[test]
fn op_with_rejected_definition_reports_it() {
    let error = Registry::global().op("third_party.nonsense").unwrap_err();
    let Reason::Refused(RegistrationError::BadOp { op, .. }) = &*error.reason else {
        panic!("{error}");
    };
    assert_eq!(op, "third_party.nonsense");
}

#[test]
fn collection_reports_rejected_kernels() {
    let (registry, refused) = Registry::collected(|name| name.starts_with("third_party."));
    let names: Vec<_> = registry
        .ops()
        .iter()
        .map(|op| op.name().to_owned())
        .collect();
    assert_eq!(names, ["third_party.scale", "third_party.twice"]);
    let mut refused: Vec<_> = refused.iter().map(ToString::to_string).collect();
    refused.sort();
    assert_eq!(refused.len(), 3);
    assert!(refused[2].starts_with("third_party.twice (cpu, T=float32) matches calls"));
    assert!(refused[1].starts_with(r#"op "third_party.nonsense" makes no sense: sizes"#));
    assert_eq!(
        refused[0],
        r#"kernel lost registered for unknown op "third_party.nowhere""#
    );

    let (without, refused) = Registry::collected(|name| name == "add");
    assert!(refused.is_empty());
    assert_eq!(without.ops().len(), 1);
    assert!(without.op("third_party.scale").is_err());
}
