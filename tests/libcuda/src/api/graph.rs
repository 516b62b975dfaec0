//! Graphs: what was captured, made executable and replayed.

use crate::abi::structures::InstantiateParams;
use crate::abi::{Graph, GraphExec, Handle, In, Out, Stream};
use crate::call::api;
use crate::capture::{CapturedGraph, Executable};
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::work::Action;
use std::ffi::{c_char, c_int};

/// Handles of nodes: this, the graph's number and the node's place.
const NODE: usize = 0x59;

api! {
    fn cuGraphCreate(driver, graph: Out<Graph>, flags: u32) {
        graph.check()?;
        graph.give(Graph::of(driver.graphs.add(CapturedGraph::default())))
    }

    fn cuGraphClone(driver, clone: Out<Graph>, graph: Graph) {
        clone.check()?;
        let copy = driver.get(graph)?.clone();
        clone.give(Graph::of(driver.graphs.add(copy)))
    }

    fn cuGraphDestroy(driver, graph: Graph) {
        driver.take(graph).map(|_| ())
    }

    fn cuGraphGetNodes(driver, graph: Graph, nodes: Out<usize>, count: Out<usize>) {
        let id = driver.known(graph)?;
        let places: Vec<usize> = (0..driver.get(graph)?.nodes.len()).collect();
        give_nodes(id, &places, &nodes, &count)
    }

    fn cuGraphGetRootNodes(driver, graph: Graph, nodes: Out<usize>, count: Out<usize>) {
        let id = driver.known(graph)?;
        let all = driver.get(graph)?.nodes.iter().enumerate();
        let places: Vec<usize> = all.filter(|(_, node)| node.before.is_empty()).map(|(place, _)| place).collect();
        give_nodes(id, &places, &nodes, &count)
    }

    fn cuGraphNodeGetType(driver, node: usize, kind: Out<c_int>) {
        if node >> 56 != NODE {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        let graph = Graph::of((node >> 28 & 0xfff_ffff) as u32);
        let node = driver.get(graph)?.nodes.get((node & 0xfff_ffff) >> 4).ok_or(Code::ERROR_INVALID_VALUE)?;
        kind.give(match node.action {
            Action::Launch(_) => 0,
            Action::Copy { .. } => 1,
            Action::Fill { .. } => 2,
            Action::Host(..) | Action::Callback(..) => 3,
            Action::Allocate(_) => 10,
            Action::Release(_) => 11,
            Action::Record(_) | Action::Nothing => 5,
        })
    }

    fn cuGraphInstantiateWithFlags(driver, executable: Out<GraphExec>, graph: Graph, flags: u64) {
        instantiate(driver, &executable, graph, flags)
    }

    fn cuGraphInstantiateWithParams(
        driver,
        executable: Out<GraphExec>,
        graph: Graph,
        parameters: In<InstantiateParams>,
    ) {
        let mut parameters_out = parameters.read()?;
        instantiate(driver, &executable, graph, parameters_out.flags)?;
        (parameters_out.error_node, parameters_out.result) = (0, 0);
        Out(parameters.0.cast_mut()).give(parameters_out)
    }

    fn cuGraphInstantiate_v2(
        driver,
        executable: Out<GraphExec>,
        graph: Graph,
        error_node: Out<usize>,
        log: Out<c_char>,
        log_bytes: usize,
    ) {
        error_node.give_if_wanted(0);
        instantiate(driver, &executable, graph, 0)
    }

    fn cuGraphExecDestroy(driver, executable: GraphExec) {
        driver.take(executable).map(|_| ())
    }

    fn cuGraphExecGetFlags(driver, executable: GraphExec, flags: Out<u64>) {
        flags.give(driver.get(executable)?.flags)
    }

    fn cuGraphUpload(driver, executable: GraphExec, stream: Stream) {
        driver.known(executable)?;
        let stream = driver.stream(stream)?;
        driver.submit(stream, Action::Nothing, "cuGraphUpload")
    }

    fn cuGraphLaunch(driver, executable: GraphExec, stream: Stream) {
        launch(driver, executable, stream)
    }
}

fn instantiate(
    driver: &mut Locked,
    executable: &Out<GraphExec>,
    graph: Graph,
    flags: u64,
) -> Outcome {
    executable.check()?;
    let nodes = driver.get(graph)?.nodes.clone();
    executable.give(GraphExec::of(driver.executables.add(Executable {
        nodes,
        flags,
        last: None,
    })))
}

/// Queues the graph's operations anew, in the order in which they were captured.
fn launch(driver: &mut Locked, executable: GraphExec, stream: Stream) -> Outcome {
    let stream = driver.stream(stream)?;
    let state = driver.get(executable)?;
    let (nodes, before) = (state.nodes.clone(), state.last.take());
    let first = driver.queue_after(stream, Action::Nothing, "cuGraphLaunch", before)?;
    driver.run_if_eager(stream, first);
    for node in nodes {
        driver.submit(stream, node.action, &format!("in a graph, {},", node.words))?;
    }
    let state = &driver.streams.live[&stream];
    let last = state.last.map(|last| (last, state.clock.clone()));
    driver.get(executable)?.last = last;
    Ok(())
}

/// Fills the caller's room for nodes, or says how much of it is needed.
fn give_nodes(graph: u32, places: &[usize], nodes: &Out<usize>, count: &Out<usize>) -> Outcome {
    if nodes.0.is_null() {
        return count.give(places.len());
    }
    let room = In(count.0.cast_const()).read()?;
    for (slot, place) in places.iter().take(room).enumerate() {
        Out(nodes.0.wrapping_add(slot)).give(NODE << 56 | (graph as usize) << 28 | place << 4)?;
    }
    count.give(places.len().min(room))
}
