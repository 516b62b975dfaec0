"""Exports a model as a SavedModel and as a frozen graph, and what it computes."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


class Model(tf.Module):
    def __init__(self):
        self.weights = tf.Variable(tf.random.stateless_normal([4, 3], seed=[1, 2]))
        self.calls = tf.Variable(0, dtype=tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def classify(self, x):
        return {"y": tf.nn.softmax(tf.matmul(x, self.weights)), "same": tf.identity(x)}

    @tf.function(input_signature=[])
    def count(self):
        return {"calls": self.calls.assign_add(1)}


folder = sys.argv[1]
model = Model()
x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
x.tofile(f"{folder}/x.bin")
model.classify(x)["y"].numpy().tofile(f"{folder}/y.bin")
signatures = {"serving_default": model.classify, "count": model.count}
tf.saved_model.save(model, f"{folder}/model", signatures=signatures)
frozen = convert_variables_to_constants_v2(model.classify.get_concrete_function())
with open(f"{folder}/graph.pb", "wb") as file:
    file.write(frozen.graph.as_graph_def().SerializeToString())
with open(f"{folder}/names.txt", "w") as file:
    # Results are in the order of their names: "same", "y".
    file.write(f"{frozen.inputs[0].name}\n{frozen.outputs[1].name}\n")
