//! HTML for notebooks: a tensor's properties, its elements, and its layout in memory.

use crate::tensor::Tensor;
use std::fmt::Write;

/// The widest that a drawing is.
const WIDTH: f64 = 320.0;
/// How many cells of a dimension are drawn.
const MOST_CELLS: usize = 8;
const CELL: f64 = 18.0;

/// Returns a table of properties, with drawings, and the elements in a collapsed section.
pub(super) fn html(tensor: &Tensor, owner: &str) -> String {
    let mut facts = vec![
        ("shape", format!("{:?}", tensor.shape())),
        ("strides", format!("{:?} elements", tensor.strides())),
        ("dtype", tensor.dtype().to_string()),
        ("device", tensor.device().to_string()),
        ("memory", memory_of(tensor)),
        ("owner", owner.to_owned()),
    ];
    if tensor.is_read_only() {
        facts.push(("written", "never: it is read-only".to_owned()));
    }
    let mut html = String::from("<div><table>");
    for (name, fact) in facts {
        let (name, fact) = (escape(name), escape(&fact));
        write!(html, "<tr><th style=\"text-align:left\">{name}</th><td style=\"text-align:left\">{fact}</td></tr>")
            .expect("strings take all");
    }
    html.push_str("</table>");
    html.push_str(&grid(tensor));
    html.push_str(&strip(tensor));
    write!(
        html,
        "<details><summary>elements</summary><pre>{}</pre></details></div>",
        escape(&tensor.to_string())
    )
    .expect("strings take all");
    html
}

fn memory_of(tensor: &Tensor) -> String {
    let bytes = tensor.nbytes();
    let whole = tensor.storage().nbytes();
    let address = tensor.data_ptr().addr();
    if whole == bytes {
        format!("{bytes} bytes at {address:#x}")
    } else {
        format!("{bytes} bytes at {address:#x}, in {whole} of its owner's")
    }
}

/// Returns the last two dimensions as cells, each with its place in memory.
fn grid(tensor: &Tensor) -> String {
    let rank = tensor.rank();
    if rank == 0 || tensor.is_empty() {
        return String::new();
    }
    let (shape, strides) = (tensor.shape(), tensor.strides());
    let columns = (shape[rank - 1], strides[rank - 1]);
    let rows = if rank > 1 {
        (shape[rank - 2], strides[rank - 2])
    } else {
        (1, 0)
    };
    let (drawn_rows, drawn_columns) = (rows.0.min(MOST_CELLS), columns.0.min(MOST_CELLS));
    let (width, height) = (CELL * 2.2, CELL);
    let mut svg = format!(
        "<svg width=\"{}\" height=\"{}\" role=\"img\"><title>places of elements in memory</title>",
        width * drawn_columns as f64 + 90.0,
        height * drawn_rows as f64 + 22.0
    );
    for row in 0..drawn_rows {
        for column in 0..drawn_columns {
            let place = row as isize * rows.1 + column as isize * columns.1;
            let (x, y) = (width * column as f64, height * row as f64 + 18.0);
            write!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#dbe9f6\" stroke=\"#5b86b0\"/><text x=\"{}\" y=\"{}\" font-size=\"10\" text-anchor=\"middle\">{place:+}</text>",
                x + width / 2.0,
                y + 13.0
            )
            .expect("strings take all");
        }
    }
    let more = |drawn: usize, size: usize| if drawn < size { ", ..." } else { "" };
    write!(
        svg,
        "<text x=\"0\" y=\"12\" font-size=\"11\">{} across, {:+} each{}</text>",
        columns.0,
        columns.1,
        more(drawn_columns, columns.0)
    )
    .expect("strings take all");
    if rank > 1 {
        write!(
            svg,
            "<text x=\"{}\" y=\"30\" font-size=\"11\">{} down,</text><text x=\"{}\" y=\"44\" font-size=\"11\">{:+} each{}</text>",
            width * drawn_columns as f64 + 6.0,
            rows.0,
            width * drawn_columns as f64 + 6.0,
            rows.1,
            more(drawn_rows, rows.0)
        )
        .expect("strings take all");
    }
    svg.push_str("</svg>");
    svg
}

/// Returns the owner's memory as a strip, and which part of it the elements touch.
fn strip(tensor: &Tensor) -> String {
    let whole = tensor.storage().nbytes();
    if whole == 0 || tensor.is_empty() || !tensor.device().has_addresses() {
        return String::new();
    }
    let span = tensor
        .layout()
        .byte_span(tensor.dtype(), tensor.is_padded());
    let offset = tensor.byte_offset() as isize;
    let scale = |byte: isize| (byte as f64 / whole as f64).clamp(0.0, 1.0) * WIDTH;
    let (begin, end) = (scale(offset + span.start), scale(offset + span.end));
    format!(
        "<br><svg width=\"{WIDTH}\" height=\"14\" role=\"img\"><title>the part of its owner's memory that it touches</title><rect x=\"0\" y=\"1\" width=\"{WIDTH}\" height=\"12\" fill=\"#eeeeee\" stroke=\"#999999\"/><rect x=\"{begin}\" y=\"1\" width=\"{}\" height=\"12\" fill=\"#5b86b0\"/></svg>",
        (end - begin).max(1.0)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
